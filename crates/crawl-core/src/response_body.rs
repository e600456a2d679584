//! The response to one request, as far as a visit keeps it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::memory::{MemoryBudget, MemoryShare};
use crate::{CookieJar, ErrorClass, FetchError, FetchResult, Outcome};
use web::body::{BodyDecoder, Codings, ContentType};
use web::http::{self, Head};
use web::links::{Element, ExtractOptions, PageLinks, of_link, of_refresh, of_speculation_rules};
use web::page::{FileKind, Page, PageReader};
use web::{Address, BaseUrl, UrlCache, mask_passwords};

/// The part of a response that a visit keeps, as far as it has arrived: some
/// fields of the head, and the reader of the body.
#[derive(Debug, Default)]
pub(crate) struct ResponseBody {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<ContentType>,
    pub(crate) location: Option<Vec<u8>>,
    /// The value of `Retry-After`.
    pub(crate) retry_after: Option<Duration>,
    /// The values of all `X-Robots-Tag` headers.
    pub(crate) robots_tags: Vec<Vec<u8>>,
    /// True if the head sets a cookie that is kept.
    pub(crate) sets_cookie: bool,
    /// The links in the head, as they are written, with the elements that they count as.
    pub(crate) header_links: Vec<(Element, String)>,
    /// The size of the body in bytes, see [`Row::size`](crate::Row::size).
    pub(crate) size: u64,
    /// True if the body was cut off, because it is not needed.
    pub(crate) is_cut: bool,
    /// Why the end of the body may be missing, although the response counts as complete.
    pub(crate) gap: Option<Gap>,
    /// The decoded body, if a [`SiteFile`](crate::SiteFile) was requested.
    pub(crate) file: Vec<u8>,
    /// The memory that the reader of the body takes.
    pub(crate) memory: MemoryShare,
    /// The reader of the body, allocated when the head has arrived. Until then
    /// a response is small.
    body: Option<Box<Body>>,
}

/// A reason why the end of a body may be missing. The response is fine all the same, as it is
/// in browsers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gap {
    /// The page is longer than the limit.
    Limit,
    /// The connection ended without the `close_notify` of TLS, and the body has no length.
    UnannouncedEnd,
    /// The body is shorter than its `Content-Length`, and its checksum holds.
    WrongLength,
}

impl Gap {
    /// Returns what a user should know, for the limit of a page in bytes.
    fn warning(self, limit: u64) -> String {
        const MIB: u64 = 1024 * 1024;
        match self {
            Self::Limit if limit.is_multiple_of(MIB) => {
                format!("only the first {} MB were read", limit / MIB)
            }
            Self::Limit => format!("only the first {limit} bytes were read"),
            Self::UnannouncedEnd => "its end may be missing: the server closed the connection \
                                     without saying that this is the end (TLS close_notify)"
                .into(),
            Self::WrongLength => {
                "its end may be missing: it is shorter than its Content-Length".into()
            }
        }
    }
}

/// The reader of a body whose bytes are needed. Other bodies are only counted,
/// not decoded.
#[derive(Debug)]
struct Body {
    decoder: BodyDecoder,
    /// The number of bytes received, before they are decoded.
    received: u64,
    /// The reader of the page, with the URL of the page; `None` for a file.
    page: Option<(Url, PageReader)>,
}

impl Body {
    /// Returns true if the body is worth reading only as far as it can be understood: it
    /// is not a page, no sitemap and no file that was asked for, and has no limit on its size.
    fn is_optional(&self) -> bool {
        self.page.as_ref().is_some_and(|(_, page)| !page.is_html() && !page.is_sitemap())
    }
}

/// The kind of response that a visit expects.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// A page of the site, which is searched for these things.
    Page(ExtractOptions),
    /// A page of the site or one of its sitemaps.
    PageOrSitemap(ExtractOptions),
    /// A sitemap that an index names, whatever the server calls it; or a page, if it is
    /// called one and names nothing as a sitemap.
    Sitemap(ExtractOptions),
    /// A file, of which the decoded body is kept.
    SiteFile,
    /// Any response: only its existence is checked, and its body is counted.
    Existence,
}

