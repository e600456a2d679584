//! How deep elements lie in each other, told from their tags alone.

use crate::html::Name;

/// An end tag looks no further than this for its element, so that each tag
/// costs the same. Whoever leaves more open within one element may be counted
/// as nested deeper than he is.
const REACH: usize = 32;

/// The elements that are open.
///
/// This is not what a browser makes of bad markup, only close enough: what may
/// be left open by the rules, or is by habit, does not add up, and an end tag
/// without its element changes nothing.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    open: Vec<Name>,
}

impl Nesting {
    /// How many elements are open.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    /// A start tag: of an element that can hold others, unless it is a void one.
    pub(super) fn enter(&mut self, name: Name) {
        if VOID.contains(&name) {
            return;
        }
        if name == A {
            // A link cannot lie in a link.
            self.leave(name);
        }
        while let Some(ended) = self.nearest(|open| !INLINE.contains(&open))
            && is_ended_by(self.open[ended], name)
        {
            self.open.truncate(ended);
        }
        self.open.push(name);
    }

    /// An end tag.
    pub(super) fn leave(&mut self, name: Name) {
        if let Some(nearest) = self.nearest(|open| open == name || !ends_within(name, open))
            && self.open[nearest] == name
        {
            self.open.truncate(nearest);
        }
    }

    /// The innermost open element, within reach, that `is` holds of.
    fn nearest(&self, is: impl Fn(Name) -> bool) -> Option<usize> {
        let beyond = self.open.len().saturating_sub(REACH);
        let within = self.open[beyond..].iter().rposition(|&open| is(open));
        within.map(|index| beyond + index)
    }
}

/// Whether the end tag of `name` also ends an element left `open` within.
fn ends_within(name: Name, open: Name) -> bool {
    if name == TABLE || name == CAPTION || name == TR || is_section(name) || CELLS.contains(&name) {
        open != TABLE
    } else if BLOCKS.contains(&name) {
        open != TABLE && open != CAPTION && !CELLS.contains(&open)
    } else {
        INLINE.contains(&open) || MAY_BE_LEFT_OPEN.contains(&open)
    }
}

/// Whether the start tag of `next` ends an element that is still `open`.
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

/// The elements whose end tag the standard lets one omit.
const MAY_BE_LEFT_OPEN: [Name; 18] = Name::all([
    "p", "li", "dt", "dd", "option", "optgroup", "rb", "rt", "rtc", "rp", "td", "th", "tr",
    "caption", "colgroup", "thead", "tbody", "tfoot",
]);

/// The elements without content or end tag, and those a page has once.
const VOID: [Name; 22] = Name::all([
    "area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "image", "img",
    "input", "keygen", "link", "meta", "param", "source", "track", "wbr", "html", "head", "body",
]);

/// The elements within a line, which people forget to end.
const INLINE: [Name; 18] = Name::all([
    "a", "b", "big", "code", "em", "font", "i", "label", "nobr", "s", "small", "span", "strike",
    "strong", "sub", "sup", "tt", "u",
]);

/// The elements that end a paragraph, and that end with what is in them.
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
