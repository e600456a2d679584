//! The links of one page become addresses.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};
use memchr::memchr;
use url::Url;

use super::plain::Plain;
use super::{Address, Unfit};

/// Resolves the links of a page as browsers do: against its base, with the
/// query in the encoding of the page (WHATWG URL Standard, section 4.4).
///
/// The result is always that of the `url` crate. Nearly all links, though, are
/// so plain that they need nothing but to be put behind the right part of the
/// base; that is done here, in a buffer that serves one link after the other.
#[derive(Debug)]
pub struct Joiner<'a> {
    base: &'a Url,
    plain: Option<Plain<'a>>,
    encoding: &'static Encoding,
    buffer: String,
}

impl<'a> Joiner<'a> {
    /// How long a base and a link may be together. No server takes a URL of
    /// that length, and a page of many links must not make a long base many
    /// times over.
    pub const MOST_BYTES: usize = 64 * 1024;

    /// For the links of a page with this base and this encoding. (A page in
    /// UTF-16 has its queries in UTF-8.)
    pub fn new(base: &'a Url, encoding: &'static Encoding) -> Self {
        Self { base, plain: Plain::new(base), encoding, buffer: String::new() }
    }

    /// The address that a link means, as it stands in the page.
    ///
    /// # Errors
    /// When it means none that can be fetched.
    pub fn join(&mut self, reference: &str) -> Result<Address<'_>, Unfit> {
        if self.base.as_str().len() + reference.len() > Self::MOST_BYTES {
            return Err(Unfit::TooLong);
        }
        self.buffer.clear();
        let joined = self.plain.as_ref().and_then(|plain| plain.join(reference, &mut self.buffer));
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

    /// Whatever the link may look like.
    fn parse(&mut self, reference: &str) -> Result<usize, Unfit> {
        let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| self.encoding.encode(query).0;
        let parser = Url::options().base_url(Some(self.base));
        let parser = parser.encoding_override((self.encoding != UTF_8).then_some(encode));
        let url = parser.parse(reference).map_err(|_| Unfit::Malformed)?;
        let origin_end = Address::of(&url)?.origin_end;
        self.buffer.clear();
        self.buffer.push_str(url.as_str());
        Ok(origin_end)
    }
}
