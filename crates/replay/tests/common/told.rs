//! What a row tells, except for what depends on time and order.

use crawl_core::{ErrorClass, Outcome, Row};
use serde_json::{Value, json};

/// The part of a row on which all stages agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    outcome: Outcome,
    status: Option<u16>,
    error: Option<ErrorClass>,
    /// As a path when it is on the same site.
    next_url: Option<String>,
    size: u64,
    num_urls: u32,
    pub tries: u32,
}

/// A page with this text, which links to so many URLs of the site.
pub fn page(html: impl AsRef<[u8]>, num_urls: u32) -> Told {
    Told { num_urls, ..Told::new(Outcome::Page, 200).size(html.as_ref().len()) }
}

/// Something other than a page, of this size.
pub fn other(size: usize) -> Told {
    Told::new(Outcome::Other, 200).size(size)
}

/// A redirect to a path or a URL, without a body.
pub fn redirect(status: u16, next_url: impl Into<String>) -> Told {
    Told::new(Outcome::Redirect, status).next_url(next_url)
}

/// An answer that says there is nothing here, in a body of this size.
pub fn http_error(status: u16, size: usize) -> Told {
    Told::new(Outcome::HttpError, status).size(size)
}

/// No answer, at the first try.
pub fn failed(error: ErrorClass) -> Told {
    Told { status: None, ..Told::new(Outcome::Failed, 0).error(error) }
}

/// Not asked.
pub fn skipped(error: ErrorClass) -> Told {
    Told { status: None, ..Told::new(Outcome::Skipped, 0).error(error).tries(0) }
}

impl Told {
    fn new(outcome: Outcome, status: u16) -> Self {
        Self {
            outcome,
            status: Some(status),
            error: None,
            next_url: None,
            size: 0,
            num_urls: 0,
            tries: 1,
        }
    }

    pub fn by(row: &Row, origin: &str) -> Self {
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

    /// What does not depend on how often it was tried, nor on the limit on
    /// bodies, as `--format jsonl` has it.
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
        self.size = size as u64;
        self
    }

    pub fn tries(mut self, tries: u32) -> Self {
        self.tries = tries;
        self
    }
}
