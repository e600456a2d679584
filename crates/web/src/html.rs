//! Streaming HTML tokenizer: the tokenization of the HTML standard (section
//! 13.2.5), without a tree builder.
//!
//! 1. A [`Tokenizer`] is fed the text of a page in slices of any length, and
//!    passes tags and text to a [`TokenSink`]. The result does not depend on
//!    where the text was cut.
//! 2. It allocates memory only for what a slice boundary cuts through. It keeps
//!    only attribute values that the sink wants, each up to [`MAX_VALUE_LEN`].
//! 3. It looks at each byte once, and skips what cannot matter (text, comments,
//!    scripts, values) as fast as memory is read.
//! 4. Some elements hold only text (`script`, `title`), but not inside `svg` and
//!    `math`. So the tokenizer keeps a stack of the elements that are open
//!    inside `svg` and `math`, and of no others.
//!
//! # Differences from a tree builder
//! There is no stack of open HTML elements. A tree builder ignores some start
//! tags where they are not allowed (a `textarea` within a `select`, anything
//! but frames after a `frameset`); this tokenizer reports them as it does
//! everywhere else. A tree builder also repeats some: an `a` that is still open
//! comes once more where text follows, even after the end of the `template` it is
//! in, if within that there is an open cell (`<template><a href=x><td></template>`).
//! And an end tag within `svg` and `math` that ends none of the elements there ends them
//! all: whether it ends an HTML element around them is not known. Where it ends nothing,
//! as in `<svg></x><script>`, what follows is HTML here, and SVG in the tree. Nor is it
//! known when an HTML element within them ends: a CDATA section behind one, as in
//! `<svg><title><p></p><![CDATA[`, is a comment here, and text in the tree.

mod comment;
mod content;
#[cfg(feature = "tables")]
mod entities;
mod foreign;
mod name;
mod raw_text;
mod references;
mod scan;
mod tail;
mod tokenizer;

pub use name::Name;
pub(crate) use references::is_plain;
pub use references::{decode_attribute, decode_text};
pub use tokenizer::{MAX_VALUE_LEN, Tokenizer};

/// The characters that references stand for, in a build without the feature `tables`: those that
/// have a name in XML.
#[cfg(not(feature = "tables"))]
mod entities {
    /// The characters by numbers of windows-1252: none.
    pub(super) const C1_REPLACEMENTS: [Option<char>; 0] = [];

    /// The characters by names, sorted by name.
    pub(super) static NAMED_CHARACTERS: [(&str, &str); 5] =
        [("amp;", "&"), ("apos;", "'"), ("gt;", ">"), ("lt;", "<"), ("quot;", "\"")];
}

const SCRIPT: Name = Name::of(b"script");

/// The kind of a text, which says how to decode it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// Ordinary text and RCDATA: character references stand for characters, see
    /// [`decode_text`].
    #[default]
    WithReferences,
    /// Raw text: `&` is only an ampersand.
    Raw,
}

// ANCHOR: token_sink
/// Receiver of the tokens of a page, in the order of the page.
pub trait TokenSink {
    /// Returns true if any attribute of start tags with this name may be wanted.
    fn wants_any(&mut self, tag: Name) -> bool;

    /// Returns true if the value of this attribute of this start tag is wanted.
    fn wants(&mut self, tag: Name, attribute: Name) -> bool;

    /// Takes the value of a wanted attribute; it is empty if the attribute has
    /// none. The value is not decoded yet, see [`decode_attribute`].
    ///
    /// If the page ends within a tag, the tag is ignored:
    /// [`TokenSink::start_tag`] is not called for its attributes.
    fn attribute(&mut self, attribute: Name, value: Value<'_>);

    /// Takes a start tag, after its attributes.
    fn start_tag(&mut self, tag: StartTag);

    /// Takes an end tag.
    fn end_tag(&mut self, tag: Name);

    /// Takes a piece of text; the next call may continue the same text.
    fn text(&mut self, text: &[u8], kind: Text);
}
// ANCHOR_END: token_sink

/// A start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTag {
    /// The name of its element.
    pub name: Name,
    /// The offset of its `<`, in bytes from the beginning of the page.
    pub at: u64,
    /// True if it ends in `/>`, which has a meaning in foreign elements only, and in XML:
    /// there, [`TokenSink::end_tag`] follows for an element that is not foreign.
    pub is_self_closing: bool,
    /// True if its element is a foreign element: one of SVG or MathML.
    pub is_foreign: bool,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The complete value.
    Whole(&'a [u8]),
    /// The beginning of a value longer than [`MAX_VALUE_LEN`]: one byte more than that.
    TooLong(&'a [u8]),
}

impl<'a> Value<'a> {
    fn of(value: &'a [u8]) -> Self {
        match value.get(..=MAX_VALUE_LEN) {
            Some(beginning) => Self::TooLong(beginning),
            None => Self::Whole(value),
        }
    }
}
