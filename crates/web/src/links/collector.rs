//! Collector of links: the token sink that keeps what matters of a page.

use super::content_hash::ContentHash;
use super::dedup_cache::DedupCache;
use super::link_attributes::*;
use super::link_text::LinkText;
use super::page_links::{Element, PageLinks, RawLink, Span};
use super::position::{LineCounter, Position};
use super::style_sheet::MAX_STYLE_SHEET_LEN;
use super::{ExtractOptions, MAX_LINKS, css, inner_base, json, refresh, srcset};
use crate::address::has_other_scheme;
use crate::html::{
    MAX_VALUE_LEN, Name, StartTag, Text, TokenSink, Tokenizer, Value, decode_attribute,
    decode_text, is_plain,
};
use crate::robots;

/// The number of links for which memory is reserved at the first one.
const FEW_LINKS: usize = 16;

/// The links found so far, and the tag being read.
#[derive(Debug)]
pub(super) struct Collector {
    options: ExtractOptions,
    /// True if the options select more than hyperlinks. It is tested at every
    /// tag.
    wants_more: bool,
    pub(super) page_links: PageLinks,
    /// The hash of the visible text, if it is wanted.
    pub(super) content: Option<ContentHash>,
    link_cache: DedupCache,
    id_cache: DedupCache,
    /// The wanted attributes of the current tag. Their values are at the end of
    /// the texts of `page_links`. A value that is too long is `None`; its name
    /// is kept, because the first attribute of a name counts.
    attributes: Vec<(Name, Option<Span>)>,
    /// The offset in those texts at which the values of the current tag begin.
    tag_texts: usize,
    line_counter: LineCounter,
    /// The position of the tag that the end of the last slice cuts through.
    open_tag: Option<Position>,
    link_text: LinkText,
    /// The content of an element that is not HTML, as far as it has arrived.
    pub(super) embedded: Option<Box<Embedded>>,
    /// True if the last form is sent by `GET`.
    is_get_form: bool,
    /// The open `template` elements.
    templates: Templates,
    /// The number of documents around this one: it is in the `srcdoc` of a frame.
    num_outer: u8,
}

/// The `template` elements that are open. Their content is inert: it is no part of the
/// page, until a script makes it one. That of a shadow root is.
#[derive(Debug, Default)]
struct Templates {
    open: u32,
    /// The number of those that were open with the outermost inert one.
    inert_from: Option<u32>,
}

impl Templates {
    #[inline]
    fn is_inert(&self) -> bool {
        self.inert_from.is_some()
    }

    fn begin(&mut self, is_shadow_root: bool) {
        self.open = self.open.saturating_add(1);
        if !is_shadow_root {
            self.inert_from.get_or_insert(self.open);
        }
    }

    fn end(&mut self) {
        if self.inert_from == Some(self.open) {
            self.inert_from = None;
        }
        self.open = self.open.saturating_sub(1);
    }
}

/// The number of documents that may be within each other's `srcdoc`.
const MAX_OUTER: u8 = 4;

/// The content of a `style` element, or of a `script` that is JSON.
#[derive(Debug)]
pub(super) struct Embedded {
    language: Language,
    text: Vec<u8>,
    /// The offset in the text from which on it has character references, if its end has
    /// some: that of a `style` element in a drawing.
    references_from: Option<usize>,
    /// True if there was more text than is kept.
    is_cut: bool,
    position: Option<Position>,
}

impl Embedded {
    fn new(language: Language, position: Option<Position>) -> Self {
        Self { language, text: Vec::new(), references_from: None, is_cut: false, position }
    }

    fn add(&mut self, text: &[u8], kind: Text) {
        if self.is_cut {
            return;
        }
        match kind {
            Text::WithReferences => {
                self.references_from.get_or_insert(self.text.len());
            }
            Text::Raw => self.decode(),
        }
        let room = MAX_STYLE_SHEET_LEN.saturating_sub(self.text.len());
        self.is_cut = text.len() > room;
        self.text.extend_from_slice(&text[..text.len().min(room)]);
    }

