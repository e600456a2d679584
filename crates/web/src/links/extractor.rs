//! Link extractor: a tokenizer and the collector behind it.

use super::ExtractOptions;
use super::collector::{Collector, CollectorSink};
use super::content_hash::ContentHash;
use super::page_links::PageLinks;
use crate::html::Tokenizer;

/// A streaming extractor of the links of a page: `a` and `area` elements with an
/// `href`, and what the [`ExtractOptions`] select. No script is run, so the
/// content of `noscript` is part of the page.
#[derive(Debug)]
pub struct LinkExtractor {
    tokenizer: Tokenizer,
    collector: Collector,
}

impl LinkExtractor {
    /// Creates an extractor for one page.
    pub fn new(options: ExtractOptions) -> Self {
        Self { tokenizer: Tokenizer::new(), collector: Collector::new(options) }
    }

    /// Makes the extractor read XML, see [`Tokenizer::for_xml`].
    #[must_use]
    pub fn for_xml(self) -> Self {
        Self { tokenizer: Tokenizer::for_xml(), ..self }
    }

    /// Takes the next slice of the page's text, in UTF-8 and cut anywhere.
    /// Malformed UTF-8 counts as U+FFFD.
    pub fn feed(&mut self, text: &[u8]) {
        let Self { tokenizer, collector } = self;
        let slice_at = tokenizer.consumed();
        tokenizer.feed(text, &mut CollectorSink { collector, slice: text, slice_at });
        collector.count_lines(tokenizer.open_tag(), text, slice_at);
    }

    /// Returns the approximate memory of what was found, in bytes.
    pub fn memory(&self) -> usize {
        self.collector.memory()
    }

    /// Makes the extractor hash the text that a reader of the page sees.
    pub fn hash_content(&mut self) {
        self.collector.content = Some(ContentHash::default());
    }

    /// Returns the hash of that text so far, if it is wanted. Pages that differ in
    /// markup and addresses only have the same one.
    pub fn content_hash(&self) -> Option<u64> {
        self.collector.content.as_ref().map(ContentHash::finish)
    }

    /// Drops the style sheet or the JSON in which the page ends, since its end did not arrive.
    pub fn cut(&mut self) {
        self.collector.embedded = None;
    }

    /// Ends the page and returns its links.
    pub fn finish(self) -> PageLinks {
        let Self { tokenizer, mut collector } = self;
        let slice_at = tokenizer.consumed();
        let mut sink = CollectorSink { collector: &mut collector, slice: b"", slice_at };
        tokenizer.finish(&mut sink);
        sink.end_link_text();
        sink.end_embedded();
        collector.page_links
    }
}
