//! Links and fragment targets of a page.

use serde::{Deserialize, Serialize};
use url::Url;

use super::MAX_LINKS;
use super::position::Position;
use crate::html::MAX_VALUE_LEN;
use crate::{BaseUrl, remove_password};

/// The links of a page, as they are written there, and what else
/// [`ExtractOptions`](super::ExtractOptions) selected.
///
/// All texts are in one string (an arena), so a page costs a few allocations in
/// all, not a few for each link.
///
/// Two are equal if they hold the same, wherever in the string the texts lie.
#[derive(Debug, Default)]
pub struct PageLinks {
    pub(super) texts: String,
    pub(super) base: Option<Span>,
    pub(super) links: Vec<RawLink>,
    pub(super) ids: Vec<Span>,
    /// The names of the robots that `meta` elements ask not to follow links.
    pub(super) nofollow: Vec<Span>,
    pub(super) left_out: u32,
}

impl PartialEq for PageLinks {
    fn eq(&self, other: &Self) -> bool {
        self.links().eq(other.links())
            && self.ids().eq(other.ids())
            && self.texts_of(self.base.as_slice()).eq(other.texts_of(other.base.as_slice()))
            && self.texts_of(&self.nofollow).eq(other.texts_of(&other.nofollow))
            && self.left_out == other.left_out
    }
}

impl Eq for PageLinks {}

/// A range of the texts of a page, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    pub(super) const EMPTY: Self = Self { start: 0, length: 0 };

    pub(super) fn is_empty(self) -> bool {
        self.length == 0
    }
}

/// A [`Link`] whose texts are ranges of the page's texts.
#[derive(Debug)]
pub(super) struct RawLink {
    pub(super) href: Span,
    pub(super) element: Element,
    pub(super) position: Option<Position>,
    pub(super) text: Span,
    pub(super) nofollow: bool,
}

/// A link of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// The reference as it is written in the page, relative to
    /// [`PageLinks::base`].
    pub href: &'a str,
    /// The element that holds the link.
    pub element: Element,
    /// The position of the tag, if `details` were selected.
    pub position: Option<Position>,
    /// The text that a reader sees, if `details` were selected: at most 80
    /// characters, with single blanks.
    pub text: &'a str,
    /// True if its `rel` asks not to follow it and `nofollow` was selected.
    pub nofollow: bool,
}

impl PageLinks {
    /// Returns the links in the order of the page. A link that the page repeats
    /// appears once or several times.
    pub fn links(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        self.links.iter().map(|link| Link {
            href: self.text(link.href),
            element: link.element,
            position: link.position,
            text: self.text(link.text),
            nofollow: link.nofollow,
        })
    }

    /// Returns the number of links that are not stored: those beyond
    /// [`MAX_LINKS`](super::MAX_LINKS); those with a base of more than 1,024 bytes in a
    /// `srcdoc` or a `codebase`; those that a base would make longer than 2,048 bytes
    /// in a `srcdoc`, or the archives of an `applet` together longer than 64 KiB; and those
    /// of a sitemap with more than 8 KiB.
    pub fn left_out(&self) -> u32 {
        self.left_out
    }

    /// Returns the approximate memory of the links and the other findings, in bytes.
    pub fn memory(&self) -> usize {
        self.texts.len()
            + self.links.len() * size_of::<RawLink>()
            + (self.ids.len() + self.nofollow.len()) * size_of::<Span>()
    }

    /// Returns the fragment targets of the page, if `ids` were selected.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts_of(&self.ids)
    }

    fn texts_of<'a>(&'a self, spans: &'a [Span]) -> impl ExactSizeIterator<Item = &'a str> {
        spans.iter().map(|&span| self.text(span))
    }

    /// Returns true if the page asks all robots, or the one of this name, not to
    /// follow its hyperlinks, and `nofollow` was selected.
    pub fn is_nofollow(&self, product_token: &str) -> bool {
        self.texts_of(&self.nofollow).map(str::trim).any(|name| {
            name.eq_ignore_ascii_case("robots")
                || (!name.is_empty() && name.eq_ignore_ascii_case(product_token))
        })
    }

    /// Returns the base URL of the links: that of the first `base` element with an
    /// `href`, if it is usable, or else the URL of the page (HTML standard,
    /// section 2.4.1).
    pub fn base(&self, page: &Url) -> Url {
        let href = self.base.filter(|href| self.text(*href).len() <= MAX_VALUE_LEN);
        let base = href.and_then(|href| BaseUrl::resolve(page, self.text(href)).ok());
        let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
        let mut base = base.unwrap_or_else(|| page.clone());
        remove_password(&mut base);
        base
    }

    /// Counts a link that is left out.
    pub fn leave_out(&mut self) {
        self.left_out = self.left_out.saturating_add(1);
    }

    /// Adds a link that stands in no tag of the page.
    pub fn push(&mut self, element: Element, href: &str, position: Option<Position>) {
        if self.links.len() == MAX_LINKS {
            self.leave_out();
        } else if let Some(href) = self.push_text(href) {
            let (text, nofollow) = (Span::EMPTY, false);
            self.links.push(RawLink { href, element, position, text, nofollow });
        }
    }

    pub(super) fn text(&self, span: Span) -> &str {
        let start = span.start as usize;
        self.texts.get(start..start + span.length as usize).unwrap_or_default()
    }

    pub(super) fn bytes(&self, span: Span) -> &[u8] {
        let start = span.start as usize;
        self.texts.as_bytes().get(start..start + span.length as usize).unwrap_or_default()
    }

    /// Returns true if two spans have the same text.
    pub(super) fn is_same(&self, one: Span, other: Span) -> bool {
        one == other || self.is_text(one, self.bytes(other))
    }

    /// Returns true if `text` is the text of a span.
    #[inline]
    pub(super) fn is_text(&self, span: Span, text: &[u8]) -> bool {
        // On some machines, comparing empty texts takes longer than comparing short
        // ones: there may be no memory at the address of an empty text.
        span.length as usize == text.len() && (text.is_empty() || self.bytes(span) == text)
    }

    /// Adds a text, unless there are 4 GiB already.
    pub(super) fn push_text(&mut self, text: &str) -> Option<Span> {
        self.push_with(|texts| texts.push_str(text))
    }

    /// Adds the text that `write` appends, unless there are 4 GiB already.
    pub(super) fn push_with(&mut self, write: impl FnOnce(&mut String)) -> Option<Span> {
        let start = self.texts.len();
        write(&mut self.texts);
        let length = self.texts.len() - start;
        Some(Span { start: u32::try_from(start).ok()?, length: u32::try_from(length).ok()? })
    }
}

