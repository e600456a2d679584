//! The element structure of a sitemap in XML, which tells the elements with URLs from
//! others.

use super::charset::BYTE_ORDER_MARK;
use super::{Emit, MAX_NESTED, MAX_URL_LEN, NO_SITEMAP, SitemapEntry, decode_error};
use crate::{ErrorClass, FetchError};

/// The stack of open elements of a sitemap.
///
/// A URL is in a `loc` in a `url` in a `urlset`, or in a `loc` in a `sitemap` in a
/// `sitemapindex`. All three have the same namespace prefix, or none. Extensions have
/// `loc` elements as well, but with another prefix, or in another position: of these, that of
/// an image in a `url` counts.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The names of the open elements, the root element first.
    open: Vec<String>,
    /// The kind of the sitemap; `None` before the root element.
    kind: Option<Kind>,
    /// The text of the current `loc`.
    url: String,
}

/// The kind of a sitemap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A list of pages (`urlset`).
    Pages,
    /// A list of other sitemaps (`sitemapindex`).
    Index,
}

/// The kind of the URL in a `loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Loc {
    Page,
    Sitemap,
    Image,
}

impl Document {
    /// Handles a start tag.
    pub(super) fn start_tag(&mut self, name: &str) -> Result<(), FetchError> {
        if self.open.len() == MAX_NESTED {
            let message = format!("elements are nested more than {MAX_NESTED} deep");
            return Err(FetchError::new(ErrorClass::Nesting, message));
        }
        if self.open.is_empty() {
            self.kind = match (self.kind, split(name).1) {
                (None, "urlset") => Some(Kind::Pages),
                (None, "sitemapindex") => Some(Kind::Index),
                (None, _) => return Err(decode_error(NO_SITEMAP)),
                (Some(_), _) => return Err(decode_error("XML: a second root element")),
            };
        }
        self.open.push(name.to_owned());
        Ok(())
    }

    /// Handles an end tag. That of a `loc` with a URL emits an entry.
    pub(super) fn end_tag(&mut self, name: &str, emit: &mut Emit<'_>) -> Result<(), FetchError> {
        if self.open.last().is_none_or(|open| open != name) {
            return Err(decode_error("XML: an end tag without its start tag"));
        }
        if let Some(loc) = self.in_loc() {
            match (loc, self.url.trim()) {
                _ if self.url.len() > MAX_URL_LEN => emit(SitemapEntry::TooLong)?,
                (_, "") => {}
                (Loc::Page, url) => emit(SitemapEntry::Page(url))?,
                (Loc::Sitemap, url) => emit(SitemapEntry::Sitemap(url))?,
                (Loc::Image, url) => emit(SitemapEntry::Image(url))?,
            }
            self.url.clear();
        }
        self.open.pop();
        Ok(())
    }

    /// Handles the `href` of a `link`: in a `url`, it leads to the page in another language.
    pub(super) fn link(&self, href: &str, emit: &mut Emit<'_>) -> Result<(), FetchError> {
        let [root, entry, link] = self.open.as_slice() else { return Ok(()) };
        let is_link = split(entry) == (split(root).0, "url") && split(link).1 == "link";
        match href.trim() {
            _ if !is_link => Ok(()),
            "" => Ok(()),
            href if href.len() > MAX_URL_LEN => emit(SitemapEntry::TooLong),
            href => emit(SitemapEntry::Alternate(href)),
        }
    }

    /// Handles text between tags. Of a URL that is too long, only so much is kept
    /// that its length is known to be too large.
    pub(super) fn text(&mut self, text: &str) -> Result<(), FetchError> {
        if self.open.is_empty() && !text.trim_matches(is_blank).is_empty() {
            return Err(decode_error("XML: text outside of the root element"));
        }
        if self.in_loc().is_some() && self.url.len() <= MAX_URL_LEN {
            self.url.extend(text.chars().filter(|&c| c != BYTE_ORDER_MARK));
        }
        Ok(())
    }

    /// Handles the end of the document.
    pub(super) fn finish(&self) -> Result<(), FetchError> {
        if self.open.is_empty() && self.kind.is_some() {
            return Ok(());
        }
        Err(decode_error("XML: the end comes before that of the root element"))
    }

    /// Returns the kind of URL in the innermost element, if that is a `loc` in the
    /// right position.
    fn in_loc(&self) -> Option<Loc> {
        let (expected, found) = match self.kind? {
            Kind::Pages => ("url", Loc::Page),
            Kind::Index => ("sitemap", Loc::Sitemap),
        };
        let [root, entry, inner @ ..] = self.open.as_slice() else { return None };
        let (prefix, _) = split(root);
        if split(entry) != (prefix, expected) {
            return None;
        }
        match inner {
            [loc] => (split(loc) == (prefix, "loc")).then_some(found),
            [image, loc] => {
                let (of_image, name) = split(image);
                let is_image = name == "image" && of_image != prefix;
                (is_image && split(loc) == (of_image, "loc")).then_some(Loc::Image)
            }
            _ => None,
        }
    }
}

/// Returns true for what has no meaning between tags or around a URL.
pub(super) fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == BYTE_ORDER_MARK
}

/// Splits a name into its namespace prefix, if it has one, and its local part.
fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(':') {
        Some((prefix, rest)) => (Some(prefix), rest),
        None => (None, name),
    }
}
