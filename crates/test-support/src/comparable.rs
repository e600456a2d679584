//! A check for pages that are parsed differently from browsers on purpose.

use web::html::{Name, StartTag, Text, TokenSink, Tokenizer, Value};

/// Returns true if a page is parsed as browsers do. Some pages are parsed differently on
/// purpose, because there is no stack of open elements (see [`web::html`]): those with
/// frames instead of a body, with columns of a table in a template (which then contains
/// nothing else), with a link in a template that may be repeated after it, with elements
/// of SVG and MathML that do not end in the right order, or with a CDATA section behind an
/// HTML element within them.
pub fn is_comparable(html: &str) -> bool {
    let mut shape = Shape { is_comparable: true, ..Shape::default() };
    let mut tokenizer = Tokenizer::new();
    tokenizer.feed(html.as_bytes(), &mut shape);
    tokenizer.finish(&mut shape);
    shape.is_comparable && !(shape.has_ended_html && html.contains("<![CDATA["))
}

/// A token sink that looks for these differences.
#[derive(Debug, Default)]
struct Shape {
    is_comparable: bool,
    has_template: bool,
    open_templates: u32,
    /// True if there is a link in a template that is open.
    has_inert_link: bool,
    /// The open elements, beginning with the first one of SVG or MathML, and whether each
    /// is one of those.
    open: Vec<(Name, bool)>,
    /// True if an HTML element has ended within SVG or MathML.
    has_ended_html: bool,
}

const SVG: Name = Name::of(b"svg");
const MATH: Name = Name::of(b"math");

const FRAMESET: Name = Name::of(b"frameset");
const TEMPLATE: Name = Name::of(b"template");
const COL: Name = Name::of(b"col");
const A: Name = Name::of(b"a");

/// Elements up to which the end of a template forgets which links are open.
const MARKERS: [Name; 6] = [
    Name::of(b"applet"),
    Name::of(b"caption"),
    Name::of(b"marquee"),
    Name::of(b"object"),
    Name::of(b"td"),
    Name::of(b"th"),
];

/// Elements whose meaning within SVG and MathML depends on their attributes.
const AMBIGUOUS: [Name; 2] = [Name::of(b"annotation-xml"), Name::of(b"font")];

/// HTML elements without an end tag (void elements).
const VOID: [Name; 14] = [
    Name::of(b"area"),
    Name::of(b"base"),
    Name::of(b"br"),
    Name::of(b"col"),
    Name::of(b"embed"),
    Name::of(b"hr"),
    Name::of(b"img"),
    Name::of(b"input"),
    Name::of(b"link"),
    Name::of(b"meta"),
    Name::of(b"param"),
    Name::of(b"source"),
    Name::of(b"track"),
    Name::of(b"wbr"),
];

impl TokenSink for Shape {
    fn wants_any(&mut self, _: Name) -> bool {
        false
    }

    fn wants(&mut self, _: Name, _: Name) -> bool {
        false
    }

    fn attribute(&mut self, _: Name, _: Value<'_>) {}

    fn start_tag(&mut self, tag: StartTag) {
        let is_within_foreign = !self.open.is_empty();
        if tag.name == TEMPLATE {
            self.has_template = true;
            self.open_templates += 1;
        }
        self.has_inert_link |= self.open_templates > 0 && tag.name == A;
        if tag.name == FRAMESET
            || (self.has_inert_link && MARKERS.contains(&tag.name))
            || (tag.name == COL && self.has_template)
            || (is_within_foreign && AMBIGUOUS.contains(&tag.name))
        {
            self.is_comparable = false;
        }
        let ends_at_once =
            if tag.is_foreign { tag.is_self_closing } else { VOID.contains(&tag.name) };
        if (is_within_foreign || tag.name == SVG || tag.name == MATH) && !ends_at_once {
            self.open.push((tag.name, tag.is_foreign));
        }
        self.has_ended_html |= is_within_foreign && ends_at_once && !tag.is_foreign;
    }

    fn end_tag(&mut self, tag: Name) {
        if let Some((open, is_foreign)) = self.open.pop() {
            self.is_comparable &= open == tag;
            self.has_ended_html |= !is_foreign;
        }
        if tag == TEMPLATE {
            self.open_templates = self.open_templates.saturating_sub(1);
            self.has_inert_link &= self.open_templates > 0;
        }
    }

    fn text(&mut self, _: &[u8], _: Text) {}
}
