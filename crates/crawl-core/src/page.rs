//! A page, from its bytes to what it contains.

use encoding_rs::Encoding;
use url::{Host, Url};

use crate::content::TextDecoder;
use crate::links::{Found, LinkExtractor, Wanted};

/// Reads a page as it arrives, and keeps only what it looks for.
#[derive(Debug)]
pub struct PageReader {
    text: TextDecoder,
    links: LinkExtractor,
}

/// What there is to know about a page.
#[derive(Debug)]
pub struct Page {
    /// Its links, and what else was wanted.
    pub found: Found,
    /// What the links are seen from.
    pub base: Url,
    /// How its text is encoded.
    pub encoding: &'static Encoding,
}

impl PageReader {
    /// A reader that has seen nothing of the page at `url`. `charset` is what
    /// its header says about its encoding.
    pub fn new(url: &Url, charset: Option<&str>, wanted: Wanted) -> Self {
        let tld = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').rsplit('.').next(),
            _ => None,
        };
        Self { text: TextDecoder::new(charset, tld), links: LinkExtractor::new(wanted) }
    }

    /// Takes the next bytes of the page, without content coding and cut
    /// anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { text, links } = self;
        text.feed(bytes, &mut |text| links.feed(text));
    }

    /// The page, found at `url`, is complete.
    pub fn finish(self, url: &Url) -> Page {
        let Self { text, mut links } = self;
        let encoding = text.finish(&mut |text| links.feed(text));
        let found = links.finish();
        let base = found.base(url);
        Page { found, base, encoding }
    }
}