/// The sink of the response parser: writes head and body into a
/// [`ResponseBody`].
pub(crate) struct ResponseSink<'a> {
    pub(crate) response: &'a mut ResponseBody,
    /// The URL of the request.
    pub(crate) url: Address<'a>,
    pub(crate) urls: &'a UrlCache,
    pub(crate) expected: Expected,
    pub(crate) cookie_jar: Option<&'a CookieJar>,
    /// The instant at which the visit began.
    pub(crate) begun: Instant,
    /// The maximum size of a decoded body, in bytes.
    pub(crate) limit: u64,
    /// The memory of all responses in flight.
    pub(crate) budget: &'a Arc<MemoryBudget>,
    /// True if the text of a page is kept for [`select`](web::select::select).
    pub(crate) keeps_text: bool,
    /// True if the visible text of a page is hashed.
    pub(crate) hashes_content: bool,
}

impl ResponseBody {
    /// Returns true if the head has arrived, and the body behind it is not read to
    /// be understood, only counted.
    pub(crate) fn is_discarded(&self) -> bool {
        self.status.is_some() && self.body.is_none()
    }

    /// Returns true for a redirect without `Location` that has a page instead, which browsers
    /// show: the head says so. It is one only if the page is not empty.
    pub(crate) fn is_page_without_location(&self) -> bool {
        self.status.is_some_and(is_redirect)
            && self.location.is_none()
            && self.content_type.as_ref().is_some_and(ContentType::is_html)
    }

    /// Returns what a user should know of a response with this outcome, although it is fine.
    /// At most `limit` bytes of a page are read.
    pub(crate) fn warning(&self, outcome: Outcome, limit: u64) -> Option<String> {
        const PASSWORD: &str = "it redirects to a URL with a password in it, which everybody can \
                                read; it was not sent";
        match (outcome, self.gap, self.status?) {
            (Outcome::Redirect, ..) => self.leads_to_password().then(|| PASSWORD.into()),
            (Outcome::Page | Outcome::Other, Some(gap), _) => Some(gap.warning(limit)),
            (Outcome::Page | Outcome::Other, None, status) if is_redirect(status) => Some(format!(
                "the server answers {status} without saying where to (Location): its page was \
                 taken instead"
            )),
            _ => None,
        }
    }

    /// Returns true if `Location` has a password in it.
    fn leads_to_password(&self) -> bool {
        self.location.as_ref().is_some_and(|location| {
            let location = http::text_of_header(location);
            mask_passwords(&location) != location
        })
    }

    /// Returns true if the body has ended with a checksum, and that holds.
    pub(crate) fn has_checksum(&self) -> bool {
        self.body.as_ref().is_some_and(|body| body.decoder.has_checksum())
    }

    /// Checks that a complete response is complete in its content coding as well, unless its
    /// end is known to be missing.
    ///
    /// # Errors
    /// [`Decode`](crate::ErrorClass::Decode) when the encoded body ends too early.
    pub(crate) fn check_end(&self) -> FetchResult {
        match &self.body {
            Some(body) if self.gap.is_none() => body.decoder.finish(),
            _ => Ok(()),
        }
    }

    /// Finishes the response of the file at `url`, and returns the page, if it is one, or what
    /// else names other files. If it is not whole, that is what has arrived of it.
    pub(crate) fn finish(&mut self, url: &str, is_whole: bool) -> Option<Page> {
        let mut page = match self.body.take() {
            Some(body) => {
                let (url, mut page) = body.page?;
                if !is_whole {
                    page.cut();
                }
                page.finish(&url)
            }
            None if self.header_links.is_empty() => return None,
            None => Page::of_links(PageLinks::default(), &Url::parse(url).ok()?),
        };
        if !self.header_links.is_empty() {
            self.add_header_links(url, &mut page.found);
        }
        Some(page)
    }

