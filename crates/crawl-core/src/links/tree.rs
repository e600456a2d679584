//! The links of a page by way of its tree: what the extractor is tested
//! against, and what a selector needs.

use std::sync::LazyLock;

use html5ever::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

use super::nesting::Nesting;
use crate::html::{Name, StartTag, Text, TokenSink, Tokenizer, Value};
use crate::{ErrorClass, FetchError};

/// How deep the elements of a page may lie in each other before a tree is made
/// of it: building one takes the square of the depth. Pages made for readers
/// stay far below a hundred; what goes beyond this is a trap.
pub const MOST_NESTED: usize = 2_000;

/// How long a page may be before a tree is made of it, in bytes. The tree is
/// some ten times as large.
pub const LARGEST_TREE: usize = 10 * 1024 * 1024;

/// A tag with more attributes than this gets no tree: the tree builder compares
/// each of them with all others.
const MOST_ATTRIBUTES: usize = 256;

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
    /// [`ErrorClass::TooLarge`] when the page is longer than [`LARGEST_TREE`],
    /// [`ErrorClass::Nesting`] when its elements lie more than [`MOST_NESTED`]
    /// deep in each other, or one has absurdly many attributes.
    // ANCHOR: tree_of
    pub fn of(html: &str) -> Result<Self, FetchError> {
        if html.len() > LARGEST_TREE {
            let message = format!("the page is longer than the {LARGEST_TREE} bytes of a tree");
            return Err(FetchError::new(ErrorClass::TooLarge, message));
        }
        let mut shape = Shape::default();
        let mut tokenizer = Tokenizer::new();
        // Piece by piece, so that a trap is noticed before all of it is read.
        for piece in html.as_bytes().chunks(64 * 1024) {
            tokenizer.feed(piece, &mut shape);
            shape.check()?;
        }
        // No script will run, so what is there for want of scripts is part of
        // the page.
        let tree_builder = TreeBuilderOpts { scripting_enabled: false, ..Default::default() };
        let options = ParseOpts { tree_builder, ..Default::default() };
        let sink = HtmlTreeSink::new(Html::new_document());
        Ok(Self(html5ever::parse_document(sink, options).one(html)))
    }
    // ANCHOR_END: tree_of

    /// The elements that match, in the order of the page.
    pub fn select<'a>(&'a self, selector: &'a Selector) -> impl Iterator<Item = ElementRef<'a>> {
        self.0.select(selector)
    }

    // ANCHOR: tree_links
    /// What the `href` attributes of its `a` and `area` elements say.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        self.0.select(&LINKS).filter_map(|link| link.attr("href"))
    }
    // ANCHOR_END: tree_links

    /// What the first `base` with an `href` says.
    pub fn base(&self) -> Option<&str> {
        self.0.select(&BASE).find_map(|base| base.attr("href"))
    }
}

/// What about a page makes a tree of it expensive.
#[derive(Debug, Default)]
struct Shape {
    nesting: Nesting,
    deepest: usize,
    attributes: usize,
    most_attributes: usize,
}

impl Shape {
    fn check(&self) -> Result<(), FetchError> {
        let message = if self.deepest > MOST_NESTED {
            format!("elements lie more than {MOST_NESTED} deep in each other")
        } else if self.most_attributes > MOST_ATTRIBUTES {
            format!("a tag has more than {MOST_ATTRIBUTES} attributes")
        } else {
            return Ok(());
        };
        Err(FetchError::new(ErrorClass::Nesting, message))
    }
}

impl TokenSink for Shape {
    fn wants_any(&mut self, _: Name) -> bool {
        true
    }

    fn wants(&mut self, _: Name, _: Name) -> bool {
        self.attributes += 1;
        self.most_attributes = self.most_attributes.max(self.attributes);
        false
    }

    fn attribute(&mut self, _: Name, _: Value<'_>) {}

    fn start_tag(&mut self, tag: StartTag) {
        self.attributes = 0;
        if !(tag.is_foreign && tag.is_self_closing) {
            self.nesting.enter(tag.name);
            self.deepest = self.deepest.max(self.nesting.depth());
        }
    }

    fn end_tag(&mut self, tag: Name) {
        self.nesting.leave(tag);
    }

    fn text(&mut self, _: &[u8], _: Text) {}
}
