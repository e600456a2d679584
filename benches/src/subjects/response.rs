//! As much of HTTP/1.1 as a good server needs, for those who are compared with
//! us: responses with a length, kept in memory nowhere.

use std::io;

use crawl_core::links::Wanted;
use crawl_core::page::{Page, PageReader};
use url::Url;

/// The limits that our crawlers have.
const MOST_HEAD: usize = 64 * 1024;
const MOST_BODY: u64 = 10 * 1024 * 1024;
const MOST_HEADERS: usize = 64;

/// The request for the page at `url`.
pub(super) fn request(url: &Url, user_agent: &str) -> String {
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
    format!(
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {user_agent}\r\n\
         Accept: text/html\r\n\r\n"
    )
}

/// Reads one response.
#[derive(Debug, Default)]
pub(super) struct Response {
    /// The beginning of a head, if it comes in pieces.
    partial: Vec<u8>,
    /// How much of the body has not come yet, once the head has.
    missing: Option<u64>,
    keep_alive: bool,
    reader: Option<Box<PageReader>>,
}

impl Response {
    /// Takes bytes as they came. If there is a `url` and it is HTML, what is
    /// there is read as a page. Returns whether the response is complete.
    pub(super) fn feed(&mut self, bytes: &[u8], url: Option<&Url>) -> io::Result<bool> {
        let Some(missing) = &mut self.missing else {
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
        *missing = missing.checked_sub(length).ok_or_else(|| invalid("more than was promised"))?;
        let is_complete = *missing == 0;
        if let Some(reader) = &mut self.reader {
            reader.feed(bytes);
        }
        Ok(is_complete)
    }

    /// Whether the server keeps the connection.
    pub(super) fn keep_alive(&self) -> bool {
        self.keep_alive
    }

    /// What has been read.
    pub(super) fn page(self, url: &Url) -> Option<Page> {
        self.reader.map(|reader| reader.finish(url))
    }

    /// Where the head ends, if it does.
    fn head(&mut self, bytes: &[u8], url: Option<&Url>) -> io::Result<Option<usize>> {
        let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let end = match head.parse(bytes).map_err(io::Error::other)? {
            httparse::Status::Complete(end) => end,
            httparse::Status::Partial if bytes.len() < MOST_HEAD => return Ok(None),
            httparse::Status::Partial => return Err(invalid("a head that is too long")),
        };
        if head.code != Some(200) {
            return Err(invalid("no page"));
        }
        self.keep_alive = head.version == Some(1);
        for header in head.headers {
            let value = str::from_utf8(header.value).map_err(io::Error::other)?;
            if header.name.eq_ignore_ascii_case("content-length") {
                self.missing = value.parse().ok().filter(|&length| length <= MOST_BODY);
            } else if header.name.eq_ignore_ascii_case("connection") {
                self.keep_alive &= !value.eq_ignore_ascii_case("close");
            } else if let Some(url) = url
                && header.name.eq_ignore_ascii_case("content-type")
            {
                self.reader = reader(url, value).map(Box::new);
            }
        }
        self.missing.ok_or_else(|| invalid("no length, or too great a one"))?;
        Ok(Some(end))
    }
}

/// A reader for what is HTML, which looks for what ours look for.
pub(super) fn reader(url: &Url, content_type: &str) -> Option<PageReader> {
    let parameters = content_type.strip_prefix("text/html")?;
    let charset = parameters.split_once("charset=").map(|(_, charset)| charset.trim());
    let wanted = Wanted { details: true, ..Wanted::default() };
    Some(PageReader::new(url, charset, wanted))
}

pub(super) fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
