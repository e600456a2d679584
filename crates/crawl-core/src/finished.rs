//! The local result of a visit.

use std::sync::Arc;

use url::Url;

use crate::visit::is_busy;
use crate::{ErrorClass, ExternalVerdict, FetchError, Job, Outcome, Purpose, Row};
use web::links::Link;
use web::page::Page;
use web::{Address, BaseUrl};

/// The local result of one URL: all that can be said of it without knowing the
/// other URLs of the crawl. [`Crawl::settle`](crate::Crawl::settle) adds the rest:
/// which of its links are new.
#[derive(Debug)]
pub struct Finished {
    /// The row of the URL. Its referrer and the numbers of its URLs are set when
    /// it is settled.
    pub row: Row,
    /// The value of the header `Retry-After` (RFC 9110 section 10.2.3).
    pub retry_after: Option<Vec<u8>>,
    pub(crate) discovery: Discovery,
}

/// The candidates for further URLs that a visit has found.
#[derive(Debug)]
pub(crate) enum Discovery {
    /// No page and no redirect.
    Nothing,
    /// A page with its links, of which hyperlinks are not to be followed if the
    /// second value is true.
    Page(Page, bool),
    /// The target of a redirect, which may have a fragment.
    Redirect(Url),
}

impl Discovery {
    /// Calls `candidate` with each URL that is linked to or redirected to, and with
    /// its link. Returns the number of links that are not followed (`nofollow`).
    pub(crate) fn candidates(
        &self,
        mut candidate: impl FnMut(Address<'_>, Option<Link<'_>>),
    ) -> u64 {
        let mut not_followed = 0;
        match self {
            Self::Nothing => {}
            Self::Redirect(target) => {
                if let Ok(address) = Address::of(target) {
                    candidate(address, None);
                }
            }
            Self::Page(page, is_nofollow) => {
                let mut base_url = BaseUrl::new(&page.base, page.encoding);
                for link in page.found.links() {
                    if link.nofollow || (*is_nofollow && link.element.is_hyperlink()) {
                        not_followed += 1;
                    } else if let Ok(address) = base_url.join(link.href) {
                        candidate(address, Some(link));
                    }
                }
            }
        }
        not_followed
    }
}

impl Finished {
    /// Calls `candidate` with each URL that the result leads to, normalised and in
    /// the order of the page, and with its link; there is none for a redirect.
    pub fn candidates(&self, candidate: impl FnMut(Address<'_>, Option<Link<'_>>)) {
        self.discovery.candidates(candidate);
    }

    /// Creates the result of a URL that ends with an error and without a response.
    /// It is skipped if the crawler has refused the request, for robots.txt for example;
    /// with any other error it has failed.
    pub fn with_error(job: &impl AsRef<Job>, error: FetchError) -> Self {
        let job = job.as_ref();
        let outcome = Outcome::without_response(&error);
        let row = Row::new(Arc::clone(&job.url), job.depth);
        let is_external = job.purpose == Purpose::External;
        let verdict = ExternalVerdict::of(outcome, None, Some(error.class));
        let verdict = verdict.filter(|_| is_external);
        let row = Row { outcome, error: Some(error), verdict, ..row };
        Self { row, retry_after: None, discovery: Discovery::Nothing }
    }

    /// Creates the result of a URL that an earlier crawl has asked for: `fill` gets a row
    /// that knows nothing but the job. There is none if the row is that of a redirect whose
    /// target is no URL.
    pub fn of_earlier_crawl(job: &Job, fill: impl FnOnce(Row) -> Row) -> Option<Self> {
        let row = fill(Row { size: None, ..Row::new(Arc::clone(&job.url), job.depth) });
        let discovery = match (row.outcome, &row.next_url) {
            (Outcome::Redirect, target) => Discovery::Redirect(Url::parse(target.as_ref()?).ok()?),
            _ => Discovery::Nothing,
        };
        Some(Self { row, retry_after: None, discovery })
    }

    /// Creates the result of a URL whose fetch has ended in a panic with this
    /// message.
    pub fn with_panic(job: &impl AsRef<Job>, message: impl Into<String>) -> Self {
        Self::with_error(job, FetchError::new(ErrorClass::Panic, message))
    }

    /// Returns true if the server has no time for this URL now (429 or 503), so
    /// that the URL should be asked for again later.
    pub fn is_busy(&self) -> bool {
        self.row.outcome != Outcome::Failed && self.row.status.is_some_and(is_busy)
    }
}
