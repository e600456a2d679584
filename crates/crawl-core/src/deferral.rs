//! The deferral of a URL whose server may give another answer later.

use std::time::Duration;

/// The reason why a URL is requested again later, behind the other work of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferReason {
    /// The server wants fewer requests: 429 or 503.
    Throttled,
    /// The server, or a proxy before it, has failed with this status. That is often over in a
    /// moment, and says nothing about the pace of the requests.
    ServerError(u16),
    /// The name server gives no answer for the host for now, which may be over at the end of
    /// the crawl.
    NoDns,
}

/// An answer of a server that may be another one later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deferral {
    /// The reason.
    pub reason: DeferReason,
    /// The value of the header `Retry-After` (RFC 9110 section 10.2.3).
    pub retry_after: Option<Duration>,
    /// The number of attempts that led to this answer.
    pub tries: u32,
}

/// Returns true for the status of a server that wants fewer requests: it may answer later.
pub(crate) fn is_throttled(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// Returns true for the status of a server that has failed, or of a proxy that had no answer
/// from it: 520 to 527 are Cloudflare's. It is worth one more request, unlike 501 or 505.
pub(crate) fn is_server_error(status: u16) -> bool {
    matches!(status, 425 | 500 | 502 | 504 | 520..=527)
}
