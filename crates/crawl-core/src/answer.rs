//! What one try at a URL has brought.

use url::Url;

use crate::FetchError;
use crate::content::{BodyDecoder, Codings, ContentType};
use crate::http::{self, Head};
use crate::links::Wanted;
use crate::page::{Page, PageReader};

/// The answer of a server, as far as it has come.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<ContentType>,
    pub(crate) location: Option<Vec<u8>>,
    /// Bytes of the body, see [`Row::size`](crate::Row::size).
    pub(crate) size: u64,
    /// There from the head of the response on: until then, an answer is small.
    body: Option<Box<Body>>,
}

/// The body of a page. Nobody looks into any other, so that need not even be
/// understood.
#[derive(Debug)]
struct Body {
    decoder: BodyDecoder,
    page: PageReader,
}

/// An answer, and what is needed to understand it.
pub(crate) struct Receiving<'a> {
    pub(crate) answer: &'a mut Answer,
    /// What was asked for.
    pub(crate) url: &'a Url,
    /// What to look for in a page; nothing, if it is not to be searched.
    pub(crate) wanted: Option<Wanted>,
    /// How many bytes the body of a page may have, decoded.
    pub(crate) limit: u64,
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
    pub(crate) fn finish(&mut self, url: &Url) -> Result<Option<Page>, FetchError> {
        let Some(body) = self.body.take() else {
            return Ok(None);
        };
        body.decoder.finish()?;
        Ok(Some(body.page.finish(url)))
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
        let (Some(content_type), Some(wanted)) = (&answer.content_type, self.wanted) else {
            return Ok(());
        };
        if !content_type.is_html() || !matches!(known_status(head.status), 200..=300) {
            return Ok(());
        }
        let codings = Codings::parse(head.get_all("content-encoding"))?;
        let charset = content_type.charset.as_deref();
        answer.body = Some(Box::new(Body {
            decoder: BodyDecoder::new(&codings, self.limit),
            page: PageReader::new(self.url, charset, wanted),
        }));
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        let Answer { size, body, .. } = &mut *self.answer;
        let Some(body) = body else {
            *size += bytes.len() as u64;
            return Ok(());
        };
        let Body { decoder, page } = &mut **body;
        decoder.feed(bytes, &mut |decoded| {
            *size += decoded.len() as u64;
            page.feed(decoded);
            Ok(())
        })
    }
}
