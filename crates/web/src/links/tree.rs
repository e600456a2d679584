//! Tree of a page, and the links in it: the test oracle of the extractor, and the
//! base of CSS selectors.

use std::sync::LazyLock;

use ego_tree::iter::Edge;
use html5ever::ParseOpts;
use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use scraper::{ElementRef, Html, Selector};

use super::MAX_TREE_BYTES;
use super::nesting::Nesting;
use super::tree_sink::CountingSink;
use crate::html::{Name, StartTag, Text, TokenSink, Tokenizer, Value};
use crate::{ErrorClass, FetchError};

/// The largest nesting depth of a page of which a tree is built. The time to
/// build a tree grows with the square of the depth. Ordinary pages stay far below
/// a hundred; a page beyond this limit is a trap.
pub const MAX_NESTED: usize = 2_000;

/// The largest number of attributes of a tag in a page of which a tree is built.
/// The tree builder compares each attribute with all others.
const MAX_ATTRIBUTES: usize = 256;

/// The bytes of a page that are built into the tree before its size is checked.
const COUNTED_PIECE: usize = 512;

/// The nodes around the elements that are counted: the document, `html`, `body`, and
/// the text in the innermost element.
const SURROUNDING_NODES: usize = 4;

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
    /// Builds the tree as a browser would. That may take much more time and memory
    /// than the page is long: a browser repeats open formatting elements in every
    /// block, so what is built is counted.
    ///
    /// # Errors
    /// [`ErrorClass::TooLarge`] when the page is longer than [`MAX_TREE_BYTES`],
    /// [`ErrorClass::Nesting`] when its elements are nested more than
    /// [`MAX_NESTED`] deep, or one has more than 256 attributes, and
    /// [`ErrorClass::TooComplex`] when the tree takes more than
    /// [`MAX_TREE_MEMORY`](super::MAX_TREE_MEMORY), or more than 32 million steps.
    // ANCHOR: tree_of
    pub fn of(html: &str) -> Result<Self, FetchError> {
        if html.len() > MAX_TREE_BYTES {
            return Err(FetchError::new(
                ErrorClass::TooLarge,
                format!("the page is longer than the {MAX_TREE_BYTES} bytes of a tree"),
            ));
        }
        let mut cost = TreeCost::default();
        let mut tokenizer = Tokenizer::new();
        // In pieces, so that a trap is found before all of it is read.
        for piece in html.as_bytes().chunks(64 * 1024) {
            tokenizer.feed(piece, &mut cost);
            cost.check()?;
        }
        // No script will run, so the content of `noscript` is part of the page.
        let scripting_enabled = false;
        let tree_builder = TreeBuilderOpts { scripting_enabled, ..Default::default() };
        let options = ParseOpts { tree_builder, ..Default::default() };
        let mut parser = html5ever::parse_document(CountingSink::new(), options);
        let mut rest = html;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(COUNTED_PIECE));
            parser.process(piece.into());
            parser.tokenizer.sink.sink.check()?;
            rest = after;
        }
        let tree = Self(parser.finish());
        tree.check_depth()?;
        Ok(tree)
    }
    // ANCHOR_END: tree_of

    /// Returns an error if elements are nested too deeply. The estimate by their tags
    /// is wrong for tags that are not properly nested.
    fn check_depth(&self) -> Result<(), FetchError> {
        let mut depth = 0_usize;
        for edge in self.0.tree.root().traverse() {
            match edge {
                Edge::Open(_) => depth += 1,
                Edge::Close(_) => depth -= 1,
            }
            if depth > MAX_NESTED + SURROUNDING_NODES {
                return Err(too_deep());
            }
        }
        Ok(())
    }

    /// Returns all elements, in the order of the page.
    pub fn elements(&self) -> impl Iterator<Item = ElementRef<'_>> {
        self.0.tree.nodes().filter_map(ElementRef::wrap)
    }

    // ANCHOR: tree_links
    /// Returns the `href` attributes of all `a` and `area` elements.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.0.select(&LINKS).filter(is_part_of_the_page);
        links.filter_map(|link| link.attr("href"))
    }
    // ANCHOR_END: tree_links

    /// Returns the `href` of the first `base` element that has one.
    pub fn base(&self) -> Option<&str> {
        let mut bases = self.0.select(&BASE).filter(is_part_of_the_page);
        bases.find_map(|base| base.attr("href"))
    }
}

/// Returns true if an element is not the inert content of a `template`.
fn is_part_of_the_page(element: &ElementRef<'_>) -> bool {
    let mut outer = element.ancestors().filter_map(ElementRef::wrap);
    let is_template = |element: ElementRef<'_>| {
        let name = &element.value().name;
        &*name.local == "template" && &*name.ns == "http://www.w3.org/1999/xhtml"
    };
    !outer.any(is_template)
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
        if self.max_depth > MAX_NESTED {
            return Err(too_deep());
        }
        if self.max_attributes > MAX_ATTRIBUTES {
            let message = format!("a tag has more than {MAX_ATTRIBUTES} attributes");
            return Err(FetchError::new(ErrorClass::Nesting, message));
        }
        Ok(())
    }
}

fn too_deep() -> FetchError {
    let message = format!("elements lie more than {MAX_NESTED} deep in each other");
    FetchError::new(ErrorClass::Nesting, message)
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
