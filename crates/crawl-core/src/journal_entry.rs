//! Journal entries: finished URLs, in a form from which a resumed crawl can
//! finish them again without a request.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use url::Url;

use crate::finished::{NoUrl, resolve};
use crate::{Purpose, Row};
use web::links::{Element, Link, Position};
use web::{Address, BaseUrl};

/// A URL that a finished URL links or redirects to, as it was handed to
/// [`Admission::admit`](crate::Admission::admit).
///
/// The journal keeps the input of the admission and not its decisions. The same
/// input in the same order gives the same decisions, the same referrers and the
/// same counts for the limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutLink {
    /// The URL with its fragment. If it has the same origin as the page, only
    /// the part from the path on.
    pub to: String,
    /// The element of the link.
    #[serde(default, skip_serializing_if = "is_default")]
    pub element: Element,
    /// Line and column of its tag, if the link context is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<(u32, u32)>,
    /// The visible text of the link, if the link context is needed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Why it is not a URL. The base of its page may be the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_url: Option<Box<str>>,
    /// True if it, or its page, asks robots not to follow it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub nofollow: bool,
}

/// A finished URL, with all that is needed to finish it again without a
/// request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry<'a> {
    /// The row of the URL.
    pub row: Cow<'a, Row>,
    /// The purpose of the fetch.
    #[serde(default, skip_serializing_if = "is_default")]
    pub purpose: Purpose,
    /// The number of redirects of its chain that might still be followed.
    pub redirects_left: u32,
    /// The targets of its links or of its redirect, in their order.
    #[serde(default, rename = "leads", skip_serializing_if = "is_empty")]
    pub out_links: Cow<'a, [OutLink]>,
    /// The ids of the page that a fragment can name.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub ids: Cow<'a, [String]>,
    /// The hash of what a reader sees of the page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<u64>,
    /// True if its response has set a cookie.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sets_cookie: bool,
    /// The warnings that say what is missing of it.
    #[serde(default, skip_serializing_if = "is_empty")]
    pub lacks: Cow<'a, [String]>,
}

fn is_empty<T>(list: &[T]) -> bool {
    list.is_empty()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl OutLink {
    /// Creates the out-link of the URL `from` to an address, for a link or for a
    /// redirect (without `link`).
    pub(crate) fn new(from: &str, address: Address<'_>, link: Option<Link<'_>>) -> Self {
        let text = address.as_str();
        let path = from
            .strip_prefix(address.origin())
            .filter(|rest| rest.starts_with('/'))
            .map(|_| &text[address.origin().len()..])
            // After two slashes a host would be parsed.
            .filter(|path| !path.starts_with("//"));
        let mut to = path.unwrap_or(text).to_owned();
        if let Some(fragment) = address.fragment() {
            to.push('#');
            to.push_str(fragment);
        }
        Self::to(to, link)
    }

    /// Creates the out-link of a link that is not a URL, with its text and the reason.
    pub(crate) fn of_no_url(no_url: &NoUrl<'_>, link: Link<'_>) -> Self {
        let reason = no_url.reason.as_str().into();
        Self { no_url: Some(reason), ..Self::to(no_url.text.to_string(), Some(link)) }
    }

    fn to(to: String, link: Option<Link<'_>>) -> Self {
        let at =
            link.and_then(|link| link.position).map(|position| (position.line, position.column));
        let text = link.filter(|_| at.is_some()).map(|link| link.text.to_owned());
        let element = link.map(|link| link.element).unwrap_or_default();
        let nofollow = link.is_some_and(|link| link.nofollow);
        Self { to, element, at, text: text.unwrap_or_default(), no_url: None, nofollow }
    }

    /// Creates the out-link of a link whose scheme is not for this crawler.
    pub(crate) fn of_other_scheme(link: Link<'_>) -> Self {
        Self::to(link.href.to_owned(), Some(Link { position: None, ..link }))
    }

    /// Resolves the out-link of a page with this URL.
    ///
    /// # Errors
    /// When it is not a URL, with the reason; or `None` if its scheme is not for this crawler.
    pub(crate) fn resolve<'a>(
        &'a self,
        base_url: &'a mut BaseUrl<'_>,
        page: &Url,
    ) -> Result<Address<'a>, Option<NoUrl<'a>>> {
        match &self.no_url {
            Some(reason) => {
                let text = Cow::Borrowed(self.to.as_str());
                Err(Some(NoUrl { text, reason: reason.to_string() }))
            }
            None => resolve(base_url, page, &self.to),
        }
    }

    /// Returns the approximate memory of the out-link and of its record in a journal,
    /// in bytes.
    pub(crate) fn memory(&self) -> usize {
        let reason = self.no_url.as_ref().map_or(0, |reason| reason.len());
        size_of::<Self>() + 2 * (self.to.len() + self.text.len() + reason) + 32
    }

    /// Returns the link as the admission needs it.
    pub(crate) fn link(&self) -> Link<'_> {
        let position = self.at.map(|(line, column)| Position { line, column });
        let (element, text, nofollow) = (self.element, &*self.text, self.nofollow);
        Link { href: &self.to, element, position, text, nofollow }
    }
}
