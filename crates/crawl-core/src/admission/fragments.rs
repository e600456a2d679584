//! The check of fragments: a link to `/page#id` needs an element with that id.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::settle::SettledPage;
use super::url_record::LinkStatus;
use super::url_table::UrlTable;

/// The checker of fragments: compares the fragments of links with the ids of
/// pages, in whatever order the two become known.
///
/// A page takes 50 to 100 bytes, and 4 for each of its ids, because only hashes
/// of ids are kept. A missing fragment is overlooked if its hash is the same as
/// that of an id: the chance is a few in four thousand million for each id of the
/// page.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    hasher: RandomState,
    /// The settled URLs that are pages or redirects, by their numbers.
    targets: HashMap<u32, Target>,
    /// The links to fragments of URLs that have not settled, by the numbers of
    /// those URLs.
    pending: HashMap<u32, Vec<FragmentLink>>,
    missing: Vec<MissingFragment>,
    /// The number of links whose fragment may be in the part of a page that was not read.
    num_unchecked: u64,
}

/// The settled target of a link.
#[derive(Debug)]
enum Target {
    /// A page, and the hashes of its ids in ascending order.
    Page { status: u16, ids: Box<[u32]>, is_whole: bool },
    /// A redirect to the URL of this number. It keeps the fragment of the link
    /// (RFC 9110 section 10.2.2).
    Redirect(u32),
}

/// A URL with a fragment, to which a link leads.
#[derive(Clone, Copy, Debug)]
pub(super) struct FragmentLink {
    /// The number of the URL with its fragment.
    pub(super) number: u32,
    /// The depth in clicks from a root at which it was found first.
    pub(super) depth: u32,
}

/// A fragment that names no element of its page.
#[derive(Debug)]
pub(crate) struct MissingFragment {
    /// The URL with its fragment.
    pub(crate) url: Arc<str>,
    /// The status of the page.
    pub(crate) status: u16,
    pub(crate) depth: u32,
    pub(crate) message: String,
}

/// The length of the longest URL that a message repeats, in bytes.
const MAX_NAMED: usize = 256;

/// The maximum number of redirects to follow; a longer chain is taken for a loop.
const MAX_REDIRECTS: usize = 64;

impl Fragments {
    /// Settles a page with its ids.
    pub(super) fn settle_page(
        &mut self,
        number: u32,
        page: SettledPage<'_>,
        url_table: &mut UrlTable,
    ) {
        let SettledPage { status, is_whole, .. } = page;
        let mut ids: Vec<u32> = page.ids.iter().map(|id| hash_id(&self.hasher, id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let ids = ids.into_boxed_slice();
        self.targets.insert(number, Target::Page { status, ids, is_whole });
        self.settle(number, url_table);
    }

    /// Settles a URL that redirects to another one of the crawl. A redirect with a
    /// fragment of its own is settled by [`Fragments::settle`] instead, since that
    /// fragment replaces the one of the link.
    pub(super) fn settle_redirect(&mut self, number: u32, to: u32, url_table: &mut UrlTable) {
        self.targets.insert(number, Target::Redirect(to));
        self.settle(number, url_table);
    }

    /// Settles a URL with any result: checks the links that wait for it.
    pub(super) fn settle(&mut self, number: u32, url_table: &mut UrlTable) {
        for link in self.pending.remove(&number).unwrap_or_default() {
            self.check(link, number, url_table);
        }
    }

    /// Checks a link against the target with this number, or queues it until the
    /// target has settled.
    pub(super) fn check(&mut self, link: FragmentLink, mut target: u32, url_table: &mut UrlTable) {
        for _ in 0..MAX_REDIRECTS {
            match self.targets.get(&target) {
                Some(Target::Redirect(to)) => target = *to,
                Some(Target::Page { status, ids, is_whole }) => {
                    let Some(url_record) = url_table.get(link.number) else { return };
                    let (link_page, fragment) = url_record.url.split_once('#').unwrap_or_default();
                    let has_id = |id: &str| ids.binary_search(&hash_id(&self.hasher, id)).is_ok();
                    if has_target(fragment, has_id) {
                        break;
                    }
                    if !is_whole {
                        self.num_unchecked += 1;
                        break;
                    }
                    let id = percent_decode_str(fragment).decode_utf8_lossy();
                    let mut message = format!("no element has the id '{id}'");
                    let page = url_table.get(target).map_or(link_page, |page| &page.url);
                    // The URL names its page already, unless a redirect leads to another one.
                    // A long URL is not repeated for each of its fragments.
                    if page != link_page && page.len() <= MAX_NAMED {
                        message += &format!(" in {page}");
                    }
                    let (url, depth) = (Arc::clone(&url_record.url), link.depth);
                    self.missing.push(MissingFragment { url, status: *status, depth, message });
                    url_table.set_status(link.number, LinkStatus::Broken);
                    return;
                }
                None if url_table.status(target) == Some(LinkStatus::Open) => {
                    self.pending.entry(target).or_default().push(link);
                    return;
                }
                None => break,
            }
        }
        url_table.set_fine(link.number);
    }

    /// Returns the number of links whose fragment may be in the part of a page that was not
    /// read.
    pub(super) fn num_unchecked(&self) -> u64 {
        self.num_unchecked
    }

    /// Takes the fragments that were found missing since the last call.
    pub(super) fn take_missing(&mut self) -> Vec<MissingFragment> {
        std::mem::take(&mut self.missing)
    }
}

/// Returns the part of a fragment that names an element: without the directive of
/// a text fragment (WICG Scroll to Text Fragment, section 3.3), and `None` if it
/// means the top of the page (HTML standard, section 7.4.6.3).
pub(super) fn element_id(fragment: &str) -> Option<&str> {
    let (id, _) = fragment.split_once(":~:").unwrap_or((fragment, ""));
    (!id.is_empty() && !percent_decoded(id).eq_ignore_ascii_case("top")).then_some(id)
}

/// Returns true if a page has the id of a fragment: as it is written, or percent-
/// decoded. GitHub puts the prefix `user-content-` before the ids of user content
/// and removes it by a script.
fn has_target(fragment: &str, has_id: impl Fn(&str) -> bool) -> bool {
    [Cow::Borrowed(fragment), percent_decoded(fragment)]
        .iter()
        .any(|id| has_id(id) || has_id(&format!("user-content-{id}")))
}

fn percent_decoded(fragment: &str) -> Cow<'_, str> {
    percent_decode_str(fragment).decode_utf8_lossy()
}

fn hash_id(hasher: &RandomState, id: &str) -> u32 {
    hasher.hash_one(id) as u32
}
