//! A page, from its bytes to what it contains.

use encoding_rs::Encoding;
use url::{Host, Url};

use crate::content::TextDecoder;
use crate::links::{Found, LARGEST_TREE, LinkExtractor, Wanted};

/// Reads a page as it arrives, and keeps only what it looks for.
#[derive(Debug)]
pub struct PageReader {
    text: TextDecoder,
    links: LinkExtractor,
    kept: Option<Vec<u8>>,
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
    /// Its text in UTF-8, if that was to be kept, as far as a [`Tree`](crate::links::Tree)
    /// takes it, and a little more if it is longer.
    pub text: Option<Vec<u8>>,
}

impl PageReader {
    /// A reader that has seen nothing of the page at `url`. `charset` is what
    /// its header says about its encoding.
    pub fn new(url: &Url, charset: Option<&str>, wanted: Wanted) -> Self {
        let tld = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').rsplit('.').next(),
            _ => None,
        };
        Self { text: TextDecoder::new(charset, tld), links: LinkExtractor::new(wanted), kept: None }
    }

    /// The same reader, which keeps the text of the page.
    pub fn keeping_text(self) -> Self {
        Self { kept: Some(Vec::new()), ..self }
    }

    /// Takes the next bytes of the page, without content coding and cut
    /// anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { text, links, kept } = self;
        text.feed(bytes, &mut |text| read(text, links, kept));
    }

    /// The page, found at `url`, is complete.
    pub fn finish(self, url: &Url) -> Page {
        let Self { text, mut links, mut kept } = self;
        let encoding = text.finish(&mut |text| read(text, &mut links, &mut kept));
        let found = links.finish();
        let base = found.base(url);
        Page { found, base, encoding, text: kept }
    }
}

fn read(text: &[u8], links: &mut LinkExtractor, kept: &mut Option<Vec<u8>>) {
    links.feed(text);
    if let Some(kept) = kept
        && kept.len() <= LARGEST_TREE
    {
        kept.extend_from_slice(text);
    }
}
