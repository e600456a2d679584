//! Tree of a page, and the links in it: the test oracle of the extractor, and the
//! base of CSS selectors.

use std::sync::LazyLock;

use html5ever::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

use super::MAX_TREE_BYTES;
use super::nesting::Nesting;
use crate::html::{Name, StartTag, Text, TokenSink, Tokenizer, Value};
use crate::{ErrorClass, FetchError};

/// The largest nesting depth of a page of which a tree is built. The time to
/// build a tree grows with the square of the depth. Ordinary pages stay far below
/// a hundred; a page beyond this limit is a trap.
pub const MAX_NESTED: usize = 2_000;

/// The largest number of attributes of a tag in a page of which a tree is built.
/// The tree builder compares each attribute with all others.
const MAX_ATTRIBUTES: usize = 256;

// ANCHOR: selector
static LINKS: LazyLock<Selector> = LazyLock::new(|| {
    Selector::parse("a[href], area[href]").expect("a selector of this module is valid")
});
// ANCHOR_END: selector
static BASE: LazyLock<Selector> =
    LazyLock::new(|| Selector::parse("base[href]").expect("a selector of this module is valid"));

/// The tree of a page.
#[derive(Debug)]
pub struct Tree(Html);

impl Tree {
    /// Builds the tree as a browser would.
    ///
    /// # Errors
    /// [`ErrorClass::TooLarge`] when the page is longer than [`MAX_TREE_BYTES`],
    /// [`ErrorClass::Nesting`] when its elements are nested more than
    /// [`MAX_NESTED`] deep, or one has more than 256 attributes.
    // ANCHOR: tree_of
    pub fn of(html: &str) -> Result<Self, FetchError> {
        if html.len() > MAX_TREE_BYTES {
            let message = format!("the page is longer than the {MAX_TREE_BYTES} bytes of a tree");
            return Err(FetchError::new(ErrorClass::TooLarge, message));
        }
        let mut cost = TreeCost::default();
        let mut tokenizer = Tokenizer::new();
        // In pieces, so that a trap is found before all of it is read.
        for piece in html.as_bytes().chunks(64 * 1024) {
            tokenizer.feed(piece, &mut cost);
            cost.check()?;
        }
        // No script will run, so the content of `noscript` is part of the page.
        let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
        let options = ParseOpts { tree_builder, ..Default::default() };
        let sink = HtmlTreeSink::new(Html::new_document());
        Ok(Self(html5ever::parse_document(sink, options).one(html)))
    }
    // ANCHOR_END: tree_of

    /// Returns the elements that match, in the order of the page.
    pub fn select<'a>(&'a self, selector: &'a Selector) -> impl Iterator<Item = ElementRef<'a>> {
        self.0.select(selector)
    }

    // ANCHOR: tree_links
    /// Returns the `href` attributes of all `a` and `area` elements.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        self.0.select(&LINKS).filter_map(|link| link.attr("href"))
    }
    // ANCHOR_END: tree_links

    /// Returns the `href` of the first `base` element that has one.
    pub fn base(&self) -> Option<&str> {
        self.0.select(&BASE).find_map(|base| base.attr("href"))
    }
}

/// The properties of a page that make its tree expensive: nesting depth and
/// number of attributes.
#[derive(Debug, Default)]
struct TreeCost {
    nesting: Nesting,
    max_depth: usize,
    /// The number of attributes of the current tag.
    attributes: usize,
    max_attributes: usize,
}

impl TreeCost {
    fn check(&self) -> Result<(), FetchError> {
        let message = if self.max_depth > MAX_NESTED {
            format!("elements lie more than {MAX_NESTED} deep in each other")
        } else if self.max_attributes > MAX_ATTRIBUTES {
            format!("a tag has more than {MAX_ATTRIBUTES} attributes")
        } else {
            return Ok(());
        };
        Err(FetchError::new(ErrorClass::Nesting, message))
    }
}

impl TokenSink for TreeCost {
    fn wants_any(&mut self, _: Name) -> bool {
        true
    }

    fn wants(&mut self, _: Name, _: Name) -> bool {
        self.attributes += 1;
        self.max_attributes = self.max_attributes.max(self.attributes);
        false
    }

    fn attribute(&mut self, _: Name, _: Value<'_>) {}

    fn start_tag(&mut self, tag: StartTag) {
        self.attributes = 0;
        if !(tag.is_foreign && tag.is_self_closing) {
            self.nesting.enter(tag.name);
            self.max_depth = self.max_depth.max(self.nesting.depth());
        }
    }

    fn end_tag(&mut self, tag: Name) {
        self.nesting.leave(tag);
    }

    fn text(&mut self, _: &[u8], _: Text) {}
}
