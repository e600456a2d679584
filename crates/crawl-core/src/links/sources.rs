//! Which attribute of which element leads somewhere.

use super::Wanted;
use super::found::Element;
use crate::html::Name;

pub(super) const A: Name = Name::of(b"a");
pub(super) const AREA: Name = Name::of(b"area");
pub(super) const BASE: Name = Name::of(b"base");
pub(super) const IMG: Name = Name::of(b"img");
pub(super) const LINK: Name = Name::of(b"link");
pub(super) const META: Name = Name::of(b"meta");
/// An element as well as an attribute.
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

/// What kind of thing a page loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Frame,
    Image,
    Media,
    Script,
}

impl Wanted {
    pub(super) fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Frame => self.frames,
            Kind::Image => self.images,
            Kind::Media => self.media,
            Kind::Script => self.scripts,
        }
    }

    pub(super) fn has_more_than_hyperlinks(self) -> bool {
        // What is not to be followed is a hyperlink.
        Self { nofollow: false, ..self } != Self::default()
    }
}

/// What this attribute of this element loads: one address, or in a `srcset`
/// several.
pub(super) fn source(tag: Name, attribute: Name) -> Option<(Element, Kind)> {
    Some(match (tag, attribute) {
        (IFRAME, SRC) => (Element::Iframe, Kind::Frame),
        (FRAME, SRC) => (Element::Frame, Kind::Frame),
        (IMG, SRC | SRCSET) => (Element::Img, Kind::Image),
        (SOURCE, SRCSET) => (Element::Source, Kind::Image),
        (VIDEO, POSTER) => (Element::Video, Kind::Image),
        (INPUT, SRC) => (Element::Input, Kind::Image),
        (SOURCE, SRC) => (Element::Source, Kind::Media),
        (VIDEO, SRC) => (Element::Video, Kind::Media),
        (AUDIO, SRC) => (Element::Audio, Kind::Media),
        (TRACK, SRC) => (Element::Track, Kind::Media),
        (EMBED, SRC) => (Element::Embed, Kind::Media),
        (OBJECT, DATA) => (Element::Object, Kind::Media),
        (SCRIPT, SRC) => (Element::Script, Kind::Script),
        _ => return None,
    })
}
