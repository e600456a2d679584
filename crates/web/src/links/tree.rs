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
use super::tree_sink::{CountingSink, MAX_STEPS, too_many_steps};
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
    /// [`MAX_TREE_MEMORY`](super::MAX_TREE_MEMORY), or more than 32 million steps, or a
    /// tag is so long that its attributes may take a thousand million comparisons. Each
    /// `/` counts as the beginning of one, so a `data:` URI in base64 of more than about
    /// 2.6 MB is too long.
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
        let mut tag_cost = TagCost::default();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(COUNTED_PIECE));
            parser.process(piece.into());
            let sink = &parser.tokenizer.sink.sink;
            sink.check()?;
            tag_cost.add(piece, sink.steps())?;
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
    /// Returns the `href` attributes of all `a` elements, and of `area` in HTML.
    pub fn links(&self) -> impl Iterator<Item = &str> {
        let links = self.0.select(&LINKS).filter(is_part_of_the_page);
        links.filter(is_hyperlink).filter_map(|link| link.attr("href"))
    }
    // ANCHOR_END: tree_links

    /// Returns the `href` of the first `base` element of HTML that has one.
    pub fn base(&self) -> Option<&str> {
        let mut bases = self.0.select(&BASE).filter(is_html).filter(is_part_of_the_page);
        bases.find_map(|base| base.attr("href"))
    }
}

/// Returns true for an element of HTML, and not of SVG or MathML.
fn is_html(element: &ElementRef<'_>) -> bool {
    &*element.value().name.ns == "http://www.w3.org/1999/xhtml"
}

/// Returns true if an `a` or an `area` is a link. In a drawing, only the first is.
fn is_hyperlink(element: &ElementRef<'_>) -> bool {
    &*element.value().name.local == "a" || is_html(element)
}

/// Returns true if an element is not the inert content of a `template`.
fn is_part_of_the_page(element: &ElementRef<'_>) -> bool {
    let mut outer = element.ancestors().filter_map(ElementRef::wrap);
    let is_template =
        |element: ElementRef<'_>| &*element.value().name.local == "template" && is_html(&element);
    !outer.any(is_template)
}

/// The work of the tokenizer of the tree, which compares each attribute of a tag with all
/// before it. It may see tags where [`TreeCost`] sees none: a tree builder ignores some
/// elements that hold only text. So everything counts that may begin an attribute,
/// from one step of the tree builder to the next.
#[derive(Debug, Default)]
struct TagCost {
    /// The number of steps of the tree builder so far.
    steps: usize,
    /// The number of possible attributes since the last of them.
    attributes: u64,
    comparisons: u64,
}

/// The maximum number of comparisons of attributes. So many take about a second. The path
/// of a drawing with forty thousand numbers in one attribute is below it.
const MAX_COMPARISONS: u64 = 1 << 30;

impl TagCost {
    /// Takes the next piece of a page, and the number of steps after it.
    fn add(&mut self, piece: &str, steps: usize) -> Result<(), FetchError> {
        let ends = |byte: u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\'');
        let begins = |pair: &&[u8]| ends(pair[0]) && !ends(pair[1]);
        let new = 1 + piece.as_bytes().windows(2).filter(begins).count() as u64;
        if std::mem::replace(&mut self.steps, steps) != steps {
            self.attributes = 0;
        }
        self.attributes += new;
        self.comparisons += new * self.attributes;
        if self.comparisons > MAX_COMPARISONS {
            let message = "a tag, or what may be one, is too long for a tree";
            return Err(FetchError::new(ErrorClass::TooComplex, message));
        }
        Ok(())
    }
}

/// The elements that a tree builder repeats in every block, and compares with all of the
/// same name that are open (HTML standard, section 13.2.4.3).
const FORMATTING: [Name; 14] = [
    Name::of(b"a"),
    Name::of(b"b"),
    Name::of(b"big"),
    Name::of(b"code"),
    Name::of(b"em"),
    Name::of(b"font"),
    Name::of(b"i"),
    Name::of(b"nobr"),
    Name::of(b"s"),
    Name::of(b"small"),
    Name::of(b"strike"),
    Name::of(b"strong"),
    Name::of(b"tt"),
    Name::of(b"u"),
];

/// The properties of a page that make its tree expensive: nesting depth and
/// number of attributes.
#[derive(Debug, Default)]
struct TreeCost {
    nesting: Nesting,
    max_depth: usize,
    /// The number of attributes with which those of formatting elements are compared, at
    /// most.
    comparisons: usize,
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
        if self.comparisons > MAX_STEPS {
            return Err(too_many_steps());
        }
        Ok(())
    }
}

fn too_deep() -> FetchError {
    let message = format!("elements are nested more than {MAX_NESTED} deep");
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
        let attributes = std::mem::take(&mut self.attributes);
        if FORMATTING.contains(&tag.name) {
            self.comparisons += self.nesting.depth() * attributes;
        }
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
