//! What a user wants to know of every page.

use std::collections::BTreeMap;
use std::sync::Arc;

use scraper::Selector;

use crate::links::Tree;
use crate::{ErrorClass, FetchError};

/// What was selected on a page: under each name, all that matches, in the order
/// of the page.
pub type Selected = BTreeMap<Arc<str>, Vec<String>>;

/// How many bytes of one page are kept, over all selections. Elements may lie in
/// each other, so what matches may be many times as long as the page.
pub const MOST_SELECTED: usize = 1024 * 1024;

/// Something to take out of every page: the texts of the elements that a CSS
/// selector matches, or one of their attributes.
#[derive(Clone, Debug)]
pub struct Selection {
    text: Box<str>,
    name: Arc<str>,
    selector: Selector,
    attribute: Option<Box<str>>,
}

impl Selection {
    /// Takes `name=selector` or `name=selector@attribute` apart.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, css) = text.split_once('=').ok_or("write a selection as NAME=CSS")?;
        let name = name.trim();
        if name.is_empty() {
            return Err("a selection needs a name before the '='".into());
        }
        // An address in a selector is in quotes, and so ends in no name.
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
        let (css, attribute) = match css.rsplit_once('@') {
            Some((css, name)) if !name.is_empty() && name.chars().all(is_name) => (css, Some(name)),
            _ => (css, None),
        };
        // The parser's own words for some of what is wrong are for its authors.
        let selector = Selector::parse(css)
            .map_err(|_error| format!("'{css}' is no CSS selector that is understood"))?;
        let attribute = attribute.map(|name| name.to_ascii_lowercase().into());
        Ok(Self { text: text.into(), name: name.into(), selector, attribute })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// All that matches on a page. Texts come with single blanks.
///
/// Time grows with the page and with what the selectors ask for; one with
/// `:has()` may look at all of the page for each of its elements.
///
/// # Errors
/// When there can be no tree of the page (see [`Tree::of`]), or
/// [`ErrorClass::TooLarge`] when more than [`MOST_SELECTED`] bytes match.
pub(crate) fn select(html: &str, selections: &[Selection]) -> Result<Selected, FetchError> {
    let tree = Tree::of(html)?;
    let mut selected = Selected::new();
    let mut left = MOST_SELECTED;
    for Selection { name, selector, attribute, .. } in selections {
        let matches = selected.entry(Arc::clone(name)).or_default();
        for element in tree.select(selector) {
            let text = match attribute {
                Some(attribute) => element.attr(attribute).map(str::to_owned),
                None => Some(words(element.text(), left)),
            };
            // Even an empty one is kept somewhere.
            let length = text.as_ref().map_or(0, |text| text.len() + size_of::<String>());
            left = left.checked_sub(length).ok_or_else(|| {
                let message = format!("more than {MOST_SELECTED} bytes are selected");
                FetchError::new(ErrorClass::TooLarge, message)
            })?;
            matches.extend(text);
        }
    }
    Ok(selected)
}

/// The words of these pieces with single blanks between them; if they are longer
/// than `most` bytes, not many more than that.
fn words<'a>(mut pieces: impl Iterator<Item = &'a str>, most: usize) -> String {
    let (mut text, mut is_word) = (String::new(), true);
    while text.len() <= most
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