    /// Decodes the character references so far.
    fn decode(&mut self) {
        if let Some(from) = self.references_from.take() {
            let mut decoded = String::new();
            decode_text(&self.text[from..], &mut decoded);
            self.text.truncate(from);
            self.text.extend_from_slice(decoded.as_bytes());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Css,
    ImportMap,
    SpeculationRules,
}

/// Token sink of one slice: a collector and the slice being read.
pub(super) struct CollectorSink<'a> {
    pub(super) collector: &'a mut Collector,
    pub(super) slice: &'a [u8],
    /// The offset of the slice, in bytes from the beginning of the page.
    pub(super) slice_at: u64,
}

impl Collector {
    pub(super) fn new(options: ExtractOptions) -> Self {
        Self {
            options,
            wants_more: options.has_more_than_hyperlinks(),
            page_links: PageLinks::default(),
            content: None,
            link_cache: DedupCache::default(),
            id_cache: DedupCache::default(),
            attributes: Vec::new(),
            tag_texts: 0,
            line_counter: LineCounter::new(),
            open_tag: None,
            link_text: LinkText::default(),
            embedded: None,
            is_get_form: false,
            templates: Templates::default(),
            num_outer: 0,
        }
    }

    /// Adds text to what is made of it.
    fn wanted_text(&mut self, text: &[u8], kind: Text) {
        if self.templates.is_inert() {
            return;
        }
        if let Some(embedded) = &mut self.embedded {
            embedded.add(text, kind);
        } else if kind == Text::WithReferences && self.link_text.is_open() {
            self.link_text.feed(text);
        }
    }

    /// Counts the lines of a slice that has been read, before it is dropped.
    pub(super) fn count_lines(&mut self, open_tag: Option<u64>, slice: &[u8], slice_at: u64) {
        if !self.options.details {
            return;
        }
        match open_tag {
            Some(at) if at >= slice_at => {
                self.open_tag = Some(self.line_counter.position(slice, slice_at, at));
            }
            // The tag began in an earlier slice, and has not ended yet.
            Some(_) => {}
            None => self.open_tag = None,
        }
        self.line_counter.position(slice, slice_at, slice_at + slice.len() as u64);
    }

    /// Returns true if this attribute is wanted for something other than the
    /// address of a hyperlink.
    #[inline]
    fn wants_extra(&self, tag: Name, attribute: Name) -> bool {
        let is_for_robots = match tag {
            A | AREA => attribute == REL,
            META => matches!(attribute, NAME | CONTENT),
            _ => false,
        };
        (self.options.nofollow && is_for_robots)
            || (self.wants_more && self.options.needs(tag, attribute))
    }

    /// Returns the value of this attribute of the current tag.
    fn get(&self, attribute: Name) -> Option<Span> {
        self.attributes.iter().find(|(name, _)| *name == attribute)?.1
    }

    fn text_of(&self, attribute: Name) -> Option<&str> {
        Some(self.page_links.text(self.get(attribute)?))
    }

    /// Returns the address of the last link, if it equals this one.
    #[inline]
    fn same_as_last(&self, href: &[u8]) -> Option<Span> {
        let last = self.page_links.links.last()?.href;
        (self.page_links.is_text(last, href) && is_plain(href)).then_some(last)
    }

    /// Returns true if the current tag asks robots not to follow its link.
    #[inline]
    fn is_nofollow(&self) -> bool {
        self.options.nofollow && self.text_of(REL).is_some_and(robots::rel_forbids_following)
    }

    /// Adds a link, unless the cache holds the same one.
    fn add_link(&mut self, element: Element, href: Span, position: Option<Position>) {
        let nofollow = element.is_hyperlink() && self.is_nofollow();
        let links = &self.page_links.links;
        let is_same = |index: usize| {
            // One that was left out has no link.
            links.get(index).is_some_and(|other| {
                (other.element, other.nofollow) == (element, nofollow)
                    && self.page_links.is_same(other.href, href)
            })
        };
        let text = self.page_links.bytes(href);
        if self.link_cache.contains_or_insert(text, links.len(), is_same) {
            return;
        }
        if self.page_links.links.len() == MAX_LINKS {
            self.page_links.leave_out();
            return;
        }
        if self.page_links.links.is_empty() {
            // A page with one link usually has more.
            self.page_links.links.reserve(FEW_LINKS);
            self.page_links.texts.reserve(FEW_LINKS * 32);
        }
        let link = RawLink { href, element, position, text: Span::EMPTY, nofollow };
        self.page_links.links.push(link);
        // From now on, the values of the tag are in use.
        self.tag_texts = self.page_links.texts.len();
    }

