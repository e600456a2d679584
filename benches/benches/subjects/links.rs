//! The link extractors that are compared.
//!
//! Each gets the page as one string and finds the values of all `href`
//! attributes of `a` elements, with character references decoded where the
//! subject decodes them. Ours lends them to its caller, and the others copy them.
//! Those that need a selector get it parsed.

use std::borrow::Cow;
use std::cell::RefCell;
use std::convert::Infallible;
use std::hint::black_box;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts, states,
};
use html5gum::{Emitter, State};
use lol_html::html_content::Element;
use lol_html::{ElementContentHandlers, HtmlRewriter, Settings};
use scraper::{Html, Selector};
use web::links::{ExtractOptions, LinkExtractor};

/// Finds what the others find, with the extractor of a crawl.
pub(crate) fn ours(page: &str) -> usize {
    extracted(page, ExtractOptions::default())
}

/// Finds all that the program `crawl` looks for unless told otherwise: the links of
/// other elements and of styles, too, and each with its text and its place.
pub(crate) fn ours_whole(page: &str) -> usize {
    extracted(page, ExtractOptions { ids: false, ..ExtractOptions::ALL })
}

fn extracted(page: &str, options: ExtractOptions) -> usize {
    let mut extractor = LinkExtractor::new(options);
    extractor.feed(page.as_bytes());
    extractor.finish().links().map(|link| black_box(link.href).len().min(1)).sum()
}

pub(crate) fn scraper(page: &str, links: &Selector) -> Vec<String> {
    let tree = Html::parse_document(page);
    tree.select(links).filter_map(|link| link.attr("href")).map(str::to_owned).collect()
}

pub(crate) fn lol_html(page: &str, links: &lol_html::Selector) -> Vec<String> {
    let mut found = Vec::new();
    let handlers = ElementContentHandlers::default().element(|element: &mut Element<'_, '_>| {
        found.extend(element.get_attribute("href"));
        Ok(())
    });
    let settings = Settings::new().append_element_content_handler((Cow::Borrowed(links), handlers));
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(page.as_bytes()).unwrap();
    rewriter.end().unwrap();
    found
}

/// The token sink of html5ever, which collects links.
#[derive(Default)]
struct Hrefs(RefCell<Vec<String>>);

impl TokenSink for Hrefs {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        if let Token::TagToken(Tag { kind: TagKind::StartTag, name, attrs, .. }) = token {
            match &*name {
                "a" => {
                    let href = attrs.iter().find(|attribute| &*attribute.name.local == "href");
                    self.0.borrow_mut().extend(href.map(|href| href.value.to_string()));
                }
                "script" => {
                    return TokenSinkResult::RawData(states::RawKind::ScriptData);
                }
                "title" => return TokenSinkResult::RawData(states::RawKind::Rcdata),
                "style" => return TokenSinkResult::RawData(states::RawKind::Rawtext),
                _ => {}
            }
        }
        TokenSinkResult::Continue
    }
}

pub(crate) fn html5ever(page: &str) -> Vec<String> {
    let tokenizer = Tokenizer::new(Hrefs::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(page));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink.0.take()
}

/// The emitter of html5gum, which collects links. It keeps the names of tags, and
/// attributes only of `a`.
struct LinkEmitter<'a> {
    tag: Vec<u8>,
    last_start_tag: Vec<u8>,
    is_end: bool,
    attribute: Vec<u8>,
    value: Vec<u8>,
    href: Option<Vec<u8>>,
    links: &'a mut Vec<String>,
}

impl LinkEmitter<'_> {
    fn attribute_ends(&mut self) {
        if !self.is_end && self.tag == b"a" && self.attribute == b"href" && self.href.is_none() {
            self.href = Some(std::mem::take(&mut self.value));
        }
        self.attribute.clear();
        self.value.clear();
    }
}

impl Emitter for LinkEmitter<'_> {
    type Token = Infallible;

    fn set_last_start_tag(&mut self, tag: Option<&[u8]>) {
        self.last_start_tag.clear();
        self.last_start_tag.extend_from_slice(tag.unwrap_or_default());
    }
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: html5gum::Error) {}
    fn should_emit_errors(&mut self) -> bool {
        false
    }
    fn pop_token(&mut self) -> Option<Infallible> {
        None
    }
    fn emit_string(&mut self, _: &[u8]) {}
    fn init_start_tag(&mut self) {
        self.tag.clear();
        self.is_end = false;
    }
    fn init_end_tag(&mut self) {
        self.tag.clear();
        self.is_end = true;
    }
    fn init_comment(&mut self) {}
    fn emit_current_tag(&mut self) -> Option<State> {
        self.attribute_ends();
        if self.is_end {
            return None;
        }
        std::mem::swap(&mut self.last_start_tag, &mut self.tag);
        if let Some(href) = self.href.take() {
            self.links.push(String::from_utf8(href).unwrap());
        }
        html5gum::emitters::naive_next_state(&self.last_start_tag)
    }
    fn emit_current_comment(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_self_closing(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_tag_name(&mut self, name: &[u8]) {
        self.tag.extend_from_slice(name);
    }
    fn push_comment(&mut self, _: &[u8]) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn init_attribute(&mut self) {
        self.attribute_ends();
    }
    fn push_attribute_name(&mut self, name: &[u8]) {
        if self.tag == b"a" {
            self.attribute.extend_from_slice(name);
        }
    }
    fn push_attribute_value(&mut self, value: &[u8]) {
        if self.attribute == b"href" {
            self.value.extend_from_slice(value);
        }
    }
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.is_end && self.tag == self.last_start_tag
    }
}

pub(crate) fn html5gum(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    let emitter = LinkEmitter {
        tag: Vec::new(),
        last_start_tag: Vec::new(),
        is_end: false,
        attribute: Vec::new(),
        value: Vec::new(),
        href: None,
        links: &mut links,
    };
    let Ok(()) = html5gum::Tokenizer::new_with_emitter(page, emitter).finish();
    links
}
