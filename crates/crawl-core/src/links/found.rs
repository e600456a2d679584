//! What a page contains that matters to a crawl.

use serde::{Deserialize, Serialize};
use url::Url;

use super::place::Place;

/// The links of a page, as they are written there.
///
/// All texts lie in one string: a page costs a few allocations, not some per
/// link.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Found {
    pub(super) texts: String,
    pub(super) base: Option<Span>,
    pub(super) links: Vec<RawLink>,
    pub(super) ids: Vec<Span>,
    /// Whom `meta` elements ask not to follow links.
    pub(super) nofollow: Vec<Span>,
}

/// A part of the texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    length: u32,
}

impl Span {
    pub(super) const EMPTY: Self = Self { start: 0, length: 0 };
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct RawLink {
    pub(super) href: Span,
    pub(super) element: Element,
    pub(super) place: Option<Place>,
    pub(super) text: Span,
    pub(super) nofollow: bool,
}

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link<'a> {
    /// Where it leads, as it is written in the page: to be seen from
    /// [`Found::base`].
    pub href: &'a str,
    /// What it belongs to.
    pub element: Element,
    /// Where the tag begins, if that was wanted.
    pub place: Option<Place>,
    /// What a reader sees of it, if that was wanted: at most 80 characters, with
    /// single blanks.
    pub text: &'a str,
    /// Whether its `rel` asks not to follow it, if that was wanted.
    pub nofollow: bool,
}

impl Found {
    /// The links, in the order of the page. One that a page repeats may be there
    /// once or several times.
    pub fn links(&self) -> impl ExactSizeIterator<Item = Link<'_>> {
        self.links.iter().map(|link| Link {
            href: self.text(link.href),
            element: link.element,
            place: link.place,
            text: self.text(link.text),
            nofollow: link.nofollow,
        })
    }

    /// The places of the page that a fragment can name, if they were wanted.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> {
        self.ids.iter().map(|&id| self.text(id))
    }

    /// Whether the page asks all robots, or the one of this name, not to follow
    /// its hyperlinks, if that was wanted.
    pub fn is_nofollow(&self, product_token: &str) -> bool {
        let names = self.nofollow.iter().map(|&name| self.text(name).trim());
        names.into_iter().any(|name| {
            name.eq_ignore_ascii_case("robots")
                || (!name.is_empty() && name.eq_ignore_ascii_case(product_token))
        })
    }

    /// What links are seen from: the first `base` element with an `href`, if
    /// that can be one, or else the page itself (HTML standard, section
    /// 2.4.1).
    pub fn base(&self, page: &Url) -> Url {
        let base = self.base.and_then(|href| page.join(self.text(href)).ok());
        let base = base.filter(|base| !matches!(base.scheme(), "data" | "javascript"));
        base.unwrap_or_else(|| page.clone())
    }

    pub(super) fn text(&self, span: Span) -> &str {
        let start = span.start as usize;
        self.texts.get(start..start + span.length as usize).unwrap_or_default()
    }

    /// Whether both say the same.
    pub(super) fn is_same(&self, one: Span, other: Span) -> bool {
        one == other || self.says(one, self.text(other).as_bytes())
    }

    /// Whether it says this.
    #[inline]
    pub(super) fn says(&self, span: Span, text: &[u8]) -> bool {
        // To compare nothing takes some machines longer than to compare a little:
        // there may be nothing where it is.
        span.length as usize == text.len()
            && (text.is_empty() || self.text(span).as_bytes() == text)
    }

    /// Adds a text, unless there are 4 GiB already.
    pub(super) fn keep(&mut self, text: &str) -> Option<Span> {
        self.write(|texts| texts.push_str(text))
    }

    /// Adds what `write` appends, unless there are 4 GiB already.
    pub(super) fn write(&mut self, write: impl FnOnce(&mut String)) -> Option<Span> {
        let start = self.texts.len();
        write(&mut self.texts);
        let length = self.texts.len() - start;
        Some(Span { start: u32::try_from(start).ok()?, length: u32::try_from(length).ok()? })
    }
}

/// What a link belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Element {
    /// `a href`
    #[default]
    A,
    /// `area href`
    Area,
    /// `audio src`
    Audio,
    /// `url()` or `@import` in a `style` element or attribute
    Css,
    /// `embed src`
    Embed,
    /// `frame src`
    Frame,
    /// `iframe src`
    Iframe,
    /// `img src` and `img srcset`
    Img,
    /// `input src`
    Input,
    /// `link href`
    Link,
    /// `meta http-equiv=refresh`
    Meta,
    /// `object data`
    Object,
    /// `script src`
    Script,
    /// `source src` and `source srcset`
    Source,
    /// `track src`
    Track,
    /// `video src` and `video poster`
    Video,
}

impl Element {
    /// Each of them, at the place of its number.
    pub(crate) const ALL: [Self; 16] = [
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
    ];

    /// Whether a reader follows it, rather than that the page loads it.
    pub fn is_hyperlink(self) -> bool {
        matches!(self, Self::A | Self::Area)
    }

    /// Whether it leads a reader to another page; the others load something.
    pub fn is_clicked(self) -> bool {
        matches!(self, Self::A | Self::Area | Self::Frame | Self::Iframe | Self::Meta)
    }

    /// The name of the element; `style` for CSS.
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
        }
    }
}