    /// Drops the attributes of the current tag.
    #[cold]
    fn drop_attributes(&mut self) {
        self.attributes.clear();
        self.page_links.texts.truncate(self.tag_texts);
    }

    /// Returns the memory of what is being collected, in bytes.
    pub(super) fn memory(&self) -> usize {
        let embedded = self.embedded.as_ref().map_or(0, |embedded| embedded.text.len());
        self.page_links.memory() + embedded
    }

    /// Adds a fragment target, unless the cache holds the same one.
    fn add_id(&mut self, id: Span) {
        let (ids, text) = (&self.page_links.ids, self.page_links.bytes(id));
        let is_same = |index: usize| self.page_links.is_same(ids[index], id);
        if !self.id_cache.contains_or_insert(text, ids.len(), is_same) {
            self.page_links.ids.push(id);
            self.tag_texts = self.page_links.texts.len();
        }
    }

    /// Adds a link whose address is only a part of an attribute or text.
    fn add_link_to(&mut self, element: Element, href: &str, position: Option<Position>) {
        if let Some(href) = self.page_links.push_text(href) {
            self.add_link(element, href, position);
        }
    }
}

/// Returns true for the elements that are links. In a drawing, `area` is an element without
/// a meaning.
#[inline]
fn is_hyperlink(tag: StartTag) -> bool {
    tag.name == A || (tag.name == AREA && !tag.is_foreign)
}

impl CollectorSink<'_> {
    /// Returns the position of the current tag, if the options select positions.
    #[inline]
    fn position_of(&mut self, tag: StartTag) -> Option<Position> {
        let collector = &mut *self.collector;
        if !collector.options.details {
            return None;
        }
        match collector.open_tag {
            Some(position) if tag.at < self.slice_at => Some(position),
            _ => Some(collector.line_counter.position(self.slice, self.slice_at, tag.at)),
        }
    }

    /// Begins a `template` element.
    #[cold]
    fn begin_template(&mut self, tag: StartTag) {
        let collector = &mut *self.collector;
        if tag.is_foreign {
            // It is an element like others, but has an end tag of the same name.
            if !tag.is_self_closing {
                collector.templates.begin(true);
            }
            return;
        }
        let is_mode =
            |mode: &str| mode.eq_ignore_ascii_case("open") || mode.eq_ignore_ascii_case("closed");
        let is_shadow_root = collector.text_of(SHADOWROOTMODE).is_some_and(is_mode);
        // The element itself is part of the page, unless it became the root.
        if !is_shadow_root
            && !collector.templates.is_inert()
            && let Some(id) = collector.get(ID)
        {
            collector.add_id(id);
        }
        collector.templates.begin(is_shadow_root);
        collector.drop_attributes();
    }

    /// Adds what the attributes of a start tag contain.
    fn attributes(&mut self, tag: StartTag) {
        let mut wants_more = self.collector.wants_more;
        match tag.name {
            A | AREA if is_hyperlink(tag) => {
                self.hyperlink(if tag.name == A { Element::A } else { Element::Area }, tag);
                let ExtractOptions { ids, styles, .. } = self.collector.options;
                // Else no other attribute leads anywhere, unless it is a drawing.
                wants_more =
                    ids || styles && (tag.is_foreign || self.collector.get(STYLE).is_some());
            }
            BASE if !tag.is_foreign && self.collector.page_links.base.is_none() => {
                self.collector.page_links.base = self.collector.get(HREF);
                if self.collector.page_links.base.is_some() {
                    self.collector.tag_texts = self.collector.page_links.texts.len();
                }
            }
            META if self.collector.options.nofollow => self.robots(),
            _ => {}
        }
        if wants_more {
            self.resources(tag);
        }
        self.collector.attributes.clear();
        self.collector.page_links.texts.truncate(self.collector.tag_texts);
    }

