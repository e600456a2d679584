//! From the text of a page to its links.

use super::Wanted;
use super::collector::{Collecting, Collector};
use super::found::Found;
use crate::html::Tokenizer;

/// Finds the links of a page while it goes by: `a` and `area` elements with an
/// `href`, and what else is [`Wanted`]. No script is run, so what the page
/// holds for browsers without scripts (`noscript`) is part of it.
#[derive(Debug)]
pub struct LinkExtractor {
    tokenizer: Tokenizer,
    collector: Collector,
}

impl LinkExtractor {
    /// An extractor that has seen nothing of its page.
    pub fn new(wanted: Wanted) -> Self {
        Self { tokenizer: Tokenizer::new(), collector: Collector::new(wanted) }
    }

    /// Takes the next of the page's text, in UTF-8 and cut anywhere. What is
    /// malformed counts as U+FFFD.
    pub fn feed(&mut self, text: &[u8]) {
        let Self { tokenizer, collector } = self;
        let slice_at = tokenizer.taken();
        tokenizer.feed(text, &mut Collecting { collector, slice: text, slice_at });
        collector.count_lines(tokenizer.open_tag(), text, slice_at);
    }

    /// The page is complete.
    pub fn finish(self) -> Found {
        let Self { tokenizer, mut collector } = self;
        let slice_at = tokenizer.taken();
        let mut collecting = Collecting { collector: &mut collector, slice: b"", slice_at };
        tokenizer.finish(&mut collecting);
        collecting.end_of_link_text();
        collecting.end_of_style_sheet();
        collector.found
    }
}
