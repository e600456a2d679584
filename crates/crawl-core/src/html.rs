//! HTML as tags and text: the standard's tokenization (HTML standard, section
//! 13.2.5), without a tree.
//!
//! 1. A [`Tokenizer`] is fed text in any slices and tells a [`TokenSink`] what
//!    it means. How it was cut cannot be seen.
//! 2. It allocates nothing but what a slice cut through, and keeps of an
//!    attribute only the value somebody wants, up to [`LONGEST_VALUE`].
//! 3. It looks at each byte once, and passes over what cannot matter (text,
//!    comments, scripts, values) as fast as memory is read.
//! 4. Which elements hold raw text depends on where they are: inside `svg` and
//!    `math` none does. So the elements that are open there are known, and no
//!    others.
//!
//! # What is not here
//! The stack of open HTML elements. The tree builder ignores some start tags
//! where they may not be (a `textarea` within a `select`, anything but frames
//! after a `frameset`); here they count as everywhere else.

mod content;
mod foreign;
mod last;
mod name;
mod raw_text;
mod references;
mod scan;
mod skipped;
mod tokenizer;

pub use name::Name;
pub(crate) use references::is_plain;
pub use references::{decode_attribute, decode_text};
pub use tokenizer::{LONGEST_VALUE, Tokenizer};

const SCRIPT: Name = Name::of(b"script");

/// How text is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// Character references mean characters, see [`decode_text`].
    #[default]
    WithReferences,
    /// It stands for itself.
    Literal,
}

// ANCHOR: token_sink
/// What a [`Tokenizer`] tells of a page, in its order.
pub trait TokenSink {
    /// Whether any attribute of start tags of this name may be wanted.
    fn wants_any(&mut self, tag: Name) -> bool;

    /// Whether the value of this attribute of this start tag is wanted.
    fn wants(&mut self, tag: Name, attribute: Name) -> bool;

    /// The value of an attribute that was wanted; empty if it has none. It is
    /// as in the source, see [`decode_attribute`].
    ///
    /// A tag that is not complete when the page ends is none: then there is no
    /// call of [`TokenSink::start_tag`] for its attributes.
    fn attribute(&mut self, attribute: Name, value: Value<'_>);

    /// A start tag is complete.
    fn start_tag(&mut self, tag: StartTag);

    /// An end tag is complete.
    fn end_tag(&mut self, tag: Name);

    /// Some text; the next call may go on with it.
    fn text(&mut self, text: &[u8], how: Text);
}
// ANCHOR_END: token_sink

/// A start tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartTag {
    /// The name of its element.
    pub name: Name,
    /// Where its `<` is, in bytes from the beginning of the text.
    pub at: u64,
    /// Whether it ends in `/>`, which means something in foreign elements only.
    pub is_self_closing: bool,
    /// Whether it is a foreign element: one of SVG or MathML.
    pub is_foreign: bool,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The whole of it.
    Whole(&'a [u8]),
    /// It is longer than [`LONGEST_VALUE`], and was not kept.
    TooLong,
}