    #[inline(always)]
    fn hyperlink(&mut self, element: Element, tag: StartTag) {
        // In SVG, the older name counts as well.
        let older = || self.collector.get(XLINK_HREF).filter(|_| tag.is_foreign);
        let Some(href) = self.collector.get(HREF).or_else(older) else {
            return;
        };
        let is_same = |last: &RawLink| {
            last.href == href
                && last.element == element
                && last.nofollow == self.collector.is_nofollow()
        };
        if self.collector.page_links.links.last().is_some_and(is_same) {
            return;
        }
        let position = self.position_of(tag);
        let index = self.collector.page_links.links.len();
        self.collector.add_link(element, href, position);
        let is_new = self.collector.page_links.links.len() > index;
        if is_new && self.collector.options.details {
            self.begin_link_text(element, index);
        }
    }

    fn begin_link_text(&mut self, element: Element, index: usize) {
        let collector = &mut *self.collector;
        collector.link_text.begin(index);
        if element == Element::Area {
            if let Some(alt) = collector.get(ALT) {
                collector.link_text.add(collector.page_links.text(alt));
            }
            self.end_link_text();
        }
    }

    /// Takes a tag within a link; `ends_link` is true if the tag ends the link.
    fn tag_in_link(&mut self, ends_link: bool) {
        self.collector.link_text.end_run();
        if ends_link {
            self.end_link_text();
        }
    }

    pub(super) fn end_link_text(&mut self) {
        let collector = &mut *self.collector;
        let Some((index, text)) = collector.link_text.end() else {
            return;
        };
        let text = collector.page_links.push_text(text).unwrap_or(Span::EMPTY);
        collector.page_links.links[index].text = text;
        collector.tag_texts = collector.page_links.texts.len();
    }

    /// Ends what is embedded, and adds its addresses.
    pub(super) fn end_embedded(&mut self) {
        let Some(mut embedded) = self.collector.embedded.take() else {
            return;
        };
        embedded.decode();
        let Embedded { language, text, is_cut, position, .. } = *embedded;
        let urls = match language {
            Language::Css => {
                let css = String::from_utf8_lossy(&text);
                for url in css::urls(&css, is_cut) {
                    self.collector.add_link_to(Element::Css, &url, position);
                }
                return;
            }
            Language::ImportMap => json::of_import_map(&text),
            Language::SpeculationRules => json::of_speculation_rules(&text),
        };
        for url in urls {
            self.collector.add_link_to(Element::Script, &url, position);
        }
    }

