//! The links of a page.
//!
//! 1. A page is fed in any slices and finished once; nothing of how it is
//!    parsed can be seen from outside.
//! 2. Reading is linear in the size of the page, whatever is in it. A browser's
//!    tree builder is not: nested and misnested elements cost it the square of
//!    their number. So the tags that can hold a link are picked out first, and
//!    only they become a tree.
//! 3. What a tag or a link means is what browsers take it for (the WHATWG
//!    standards for HTML and URL).

mod charset;
mod nesting;
mod tags;

use std::borrow::Cow;
use std::sync::LazyLock;

use encoding_rs::{Encoding, UTF_8};
use indexmap::IndexSet;
use scraper::{Html, Selector};
use url::Url;

use self::nesting::Nesting;
use self::tags::Tags;
use crate::content::decode;
use crate::{ErrorClass, FetchError};

/// How deep the elements of a page may lie in each other. Pages made for
/// readers stay far below a hundred; what goes beyond this is a trap.
pub const MOST_NESTED: usize = 2_000;

/// A tag with more attributes than this is not taken for a link: the tree
/// builder compares each of them with all others.
const MOST_ATTRIBUTES: usize = 256;

static BASE: LazyLock<Selector> = LazyLock::new(|| selector("base[href]"));
static LINKS: LazyLock<Selector> = LazyLock::new(|| selector("a[href], area[href]"));

fn selector(selectors: &'static str) -> Selector {
    Selector::parse(selectors).expect("a selector of this module is valid")
}

/// What a page contains that matters to a crawl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it links to: distinct `http` and `https` URLs without fragments,
    /// in the order of the page.
    pub links: Vec<Url>,
    /// The name of its character encoding, see [`decode`].
    pub encoding: &'static str,
}

/// Collects the bytes of one page and finds its links: `a` and `area` elements
/// with an `href`, seen from the first `base` with one. No script is run, so
/// what the page holds for browsers without scripts (`noscript`) is part of it.
///
/// It holds what it was fed; the caller limits how much that is.
#[derive(Debug, Default)]
pub struct LinkExtractor {
    page: Vec<u8>,
}

impl LinkExtractor {
    /// An extractor that has seen nothing of its page.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes of the page, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.page.extend_from_slice(bytes);
    }

    /// The page is complete. `page_url` is where it was found, `charset_label`
    /// what its header says about its encoding; if it says nothing, the page may
    /// do so itself.
    ///
    /// A link that is no URL, or not one of `http` or `https`, is left out.
    ///
    /// # Errors
    /// [`ErrorClass::Nesting`] when its elements lie more than [`MOST_NESTED`]
    /// deep in each other.
    pub fn finish(self, page_url: &Url, charset_label: Option<&str>) -> Result<Found, FetchError> {
        let declared = match charset_label {
            Some(_) => None,
            None => charset::declared(&self.page),
        };
        let (html, encoding) = decode(&self.page, charset_label.or(declared.as_deref()));
        let tree = Html::parse_fragment(&link_tags(&html)?);

        let base = tree.select(&BASE).find_map(|base| base.attr("href"));
        let base = base.and_then(|href| page_url.join(href).ok());
        let base = base.as_ref().unwrap_or(page_url);

        // Browsers send a query in the encoding of the page that holds the link.
        let legacy = Encoding::for_label(encoding.as_bytes()).unwrap_or(UTF_8);
        let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| legacy.encode(query).0;
        let parser = Url::options().base_url(Some(base));
        let parser = parser.encoding_override((legacy != UTF_8).then_some(encode));

        let hrefs = tree.select(&LINKS).filter_map(|link| link.attr("href"));
        let links: IndexSet<Url> = hrefs
            .filter_map(|href| parser.parse(href).ok())
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .map(|mut url| {
                url.set_fragment(None);
                url
            })
            .collect();
        Ok(Found { links: links.into_iter().collect(), encoding })
    }
}

/// The tags of `html` that can hold a link or the base of links, next to each
/// other instead of within each other.
fn link_tags(html: &str) -> Result<String, FetchError> {
    let lower_case = html.to_ascii_lowercase();
    let mut nesting = Nesting::default();
    let mut picked = String::new();
    for tag in Tags::new(&lower_case) {
        if tag.is_end {
            nesting.leave(tag.name);
            continue;
        }
        if !tag.is_empty {
            nesting.enter(tag.name);
        }
        if nesting.depth() > MOST_NESTED {
            let message = format!("elements lie more than {MOST_NESTED} deep in each other");
            return Err(FetchError::new(ErrorClass::Nesting, message));
        }
        if matches!(tag.name, b"a" | b"area" | b"base") && tag.attributes <= MOST_ATTRIBUTES {
            picked.push_str(&html[tag.text]);
            if tag.name == b"a" {
                picked.push_str("</a>");
            }
        }
    }
    Ok(picked)
}
