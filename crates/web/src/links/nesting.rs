//! Nesting depth of elements, estimated from their tags alone.

use crate::html::Name;

/// The number of open elements among which an end tag looks for its element, so
/// that each tag takes a bounded time. If a page leaves more elements open within
/// one element, the depth may come out too large.
const MAX_SEARCH: usize = 32;

/// The stack of open elements.
///
/// For bad markup it is not exactly the stack of a browser, but close to it:
/// elements whose end tag may be omitted, or often is, do not add up, and an end
/// tag without its element changes nothing.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    open: Vec<Name>,
}

impl Nesting {
    /// Returns the number of open elements.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Takes a start tag. Void elements are ignored, as they contain no others.
    pub(super) fn enter(&mut self, name: Name) {
        if VOID.contains(&name) {
            return;
        }
        if name == A {
            // A link cannot contain a link.
            self.leave(name);
        }
        while let Some(ended) = self.nearest(|open| !INLINE.contains(&open))
            && is_ended_by(self.open[ended], name)
        {
            self.open.truncate(ended);
        }
        self.open.push(name);
    }

    /// Takes an end tag.
    pub(super) fn leave(&mut self, name: Name) {
        if let Some(nearest) = self.nearest(|open| open == name || !ends_within(name, open))
            && self.open[nearest] == name
        {
            self.open.truncate(nearest);
        }
    }

    /// Returns the index of the innermost open element for which `is` returns
    /// true, among the last [`MAX_SEARCH`].
    fn nearest(&self, is: impl Fn(Name) -> bool) -> Option<usize> {
        let first = self.open.len().saturating_sub(MAX_SEARCH);
        let nearest = self.open[first..].iter().rposition(|&open| is(open));
        nearest.map(|index| first + index)
    }
}

/// Returns true if the end tag of `name` also ends an element left `open` within.
fn ends_within(name: Name, open: Name) -> bool {
    if name == TABLE || name == CAPTION || name == TR || is_section(name) || CELLS.contains(&name) {
        open != TABLE
    } else if BLOCKS.contains(&name) {
        open != TABLE && open != CAPTION && !CELLS.contains(&open)
    } else {
        INLINE.contains(&open) || MAY_BE_LEFT_OPEN.contains(&open)
    }
}

/// Returns true if the start tag of `next` ends an element that is still `open`.
fn is_ended_by(open: Name, next: Name) -> bool {
    const AFTER_P: [Name; 5] = Name::all(["p", "li", "dt", "dd", "table"]);
    const TERMS: [Name; 2] = Name::all(["dt", "dd"]);
    const RUBY: [Name; 4] = Name::all(["rb", "rt", "rtc", "rp"]);
    match open {
        P => BLOCKS.contains(&next) || AFTER_P.contains(&next),
        LI => next == LI,
        OPTION => next == OPTION || next == OPTGROUP,
        OPTGROUP => next == OPTGROUP,
        TR => is_section(next) || next == TR,
        CAPTION | COLGROUP => is_section(next) || next == COLGROUP || next == TR,
        _ if TERMS.contains(&open) => TERMS.contains(&next),
        _ if RUBY.contains(&open) => RUBY.contains(&next),
        _ if CELLS.contains(&open) => is_section(next) || CELLS.contains(&next) || next == TR,
        _ => is_section(open) && is_section(next),
    }
}

fn is_section(name: Name) -> bool {
    const SECTIONS: [Name; 3] = Name::all(["thead", "tbody", "tfoot"]);
    SECTIONS.contains(&name)
}

const A: Name = Name::of(b"a");
const CAPTION: Name = Name::of(b"caption");
const COLGROUP: Name = Name::of(b"colgroup");
const LI: Name = Name::of(b"li");
const OPTGROUP: Name = Name::of(b"optgroup");
const OPTION: Name = Name::of(b"option");
const P: Name = Name::of(b"p");
const TABLE: Name = Name::of(b"table");
const TR: Name = Name::of(b"tr");
const CELLS: [Name; 2] = Name::all(["td", "th"]);

/// The elements whose end tag may be omitted by the standard.
const MAY_BE_LEFT_OPEN: [Name; 18] = Name::all([
    "p", "li", "dt", "dd", "option", "optgroup", "rb", "rt", "rtc", "rp", "td", "th", "tr",
    "caption", "colgroup", "thead", "tbody", "tfoot",
]);

/// The void elements, without content or end tag, and those that a page has once.
const VOID: [Name; 22] = Name::all([
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img",
    "input", "keygen", "link", "meta", "param", "source", "track", "wbr", "html", "head", "body",
]);

/// The elements within a line, whose end tag is often missing.
const INLINE: [Name; 18] = Name::all([
    "a", "b", "big", "code", "em", "font", "i", "label", "nobr", "s", "small", "span", "strike",
    "strong", "sub", "sup", "tt", "u",
]);

/// The block elements: their start tag ends a paragraph, and their end tag also
/// ends what is open in them.
const BLOCKS: [Name; 33] = Name::all([
    "address",
    "article",
    "aside",
    "blockquote",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "listing",
    "main",
    "menu",
    "nav",
    "ol",
    "pre",
    "search",
    "section",
    "summary",
    "ul",
]);