    /// Adds what an element loads, and its ID.
    #[inline(never)]
    fn resources(&mut self, tag: StartTag) {
        let position = self.position_of(tag);
        let collector = &mut *self.collector;
        if tag.name == IMG
            && collector.link_text.is_open()
            && let Some((_, Some(alt))) = collector.attributes.iter().find(|(name, _)| *name == ALT)
        {
            collector.link_text.add(collector.page_links.text(*alt));
        }
        let is_inert = match tag.name {
            SCRIPT => !is_javascript(collector.text_of(TYPE), collector.text_of(LANGUAGE)),
            INPUT => collector.text_of(TYPE).is_none_or(|kind| !kind.eq_ignore_ascii_case("image")),
            _ => false,
        };
        let attributes = std::mem::take(&mut collector.attributes);
        for &(name, value) in &attributes {
            let Some(value) = value else { continue };
            if name == ID || (matches!(tag.name, A | MAP) && name == NAME) {
                collector.add_id(value);
            } else if name == USEMAP
                && collector.page_links.text(value).starts_with('#')
                // It is one of this page, whatever the base.
                && collector.page_links.base.is_none()
            {
                collector.add_link(Element::Img, value, position);
            } else if name == STYLE || (tag.is_foreign && is_presentation(name)) {
                let css = collector.page_links.text(value).to_owned();
                let urls = css::urls_of_declarations(&css);
                urls.for_each(|url| collector.add_link_to(Element::Css, &url, position));
            } else if !tag.is_foreign
                && let Some((element, kind)) = resource(tag.name, name)
                && collector.options.has(kind)
                && !is_inert
                // What is empty is not loaded, although it would lead to the base.
                && !value.is_empty()
            {
                let text = || collector.page_links.text(value).to_owned();
                match name {
                    SRCSET => {
                        let images = text();
                        let urls = srcset::urls(&images);
                        urls.for_each(|url| collector.add_link_to(element, url, position));
                    }
                    ARCHIVE => {
                        let archives = text();
                        let folder = attributes.iter().find(|(name, _)| *name == CODEBASE);
                        let folder = folder.and_then(|(_, value)| *value);
                        let folder = folder.map(|folder| {
                            collector.page_links.text(folder).trim_end_matches('/').to_owned()
                        });
                        // Each archive would be as long as the folder.
                        let mut room = MAX_VALUE_LEN;
                        let archives = archives.split(',').map(str::trim);
                        for archive in archives.filter(|archive| !archive.is_empty()) {
                            let is_within = !archive.starts_with('/') && !archive.contains(':');
                            let folder = folder.as_deref().filter(|_| is_within);
                            let length = folder.map_or(0, str::len);
                            if length > inner_base::MAX_LEN.min(room) {
                                collector.page_links.leave_out();
                                continue;
                            }
                            room -= length;
                            let url = folder.map(|folder| format!("{folder}/{archive}"));
                            let url = url.as_deref().unwrap_or(archive);
                            collector.add_link_to(element, url, position);
                        }
                    }
                    _ => collector.add_link(element, value, position),
                }
            }
        }
        collector.attributes = attributes;
        match tag.name {
            A | AREA | BASE => {}
            _ if tag.is_foreign => self.drawing(tag.name, position),
            LINK => self.relation(position),
            META => self.meta(position),
            IFRAME => self.inner_document(position),
            SCRIPT => self.script(position),
            FORM | BUTTON | INPUT => self.form(tag.name, position),
            // Of another language, it is no style sheet.
            STYLE if collector.text_of(TYPE).is_some_and(|kind| !is_css(kind)) => {
                collector.embedded = None;
            }
            _ => {}
        }
    }

    /// Adds what an element of SVG names (SVG 2, section 16.1).
    fn drawing(&mut self, tag: Name, position: Option<Position>) {
        let collector = &mut *self.collector;
        let href = collector.get(HREF).or_else(|| collector.get(XLINK_HREF));
        let Some(href) = href.filter(|href| !href.is_empty()) else { return };
        let is_script = tag == SCRIPT;
        let is_wanted =
            if is_script { collector.options.scripts } else { collector.options.images };
        // A fragment alone is an element of the same drawing.
        if is_wanted && !collector.page_links.text(href).trim_start().starts_with('#') {
            let element = if is_script { Element::Script } else { Element::Svg };
            collector.add_link(element, href, position);
        }
    }

    /// Adds the addresses of a `link` element.
    fn relation(&mut self, position: Option<Position>) {
        let collector = &mut *self.collector;
        let rel = collector.text_of(REL).unwrap_or_default();
        let mut relations = rel.split_ascii_whitespace();
        let is_style = relations.any(|relation| relation.eq_ignore_ascii_case("stylesheet"));
        let options = collector.options;
        // A `link` without a relation links to nothing.
        let is_relation = names_document(rel)
            || collector.text_of(REV).is_some_and(names_document)
            || collector.get(ITEMPROP).is_some();
        let images = collector.get(IMAGESRCSET).filter(|_| is_relation && options.images);
        if let Some(href) = collector.get(HREF).filter(|href| !href.is_empty())
            && if is_style { options.styles } else { is_relation && options.relations }
        {
            collector.add_link(Element::Link, href, position);
        }
        if let Some(images) = images {
            let images = collector.page_links.text(images).to_owned();
            let urls = srcset::urls(&images);
            urls.for_each(|url| collector.add_link_to(Element::Link, url, position));
        }
    }

