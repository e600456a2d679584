//! The local result of a visit.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{CONTROLS, utf8_percent_encode};
use url::Url;

use crate::deferral::is_throttled;
use crate::{Deferral, ErrorClass, ExternalVerdict, FetchError, Job, Outcome, Purpose, Row};
use web::links::{Element, Link};
use web::page::Page;
use web::sitemap::{is_relative, relative_entries};
use web::{Address, BaseUrl, TOO_LONG, mask_passwords, why_no_host, why_no_url};

/// The local result of one URL: all that can be said of it without knowing the
/// other URLs of the crawl. [`Crawl::settle`](crate::Crawl::settle) adds the rest:
/// which of its links are new.
#[derive(Debug)]
pub struct Finished {
    /// The row of the URL. Its referrer and the numbers of its URLs are set when
    /// it is settled.
    pub row: Row,
    /// The reason to request the URL again later, if there is one.
    pub deferral: Option<Deferral>,
    /// What a user should know of the response, although it is fine.
    pub(crate) warning: Option<String>,
    /// True if the response has set a cookie.
    pub(crate) sets_cookie: bool,
    pub(crate) discovery: Discovery,
}

/// The candidates for further URLs that a visit has found.
#[derive(Debug)]
pub(crate) enum Discovery {
    /// Neither a page nor a redirect.
    Nothing,
    /// A page with its links. If the second value is true, it asks robots not to follow them.
    Page(Page, bool),
    /// The target of a redirect, which may have a fragment.
    Redirect(Url),
}

/// A link that is not a URL.
pub(crate) struct NoUrl<'a> {
    /// The link as it is written, in printable characters.
    pub(crate) text: Cow<'a, str>,
    pub(crate) reason: String,
}

impl<'a> NoUrl<'a> {
    fn new(reference: &'a str, reason: String) -> Self {
        let reference = &reference[..reference.floor_char_boundary(MAX_NO_URL_LEN)];
        // As the parser of URLs does it.
        let text = match reference.trim().split(['\t', '\n', '\r']).collect::<String>() {
            text if text == reference => Cow::Borrowed(reference),
            text => Cow::Owned(text),
        };
        let text = match Cow::from(utf8_percent_encode(&text, CONTROLS)) {
            Cow::Borrowed(_) => text,
            Cow::Owned(encoded) => Cow::Owned(encoded),
        };
        let text = match mask_passwords(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(masked) => Cow::Owned(masked),
        };
        // At the beginning of a line, GitHub Actions would take it for a command.
        let text = if text.starts_with("::") { Cow::Owned(format!("./{text}")) } else { text };
        Self { text, reason }
    }

    /// Returns the error of its row. What is too long for us may be a URL.
    pub(crate) fn error(&self) -> FetchError {
        let is_too_long = self.reason == TOO_LONG;
        let class = if is_too_long { ErrorClass::Trap } else { ErrorClass::InvalidUrl };
        FetchError::new(class, self.reason.clone())
    }
}

/// The maximum length of the text of a link that is not a URL, in bytes.
const MAX_NO_URL_LEN: usize = 4 * 1024;

/// Resolves a link.
///
/// # Errors
/// When it is not a URL, with the reason; or `None` if its scheme is not for this crawler.
pub(crate) fn resolve<'a>(
    base_url: &'a mut BaseUrl<'_>,
    base: &Url,
    reference: &'a str,
) -> Result<Address<'a>, Option<NoUrl<'a>>> {
    let reason = match base_url.join(reference) {
        Ok(address) => match why_no_host(address) {
            None => return Ok(address),
            Some(reason) => Some(reason),
        },
        Err(error) => why_no_url(base, reference, error),
    };
    Err(reason.map(|reason| NoUrl::new(reference, reason)))
}

