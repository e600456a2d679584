//! The waits of a crawl for its hosts, by their names.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// A host that the crawl waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostWait {
    /// The host, and the port if it is not the default one.
    pub host: Arc<str>,
    /// The moment at which the host is asked again, at the earliest.
    pub until: Instant,
    /// The reason for the wait.
    pub reason: WaitReason,
}

/// The reason for which a crawl waits for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// Requests to the host are some time apart: `--delay`, `--rate-limit` or the
    /// `Crawl-delay` of its robots.txt.
    Delay,
    /// The host has answered that it is busy, with this status: 429 or 503.
    Busy(u16),
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delay => f.write_str("delay between requests"),
            Self::Busy(status) => write!(f, "rate limited ({status})"),
        }
    }
}

/// A host that is not asked any more, because it has answered nothing but that it
/// is busy, and the URLs that were not asked for that reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyHost {
    /// The host, and the port if it is not the default one.
    pub host: Arc<str>,
    /// The status of its last answer.
    pub status: u16,
    /// The number of its URLs that are left to do.
    pub todo: u64,
}
