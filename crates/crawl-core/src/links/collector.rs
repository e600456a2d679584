//! What of a page is kept while its tags go by.

use super::found::{Element, Found, RawLink, Span};
use super::link_text::LinkText;
use super::place::{Lines, Place};
use super::recent::Recent;
use super::sources::*;
use super::{Wanted, css, refresh, srcset};
use crate::html::{Name, StartTag, Text, TokenSink, Value, decode_attribute, is_plain};
use crate::robots;

/// How many bytes of a `style` element are searched for addresses.
const LONGEST_STYLE_SHEET: usize = 1024 * 1024;

/// There is room for so many from the first one on.
const FEW_LINKS: usize = 16;

/// What has been found, and what is being looked at.
#[derive(Debug)]
pub(super) struct Collector {
    wanted: Wanted,
    /// Whether that is more than hyperlinks, which is asked at every tag.
    wants_more: bool,
    pub(super) found: Found,
    recent: Recent,
    recent_ids: Recent,
    /// What is wanted of the present tag. The texts are at the end of those
    /// found; a value that is too long has none, but keeps its name taken.
    attributes: Vec<(Name, Option<Span>)>,
    /// Where the texts of the present tag begin.
    tag_texts: usize,
    lines: Lines,
    /// Where the tag begins that the last slice has cut through.
    open_tag: Option<Place>,
    link_text: LinkText,
    /// The style sheet that is going by, as far as it has come.
    style: Option<StyleSheet>,
}

/// The content of a `style` element.
#[derive(Debug)]
struct StyleSheet {
    css: Vec<u8>,
    place: Option<Place>,
}

/// A collector, and the slice that is being read.
pub(super) struct Collecting<'a> {
    pub(super) collector: &'a mut Collector,
    pub(super) slice: &'a [u8],
    /// Where it begins, in bytes from the beginning of the text.
    pub(super) slice_at: u64,
}

impl Collector {
    pub(super) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            wants_more: wanted.has_more_than_hyperlinks(),
            found: Found::default(),
            recent: Recent::default(),
            recent_ids: Recent::default(),
            attributes: Vec::new(),
            tag_texts: 0,
            lines: Lines::new(),
            open_tag: None,
            link_text: LinkText::default(),
            style: None,
        }
    }

    /// A slice has been read. Its lines are counted before it is gone.
    pub(super) fn count_lines(&mut self, open_tag: Option<u64>, slice: &[u8], slice_at: u64) {
        if !self.wanted.details {
            return;
        }
        match open_tag {
            Some(at) if at >= slice_at => {
                self.open_tag = Some(self.lines.place(slice, slice_at, at));
            }
            // The tag began before, and has not ended yet.
            Some(_) => {}
            None => self.open_tag = None,
        }
        self.lines.place(slice, slice_at, slice_at + slice.len() as u64);
    }

    /// Whether this attribute, or what it leads to, is wanted besides hyperlinks.
    #[inline]
    fn wants_besides(&self, tag: Name, attribute: Name) -> bool {
        let is_for_robots = match tag {
            A | AREA => attribute == REL,
            META => matches!(attribute, NAME | CONTENT),
            _ => false,
        };
        (self.wanted.nofollow && is_for_robots)
            || (self.wants_more && self.is_among_the_wanted(tag, attribute))
    }

    fn is_among_the_wanted(&self, tag: Name, attribute: Name) -> bool {
        let wanted = self.wanted;
        let leads_somewhere = match tag {
            A if attribute == NAME => wanted.ids,
            AREA if attribute == ALT => wanted.details,
            LINK => (wanted.styles || wanted.relations) && matches!(attribute, REL | HREF),
            META => wanted.frames && matches!(attribute, HTTP_EQUIV | CONTENT),
            IMG if attribute == ALT => wanted.details,
            _ => source(tag, attribute).is_some_and(|(_, kind)| wanted.has(kind)),
        };
        leads_somewhere || (attribute == ID && wanted.ids) || (attribute == STYLE && wanted.styles)
    }

    /// What the present tag says for this attribute.
    fn get(&self, attribute: Name) -> Option<Span> {
        self.attributes.iter().find(|(name, _)| *name == attribute)?.1
    }

    fn text_of(&self, attribute: Name) -> Option<&str> {
        Some(self.found.text(self.get(attribute)?))
    }

    /// The address of the last link, if this is the same once more.
    #[inline]
    fn once_more(&self, href: &[u8]) -> Option<Span> {
        let last = self.found.links.last()?.href;
        (self.found.says(last, href) && is_plain(href)).then_some(last)
    }

    /// Whether the present tag asks robots not to follow where it leads.
    #[inline]
    fn is_nofollow(&self) -> bool {
        self.wanted.nofollow && self.text_of(REL).is_some_and(robots::forbids_following)
    }

    fn link(&mut self, element: Element, href: Span, place: Option<Place>) {
        let nofollow = element.is_hyperlink() && self.is_nofollow();
        let links = &self.found.links;
        let is_same = |index: usize| {
            let other: &RawLink = &links[index];
            (other.element, other.nofollow) == (element, nofollow)
                && self.found.is_same(other.href, href)
        };
        if self.recent.has(self.found.text(href).as_bytes(), links.len(), is_same) {
            return;
        }
        if self.found.links.is_empty() {
            // Where there is one there are more.
            self.found.links.reserve(FEW_LINKS);
            self.found.texts.reserve(FEW_LINKS * 32);
        }
        self.found.links.push(RawLink { href, element, place, text: Span::EMPTY, nofollow });
        // The texts of the tag are needed now.
        self.tag_texts = self.found.texts.len();
    }

    fn id(&mut self, id: Span) {
        let (ids, text) = (&self.found.ids, self.found.text(id));
        let is_same = |index: usize| self.found.is_same(ids[index], id);
        if !self.recent_ids.has(text.as_bytes(), ids.len(), is_same) {
            self.found.ids.push(id);
            self.tag_texts = self.found.texts.len();
        }
    }

    /// Adds a link whose address is not in the page as such.
    fn link_to(&mut self, element: Element, href: &str, place: Option<Place>) {
        if let Some(href) = self.found.keep(href) {
            self.link(element, href, place);
        }
    }
}