    /// Resolves the links in the head, and adds them to those of the page. Two bytes there
    /// may be a link that is as long as the URL of the page.
    fn add_header_links(&self, url: &str, found: &mut PageLinks) {
        let url = Url::parse(url).ok();
        let mut room = MAX_HEADER_LINKS_LEN;
        for (n, (element, target)) in self.header_links.iter().enumerate() {
            let resolved = url.as_ref().and_then(|url| BaseUrl::resolve(url, target).ok());
            let resolved = resolved.map_or_else(|| target.clone(), String::from);
            match room.checked_sub(resolved.len()).filter(|_| n < MAX_HEADER_LINKS) {
                Some(left) => {
                    room = left;
                    found.push(*element, &resolved, None);
                }
                None => found.leave_out(),
            }
        }
    }
}

/// Returns true if the body of a response with this status is what its URL stands
/// for. (300 without a `Location` is a page of choices.)
pub(crate) fn has_content(status: u16) -> bool {
    matches!(known_status(status), 200..=300)
}

/// Returns the status, or the status that an unknown one is treated as (RFC 9110
/// section 15): the first of its class, or 500 if it belongs to no class.
pub(crate) fn known_status(status: u16) -> u16 {
    match status {
        306 | 309..=399 => 300,
        0..=99 | 600.. => 500,
        known => known,
    }
}

/// Returns true for the status of a redirect, which leads to another URL.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(known_status(status), 301..=303 | 307 | 308)
}

impl http::Sink for ResponseSink<'_> {
    fn head(&mut self, head: &Head<'_>) -> FetchResult {
        let response = &mut *self.response;
        response.status = Some(head.status);
        response.location = head.get("location").map(<[u8]>::to_vec);
        response.content_type = head.get("content-type").map(ContentType::parse);
        let date = head.get("date");
        response.retry_after =
            head.get("retry-after").and_then(|value| http::retry_after(value, date));
        response.robots_tags = head.get_all("x-robots-tag").map(<[u8]>::to_vec).collect();
        self.keep_cookies(head)?;
        let is_file = matches!(self.expected, Expected::SiteFile);
        let has_page = !is_file && self.response.is_page_without_location();
        if !has_content(head.status) && !has_page {
            return Ok(());
        }
        let (options, may_be_sitemap) = match self.expected {
            Expected::Page(options) => (options, false),
            Expected::PageOrSitemap(options) | Expected::Sitemap(options) => (options, true),
            Expected::Existence => return Ok(()),
            Expected::SiteFile => return self.begin_body(head, None),
        };
        let content_type = self.response.content_type.as_ref();
        let kind = content_type
            .and_then(|it| FileKind::of(it, self.url.as_str(), options, may_be_sitemap));
        let is_named_sitemap = matches!(self.expected, Expected::Sitemap(_));
        let is_page = matches!(kind, Some(FileKind::Html | FileKind::Xhtml));
        let kind = if is_named_sitemap && !is_page { Some(FileKind::Sitemap) } else { kind };
        // Most files name no others, so that their URL need not be parsed.
        let names_links = |name: &str| head.get(name).is_some();
        if kind.is_none() && !LINKING_HEADERS.into_iter().any(names_links) {
            return Ok(());
        }
        self.response.header_links = links_of_head(head, options);
        let Some(kind) = kind else { return Ok(()) };
        let url = self.urls.parse(self.url).map_err(invalid_url)?;
        let charset = content_type.and_then(|content_type| content_type.charset.as_deref());
        let mut page = PageReader::of_kind(kind, &url, charset, options);
        if is_named_sitemap && is_page {
            page.allow_sitemap(options);
        }
        if self.hashes_content {
            page.hash_content();
        }
        if self.keeps_text && page.is_html() {
            page.keep_text();
        }
        self.begin_body(head, Some((url, page)))
    }

    fn has_body_limit(&self) -> bool {
        // Of what is too long, the beginning counts.
        false
    }

    fn body(&mut self, bytes: &[u8]) -> FetchResult {
        if self.response.gap.is_some() {
            return Ok(());
        }
        let received = self.response.body.as_ref().map_or(0, |body| body.received);
        let read = self.read(bytes);
        // What was refused because of others is read in another attempt.
        let is_refused = self.response.memory.is_refused();
        match (read, &self.response.body) {
            (Err(error), Some(body)) if error.class == ErrorClass::TooLarge && !is_refused => {
                if body.is_optional() {
                    // It is a file like others, which counts as it was sent.
                    self.response.body = None;
                    self.response.memory = MemoryShare::default();
                    self.response.size = received + bytes.len() as u64;
                } else if body.page.is_some() {
                    self.response.gap = Some(Gap::Limit);
                } else {
                    return Err(error);
                }
                Ok(())
            }
            (read, _) => read,
        }
    }
}

