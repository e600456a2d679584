//! The fields of a row that are compared: those that do not depend on time and
//! order.

use crawl_core::{ErrorClass, Outcome, Row};
use serde_json::{Value, json};

/// The part of a row on which all stages agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedRow {
    outcome: Outcome,
    status: Option<u16>,
    error: Option<ErrorClass>,
    /// The target of a redirect; only its path if it is on the same site.
    next_url: Option<String>,
    size: Option<u64>,
    num_urls: u32,
    pub tries: u32,
}

/// Returns the row of a page with this text and this number of links to URLs
/// of the site.
pub fn page(html: impl AsRef<[u8]>, num_urls: u32) -> ExpectedRow {
    ExpectedRow { num_urls, ..ExpectedRow::new(Outcome::Page, 200).size(html.as_ref().len()) }
}

/// Returns the row of a body of this size that is not a page.
pub fn other(size: usize) -> ExpectedRow {
    ExpectedRow::new(Outcome::Other, 200).size(size)
}

/// Returns the row of a redirect to a path or a URL, without a body.
pub fn redirect(status: u16, next_url: impl Into<String>) -> ExpectedRow {
    ExpectedRow::new(Outcome::Redirect, status).next_url(next_url)
}

/// Returns the row of an HTTP error with a body of this size.
pub fn http_error(status: u16, size: usize) -> ExpectedRow {
    ExpectedRow::new(Outcome::HttpError, status).size(size)
}

/// Returns the row of a fetch without a complete response, after one try.
pub fn failed(error: ErrorClass) -> ExpectedRow {
    ExpectedRow { status: None, ..ExpectedRow::new(Outcome::Failed, 0).error(error) }
}

/// Returns the row of a URL that was never requested.
pub fn skipped(error: ErrorClass) -> ExpectedRow {
    ExpectedRow { status: None, ..ExpectedRow::new(Outcome::Skipped, 0).error(error).tries(0) }
}

impl ExpectedRow {
    fn new(outcome: Outcome, status: u16) -> Self {
        Self {
            outcome,
            status: Some(status),
            error: None,
            next_url: None,
            size: Some(0),
            num_urls: 0,
            tries: 1,
        }
    }

    pub fn from_row(row: &Row, origin: &str) -> Self {
        let next_url = row.next_url.as_deref();
        let next_url = next_url.map(|url| url.strip_prefix(origin).unwrap_or(url).to_owned());
        Self {
            outcome: row.outcome,
            status: row.status,
            error: row.error.as_ref().map(|error| error.class),
            next_url,
            size: row.size,
            num_urls: row.num_urls,
            tries: row.tries,
        }
    }

    /// Returns the fields that depend neither on the number of tries nor on
    /// the limit on body size, in the form of `--format jsonl`.
    pub fn json(&self, origin: &str) -> Value {
        let on_site = |url: &String| {
            if url.starts_with('/') { format!("{origin}{url}") } else { url.clone() }
        };
        json!({
            "outcome": self.outcome,
            "status": self.status,
            "error": self.error,
            "next_url": self.next_url.as_ref().map(on_site),
            "num_urls": self.num_urls,
        })
    }

    pub fn outcome(mut self, outcome: Outcome) -> Self {
        self.outcome = outcome;
        self
    }

    pub fn status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    pub fn error(mut self, error: ErrorClass) -> Self {
        self.error = Some(error);
        self
    }

    pub fn next_url(mut self, next_url: impl Into<String>) -> Self {
        self.next_url = Some(next_url.into());
        self
    }

    pub fn size(mut self, size: usize) -> Self {
        self.size = Some(size as u64);
        self
    }

    /// Expects links in what has arrived of a page.
    pub fn num_urls(mut self, num_urls: u32) -> Self {
        self.num_urls = num_urls;
        self
    }

    /// Expects a body that was not read to its end.
    pub fn uncounted(mut self) -> Self {
        self.size = None;
        self
    }

    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }
}
