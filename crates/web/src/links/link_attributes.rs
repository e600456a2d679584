//! Table of the attributes that hold links.

use super::ExtractOptions;
use super::page_links::Element;
use crate::html::Name;

pub(super) const A: Name = Name::of(b"a");
pub(super) const AREA: Name = Name::of(b"area");
pub(super) const BASE: Name = Name::of(b"base");
pub(super) const BUTTON: Name = Name::of(b"button");
pub(super) const FORM: Name = Name::of(b"form");
pub(super) const IFRAME: Name = Name::of(b"iframe");
pub(super) const IMG: Name = Name::of(b"img");
pub(super) const INPUT: Name = Name::of(b"input");
pub(super) const LINK: Name = Name::of(b"link");
pub(super) const MAP: Name = Name::of(b"map");
pub(super) const META: Name = Name::of(b"meta");
pub(super) const SCRIPT: Name = Name::of(b"script");
/// The name of an element and also of an attribute.
pub(super) const STYLE: Name = Name::of(b"style");
pub(super) const TEMPLATE: Name = Name::of(b"template");

pub(super) const ACTION: Name = Name::of(b"action");
pub(super) const ALT: Name = Name::of(b"alt");
pub(super) const ARCHIVE: Name = Name::of(b"archive");
pub(super) const CODEBASE: Name = Name::of(b"codebase");
pub(super) const CONTENT: Name = Name::of(b"content");
pub(super) const FORMACTION: Name = Name::of(b"formaction");
pub(super) const FORMMETHOD: Name = Name::of(b"formmethod");
pub(super) const HREF: Name = Name::of(b"href");
pub(super) const HTTP_EQUIV: Name = Name::of(b"http-equiv");
pub(super) const ID: Name = Name::of(b"id");
pub(super) const IMAGESRCSET: Name = Name::of(b"imagesrcset");
pub(super) const ITEMPROP: Name = Name::of(b"itemprop");
pub(super) const LANGUAGE: Name = Name::of(b"language");
pub(super) const METHOD: Name = Name::of(b"method");
pub(super) const NAME: Name = Name::of(b"name");
pub(super) const PROPERTY: Name = Name::of(b"property");
pub(super) const REL: Name = Name::of(b"rel");
pub(super) const REV: Name = Name::of(b"rev");
pub(super) const SHADOWROOTMODE: Name = Name::of(b"shadowrootmode");
pub(super) const SRCDOC: Name = Name::of(b"srcdoc");
pub(super) const SRCSET: Name = Name::of(b"srcset");
pub(super) const TYPE: Name = Name::of(b"type");
pub(super) const USEMAP: Name = Name::of(b"usemap");
pub(super) const XLINK_HREF: Name = Name::of(b"xlink:href");

const APPLET: Name = Name::of(b"applet");
const AUDIO: Name = Name::of(b"audio");
const BACKGROUND: Name = Name::of(b"background");
const BGSOUND: Name = Name::of(b"bgsound");
const BLOCKQUOTE: Name = Name::of(b"blockquote");
const BODY: Name = Name::of(b"body");
const CITE: Name = Name::of(b"cite");
const CLIP_PATH: Name = Name::of(b"clip-path");
const CURSOR: Name = Name::of(b"cursor");
const DATA: Name = Name::of(b"data");
const DEL: Name = Name::of(b"del");
const EMBED: Name = Name::of(b"embed");
const FILL: Name = Name::of(b"fill");
const FILTER: Name = Name::of(b"filter");
const FRAME: Name = Name::of(b"frame");
const HTML: Name = Name::of(b"html");
const IMAGE: Name = Name::of(b"image");
const INS: Name = Name::of(b"ins");
const LONGDESC: Name = Name::of(b"longdesc");
const MANIFEST: Name = Name::of(b"manifest");
const MARKER_END: Name = Name::of(b"marker-end");
const MARKER_MID: Name = Name::of(b"marker-mid");
const MARKER_START: Name = Name::of(b"marker-start");
const MASK: Name = Name::of(b"mask");
const OBJECT: Name = Name::of(b"object");
const POSTER: Name = Name::of(b"poster");
const Q: Name = Name::of(b"q");
const SOURCE: Name = Name::of(b"source");
pub(super) const SRC: Name = Name::of(b"src");
const STROKE: Name = Name::of(b"stroke");
const TABLE: Name = Name::of(b"table");
const TBODY: Name = Name::of(b"tbody");
const TD: Name = Name::of(b"td");
const TFOOT: Name = Name::of(b"tfoot");
const TH: Name = Name::of(b"th");
const THEAD: Name = Name::of(b"thead");
const TR: Name = Name::of(b"tr");
const TRACK: Name = Name::of(b"track");
const VIDEO: Name = Name::of(b"video");

