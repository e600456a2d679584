//! What a journal has to know of a finished URL, to do without asking again.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::links::{Element, Link, Place};
use crate::{Address, Purpose, Row};

/// One URL that another has led to, as the door was told of it.
///
/// What a journal keeps is what was put to the door, not what the door made of
/// it. Put to it once more, in the same order, it lets in the same URLs, knows
/// the same referrers and is as near to its limits as before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// The URL, with its fragment; from the path on, if it is of the same
    /// origin.
    pub to: String,
    /// What the link belongs to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub element: Element,
    /// Line and column of its tag, where they matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<(u32, u32)>,
    /// What a reader sees of it, where that matters.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
}

/// A finished URL, with all that is needed to finish it again in an instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished<'a> {
    /// What became of it.
    pub row: Cow<'a, Row>,
    /// What it was fetched for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub purpose: Purpose,
    /// How many redirects of its chain might still be followed.
    pub redirects_left: u32,
    /// What it has led to, in its order.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub leads: Cow<'a, [Lead]>,
    /// What fragments can name in it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ids: Cow<'a, [String]>,
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Lead {
    /// The lead from the URL `from` to an address, by a link or a redirect.
    pub(crate) fn new(from: &str, address: Address<'_>, link: Option<Link<'_>>) -> Self {
        let text = address.as_str();
        let path = from
            .strip_prefix(address.origin())
            .filter(|rest| rest.starts_with('/'))
            .map(|_| &text[address.origin().len()..])
            // Two slashes would begin a host.
            .filter(|path| !path.starts_with("//"));
        let mut to = path.unwrap_or(text).to_owned();
        if let Some(fragment) = address.fragment() {
            to.push('#');
            to.push_str(fragment);
        }
        let at = link.and_then(|link| link.place).map(|place| (place.line, place.column));
        let text = link.filter(|_| at.is_some()).map(|link| link.text.to_owned());
        let element = link.map(|link| link.element).unwrap_or_default();
        Self { to, element, at, text: text.unwrap_or_default() }
    }

    /// The link, as far as the door wants to know.
    pub(crate) fn link(&self) -> Link<'_> {
        let place = self.at.map(|(line, column)| Place { line, column });
        Link { href: &self.to, element: self.element, place, text: &self.text, nofollow: false }
    }
}
