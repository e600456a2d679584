//! Base URL of a page, which resolves its links to addresses.

use std::borrow::Cow;

use memchr::memchr;
use url::Url;

use super::fast_join::FastJoin;
use super::{Address, LinkError};
use crate::encoding::{Encoding, UTF_8, encode_query};

/// The base URL of a page. It resolves the links of the page as browsers do, with
/// the query in the encoding of the page (WHATWG URL Standard, section 4.4).
///
/// The result is always that of the `url` crate. But nearly all links are so
/// simple that it is enough to append them to the right part of the base. This
/// fast path writes to a buffer that is reused for each link.
#[derive(Debug)]
pub struct BaseUrl<'a> {
    base: &'a Url,
    fast_join: Option<FastJoin<'a>>,
    encoding: &'static Encoding,
    buffer: String,
}

impl<'a> BaseUrl<'a> {
    /// The largest sum of the lengths of a base and a link, in bytes. No server
    /// accepts a longer URL, and a page with many links must not multiply a long
    /// base.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Creates the base URL for the links of a page in this encoding. (The queries
    /// of a page in UTF-16 are in UTF-8.)
    pub fn new(base: &'a Url, encoding: &'static Encoding) -> Self {
        let buffer = String::with_capacity(base.as_str().len() + 64);
        Self { base, fast_join: FastJoin::new(base), encoding, buffer }
    }

    /// Resolves a link as it is written in the page.
    ///
    /// # Errors
    /// When the link cannot be fetched.
    pub fn join(&mut self, reference: &str) -> Result<Address<'_>, LinkError> {
        if self.base.as_str().len() + reference.len() > Self::MAX_BYTES {
            return Err(LinkError::TooLong);
        }
        self.buffer.clear();
        let joined = self
            .fast_join
            .as_ref()
            .and_then(|fast_join| fast_join.join(reference, &mut self.buffer));
        let origin_end = match joined {
            Some(origin_end) => origin_end,
            None => self.parse(reference)?,
        };
        let (text, fragment) = match memchr(b'#', self.buffer.as_bytes()) {
            Some(mark) => (&self.buffer[..mark], Some(&self.buffer[mark + 1..])),
            None => (self.buffer.as_str(), None),
        };
        Ok(Address { text, origin_end, fragment })
    }

    /// Resolves any link with the `url` crate. Writes it to the buffer, and returns
    /// the end of its origin.
    fn parse(&mut self, reference: &str) -> Result<usize, LinkError> {
        let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encode_query(query, self.encoding);
        let parser = Url::options().base_url(Some(self.base));
        let parser = parser.encoding_override((self.encoding != UTF_8).then_some(encode));
        let url = parser.parse(reference).map_err(|_| LinkError::Malformed)?;
        let origin_end = Address::of(&url)?.origin_end;
        self.buffer.clear();
        self.buffer.push_str(url.as_str());
        Ok(origin_end)
    }
}
