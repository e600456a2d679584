//! Table of the attributes that hold links.

use super::ExtractOptions;
use super::page_links::Element;
use crate::html::Name;

pub(super) const A: Name = Name::of(b"a");
pub(super) const AREA: Name = Name::of(b"area");
pub(super) const BASE: Name = Name::of(b"base");
pub(super) const IMG: Name = Name::of(b"img");
pub(super) const LINK: Name = Name::of(b"link");
pub(super) const META: Name = Name::of(b"meta");
/// The name of an element and also of an attribute.
pub(super) const STYLE: Name = Name::of(b"style");

pub(super) const ALT: Name = Name::of(b"alt");
pub(super) const CONTENT: Name = Name::of(b"content");
pub(super) const HREF: Name = Name::of(b"href");
pub(super) const HTTP_EQUIV: Name = Name::of(b"http-equiv");
pub(super) const ID: Name = Name::of(b"id");
pub(super) const NAME: Name = Name::of(b"name");
pub(super) const REL: Name = Name::of(b"rel");
pub(super) const SRCSET: Name = Name::of(b"srcset");

const AUDIO: Name = Name::of(b"audio");
const DATA: Name = Name::of(b"data");
const EMBED: Name = Name::of(b"embed");
const FRAME: Name = Name::of(b"frame");
const IFRAME: Name = Name::of(b"iframe");
const INPUT: Name = Name::of(b"input");
const OBJECT: Name = Name::of(b"object");
const POSTER: Name = Name::of(b"poster");
const SCRIPT: Name = Name::of(b"script");
const SOURCE: Name = Name::of(b"source");
const SRC: Name = Name::of(b"src");
const TRACK: Name = Name::of(b"track");
const VIDEO: Name = Name::of(b"video");

/// The kind of a resource that a page loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    Frame,
    Image,
    Media,
    Script,
}

impl ExtractOptions {
    pub(super) fn has(self, kind: ResourceKind) -> bool {
        match kind {
            ResourceKind::Frame => self.frames,
            ResourceKind::Image => self.images,
            ResourceKind::Media => self.media,
            ResourceKind::Script => self.scripts,
        }
    }

    pub(super) fn has_more_than_hyperlinks(self) -> bool {
        // `nofollow` is about hyperlinks.
        Self { nofollow: false, ..self } != Self::default()
    }
}

/// Returns the element and the kind of the resource that this attribute of this
/// element loads. The attribute holds one address, or several in a `srcset`.
pub(super) fn resource(tag: Name, attribute: Name) -> Option<(Element, ResourceKind)> {
    Some(match (tag, attribute) {
        (IFRAME, SRC) => (Element::Iframe, ResourceKind::Frame),
        (FRAME, SRC) => (Element::Frame, ResourceKind::Frame),
        (IMG, SRC | SRCSET) => (Element::Img, ResourceKind::Image),
        (SOURCE, SRCSET) => (Element::Source, ResourceKind::Image),
        (VIDEO, POSTER) => (Element::Video, ResourceKind::Image),
        (INPUT, SRC) => (Element::Input, ResourceKind::Image),
        (SOURCE, SRC) => (Element::Source, ResourceKind::Media),
        (VIDEO, SRC) => (Element::Video, ResourceKind::Media),
        (AUDIO, SRC) => (Element::Audio, ResourceKind::Media),
        (TRACK, SRC) => (Element::Track, ResourceKind::Media),
        (EMBED, SRC) => (Element::Embed, ResourceKind::Media),
        (OBJECT, DATA) => (Element::Object, ResourceKind::Media),
        (SCRIPT, SRC) => (Element::Script, ResourceKind::Script),
        _ => return None,
    })
}