impl Collecting<'_> {
    /// The place of the present tag, if places are wanted.
    #[inline]
    fn place_of(&mut self, tag: StartTag) -> Option<Place> {
        let collector = &mut *self.collector;
        if !collector.wanted.details {
            return None;
        }
        match collector.open_tag {
            Some(place) if tag.at < self.slice_at => Some(place),
            _ => Some(collector.lines.place(self.slice, self.slice_at, tag.at)),
        }
    }

    /// What the attributes of a start tag say.
    fn attributes(&mut self, tag: StartTag) {
        let mut wants_more = self.collector.wants_more;
        match tag.name {
            A | AREA => {
                self.hyperlink(if tag.name == A { Element::A } else { Element::Area }, tag);
                let Wanted { ids, styles, .. } = self.collector.wanted;
                wants_more = ids || styles;
            }
            BASE if self.collector.found.base.is_none() => {
                self.collector.found.base = self.collector.get(HREF);
                if self.collector.found.base.is_some() {
                    self.collector.tag_texts = self.collector.found.texts.len();
                }
            }
            META if self.collector.wanted.nofollow => self.robots(),
            _ => {}
        }
        if wants_more {
            self.resources(tag);
        }
        self.collector.attributes.clear();
        self.collector.found.texts.truncate(self.collector.tag_texts);
    }

    #[inline(always)]
    fn hyperlink(&mut self, element: Element, tag: StartTag) {
        let Some(href) = self.collector.get(HREF) else {
            return;
        };
        let is_same = |last: &RawLink| {
            last.href == href
                && last.element == element
                && last.nofollow == self.collector.is_nofollow()
        };
        if self.collector.found.links.last().is_some_and(is_same) {
            return;
        }
        let place = self.place_of(tag);
        let index = self.collector.found.links.len();
        self.collector.link(element, href, place);
        let is_new = self.collector.found.links.len() > index;
        if is_new && self.collector.wanted.details {
            self.begin_link_text(element, index);
        }
    }

    fn begin_link_text(&mut self, element: Element, index: usize) {
        let collector = &mut *self.collector;
        collector.link_text.begin(index);
        if element == Element::Area {
            if let Some(alt) = collector.get(ALT) {
                collector.link_text.add(collector.found.text(alt));
            }
            self.end_of_link_text();
        }
    }

    /// A tag has come, which may end the link that is being read.
    fn tag_in_link(&mut self, ends_it: bool) {
        self.collector.link_text.end_of_run();
        if ends_it {
            self.end_of_link_text();
        }
    }

    pub(super) fn end_of_link_text(&mut self) {
        let collector = &mut *self.collector;
        let Some((index, text)) = collector.link_text.end() else {
            return;
        };
        let text = collector.found.keep(text).unwrap_or(Span::EMPTY);
        collector.found.links[index].text = text;
        collector.tag_texts = collector.found.texts.len();
    }

    pub(super) fn end_of_style_sheet(&mut self) {
        if let Some(sheet) = self.collector.style.take() {
            let css = String::from_utf8_lossy(&sheet.css);
            css::urls(&css).for_each(|url| self.collector.link_to(Element::Css, &url, sheet.place));
        }
    }

    /// What an element loads, and what it looks like.
    fn resources(&mut self, tag: StartTag) {
        let place = self.place_of(tag);
        let collector = &mut *self.collector;
        if tag.name == IMG
            && collector.link_text.is_open()
            && let Some((_, Some(alt))) = collector.attributes.iter().find(|(name, _)| *name == ALT)
        {
            collector.link_text.add(collector.found.text(*alt));
        }
        let attributes = std::mem::take(&mut collector.attributes);
        for &(name, value) in &attributes {
            let Some(value) = value else { continue };
            if name == ID || (tag.name == A && name == NAME) {
                collector.id(value);
            } else if name == STYLE {
                let css = collector.found.text(value).to_owned();
                css::urls(&css).for_each(|url| collector.link_to(Element::Css, &url, place));
            } else if let Some((element, _)) = source(tag.name, name) {
                if name == SRCSET {
                    let images = collector.found.text(value).to_owned();
                    srcset::urls(&images).for_each(|url| collector.link_to(element, url, place));
                } else {
                    collector.link(element, value, place);
                }
            }
        }
        collector.attributes = attributes;
        match tag.name {
            LINK => self.relation(place),
            META => self.refresh(place),
            _ => {}
        }
    }

    fn relation(&mut self, place: Option<Place>) {
        let collector = &mut *self.collector;
        let rel = collector.text_of(REL).unwrap_or_default();
        let mut relations = rel.split_ascii_whitespace();
        let is_style = relations.any(|relation| relation.eq_ignore_ascii_case("stylesheet"));
        let wanted = collector.wanted;
        if let Some(href) = collector.get(HREF)
            && if is_style { wanted.styles } else { wanted.relations }
        {
            collector.link(Element::Link, href, place);
        }
    }

    /// A page may ask robots, by their names, not to follow its links.
    fn robots(&mut self) {
        let collector = &mut *self.collector;
        if let Some(name) = collector.get(NAME)
            && collector.text_of(CONTENT).is_some_and(robots::forbid_following)
        {
            collector.found.nofollow.push(name);
            collector.tag_texts = collector.found.texts.len();
        }
    }

    fn refresh(&mut self, place: Option<Place>) {
        let collector = &mut *self.collector;
        let is_refresh = |equivalent: &str| equivalent.eq_ignore_ascii_case("refresh");
        if collector.text_of(HTTP_EQUIV).is_some_and(is_refresh)
            && let Some(content) = collector.text_of(CONTENT)
            && let Some(url) = refresh::url(content).map(str::to_owned)
        {
            collector.link_to(Element::Meta, &url, place);
        }
    }
}

