//! What may be within an element.

use super::foreign::Language;
use super::name::Name;
use super::{SCRIPT, Text};

/// How what comes behind a start tag is read, if its element is one of HTML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// As what is around it.
    Elements,
    /// As nothing but text, up to its end tag.
    Text(Text),
    /// As nothing but text, up to the end of the page.
    Plaintext,
    /// As a drawing, or a formula.
    Foreign(Language),
}

impl Content {
    // ANCHOR: of
    #[inline]
    pub(super) fn of(element: Name) -> Self {
        match element {
            TITLE | TEXTAREA => Self::Text(Text::WithReferences),
            SCRIPT | STYLE | XMP | IFRAME | NOEMBED | NOFRAMES => Self::Text(Text::Literal),
            PLAINTEXT => Self::Plaintext,
            SVG => Self::Foreign(Language::Svg),
            MATH => Self::Foreign(Language::MathMl),
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