impl ResponseSink<'_> {
    fn keep_cookies(&mut self, head: &Head<'_>) -> FetchResult {
        let Some(cookie_jar) = self.cookie_jar else { return Ok(()) };
        for cookie in head.get_all("set-cookie") {
            let url = self.urls.parse(self.url).map_err(invalid_url)?;
            let is_set = cookie_jar.add(&url, cookie, head.get("date"), self.begun);
            self.response.sets_cookie |= is_set;
        }
        Ok(())
    }

    fn begin_body(&mut self, head: &Head<'_>, page: Option<(Url, PageReader)>) -> FetchResult {
        let codings = Codings::parse(head.get_all("content-encoding"))?;
        let decoder = BodyDecoder::new(&codings, self.limit);
        self.response.body = Some(Box::new(Body { decoder, received: 0, page }));
        Ok(())
    }

    fn read(&mut self, bytes: &[u8]) -> FetchResult {
        let ResponseBody { size, file, body, memory, .. } = &mut *self.response;
        let Some(body) = body else {
            *size += bytes.len() as u64;
            return Ok(());
        };
        let Body { decoder, received, page } = &mut **body;
        let room = usize::try_from(self.limit - *received).unwrap_or(usize::MAX);
        let (bytes, excess) = bytes.split_at(bytes.len().min(room));
        *received += bytes.len() as u64;
        for piece in bytes.chunks(decoder.max_piece()) {
            decoder.feed(piece, &mut |decoded| {
                *size += decoded.len() as u64;
                match page {
                    Some((_, page)) => {
                        page.feed(decoded);
                        // A few bytes may be decoded to many megabytes.
                        memory.set(page.memory(), self.budget)
                    }
                    None => append(decoded, file, self.limit),
                }
            })?;
            let of_decoder = decoder.memory();
            // That of a page alone is set already. A file that is not a page has its own limit.
            if let (Some((_, page)), true) = (&page, of_decoder > 0) {
                memory.set(of_decoder + page.memory(), self.budget)?;
            }
        }
        if excess.is_empty() { Ok(()) } else { Err(too_long(self.limit)) }
    }
}

/// The headers that hold links.
const LINKING_HEADERS: [&str; 3] = ["link", "refresh", "speculation-rules"];

/// The maximum number of links in a head.
const MAX_HEADER_LINKS: usize = 1000;

/// The maximum length of the links in a head when they are resolved: 1 MiB.
const MAX_HEADER_LINKS_LEN: usize = 1024 * 1024;

/// Returns the links in a head, and at most one more than their maximum. (`Content-Location`
/// names the body itself.)
fn links_of_head(head: &Head<'_>, options: ExtractOptions) -> Vec<(Element, String)> {
    let links = head.get_all("link").flat_map(|value| of_link(value, options));
    let rules = head.get_all("speculation-rules");
    let rules = rules.flat_map(|value| of_speculation_rules(value, options));
    let refresh = head.get("refresh").and_then(|value| of_refresh(value, options));
    links.chain(refresh).chain(rules).take(MAX_HEADER_LINKS + 1).collect()
}

/// Makes the error for a URL that does not parse. An admitted URL always parses,
/// so this does not happen; without a URL no link of the page could be resolved.
fn invalid_url(error: url::ParseError) -> FetchError {
    FetchError::new(ErrorClass::Protocol, error.to_string())
}

/// Appends bytes to a file, up to its limit.
fn append(bytes: &[u8], file: &mut Vec<u8>, limit: u64) -> FetchResult {
    let room = usize::try_from(limit).map_or(bytes.len(), |limit| limit - file.len());
    file.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    if bytes.len() > room { Err(too_long(limit)) } else { Ok(()) }
}

fn too_long(limit: u64) -> FetchError {
    FetchError::new(ErrorClass::TooLarge, format!("the file has more than {limit} bytes"))
}