/// The kind of a resource that a page loads or names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    Frame,
    Image,
    Media,
    Script,
    Relation,
}

impl ExtractOptions {
    pub(super) fn has(self, kind: ResourceKind) -> bool {
        match kind {
            ResourceKind::Frame => self.frames,
            ResourceKind::Image => self.images,
            ResourceKind::Media => self.media,
            ResourceKind::Script => self.scripts,
            ResourceKind::Relation => self.relations,
        }
    }

    pub(super) fn has_more_than_hyperlinks(self) -> bool {
        // `nofollow` is about hyperlinks.
        Self { nofollow: false, ..self } != Self::default()
    }

    /// Returns true if the value of this attribute of this element is needed for
    /// anything but the address of a hyperlink, or for robots.
    #[inline(never)]
    pub(super) fn needs(self, tag: Name, attribute: Name) -> bool {
        // The compiler makes a search tree of this: most attributes are none of these.
        match attribute {
            ID => self.ids,
            STYLE => self.styles,
            FILL | FILTER | STROKE | MASK | CLIP_PATH | CURSOR | MARKER_START | MARKER_MID
            | MARKER_END => self.styles,
            NAME => (matches!(tag, A | MAP) && self.ids) || (tag == META && self.relations),
            USEMAP => self.ids && matches!(tag, IMG | INPUT | OBJECT),
            CODEBASE => tag == APPLET && self.media,
            ALT => self.details && matches!(tag, AREA | IMG),
            REL if tag == FORM => self.relations,
            REL | REV | ITEMPROP => tag == LINK && (self.styles || self.relations || self.images),
            ACTION | METHOD => tag == FORM && self.relations,
            FORMACTION | FORMMETHOD => matches!(tag, BUTTON | INPUT) && self.relations,
            HREF => match tag {
                LINK => self.styles || self.relations,
                _ => self.images || self.scripts,
            },
            XLINK_HREF => tag != A && (self.images || self.scripts),
            CONTENT => tag == META && (self.refresh || self.relations),
            HTTP_EQUIV => tag == META && self.refresh,
            PROPERTY => tag == META && self.relations,
            IMAGESRCSET => tag == LINK && self.images,
            TYPE => match tag {
                SCRIPT => self.scripts || self.relations,
                STYLE => self.styles,
                INPUT => self.images,
                _ => false,
            },
            LANGUAGE => tag == SCRIPT && self.scripts,
            SRCDOC => tag == IFRAME,
            SRC | SRCSET | DATA | POSTER | BACKGROUND | CITE | LONGDESC | MANIFEST | ARCHIVE => {
                resource(tag, attribute).is_some_and(|(_, kind)| self.has(kind))
            }
            _ => false,
        }
    }
}

/// Returns the element and the kind of the resource that this attribute of this
/// HTML element loads or names. The attribute holds one address, or several in a
/// `srcset` or an `archive`. (`image` is the name that HTML takes for `img`.)
pub(super) fn resource(tag: Name, attribute: Name) -> Option<(Element, ResourceKind)> {
    Some(match (tag, attribute) {
        (IFRAME, SRC) => (Element::Iframe, ResourceKind::Frame),
        (FRAME, SRC) => (Element::Frame, ResourceKind::Frame),
        (IMG | IMAGE, SRC | SRCSET) => (Element::Img, ResourceKind::Image),
        (SOURCE, SRCSET) => (Element::Source, ResourceKind::Image),
        (VIDEO, POSTER) => (Element::Video, ResourceKind::Image),
        (INPUT, SRC) => (Element::Input, ResourceKind::Image),
        (BODY | TABLE | THEAD | TBODY | TFOOT | TR | TD | TH, BACKGROUND) => {
            (Element::Background, ResourceKind::Image)
        }
        (SOURCE, SRC) => (Element::Source, ResourceKind::Media),
        (VIDEO, SRC) => (Element::Video, ResourceKind::Media),
        (AUDIO, SRC) => (Element::Audio, ResourceKind::Media),
        (BGSOUND, SRC) => (Element::Audio, ResourceKind::Media),
        (TRACK, SRC) => (Element::Track, ResourceKind::Media),
        (EMBED, SRC) => (Element::Embed, ResourceKind::Media),
        (OBJECT, DATA) => (Element::Object, ResourceKind::Media),
        (APPLET, ARCHIVE) => (Element::Applet, ResourceKind::Media),
        (SCRIPT, SRC) => (Element::Script, ResourceKind::Script),
        (BLOCKQUOTE | Q | DEL | INS, CITE) => (Element::Cite, ResourceKind::Relation),
        (IMG | IMAGE | IFRAME | FRAME, LONGDESC) => (Element::Cite, ResourceKind::Relation),
        (HTML, MANIFEST) => (Element::Html, ResourceKind::Relation),
        _ => return None,
    })
}

