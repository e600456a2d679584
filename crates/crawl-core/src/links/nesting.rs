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
        if name.spelled(is_void) {
            return;
        }
        if name == Name::of(b"a") {
            // A link cannot lie in a link.
            self.leave(name);
        }
        while let Some(ended) = self.nearest(|open| !open.spelled(is_inline))
            && self.open[ended].spelled(|open| name.spelled(|name| is_ended_by(open, name)))
        {
            self.open.truncate(ended);
        }
        self.open.push(name);
    }

    /// An end tag.
    pub(super) fn leave(&mut self, name: Name) {
        let stops = |open: Name| {
            open == name || !name.spelled(|name| open.spelled(|open| ends_within(name, open)))
        };
        if let Some(nearest) = self.nearest(stops)
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
fn ends_within(name: &[u8], open: &[u8]) -> bool {
    match name {
        b"table" | b"caption" | b"thead" | b"tbody" | b"tfoot" | b"tr" | b"td" | b"th" => {
            open != b"table"
        }
        _ if is_block(name) => !matches!(open, b"table" | b"caption" | b"td" | b"th"),
        _ => is_inline(open) || may_be_left_open(open),
    }
}

/// Whether the start tag of `next` ends an element that is still `open`.
fn is_ended_by(open: &[u8], next: &[u8]) -> bool {
    match open {
        b"p" => is_block(next) || matches!(next, b"p" | b"li" | b"dt" | b"dd" | b"table"),
        b"li" => next == b"li",
        b"dt" | b"dd" => matches!(next, b"dt" | b"dd"),
        b"option" => matches!(next, b"option" | b"optgroup"),
        b"optgroup" => next == b"optgroup",
        b"rb" | b"rt" | b"rtc" | b"rp" => matches!(next, b"rb" | b"rt" | b"rtc" | b"rp"),
        b"td" | b"th" => is_section(next) || matches!(next, b"td" | b"th" | b"tr"),
        b"tr" => is_section(next) || next == b"tr",
        b"caption" | b"colgroup" => is_section(next) || matches!(next, b"colgroup" | b"tr"),
        b"thead" | b"tbody" | b"tfoot" => is_section(next),
        _ => false,
    }
}

fn is_section(name: &[u8]) -> bool {
    matches!(name, b"thead" | b"tbody" | b"tfoot")
}

/// The elements whose end tag the standard lets one omit.
fn may_be_left_open(name: &[u8]) -> bool {
    is_section(name)
        || matches!(
            name,
            b"p" | b"li"
                | b"dt"
                | b"dd"
                | b"option"
                | b"optgroup"
                | b"rb"
                | b"rt"
                | b"rtc"
                | b"rp"
                | b"td"
                | b"th"
                | b"tr"
                | b"caption"
                | b"colgroup"
        )
}

/// The elements without content or end tag, and those a page has once.
fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"basefont"
            | b"bgsound"
            | b"br"
            | b"col"
            | b"embed"
            | b"frame"
            | b"hr"
            | b"image"
            | b"img"
            | b"input"
            | b"keygen"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
            | b"html"
            | b"head"
            | b"body"
    )
}

/// The elements within a line, which people forget to end.
fn is_inline(name: &[u8]) -> bool {
    matches!(
        name,
        b"a" | b"b"
            | b"big"
            | b"code"
            | b"em"
            | b"font"
            | b"i"
            | b"label"
            | b"nobr"
            | b"s"
            | b"small"
            | b"span"
            | b"strike"
            | b"strong"
            | b"sub"
            | b"sup"
            | b"tt"
            | b"u"
    )
}

/// The elements that end a paragraph, and that end with what is in them.
fn is_block(name: &[u8]) -> bool {
    matches!(
        name,
        b"address"
            | b"article"
            | b"aside"
            | b"blockquote"
            | b"center"
            | b"details"
            | b"dialog"
            | b"dir"
            | b"div"
            | b"dl"
            | b"fieldset"
            | b"figcaption"
            | b"figure"
            | b"footer"
            | b"form"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"header"
            | b"hgroup"
            | b"listing"
            | b"main"
            | b"menu"
            | b"nav"
            | b"ol"
            | b"pre"
            | b"search"
            | b"section"
            | b"summary"
            | b"ul"
    )
}