    /// Begins a `script` that is JSON with addresses.
    fn script(&mut self, position: Option<Position>) {
        let collector = &mut *self.collector;
        let is = |known: &str| {
            collector
                .text_of(TYPE)
                .is_some_and(|kind| kind.trim_ascii().eq_ignore_ascii_case(known))
        };
        let language = if collector.options.scripts && is("importmap") {
            Language::ImportMap
        } else if collector.options.relations && is("speculationrules") {
            Language::SpeculationRules
        } else {
            return;
        };
        collector.embedded = Some(Box::new(Embedded::new(language, position)));
    }

    /// Adds the address that a form is sent to, or that one of its buttons gives instead.
    /// Only `GET` is harmless; it replaces the query by what is in the fields (HTML
    /// standard, section 4.10.21.3).
    fn form(&mut self, tag: Name, position: Option<Position>) {
        let collector = &mut *self.collector;
        let is_form = tag == FORM;
        let (action, method) = if is_form { (ACTION, METHOD) } else { (FORMACTION, FORMMETHOD) };
        let sends = |method: &str| {
            !method.eq_ignore_ascii_case("post") && !method.eq_ignore_ascii_case("dialog")
        };
        let is_get = collector.text_of(method).map_or(is_form || collector.is_get_form, sends);
        if is_form {
            collector.is_get_form = is_get;
        }
        let Some(action) = collector.text_of(action).filter(|_| is_get) else { return };
        let target = action.split(['?', '#']).next().unwrap_or_default().trim_ascii();
        let is_refused = is_form && collector.is_nofollow();
        // An empty one is the page itself.
        if !target.is_empty() && !is_refused {
            let target = target.to_owned();
            collector.add_link_to(Element::Form, &target, position);
        }
    }

    /// Adds the links of a page that stands in an attribute of a frame. They have the
    /// position of the frame.
    fn inner_document(&mut self, position: Option<Position>) {
        let Self { collector, slice_at, .. } = self;
        let Some(html) = collector.text_of(SRCDOC).filter(|_| collector.num_outer < MAX_OUTER)
        else {
            return;
        };
        let html = html.to_owned();
        let options = ExtractOptions { ids: false, details: false, ..collector.options };
        let mut inner = Collector::new(options);
        inner.wants_more = collector.wants_more;
        inner.num_outer = collector.num_outer + 1;
        let mut tokenizer = Tokenizer::new();
        let slice = html.as_bytes();
        let mut sink = CollectorSink { collector: &mut inner, slice, slice_at: *slice_at };
        tokenizer.feed(slice, &mut sink);
        tokenizer.finish(&mut sink);
        sink.end_embedded();
        let inner = &inner.page_links;
        collector.page_links.left_out =
            collector.page_links.left_out.saturating_add(inner.left_out);
        let base = inner.base.map(|base| inner.text(base));
        for link in inner.links().filter(|link| !link.nofollow) {
            match base {
                None => collector.add_link_to(link.element, link.href, position),
                Some(base) if base.len() > inner_base::MAX_LEN => collector.page_links.leave_out(),
                Some(base) => {
                    let Some(href) = inner_base::resolve(base, link.href) else { continue };
                    if href.len() > link.href.len().max(inner_base::MAX_RESOLVED_LEN) {
                        collector.page_links.leave_out();
                    } else {
                        collector.add_link_to(link.element, &href, position);
                    }
                }
            }
        }
    }

    /// Adds the name of a robot that a `meta` element asks not to follow links.
    fn robots(&mut self) {
        let collector = &mut *self.collector;
        if let Some(name) = collector.get(NAME)
            && collector.text_of(CONTENT).is_some_and(robots::directives_forbid_following)
        {
            collector.page_links.nofollow.push(name);
            collector.tag_texts = collector.page_links.texts.len();
        }
    }

