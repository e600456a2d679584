//! A reader of HTML pages: from bytes to text to links.

use encoding_rs::Encoding;
use url::{Host, Url};

use crate::body::TextDecoder;
use crate::links::{ExtractOptions, LinkExtractor, MAX_TREE_BYTES, PageLinks};

/// A streaming reader of one page, which keeps only the links and, if wanted, the
/// text.
#[derive(Debug)]
pub struct PageReader {
    text: TextDecoder,
    links: LinkExtractor,
    /// The text read so far, if it is to be kept.
    kept: Option<Vec<u8>>,
}

/// The contents of a page that matter to a crawl.
#[derive(Debug)]
pub struct Page {
    /// The links of the page, and what else [`ExtractOptions`] asked for.
    pub found: PageLinks,
    /// A hash of the visible text of the page, if it was wanted. Pages that differ in
    /// markup and addresses only have the same one.
    pub content: Option<u64>,
    /// The base URL of the links.
    pub base: Url,
    /// The character encoding of the page.
    pub encoding: &'static Encoding,
    /// The text of the page in UTF-8, if it was to be kept: as much as a
    /// [`Tree`](crate::links::Tree) accepts, and a little more if the page is longer.
    pub text: Option<Vec<u8>>,
}

impl PageReader {
    /// Creates a reader of the page at `url`. `charset` is the label of the
    /// character encoding in its `Content-Type` header.
    pub fn new(url: &Url, charset: Option<&str>, options: ExtractOptions) -> Self {
        let tld = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').rsplit('.').next(),
            _ => None,
        };
        Self {
            text: TextDecoder::new(charset, tld),
            links: LinkExtractor::new(options),
            kept: None,
        }
    }

    /// Makes the reader keep the text of the page.
    pub fn keeping_text(self) -> Self {
        Self { kept: Some(Vec::new()), ..self }
    }

    /// Makes the reader hash the visible text of the page.
    pub fn hashing_content(mut self) -> Self {
        self.links.hash_content();
        self
    }

    /// Reads the next bytes of the page. Their content coding must be decoded, and
    /// they may be cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        let Self { text, links, kept } = self;
        text.feed(bytes, &mut |text| read(text, links, kept));
    }

    /// Returns the approximate memory of what is kept of the page, in bytes.
    pub fn memory(&self) -> usize {
        self.links.memory() + self.kept.as_ref().map_or(0, Vec::len)
    }

    /// Ends the page and returns its contents. `url` is its address.
    pub fn finish(self, url: &Url) -> Page {
        let Self { text, mut links, mut kept } = self;
        let encoding = text.finish(&mut |text| read(text, &mut links, &mut kept));
        let content = links.content_hash();
        let found = links.finish();
        let base = found.base(url);
        Page { found, content, base, encoding, text: kept }
    }
}

fn read(text: &[u8], links: &mut LinkExtractor, kept: &mut Option<Vec<u8>>) {
    links.feed(text);
    if let Some(kept) = kept
        && kept.len() <= MAX_TREE_BYTES
    {
        kept.extend_from_slice(text);
    }
}