/// Returns true if this attribute of an element of SVG holds CSS: it is a presentation
/// attribute (SVG 2, section 6.6) in which addresses are of use.
pub(super) fn is_presentation(attribute: Name) -> bool {
    matches!(
        attribute,
        FILL | FILTER | STROKE | MASK | CLIP_PATH | CURSOR | MARKER_START | MARKER_MID | MARKER_END
    )
}

/// Returns true if a `script` with this `type` and this `language` is loaded from its
/// `src`: it is JavaScript, and not a block of data (HTML standard, section 4.12.1.1).
pub(super) fn is_javascript(kind: Option<&str>, language: Option<&str>) -> bool {
    const ESSENCES: [&str; 16] = [
        "application/ecmascript",
        "application/javascript",
        "application/x-ecmascript",
        "application/x-javascript",
        "text/ecmascript",
        "text/javascript",
        "text/javascript1.0",
        "text/javascript1.1",
        "text/javascript1.2",
        "text/javascript1.3",
        "text/javascript1.4",
        "text/javascript1.5",
        "text/jscript",
        "text/livescript",
        "text/x-ecmascript",
        "text/x-javascript",
    ];
    let of_language = language.filter(|language| !language.is_empty());
    let essence = match (kind, of_language) {
        (Some(""), _) | (None, None) => return true,
        (Some(kind), _) => kind.trim_ascii().to_owned(),
        (None, Some(language)) => format!("text/{language}"),
    };
    essence.eq_ignore_ascii_case("module")
        || ESSENCES.iter().any(|known| essence.eq_ignore_ascii_case(known))
}

/// Returns true if a `style` element of this `type` holds CSS (HTML standard, section
/// 4.2.6).
pub(super) fn is_css(kind: &str) -> bool {
    kind.is_empty() || kind.eq_ignore_ascii_case("text/css")
}

/// Returns true for the properties of the Open Graph protocol, and of its kin, that may be
/// an address: no text for readers, which may begin with one.
pub(super) fn is_address_of_open_graph(property: &str) -> bool {
    const TEXTS: [&str; 4] = ["alt", "description", "site_name", "title"];
    let last = property.rsplit(':').next().unwrap_or_default();
    (property.starts_with("og:") || property.starts_with("twitter:"))
        && !TEXTS.contains(&last)
        && !last.starts_with("label")
        && !last.starts_with("data")
}

/// Returns true if the relations of a `link` or of the header `Link` name a document
/// that can be asked for. The others are origins to connect to, addresses for programs
/// that send something, and identifiers.
pub(super) fn names_document(relations: &str) -> bool {
    const NO_DOCUMENT: [&str; 17] = [
        "authorization_endpoint",
        "dns-prefetch",
        "edituri",
        "expect",
        "hub",
        "micropub",
        "microsub",
        "openid.delegate",
        "openid.server",
        "openid2.local_id",
        "openid2.provider",
        "pingback",
        "preconnect",
        "profile",
        "token_endpoint",
        "webmention",
        "wlwmanifest",
    ];
    let names_one = |relation: &str| {
        let relation = relation.to_ascii_lowercase();
        // `schema.dc` and its kin name a vocabulary.
        !NO_DOCUMENT.contains(&&*relation) && !relation.starts_with("schema.")
    };
    relations.split_ascii_whitespace().any(names_one)
}