    /// Adds the address of a `meta` refresh, or that of a property of the Open Graph
    /// protocol, of which every value that is a URL is absolute.
    fn meta(&mut self, position: Option<Position>) {
        let collector = &mut *self.collector;
        let Some(content) = collector.text_of(CONTENT) else { return };
        let is_refresh = |equivalent: &str| equivalent.eq_ignore_ascii_case("refresh");
        let url = if collector.text_of(HTTP_EQUIV).is_some_and(is_refresh) {
            refresh::url(content).filter(|_| collector.options.refresh)
        } else if collector.options.relations
            && [PROPERTY, NAME]
                .into_iter()
                .any(|name| collector.text_of(name).is_some_and(is_address_of_open_graph))
        {
            let is_absolute = content.starts_with("http://") || content.starts_with("https://");
            Some(content).filter(|_| is_absolute)
        } else {
            None
        };
        if let Some(url) = url.map(str::to_owned) {
            let element =
                if collector.get(HTTP_EQUIV).is_some() { Element::Meta } else { Element::Link };
            collector.add_link_to(element, &url, position);
        }
    }
}

impl TokenSink for CollectorSink<'_> {
    // ANCHOR: wants
    #[inline]
    fn wants_any(&mut self, tag: Name) -> bool {
        if self.collector.templates.is_inert() {
            return tag == TEMPLATE;
        }
        let options = self.collector.options;
        matches!(tag, A | AREA | BASE | TEMPLATE)
            || (tag == META && options.nofollow)
            || self.collector.wants_more
    }

    #[inline]
    fn wants(&mut self, tag: Name, attribute: Name) -> bool {
        // If a tag has several attributes of one name, the first counts.
        let is_new = |collector: &Collector| {
            !collector.attributes.iter().any(|(name, _)| *name == attribute)
        };
        let is_hyperlink = match tag {
            A => matches!(attribute, HREF | XLINK_HREF),
            AREA | BASE => attribute == HREF,
            TEMPLATE => attribute == SHADOWROOTMODE,
            _ => false,
        };
        let is_wanted = is_hyperlink || self.collector.wants_extra(tag, attribute);
        is_wanted && is_new(self.collector)
    }
    // ANCHOR_END: wants

    #[inline]
    fn attribute(&mut self, attribute: Name, value: Value<'_>) {
        let collector = &mut *self.collector;
        let value = match value {
            Value::Whole(href)
                if attribute == HREF
                    && let Some(last) = collector.same_as_last(href) =>
            {
                Some(last)
            }
            Value::Whole(value) => {
                collector.page_links.push_with(|texts| decode_attribute(value, texts))
            }
            // What is too long for a URL is a link all the same. Images in a link are none.
            Value::TooLong(beginning)
                if matches!(attribute, HREF | SRC) && !has_other_scheme(beginning) =>
            {
                let beginning = String::from_utf8_lossy(beginning);
                collector.page_links.push_with(|texts| texts.push_str(&beginning))
            }
            Value::TooLong(_) => None,
        };
        collector.attributes.push((attribute, value));
    }

    #[inline(always)]
    fn start_tag(&mut self, tag: StartTag) {
        if tag.name == TEMPLATE {
            self.begin_template(tag);
        }
        if self.collector.templates.is_inert() {
            self.collector.drop_attributes();
            return;
        }
        if self.collector.link_text.is_open() {
            self.tag_in_link(is_hyperlink(tag));
        }
        if self.collector.options.styles
            && tag.name == STYLE
            && !(tag.is_foreign && tag.is_self_closing)
        {
            let position = self.position_of(tag);
            self.collector.embedded = Some(Box::new(Embedded::new(Language::Css, position)));
        }
        if !self.collector.attributes.is_empty() {
            self.attributes(tag);
        }
    }

    #[inline(always)]
    fn end_tag(&mut self, tag: Name) {
        if tag == TEMPLATE {
            self.collector.templates.end();
        }
        if self.collector.templates.is_inert() {
            return;
        }
        if self.collector.link_text.is_open() {
            self.tag_in_link(tag == A);
        }
        if self.collector.embedded.is_some() && matches!(tag, STYLE | SCRIPT) {
            self.end_embedded();
        }
    }

    #[inline(always)]
    fn text(&mut self, text: &[u8], kind: Text) {
        let Collector { content, templates, embedded, link_text, .. } = &mut *self.collector;
        if let Some(content) = content
            && kind == Text::WithReferences
            && !templates.is_inert()
        {
            content.add(text);
        }
        // Nearly all text of a page is wanted for none of these.
        if embedded.is_some() || link_text.is_open() {
            self.collector.wanted_text(text, kind);
        }
    }
}
