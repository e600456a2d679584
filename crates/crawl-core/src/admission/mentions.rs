//! Where a URL is linked to, and with which words.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use crate::links::{Element, Link, Place};

/// The first link to a URL on one of its referrers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mention<'a> {
    /// Where its tag begins.
    pub place: Place,
    /// What it belongs to.
    pub element: Element,
    /// What a reader sees of it: at most 80 characters, with single blanks.
    pub text: &'a str,
}

/// What leads to a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Referrer<'a> {
    /// The page, or what redirects; who leads to that are referrers of its own.
    pub url: &'a str,
    /// Where on the page. Not known for a redirect, nor when there were more of
    /// them than fit ([`MOST_MENTION_BYTES`](crate::Admission::MOST_MENTION_BYTES)).
    pub mention: Option<Mention<'a>>,
}

/// Links to those URLs of which it is not known yet that they are fine.
///
/// How many those are, and how often they are linked to before they are asked,
/// depends on the site. So all of this together has a limit; beyond that,
/// referrers are known by their URLs only.
#[derive(Debug, Default)]
pub(super) struct Mentions {
    by_url: HashTable<Box<Noted>>,
    bytes: usize,
}

/// How much memory mentions take at most, in bytes: 64 MiB. The second half is
/// for the first mention of each URL.
pub(super) const MOST_BYTES: usize = 64 * 1024 * 1024;

/// The mentions of one URL.
#[derive(Debug)]
struct Noted {
    url: u32,
    links: Vec<NotedLink>,
    /// All of theirs, one after the other.
    texts: String,
}

#[derive(Debug)]
struct NotedLink {
    place: Place,
    element: Element,
    /// By which of the URL's referrers.
    referrer: u8,
    /// At most 80 characters of at most four bytes.
    text_bytes: u16,
}

impl Noted {
    /// How much memory this takes, with its place in the table.
    fn bytes(&self) -> usize {
        let place = size_of::<Box<Self>>();
        let links = self.links.capacity() * size_of::<NotedLink>();
        place + size_of::<Self>() + links + self.texts.capacity()
    }
}

/// URLs are numbered here, one after the other: no site can choose a number.
/// Multiplied by 2^64 divided by the golden ratio, they lie far apart.
fn hash(url: u32) -> u64 {
    u64::from(url).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Mentions {
    /// Notes a link to the URL of this number on one of its first referrers,
    /// unless there is no room, or it does not say where it is.
    pub(super) fn note(&mut self, url: u32, referrer: u8, link: Link<'_>) {
        let Some(place) = link.place else { return };
        let Ok(text_bytes) = u16::try_from(link.text.len()) else { return };
        let entry = self.by_url.entry(hash(url), |noted| noted.url == url, |noted| hash(noted.url));
        let most = if let Entry::Occupied(_) = entry { MOST_BYTES / 2 } else { MOST_BYTES };
        if self.bytes >= most {
            return;
        }
        let nothing = || Box::new(Noted { url, links: Vec::new(), texts: String::new() });
        let mut entry = entry.or_insert_with(nothing);
        let noted = &mut **entry.get_mut();
        let before = if noted.links.is_empty() { 0 } else { noted.bytes() };
        noted.links.reserve_exact(1);
        noted.links.push(NotedLink { place, element: link.element, referrer, text_bytes });
        noted.texts.reserve_exact(link.text.len());
        noted.texts.push_str(link.text);
        self.bytes += noted.bytes() - before;
    }

    /// Forgets about a URL.
    pub(super) fn forget(&mut self, url: u32) {
        if let Ok(noted) = self.by_url.find_entry(hash(url), |noted| noted.url == url) {
            self.bytes -= noted.remove().0.bytes();
        }
    }

    /// The link to a URL on one of its first referrers.
    pub(super) fn get(&self, url: u32, referrer: u8) -> Option<Mention<'_>> {
        let noted = self.by_url.find(hash(url), |noted| noted.url == url)?;
        let mut rest = noted.texts.as_str();
        for link in &noted.links {
            let (text, after) = rest.split_at_checked(usize::from(link.text_bytes))?;
            if link.referrer == referrer {
                return Some(Mention { place: link.place, element: link.element, text });
            }
            rest = after;
        }
        None
    }
}