impl TokenSink for Collecting<'_> {
    // ANCHOR: wants
    #[inline]
    fn wants_any(&mut self, tag: Name) -> bool {
        let wanted = self.collector.wanted;
        matches!(tag, A | AREA | BASE)
            || (tag == META && wanted.nofollow)
            || self.collector.wants_more
    }

    #[inline]
    fn wants(&mut self, tag: Name, attribute: Name) -> bool {
        // Of attributes with the same name, the first counts.
        let is_new = |collector: &Collector| {
            !collector.attributes.iter().any(|(name, _)| *name == attribute)
        };
        let is_hyperlink = attribute == HREF && matches!(tag, A | AREA | BASE);
        (is_hyperlink || self.collector.wants_besides(tag, attribute)) && is_new(self.collector)
    }
    // ANCHOR_END: wants

    #[inline]
    fn attribute(&mut self, attribute: Name, value: Value<'_>) {
        let collector = &mut *self.collector;
        let value = match value {
            Value::Whole(href)
                if attribute == HREF
                    && let Some(last) = collector.once_more(href) =>
            {
                Some(last)
            }
            Value::Whole(value) => collector.found.write(|texts| decode_attribute(value, texts)),
            Value::TooLong => None,
        };
        collector.attributes.push((attribute, value));
    }

    #[inline(always)]
    fn start_tag(&mut self, tag: StartTag) {
        if self.collector.link_text.is_open() {
            self.tag_in_link(matches!(tag.name, A | AREA));
        }
        if self.collector.wanted.styles && tag.name == STYLE && !tag.is_foreign {
            let place = self.place_of(tag);
            self.collector.style = Some(StyleSheet { css: Vec::new(), place });
        }
        if !self.collector.attributes.is_empty() {
            self.attributes(tag);
        }
    }

    #[inline]
    fn end_tag(&mut self, tag: Name) {
        if self.collector.link_text.is_open() {
            self.tag_in_link(tag == A);
        }
        if tag == STYLE {
            self.end_of_style_sheet();
        }
    }

    #[inline]
    fn text(&mut self, text: &[u8], how: Text) {
        let collector = &mut *self.collector;
        if let Some(sheet) = &mut collector.style {
            let room = LONGEST_STYLE_SHEET - sheet.css.len();
            sheet.css.extend_from_slice(&text[..text.len().min(room)]);
        } else if how == Text::WithReferences && collector.link_text.is_open() {
            collector.link_text.feed(text);
        }
    }
}
