//! What became of one URL.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::FetchError;
use crate::select::Selected;

/// One finished URL, or a place within a page that links name and that is not
/// there: then the URL has a fragment.
/// The fields are those of `--format jsonl`, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The URL, normalised; without a fragment, unless that is missing.
    pub url: Arc<str>,
    /// The status of the response, if one came.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
    /// Where a redirect leads.
    pub next_url: Option<String>,
    /// What went wrong, if something did.
    pub error: Option<FetchError>,
    /// The media type of the body, as the server gave it, in lower case.
    pub content_type: Option<String>,
    /// How the text of a page was encoded, by the name of the WHATWG
    /// Encoding Standard in lower case.
    pub encoding: Option<String>,
    /// The size of the body in bytes, without transfer coding. A page is counted
    /// as decoded, anything else as it was sent. What is only to be there
    /// (images and the like, and all that leaves the site) is counted as far as
    /// it was read, and that is not far.
    pub size: u64,
    /// How many different URLs of the site the page links to.
    pub num_urls: u32,
    /// How many of them nobody had found before.
    pub num_new_urls: u32,
    /// Clicks from a root.
    pub depth: u32,
    /// How many times it was tried.
    pub tries: u32,
    /// From the first try to the end, in milliseconds.
    pub elapsed_ms: u64,
    /// Who led here first; nobody for a root, or for what was in a sitemap first.
    pub referrer: Option<String>,
    /// What was selected on the page, by the names of
    /// [`Options::select`](crate::Options::select), if anything was to be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selected: Option<Selected>,
    /// Why nothing could be selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub select_error: Option<FetchError>,
    /// Whether the user takes this status for a good one, see
    /// [`Options::accept`](crate::Options::accept). Not written out.
    #[serde(skip)]
    pub is_accepted: bool,
}

/// How a URL ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// An HTML page, searched for links.
    Page,
    /// Another complete response.
    Other,
    /// A redirect with a target.
    Redirect,
    /// A response that says there is nothing here (4xx, 5xx), or a redirect
    /// that cannot be followed.
    HttpError,
    /// No complete response.
    Failed,
    /// It was not asked, or the server had no time for it (429), and it will not
    /// be asked again; the error says why.
    Skipped,
}

impl Outcome {
    /// The word used in rows.
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
    /// Whether somebody should mend something: the URL, or the link to it.
    pub fn is_broken(&self) -> bool {
        match self.outcome {
            Outcome::HttpError => !self.is_accepted,
            outcome => outcome == Outcome::Failed,
        }
    }
}
