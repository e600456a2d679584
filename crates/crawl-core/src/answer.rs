//! What one try at a URL has brought.

use url::Url;

use crate::address::Urls;
use crate::content::{BodyDecoder, Codings, ContentType};
use crate::http::{self, Head};
use crate::links::Wanted;
use crate::page::{Page, PageReader};
use crate::{Address, ErrorClass, FetchError};

/// The answer of a server, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<ContentType>,
    pub(crate) location: Option<Vec<u8>>,
    /// When to come back, of a server that has no time.
    pub(crate) retry_after: Option<Vec<u8>>,
    /// The values of all `X-Robots-Tag` headers.
    pub(crate) robots_tags: Vec<Vec<u8>>,
    /// Bytes of the body, see [`Row::size`](crate::Row::size).
    pub(crate) size: u64,
    /// The body, decoded, of what is no page but a [`File`](crate::File).
    pub(crate) file: Vec<u8>,
    /// There from the head of the response on: until then, an answer is small.
    body: Option<Box<Body>>,
}

/// The body of what somebody looks into. Any other need not even be
/// understood.
#[derive(Debug)]
struct Body {
    decoder: BodyDecoder,
    /// The page, and where it was found; `None` for a file.
    page: Option<(Url, PageReader)>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Asked {
    /// A page of the site, in which this is looked for.
    Page(Wanted),
    /// A file, to be kept as it is.
    File,
    /// Whether there is an answer, whatever it is.
    Whether,
}

/// An answer, and what is needed to understand it.
pub(crate) struct Receiving<'a> {
    pub(crate) answer: &'a mut Answer,
    /// What was asked for.
    pub(crate) url: Address<'a>,
    pub(crate) urls: &'a Urls,
    pub(crate) asked: Asked,
    /// How many bytes the body of a page may have, decoded.
    pub(crate) limit: u64,
    /// Whether more is wanted of a page than its links.
    pub(crate) keeps_text: bool,
}

impl Answer {
    /// Whether it is being searched for links.
    pub(crate) fn is_page(&self) -> bool {
        self.body.is_some()
    }

    /// The response is complete: the page, if it is one.
    ///
    /// # Errors
    /// [`Decode`](crate::ErrorClass::Decode) when the body, complete or not, is
    /// not what it was encoded from.
    pub(crate) fn finish(&mut self) -> Result<Option<Page>, FetchError> {
        let Some(body) = self.body.take() else {
            return Ok(None);
        };
        body.decoder.finish()?;
        Ok(body.page.map(|(url, page)| page.finish(&url)))
    }
}

/// The status, or the one that an unknown one is to be read as (RFC 9110
/// section 15): the first of its class, and what is of no class, as a 5xx.
pub(crate) fn known_status(status: u16) -> u16 {
    match status {
        306 | 309..=399 => 300,
        0..=99 | 600.. => 500,
        known => known,
    }
}

impl http::Sink for Receiving<'_> {
    fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError> {
        let answer = &mut *self.answer;
        answer.status = Some(head.status);
        answer.location = head.get("location").map(<[u8]>::to_vec);
        answer.content_type = head.get("content-type").map(ContentType::parse);
        answer.retry_after = head.get("retry-after").map(<[u8]>::to_vec);
        answer.robots_tags = head.get_all("x-robots-tag").map(<[u8]>::to_vec).collect();
        if !matches!(known_status(head.status), 200..=300) {
            return Ok(());
        }
        let page = match (self.asked, &answer.content_type) {
            (Asked::Page(wanted), Some(content_type)) if content_type.is_html() => {
                let charset = content_type.charset.as_deref();
                let url = self.urls.parse(self.url).map_err(no_url)?;
                let page = PageReader::new(&url, charset, wanted);
                Some((url, if self.keeps_text { page.keeping_text() } else { page }))
            }
            (Asked::Page(_) | Asked::Whether, _) => return Ok(()),
            (Asked::File, _) => None,
        };
        let codings = Codings::parse(head.get_all("content-encoding"))?;
        let decoder = BodyDecoder::new(&codings, self.limit);
        answer.body = Some(Box::new(Body { decoder, page }));
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        let Answer { size, file, body, .. } = &mut *self.answer;
        let Some(body) = body else {
            *size += bytes.len() as u64;
            return Ok(());
        };
        let Body { decoder, page } = &mut **body;
        decoder.feed(bytes, &mut |decoded| {
            *size += decoded.len() as u64;
            match page {
                Some((_, page)) => page.feed(decoded),
                None => keep(decoded, file, self.limit)?,
            }
            Ok(())
        })
    }
}

/// What was let in was a URL, and its text is one still. If it were not, there
/// would be nothing to see links from.
fn no_url(error: url::ParseError) -> FetchError {
    FetchError::new(ErrorClass::Protocol, error.to_string())
}

/// Adds to a file, up to its limit.
fn keep(bytes: &[u8], file: &mut Vec<u8>, limit: u64) -> Result<(), FetchError> {
    let room = usize::try_from(limit).map_or(bytes.len(), |limit| limit - file.len());
    file.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    if bytes.len() > room {
        let message = format!("the file has more than {limit} bytes");
        return Err(FetchError::new(ErrorClass::TooLarge, message));
    }
    Ok(())
}
