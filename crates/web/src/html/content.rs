//! Content models: the content of an element, by its name.

use super::Text;
use super::name::{Name, NameTable};

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
    /// Returns the content model of the HTML element with this name.
    #[inline(always)]
    pub(super) fn of(element: Name) -> Self {
        MODELS.get(element)
    }
}

// ANCHOR: of
/// The content models of the elements that hold no HTML elements.
static MODELS: NameTable<Content> = NameTable::of(
    &[
        (Name::of(b"title"), Content::Text(Text::WithReferences)),
        (Name::of(b"textarea"), Content::Text(Text::WithReferences)),
        (Name::of(b"script"), Content::Text(Text::Raw)),
        (Name::of(b"style"), Content::Text(Text::Raw)),
        (Name::of(b"xmp"), Content::Text(Text::Raw)),
        (Name::of(b"iframe"), Content::Text(Text::Raw)),
        (Name::of(b"noembed"), Content::Text(Text::Raw)),
        (Name::of(b"noframes"), Content::Text(Text::Raw)),
        (Name::of(b"plaintext"), Content::Plaintext),
        (Name::of(b"svg"), Content::Foreign(Namespace::Svg)),
        (Name::of(b"math"), Content::Foreign(Namespace::MathMl)),
    ],
    Content::Elements,
);
// ANCHOR_END: of
