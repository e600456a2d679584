//! Stack of open foreign elements: those of SVG and MathML.

use super::content::{Content, Namespace};
use super::name::Name;

/// The largest depth of the stack. Real drawings stay far below it.
const MAX_DEPTH: usize = 256;

/// The stack of open foreign elements, the innermost last.
///
/// Some of them may contain HTML (`foreignObject`), which may contain foreign
/// elements again, and so on. Foreign elements hold no raw text, may close
/// themselves, and may contain CDATA sections (HTML standard, section
/// 13.2.6.5).
///
/// HTML elements are not tracked, so those that are open between foreign
/// elements are not known. An end tag that ends no foreign element is taken to
/// end the HTML element around the foreign elements, and all that was left open
/// within it.
#[derive(Debug, Default)]
pub(super) struct ForeignElements {
    open: Vec<Element>,
}

#[derive(Clone, Copy, Debug)]
struct Element {
    name: Name,
    namespace: Namespace,
    /// True for an integration point: a foreign element that contains HTML.
    holds_html: bool,
    /// True if an HTML element has begun in it.
    has_html: bool,
}

impl ForeignElements {
    /// Returns true in foreign content: the innermost open element is foreign
    /// and does not contain HTML.
    pub(super) fn in_foreign_content(&self) -> bool {
        self.open.last().is_some_and(|element| !element.holds_html)
    }

    /// Returns true where CDATA sections can be: the innermost open element is foreign. In
    /// an integration point it is the point itself up to its first HTML element.
    pub(super) fn may_hold_cdata(&self) -> bool {
        self.open.last().is_some_and(|element| !element.has_html)
    }

    /// Returns true if no foreign element is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Takes a start tag; `content` is the content model of its name in HTML.
    /// Returns true if the element is foreign.
    pub(super) fn start_tag(
        &mut self,
        name: Name,
        content: Content,
        is_self_closing: bool,
    ) -> bool {
        if self.in_foreign_content() && breaks_out(name) {
            self.break_out();
        }
        let namespace = match (self.open.last_mut(), content) {
            (Some(outer), _) if !outer.holds_html => outer.namespace,
            (_, Content::Foreign(namespace)) => namespace,
            (outer, _) => {
                if let Some(point) = outer {
                    point.has_html = true;
                }
                return false;
            }
        };
        if !is_self_closing && self.open.len() < MAX_DEPTH {
            let (holds_html, has_html) = (holds_html(name, namespace), false);
            self.open.push(Element { name, namespace, holds_html, has_html });
        }
        true
    }

    /// Takes an end tag.
    #[inline]
    pub(super) fn end_tag(&mut self, name: Name) {
        if !self.open.is_empty() {
            self.close(name);
        }
    }

    fn close(&mut self, name: Name) {
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
            // An HTML element that holds only text cannot contain a drawing.
            None if !is_among_html && !matches!(content, Content::Text(_)) => self.break_out(),
            None => {}
        }
    }

    /// Closes foreign elements up to the HTML around them. An HTML tag where
    /// none can be means that their end tags are missing.
    fn break_out(&mut self) {
        while self.in_foreign_content() {
            self.open.pop();
        }
    }
}

/// Returns true for the integration points, which contain HTML.
/// `annotation-xml` is one only with certain attributes, which no known page
/// uses; it is left out.
fn holds_html(name: Name, namespace: Namespace) -> bool {
    const SVG_POINTS: [Name; 3] = Name::all(["foreignobject", "desc", "title"]);
    const MATHML_POINTS: [Name; 5] = Name::all(["mi", "mo", "mn", "ms", "mtext"]);
    match namespace {
        Namespace::Svg => SVG_POINTS.contains(&name),
        Namespace::MathMl => MATHML_POINTS.contains(&name),
    }
}

/// Returns true for the HTML elements that no foreign element contains.
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
