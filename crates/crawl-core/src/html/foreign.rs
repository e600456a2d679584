//! Where in a page HTML ends and SVG or MathML begins.

use super::content::Content;
use super::name::Name;

/// How deep foreign elements are tracked. Drawings stay far below it.
const DEEPEST: usize = 256;

/// The foreign elements that are open, the innermost last.
///
/// There is HTML within some of them (`foreignObject`), foreign elements
/// within that, and so on. Foreign elements hold no raw text, may close
/// themselves, and know CDATA sections (HTML standard, section 13.2.6.5).
///
/// What is open between them is not known, since HTML elements are not tracked.
/// An end tag that ends no foreign element is taken to end the HTML element
/// around it, and all that was left open within.
#[derive(Debug, Default)]
pub(super) struct Foreign {
    open: Vec<Element>,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    name: Name,
    language: Language,
    /// Whether it is an integration point.
    holds_html: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Svg,
    MathMl,
}

impl Foreign {
    /// Whether what comes now belongs to a foreign element.
    pub(super) fn is_here(&self) -> bool {
        self.open.last().is_some_and(|element| !element.holds_html)
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// A start tag has come, of an element with this `content` if it is one of
    /// HTML. Returns whether it is foreign.
    pub(super) fn start(&mut self, name: Name, content: Content, is_self_closing: bool) -> bool {
        if self.is_here() && breaks_out(name) {
            self.break_out();
        }
        let language = match self.open.last() {
            Some(outer) if !outer.holds_html => outer.language,
            _ => match content {
                Content::Foreign(language) => language,
                _ => return false,
            },
        };
        if !is_self_closing && self.open.len() < DEEPEST {
            self.open.push(Element { name, language, holds_html: holds_html(name, language) });
        }
        true
    }

    /// An end tag has come.
    #[inline]
    pub(super) fn end(&mut self, name: Name) {
        if !self.open.is_empty() {
            self.end_within(name);
        }
    }

    fn end_within(&mut self, name: Name) {
        let Some(innermost) = self.open.last() else {
            return;
        };
        let is_among_html = innermost.holds_html;
        let content = Content::of(name);
        let is_root = matches!(content, Content::Foreign(_));
        let ended = self
            .open
            .iter()
            .rposition(|open| open.name == name && (!is_among_html || open.holds_html || is_root));
        match ended {
            Some(ended) => self.open.truncate(ended),
            // No drawing can lie in an HTML element that holds only text.
            None if !is_among_html && !matches!(content, Content::Text(_)) => self.break_out(),
            None => {}
        }
    }

    /// HTML where there can be none: the foreign elements were not closed.
    fn break_out(&mut self) {
        while self.is_here() {
            self.open.pop();
        }
    }
}

/// The integration points. `annotation-xml` is one only with certain
/// attributes; nobody has been seen to put a page there.
fn holds_html(name: Name, language: Language) -> bool {
    const SVG_POINTS: [Name; 3] = Name::all(["foreignobject", "desc", "title"]);
    const MATHML_POINTS: [Name; 5] = Name::all(["mi", "mo", "mn", "ms", "mtext"]);
    match language {
        Language::Svg => SVG_POINTS.contains(&name),
        Language::MathMl => MATHML_POINTS.contains(&name),
    }
}

/// The HTML elements that no foreign element holds.
fn breaks_out(name: Name) -> bool {
    const ELEMENTS: [Name; 44] = Name::all([
        "b",
        "big",
        "blockquote",
        "body",
        "br",
        "center",
        "code",
        "dd",
        "div",
        "dl",
        "dt",
        "em",
        "embed",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "hr",
        "i",
        "img",
        "li",
        "listing",
        "menu",
        "meta",
        "nobr",
        "ol",
        "p",
        "pre",
        "ruby",
        "s",
        "small",
        "span",
        "strong",
        "strike",
        "sub",
        "sup",
        "table",
        "tt",
        "u",
        "ul",
        "var",
    ]);
    ELEMENTS.contains(&name)
}
