//! Whether the places exist that links name: what follows a `#`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use percent_encoding::percent_decode_str;

use super::entry::Fate;
use super::known::Known;

/// Compares what links name with what pages have, whichever is known first.
///
/// A page costs 50 to 100 bytes, and 4 for each of its ids: of those, only hashes
/// are kept. That two are the same, so that a missing one is not noticed, has a
/// chance of one in four thousand million for each id of the page.
#[derive(Debug, Default)]
pub(super) struct Fragments {
    hasher: RandomState,
    /// What has ended, by its number, if there is something to compare with.
    ended: HashMap<u32, Target>,
    /// What is named in URLs that have not ended, by their numbers.
    waiting: HashMap<u32, Vec<Named>>,
    missing: Vec<Missing>,
}

/// What a link leads to.
#[derive(Debug)]
enum Target {
    /// A page, and the hashes of its ids in ascending order.
    Page { status: u16, ids: Box<[u32]> },
    /// The URL of this number. The fragment goes along (RFC 9110 section
    /// 10.2.2).
    Redirect(u32),
}

/// A URL with a fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    /// The number of the whole.
    pub(super) number: u32,
    /// Clicks from a root, as it was found first.
    pub(super) depth: u32,
}

/// A fragment that names nothing.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The URL with its fragment.
    pub(crate) url: Arc<str>,
    /// Of the page.
    pub(crate) status: u16,
    pub(crate) depth: u32,
    pub(crate) message: String,
}

/// So many redirects in a row are none that end.
const MOST_REDIRECTS: usize = 64;

impl Fragments {
    /// A page has ended in good order.
    pub(super) fn page(&mut self, number: u32, status: u16, ids: &[&str], known: &mut Known) {
        let mut ids: Vec<u32> = ids.iter().map(|id| hash(&self.hasher, id)).collect();
        ids.sort_unstable();
        ids.dedup();
        let ids = ids.into_boxed_slice();
        self.ended.insert(number, Target::Page { status, ids });
        self.end(number, known);
    }

    /// A URL has ended with a redirect to another, which will be asked. With a
    /// fragment of its own it takes the place of whatever links name.
    pub(super) fn redirect(&mut self, number: u32, to: u32, known: &mut Known) {
        self.ended.insert(number, Target::Redirect(to));
        self.end(number, known);
    }

    /// A URL has ended, in whatever way.
    pub(super) fn end(&mut self, number: u32, known: &mut Known) {
        for named in self.waiting.remove(&number).unwrap_or_default() {
            self.compare(named, number, known);
        }
    }

    /// Compares what is named with what is known of the target of this number,
    /// or else later.
    pub(super) fn compare(&mut self, named: Named, mut target: u32, known: &mut Known) {
        for _ in 0..MOST_REDIRECTS {
            match self.ended.get(&target) {
                Some(Target::Redirect(to)) => target = *to,
                Some(Target::Page { status, ids }) => {
                    let Some(entry) = known.get(named.number) else { return };
                    let (_, fragment) = entry.url.split_once('#').unwrap_or_default();
                    let is_there = |id: &str| ids.binary_search(&hash(&self.hasher, id)).is_ok();
                    if is_named(fragment, is_there) {
                        break;
                    }
                    let page = known.get(target).map_or("the page", |page| &page.url);
                    let message = format!("nothing is called '{fragment}' in {page}");
                    let (url, depth) = (Arc::clone(&entry.url), named.depth);
                    self.missing.push(Missing { url, status: *status, depth, message });
                    known.set_fate(named.number, Fate::Broken);
                    return;
                }
                None if known.fate(target) == Some(Fate::Open) => {
                    self.waiting.entry(target).or_default().push(named);
                    return;
                }
                None => break,
            }
        }
        known.is_fine(named.number);
    }

    /// What has turned out to be missing since this was asked last.
    pub(super) fn take_missing(&mut self) -> Vec<Missing> {
        std::mem::take(&mut self.missing)
    }
}

/// What of a fragment names a place that a page may lack: not the directive of a
/// text fragment (WICG Scroll to Text Fragment, section 3.3), and nothing that
/// means the top of the page (HTML standard, section 7.4.6.3).
pub(super) fn place(fragment: &str) -> Option<&str> {
    let (place, _) = fragment.split_once(":~:").unwrap_or((fragment, ""));
    (!place.is_empty() && !decoded(place).eq_ignore_ascii_case("top")).then_some(place)
}

/// Whether a page that has these ids has what is named: as it is written, or
/// with its percent-encoding undone. GitHub puts a prefix before the ids of what
/// its users write, and removes it by a script.
fn is_named(fragment: &str, is_there: impl Fn(&str) -> bool) -> bool {
    [Cow::Borrowed(fragment), decoded(fragment)]
        .iter()
        .any(|id| is_there(id) || is_there(&format!("user-content-{id}")))
}

fn decoded(fragment: &str) -> Cow<'_, str> {
    percent_decode_str(fragment).decode_utf8_lossy()
}

fn hash(hasher: &RandomState, id: &str) -> u32 {
    hasher.hash_one(id) as u32
}