impl Discovery {
    /// Calls `candidate` with each URL that is linked to or redirected to, and with
    /// its link; with `None` in place of a URL whose scheme is not for this crawler.
    pub(crate) fn candidates(
        &self,
        mut candidate: impl FnMut(Result<Address<'_>, Option<NoUrl<'_>>>, Option<Link<'_>>),
    ) -> LinkCounts {
        let mut counts = LinkCounts::default();
        match self {
            Self::Nothing => {}
            Self::Redirect(target) => {
                if let Ok(address) = Address::of(target) {
                    candidate(Ok(address), None);
                }
            }
            Self::Page(page, is_nofollow) => {
                let mut base_url = BaseUrl::new(&page.base, page.encoding);
                for link in page.found.links() {
                    let is_entry = matches!(link.element, Element::Loc | Element::Sitemap);
                    counts.relative += u64::from(is_entry && is_relative(link.href));
                    let text = mask_passwords(link.text);
                    let nofollow = link.nofollow || *is_nofollow && link.element.is_hyperlink();
                    let link = Link { text: &text, nofollow, ..link };
                    candidate(resolve(&mut base_url, &page.base, link.href), Some(link));
                }
                counts.passwords = base_url.num_passwords();
            }
        }
        counts
    }
}

/// Numbers of links of a page.
#[derive(Clone, Copy, Default)]
pub(crate) struct LinkCounts {
    /// The number of links with a password, which was removed.
    pub(crate) passwords: u64,
    /// The number of entries of a sitemap that are relative.
    pub(crate) relative: u64,
}

impl LinkCounts {
    /// Returns warnings for a page: of links with passwords, and of a sitemap whose entries are
    /// relative.
    pub(crate) fn warnings(self, page: &str) -> impl Iterator<Item = String> {
        let passwords = match self.passwords {
            0 => None,
            1 => Some(format!(
                "{page}: a link has a password in it, which everybody can read; it was not sent"
            )),
            n => Some(format!(
                "{page}: {n} links have passwords in them, which everybody can read; they were \
                 not sent"
            )),
        };
        let relative = (self.relative > 0).then(|| relative_entries(page, self.relative));
        passwords.into_iter().chain(relative)
    }
}

impl Finished {
    /// Creates a result that has come without a response, or from an earlier crawl.
    fn with_row(row: Row, discovery: Discovery) -> Self {
        Self { row, deferral: None, warning: None, sets_cookie: false, discovery }
    }

    /// Calls `candidate` with each URL that the result leads to, normalised and in
    /// the order of the page, and with its link; there is none for a redirect.
    pub fn candidates(&self, mut candidate: impl FnMut(Address<'_>, Option<Link<'_>>)) {
        self.discovery.candidates(|found, link| {
            let is_nofollow = link.is_some_and(|link| link.nofollow);
            if let Some(address) = found.ok().filter(|_| !is_nofollow) {
                candidate(address, link);
            }
        });
    }

    /// Creates the result of a URL that ends with an error and without a response.
    /// It is skipped if the crawler has refused the request, for robots.txt for example;
    /// with any other error it has failed.
    pub fn with_error(job: &impl AsRef<Job>, error: FetchError) -> Self {
        let job = job.as_ref();
        let outcome = Outcome::without_response(&error);
        let row = Row::new(Arc::clone(&job.url), job.depth);
        let verdict = match job.purpose {
            Purpose::External => ExternalVerdict::of(outcome, None, Some(error.class)),
            _ => None,
        };
        let row = Row { outcome, error: Some(error), verdict, ..row };
        Self::with_row(row, Discovery::Nothing)
    }

    /// Creates the result of a URL that an earlier crawl has requested: `fill` gets a row
    /// that knows nothing but the job. Returns `None` for a redirect whose target is not a
    /// URL.
    pub fn of_earlier_crawl(job: &Job, fill: impl FnOnce(Row) -> Row) -> Option<Self> {
        let row = fill(Row { size: None, ..Row::new(Arc::clone(&job.url), job.depth) });
        let discovery = match (row.outcome, &row.next_url) {
            (Outcome::Redirect, target) => Discovery::Redirect(Url::parse(target.as_ref()?).ok()?),
            _ => Discovery::Nothing,
        };
        Some(Self::with_row(row, discovery))
    }

    /// Creates the result of a URL whose fetch has ended in a panic with this
    /// message.
    pub fn with_panic(job: &impl AsRef<Job>, message: impl Into<String>) -> Self {
        Self::with_error(job, FetchError::new(ErrorClass::Panic, message))
    }

    /// Creates the result of a URL whose server has failed with this status, and which is not
    /// requested again.
    pub fn with_server_error(job: &Job, status: u16) -> Self {
        let outcome = Outcome::HttpError;
        let status = Some(status);
        let row = Row { status, outcome, size: None, ..Row::new(Arc::clone(&job.url), job.depth) };
        Self::with_row(row, Discovery::Nothing)
    }

    /// Returns true if the server has no time for this URL now (429 or 503).
    pub fn is_busy(&self) -> bool {
        self.row.outcome != Outcome::Failed && self.row.status.is_some_and(is_throttled)
    }
}
