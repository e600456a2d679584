//! A minimal HTTP/1.1 client for the peers of our crawlers: it reads responses
//! with a `Content-Length`, and stores no body.

use std::io;

use url::Url;
use web::links::ExtractOptions;
use web::page::{Page, PageReader};

/// The limits, the same as those of our crawlers.
const MAX_HEAD: usize = 64 * 1024;
const MAX_BODY: u64 = 10 * 1024 * 1024;
const MAX_HEADERS: usize = 128;

/// Returns the request for the page at `url`.
pub fn request(url: &Url, user_agent: &str) -> String {
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
    format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {user_agent}\r\n\
         Accept: text/html\r\n\r\n"
    )
}

/// A response that is being read.
#[derive(Debug, Default)]
pub struct Response {
    /// The beginning of a head that arrives in pieces.
    partial: Vec<u8>,
    /// The number of bytes of the body still to come, once the head is complete.
    remaining: Option<u64>,
    keep_alive: bool,
    reader: Option<Box<PageReader>>,
}

impl Response {
    /// Feeds received bytes. With a `url`, an HTML body is parsed as a page.
    /// Returns true if the response is complete.
    ///
    /// # Errors
    /// When the response is not one with status 200 and a length within the limits.
    pub fn feed(&mut self, bytes: &[u8], url: Option<&Url>) -> io::Result<bool> {
        let Some(remaining) = &mut self.remaining else {
            if self.partial.is_empty() {
                return match self.head(bytes, url)? {
                    Some(end) => self.feed(&bytes[end..], url),
                    None => {
                        self.partial.extend_from_slice(bytes);
                        Ok(false)
                    }
                };
            }
            let mut partial = std::mem::take(&mut self.partial);
            partial.extend_from_slice(bytes);
            return self.feed(&partial, url);
        };
        let length = bytes.len() as u64;
        *remaining =
            remaining.checked_sub(length).ok_or_else(|| invalid("more than was promised"))?;
        let is_complete = *remaining == 0;
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes);
        }
        Ok(is_complete)
    }

    /// Returns true if the server keeps the connection alive.
    pub fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// Returns the page, if the body was HTML.
    pub fn page(self, url: &Url) -> Option<Page> {
        self.reader.map(|reader| reader.finish(url))
    }

    /// Parses the head; returns its length if it is complete.
    fn head(&mut self, bytes: &[u8], url: Option<&Url>) -> io::Result<Option<usize>> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let end = match head.parse(bytes).map_err(io::Error::other)? {
            httparse::Status::Complete(end) => end,
            httparse::Status::Partial if bytes.len() < MAX_HEAD => return Ok(None),
            httparse::Status::Partial => return Err(invalid("a head that is too long")),
        };
        if head.code != Some(200) {
            return Err(invalid("no page"));
        }
        self.keep_alive = head.version == Some(1);
        for header in head.headers {
            let value = str::from_utf8(header.value).map_err(io::Error::other)?;
            if header.name.eq_ignore_ascii_case("content-length") {
                self.remaining = value.parse().ok().filter(|&length| length <= MAX_BODY);
            } else if header.name.eq_ignore_ascii_case("connection") {
                self.keep_alive &= !value.eq_ignore_ascii_case("close");
            } else if let Some(url) = url
                && header.name.eq_ignore_ascii_case("content-type")
            {
                self.reader = reader(url, value).map(Box::new);
            }
        }
        self.remaining.ok_or_else(|| invalid("no length, or too great a one"))?;
        Ok(Some(end))
    }
}

/// Returns a page reader for HTML, which extracts the same links as in our
/// crawlers.
pub fn reader(url: &Url, content_type: &str) -> Option<PageReader> {
    let parameters = content_type.strip_prefix("text/html")?;
    let charset = parameters.split_once("charset=").map(|(_, charset)| charset.trim());
    let options = ExtractOptions { details: true, ..ExtractOptions::default() };
    Some(PageReader::new(url, charset, options))
}

/// Returns the error of a response that no subject can use.
pub fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
