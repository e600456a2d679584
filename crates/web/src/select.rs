//! Selections: data to extract from every page by CSS selectors.

mod counted;

use std::collections::BTreeMap;
use std::sync::Arc;

use scraper::ElementRef;
use scraper::selector::{Parser, Simple};
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode,
    SelectorCaches,
};
use selectors::matching::matches_selector_list;
use selectors::parser::{ParseRelative, SelectorList};

use self::counted::{Counted, Steps};
use crate::links::Tree;
use crate::{ErrorClass, FetchError};

/// The texts selected on a page, by the names of their selections, in the order of
/// the page.
pub type Selected = BTreeMap<Arc<str>, Vec<String>>;

/// The maximum number of bytes that all selections together may extract from one
/// page. Each text counts as 24 bytes more. Elements may be nested, so the matching texts
/// may be many times as long as the page.
pub const MAX_SELECTED: usize = 1024 * 1024;

/// A named CSS selector. It extracts the texts of the elements that it matches, or
/// one of their attributes.
#[derive(Clone, Debug)]
pub struct Selection {
    text: Box<str>,
    name: Arc<str>,
    selector: SelectorList<Simple>,
    attribute: Option<Box<str>>,
}

impl Selection {
    /// Parses `name=selector` or `name=selector@attribute`.
    ///
    /// # Errors
    /// Returns a message that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, css) = text.split_once('=').ok_or("write a selection as NAME=CSS")?;
        let name = name.trim();
        if name.is_empty() {
            return Err("a selection needs a name before the '='".into());
        }
        // An `@` within a selector is in quotes, for example in an email address.
        // Then the text behind it ends with a quote, and so is no name.
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
        let (css, attribute) = match css.rsplit_once('@') {
            Some((css, name)) if !name.is_empty() && name.chars().all(is_name) => (css, Some(name)),
            _ => (css, None),
        };
        // Some messages of the parser only make sense to its authors.
        let mut parser = cssparser::Parser::new(css);
        let selector = SelectorList::parse(&Parser, &mut parser, ParseRelative::No)
            .map_err(|_error| format!("'{css}' is not a CSS selector that crawl understands"))?;
        let attribute = attribute.map(Into::into);
        Ok(Self { text: text.into(), name: name.into(), selector, attribute })
    }

    /// Returns the selection as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Returns all matches on a page. The words of a text are separated by single
/// blanks.
///
/// The time depends on the size of the page and on the selectors: `h1 ~ p` may look
/// at all siblings of each element, and one with `:has()` at the whole page. So the
/// steps are counted.
///
/// # Errors
/// Returns the error of [`Tree::of`] if the page cannot be parsed into a tree,
/// [`ErrorClass::TooLarge`] if more than [`MAX_SELECTED`] bytes match, and
/// [`ErrorClass::TooComplex`] if all selections together take more than 8 million
/// steps from one element to another.
pub fn select(html: &str, selections: &[Selection]) -> Result<Selected, FetchError> {
    let tree = Tree::of(html)?;
    let steps = Steps::new();
    let mut selected = Selected::new();
    let mut remaining = MAX_SELECTED;
    for Selection { name, selector, attribute, .. } in selections {
        let matches = selected.entry(Arc::clone(name)).or_default();
        let mut caches = SelectorCaches::default();
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            &mut caches,
            QuirksMode::NoQuirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        for element in tree.elements() {
            let counted = Counted::new(element, &steps);
            if !matches_selector_list(selector, &counted, &mut context) {
                steps.check()?;
                continue;
            }
            let text = match attribute {
                Some(attribute) => attribute_of(element, attribute).map(str::to_owned),
                None => Some(join_words(counted.text(), remaining)),
            };
            steps.check()?;
            // An empty text takes memory as well.
            let length = text.as_ref().map_or(0, |text| text.len() + size_of::<String>());
            remaining = remaining.checked_sub(length).ok_or_else(|| {
                let message = format!("the selections have more than {MAX_SELECTED} bytes");
                FetchError::new(ErrorClass::TooLarge, message)
            })?;
            matches.extend(text);
        }
    }
    Ok(selected)
}

/// Returns an attribute. A tree has the names of HTML in lower case, and those of SVG as
/// they are written.
fn attribute_of<'a>(element: ElementRef<'a>, name: &str) -> Option<&'a str> {
    element.attr(name).or_else(|| element.attr(&name.to_ascii_lowercase()))
}

/// Joins the words of these pieces with single blanks. Stops after the piece that
/// makes the text longer than `max_len` bytes.
fn join_words<'a>(mut pieces: impl Iterator<Item = &'a str>, max_len: usize) -> String {
    let (mut text, mut is_word) = (String::new(), true);
    while text.len() <= max_len
        && let Some(piece) = pieces.next()
    {
        for c in piece.chars() {
            if !is_word && !c.is_whitespace() && !text.is_empty() {
                text.push(' ');
            }
            is_word = !c.is_whitespace();
            text.extend(Some(c).filter(|_| is_word));
        }
    }
    text
}
