//! The elements of a sitemap, and which of them hold URLs.

use super::xml::BYTE_ORDER_MARK;
use super::{Entry, Give, LONGEST_URL, MOST_NESTED, decode_error};
use crate::{ErrorClass, FetchError};

/// Where in its elements the reading of a sitemap stands.
///
/// A URL is in a `loc` in a `url` in a `urlset`, or in a `loc` in a `sitemap`
/// in a `sitemapindex`. All three have the same prefix, or none; extensions
/// have a `loc` as well, but another prefix, or another place.
#[derive(Debug, Default)]
pub(super) struct Document {
    open: Vec<String>,
    /// Known once there was a root element.
    kind: Option<Kind>,
    /// The text of the present `loc`.
    url: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pages,
    Index,
}

impl Document {
    /// A start tag.
    pub(super) fn enter(&mut self, name: &str) -> Result<(), FetchError> {
        if self.open.len() == MOST_NESTED {
            let message = format!("elements lie more than {MOST_NESTED} deep in each other");
            return Err(FetchError::new(ErrorClass::Nesting, message));
        }
        if self.open.is_empty() {
            self.kind = match (self.kind, split(name).1) {
                (None, "urlset") => Some(Kind::Pages),
                (None, "sitemapindex") => Some(Kind::Index),
                (None, _) => return Err(decode_error("neither a urlset nor a sitemapindex")),
                (Some(_), _) => return Err(decode_error("XML: a second root element")),
            };
        }
        self.open.push(name.to_owned());
        Ok(())
    }

    /// An end tag.
    pub(super) fn leave(&mut self, name: &str, give: &mut Give<'_>) -> Result<(), FetchError> {
        if self.open.last().is_none_or(|open| open != name) {
            return Err(decode_error("XML: an end tag without its start tag"));
        }
        if let Some(kind) = self.in_loc() {
            match (kind, self.url.trim()) {
                _ if self.url.len() > LONGEST_URL => give(Entry::TooLong)?,
                (_, "") => {}
                (Kind::Pages, url) => give(Entry::Page(url))?,
                (Kind::Index, url) => give(Entry::Sitemap(url))?,
            }
            self.url.clear();
        }
        self.open.pop();
        Ok(())
    }

    /// Text between tags. Of a URL it holds no more than it takes to know that it
    /// is too long.
    pub(super) fn text(&mut self, text: &str) -> Result<(), FetchError> {
        if self.open.is_empty() && !text.trim_matches(is_blank).is_empty() {
            return Err(decode_error("XML: text outside of the root element"));
        }
        if self.in_loc().is_some() && self.url.len() <= LONGEST_URL {
            self.url.extend(text.chars().filter(|&c| c != BYTE_ORDER_MARK));
        }
        Ok(())
    }

    /// There is no more.
    pub(super) fn end(&self) -> Result<(), FetchError> {
        if self.open.is_empty() && self.kind.is_some() {
            return Ok(());
        }
        Err(decode_error("XML: the end comes before that of the root element"))
    }

    /// What the URL in it is for, if the innermost element is a `loc` where it
    /// should be.
    fn in_loc(&self) -> Option<Kind> {
        let kind = self.kind?;
        let [root, entry, loc] = self.open.as_slice() else {
            return None;
        };
        let expected = if kind == Kind::Pages { "url" } else { "sitemap" };
        let (prefix, _) = split(root);
        (split(entry) == (prefix, expected) && split(loc) == (prefix, "loc")).then_some(kind)
    }
}

fn is_blank(character: char) -> bool {
    character.is_whitespace() || character == BYTE_ORDER_MARK
}

/// The prefix of a name, if it has one, and the rest.
fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(':') {
        Some((prefix, rest)) => (Some(prefix), rest),
        None => (None, name),
    }
}
