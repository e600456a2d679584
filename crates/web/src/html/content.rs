//! Content models: the content of an element, by its name.

use super::name::Name;
use super::{SCRIPT, Text};

/// The content model of an HTML element: the way to read what follows its start
/// tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Elements and text, as around it.
    Elements,
    /// Nothing but text, up to its end tag.
    Text(Text),
    /// Nothing but text, up to the end of the page.
    Plaintext,
    /// A drawing or a formula: foreign elements of this namespace.
    Foreign(Namespace),
}

/// The namespace of a foreign element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Namespace {
    Svg,
    MathMl,
}

impl Content {
    // ANCHOR: of
    #[inline]
    pub(super) fn of(element: Name) -> Self {
        match element {
            TITLE | TEXTAREA => Self::Text(Text::WithReferences),
            SCRIPT | STYLE | XMP | IFRAME | NOEMBED | NOFRAMES => Self::Text(Text::Raw),
            PLAINTEXT => Self::Plaintext,
            SVG => Self::Foreign(Namespace::Svg),
            MATH => Self::Foreign(Namespace::MathMl),
            _ => Self::Elements,
        }
    }
    // ANCHOR_END: of
}

const IFRAME: Name = Name::of(b"iframe");
const MATH: Name = Name::of(b"math");
const NOEMBED: Name = Name::of(b"noembed");
const NOFRAMES: Name = Name::of(b"noframes");
const PLAINTEXT: Name = Name::of(b"plaintext");
const STYLE: Name = Name::of(b"style");
const SVG: Name = Name::of(b"svg");
const TEXTAREA: Name = Name::of(b"textarea");
const TITLE: Name = Name::of(b"title");
const XMP: Name = Name::of(b"xmp");