/// The element that holds a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// `a href`
    #[default]
    A,
    /// `area href`
    Area,
    /// `audio src` and `bgsound src`
    Audio,
    /// `url()` or `@import` in a style sheet, or in a `style` element or attribute
    Css,
    /// `embed src`
    Embed,
    /// `frame src`
    Frame,
    /// `iframe src`
    Iframe,
    /// `img src`, `img srcset` and `usemap`
    Img,
    /// `input src`
    Input,
    /// `link href` and `link imagesrcset`, `xml-stylesheet`, and an address of the Open
    /// Graph protocol
    Link,
    /// `meta http-equiv=refresh`, and the HTTP header `Refresh`
    Meta,
    /// `object data`
    Object,
    /// `script src`, and an address in an import map or in speculation rules
    Script,
    /// `source src` and `source srcset`
    Source,
    /// `track src`
    Track,
    /// `video src` and `video poster`
    Video,
    /// `applet archive`
    Applet,
    /// `background` of `body`, of `table` and of its parts
    Background,
    /// `cite` of a quotation or of a change, and `longdesc`
    Cite,
    /// The HTTP headers `Link` and `Speculation-Rules`
    Header,
    /// `html manifest`
    Html,
    /// `href` of an element of SVG that is no hyperlink
    Svg,
    /// A page in a sitemap
    Loc,
    /// A sitemap in an index of sitemaps
    Sitemap,
    /// `form action` and `button formaction`, if the form is sent by `GET`
    Form,
    /// An address in the manifest of a web app
    Manifest,
}

impl Element {
    /// All elements, in the order of their numbers.
    pub const ALL: [Self; 26] = [
        Self::A,
        Self::Area,
        Self::Audio,
        Self::Css,
        Self::Embed,
        Self::Frame,
        Self::Iframe,
        Self::Img,
        Self::Input,
        Self::Link,
        Self::Meta,
        Self::Object,
        Self::Script,
        Self::Source,
        Self::Track,
        Self::Video,
        Self::Applet,
        Self::Background,
        Self::Cite,
        Self::Header,
        Self::Html,
        Self::Svg,
        Self::Loc,
        Self::Sitemap,
        Self::Form,
        Self::Manifest,
    ];

    /// Returns true for a hyperlink, which a reader follows: an `a` or an `area`.
    pub fn is_hyperlink(self) -> bool {
        matches!(self, Self::A | Self::Area)
    }

    /// Returns true if the link shows another page to the reader; the other links
    /// load resources.
    pub fn is_clicked(self) -> bool {
        matches!(
            self,
            Self::A | Self::Area | Self::Frame | Self::Iframe | Self::Meta | Self::Loc | Self::Form
        )
    }

    /// Returns true if the link loads what may be long and is seldom a page.
    pub fn is_media(self) -> bool {
        matches!(
            self,
            Self::Applet
                | Self::Audio
                | Self::Embed
                | Self::Object
                | Self::Source
                | Self::Track
                | Self::Video
        )
    }

    /// Returns the name of the element; `style` for CSS.
    pub fn name(self) -> &'static str {
        match self {
            Self::A => "a",
            Self::Area => "area",
            Self::Audio => "audio",
            Self::Css => "style",
            Self::Embed => "embed",
            Self::Frame => "frame",
            Self::Iframe => "iframe",
            Self::Img => "img",
            Self::Input => "input",
            Self::Link => "link",
            Self::Meta => "meta",
            Self::Object => "object",
            Self::Script => "script",
            Self::Source => "source",
            Self::Track => "track",
            Self::Video => "video",
            Self::Applet => "applet",
            Self::Background => "background",
            Self::Cite => "cite",
            Self::Header => "header",
            Self::Html => "html",
            Self::Svg => "svg",
            Self::Loc => "loc",
            Self::Sitemap => "sitemap",
            Self::Form => "form",
            Self::Manifest => "manifest",
        }
    }
}
