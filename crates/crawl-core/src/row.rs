//! The row: the result for one URL.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{ErrorClass, FetchError};
use web::select::Selected;

/// The result for one finished URL, for a fragment that is missing in its page, or for a
/// link that is not a URL. The fields are those of `--format jsonl`, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The normalised URL, without a fragment unless that is missing; or the text of a
    /// link that is not a URL.
    pub url: Arc<str>,
    /// The status of the response, if one came.
    pub status: Option<u16>,
    /// The outcome.
    pub outcome: Outcome,
    /// The target of a redirect.
    pub next_url: Option<String>,
    /// The error, if there was one.
    pub error: Option<FetchError>,
    /// The media type of the body as the server sent it, in lower case.
    pub content_type: Option<String>,
    /// The character encoding of a page, by its name in the WHATWG Encoding Standard in
    /// lower case. Of another file, the label in its header.
    pub encoding: Option<String>,
    /// The size of the body in bytes, without transfer coding. What is searched for
    /// links is counted as decoded, anything else as it was sent. `None` for a body
    /// that is not needed and is longer than 64 KiB, where it is cut off, or did not
    /// arrive in time. 0 if `HEAD` was enough.
    pub size: Option<u64>,
    /// The number of different URLs of the site that the page links to.
    pub num_urls: u32,
    /// The number of those that had not been found before.
    pub num_new_urls: u32,
    /// The depth in clicks from a root.
    pub depth: u32,
    /// The number of attempts.
    pub tries: u32,
    /// The time from the first attempt to the end, in milliseconds. Of a URL that was
    /// throttled or whose server failed, and which was requested again later, that of the
    /// last time.
    pub elapsed_ms: u64,
    /// The first referrer; `None` for a root, and for a URL that was found in a
    /// sitemap first.
    pub referrer: Option<String>,
    /// The selected parts of the page, by the names of
    /// [`Settings::select`](crate::Settings::select), if there are selections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    /// The error that kept the selections from being made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_error: Option<FetchError>,
    /// The verdict on a URL outside of the site; `None` if it is fine, or was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ExternalVerdict>,
    /// True if the user accepts this status, see
    /// [`Settings::accept`](crate::Settings::accept). Not serialized.
    #[serde(skip)]
    pub is_accepted: bool,
}

/// The verdict on a URL outside of the site that is not fine; and on one that could not be
/// requested because this machine has no network. Only what is dead is broken:
/// the rest may be in order for a reader, or in an hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExternalVerdict {
    /// There is no such page, host or secure connection, the answer is no HTTP, or a
    /// redirect leads nowhere.
    Dead,
    /// The server refuses the crawler, or every client without a login: 401, 403, 405, 407,
    /// 429, 451 or 999; or it wants a certificate of its client.
    Blocked,
    /// No answer in time, a connection that was cut, a proxy that does not lead there, a
    /// machine without DNS or a route, a server that does not speak HTTP/1.1 or fails (5xx), or
    /// a panic of the crawler.
    Unsure,
}

impl ExternalVerdict {
    /// Returns the verdict on a URL with this result.
    pub(crate) fn of(
        outcome: Outcome,
        status: Option<u16>,
        error: Option<ErrorClass>,
    ) -> Option<Self> {
        use ErrorClass::{Closed, NoRoute, Panic, Proxy, Timeout, Truncated, Unsupported};
        match (outcome, status, error) {
            (
                Outcome::Failed,
                _,
                Some(Closed | NoRoute | Panic | Proxy | Timeout | Truncated | Unsupported),
            ) => Some(Self::Unsure),
            (Outcome::Failed, _, Some(ErrorClass::Blocked)) => Some(Self::Blocked),
            (Outcome::Failed, ..) => Some(Self::Dead),
            (Outcome::HttpError | Outcome::Skipped, Some(status), _) => Some(match status {
                401 | 403 | 405 | 407 | 429 | 451 | 999 => Self::Blocked,
                500..=599 => Self::Unsure,
                _ => Self::Dead,
            }),
            _ => None,
        }
    }

    /// Returns the name that is used in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Blocked => "blocked",
            Self::Unsure => "unsure",
        }
    }
}

/// The outcome of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// An HTML page, searched for links.
    Page,
    /// Another complete response.
    Other,
    /// A redirect with a target.
    Redirect,
    /// A response with an error status (4xx, 5xx), or a redirect that cannot be
    /// followed.
    HttpError,
    /// No complete response, a fragment that is missing, or a link that is not a URL.
    Failed,
    /// A URL that was not requested, or to which the server answered 429 (too
    /// many requests), and that will not be requested again. The error says why.
    Skipped,
}

impl Outcome {
    /// Returns the outcome of a URL that ends with an error, and without a response.
    pub(crate) fn without_response(error: &FetchError) -> Self {
        if error.class.is_refusal() { Self::Skipped } else { Self::Failed }
    }

    /// Returns the name that is used in rows.
    pub fn name(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Other => "other",
            Self::Redirect => "redirect",
            Self::HttpError => "http_error",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

impl Row {
    /// Returns true for a redirect that is to stay: the links to it should be changed.
    pub fn is_permanent_redirect(&self) -> bool {
        self.outcome == Outcome::Redirect && matches!(self.status, Some(301 | 308))
    }

    /// Returns true if the URL, or the links to it, should be repaired.
    pub fn is_broken(&self) -> bool {
        match self.outcome {
            _ if matches!(
                self.verdict,
                Some(ExternalVerdict::Blocked | ExternalVerdict::Unsure)
            ) =>
            {
                false
            }
            Outcome::HttpError => !self.is_accepted,
            outcome => outcome == Outcome::Failed,
        }
    }
}
