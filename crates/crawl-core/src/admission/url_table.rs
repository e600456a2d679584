//! The table of all URLs that were seen, to find duplicates; interned in little
//! memory.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::sync::Arc;

use super::block_pool::BlockPool;
use super::further_referrers::FurtherReferrers;
use super::referrers::LinkContext;
use super::url_index::UrlIndex;
use super::url_record::{LinkStatus, MAX_REFERRERS, State, UrlRecord};
use web::links::Link;

/// The URLs found so far, numbered in the order in which they were found
/// (interning), with their referrers.
///
/// A site chooses its URLs, so it must not be able to choose their slots in the
/// hash table (hash flooding). The hash of the standard library (SipHash with
/// random keys) prevents that, and for the length of a URL it is hardly slower
/// than other hashes.
#[derive(Debug, Default)]
pub(super) struct UrlTable {
    hasher: RandomState,
    /// The numbers of the records, by the hashes of their URLs.
    index: UrlIndex,
    records: SegmentedVec<UrlRecord>,
    /// The referrers of the records.
    pool: BlockPool,
    /// The referrers that are not in the records.
    further: FurtherReferrers,
    /// The size of all referrers in the records, in bytes.
    referrer_bytes: usize,
    /// The approximate memory of all URLs, in bytes.
    memory: usize,
    /// The length of all URLs beyond [`SHORT_URL`] of each, in bytes.
    long_bytes: usize,
}

/// The approximate memory that a URL costs beside its text, in bytes: its record, its
/// job, and its entries in the tables of the crawl and in the queues of a stage.
const URL_MEMORY: usize = 256;

/// The length of a URL that does not count as long, in bytes.
const SHORT_URL: usize = 256;

/// The maximum length of all long URLs beyond [`SHORT_URL`] of each: 32 MiB. A page can
/// make every one of its links long by a long base.
const MAX_LONG_BYTES: usize = 32 * 1024 * 1024;

/// The memory limit for stored referrers: 64 MiB. Beyond it, the first referrers of
/// a URL are stored without a link context, and its further referrers are counted
/// only. The second half is reserved for the first link to each URL.
pub(super) const MAX_REFERRER_BYTES: usize = 64 * 1024 * 1024;

impl UrlTable {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn records(&self) -> impl Iterator<Item = &UrlRecord> {
        self.records.0.iter().flatten()
    }

    /// Returns the hash by which a URL is found.
    pub(super) fn hash(&self, url: &str) -> u32 {
        self.hasher.hash_one(url) as u32
    }

    /// Prefetches the records with these hashes into the processor's caches.
    ///
    /// In a table that does not fit into the caches, each lookup needs several
    /// accesses to memory, one after the other: to the index, to the record, and to its
    /// text and its referrers. They take longer than all other work on a URL. Here each
    /// step is taken for all URLs before the next one, so that no access waits for that
    /// of another URL, and the processor makes several of them at the same time.
    pub(super) fn prefetch(&self, hashes: &[u32]) {
        self.index.prefetch(hashes);
        let numbers = hashes.iter().filter_map(|hash| self.index.find(*hash, |_| true));
        let records: Vec<&UrlRecord> = numbers.filter_map(|number| self.get(number)).collect();
        for record in &records {
            black_box(record.count());
        }
        let outer = records.iter().flat_map(|record| record.outer_bytes(&self.pool));
        // These loops are so short that the processor is in several turns at a time.
        for bytes in outer.collect::<Vec<_>>() {
            // They may be in two lines of a cache.
            black_box((bytes.first().copied(), bytes.last().copied()));
        }
    }

    /// Returns the number of a URL, if the table has it.
    pub(super) fn find(&self, hash: u32, url: &str) -> Option<u32> {
        let is_same_url = |number| self.get(number).is_some_and(|record| &*record.url == url);
        self.index.find(hash, is_same_url)
    }

    /// Returns the approximate memory of all URLs, in bytes.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Adds a URL that the table does not have, undecided, and returns its number;
    /// `None` when the memory for long URLs is used up, or no number is left, which
    /// would take more memory than a machine has.
    pub(super) fn insert(&mut self, hash: u32, url: &str) -> Option<u32> {
        let number = u32::try_from(self.len()).ok().filter(|number| *number < u32::MAX)?;
        let excess = url.len().saturating_sub(SHORT_URL);
        if excess > MAX_LONG_BYTES - self.long_bytes {
            return None;
        }
        self.long_bytes += excess;
        self.memory += url.len() + URL_MEMORY;
        self.records.push(UrlRecord::new(Arc::from(url)));
        self.index.insert(hash, number);
        Some(number)
    }

    /// Adds a referrer to a URL, with the context of its link if there is one and
    /// memory is left. Returns false if it is the same referrer as the last one.
    pub(super) fn add_referrer(
        &mut self,
        number: u32,
        from: u32,
        link: Option<Link<'_>>,
        is_redirect: bool,
    ) -> bool {
        let Some(record) = self.records.get_mut(number as usize) else { return false };
        let limit = if record.count() == 0 { MAX_REFERRER_BYTES } else { MAX_REFERRER_BYTES / 2 };
        let has_memory = self.referrer_bytes + self.further.bytes() < limit;
        let link = link.filter(|_| has_memory);
        if is_redirect {
            record.set_has_redirect();
        }
        let Some(grown) = record.add_referrer(number, from, link, &mut self.pool) else {
            return false;
        };
        self.referrer_bytes += grown;
        let context = link.and_then(LinkContext::of);
        let is_reported = match record.status() {
            LinkStatus::Fine => false,
            LinkStatus::Broken => true,
            // Most of these turn out to be fine.
            LinkStatus::Open | LinkStatus::Redirecting => is_redirect || context.is_some(),
        };
        if has_memory && is_reported && record.count() as usize > MAX_REFERRERS {
            self.further.add(number, from, context, first_text(record, &self.pool));
        }
        self.note_moved();
        true
    }

    /// Records where a block of referrers is that has moved.
    fn note_moved(&mut self) {
        if let Some((number, id)) = self.pool.take_moved()
            && let Some(record) = self.get_mut(number)
        {
            record.referrers.set_block(id);
        }
    }

    /// Returns all stored referrers of a URL, with their link contexts, in the order
    /// in which they were found.
    pub(super) fn referrers(
        &self,
        number: u32,
    ) -> impl Iterator<Item = (u32, Option<LinkContext<'_>>)> {
        let record = self.get(number);
        let first = record.into_iter().flat_map(|record| record.referrers(&self.pool));
        let first_text = record.and_then(|record| first_text(record, &self.pool));
        first.chain(self.further.of(number, first_text))
    }

    /// Records that a URL is a page that was cut.
    pub(super) fn set_broken_page(&mut self, number: u32) {
        self.set_status(number, LinkStatus::Broken);
        if let Some(record) = self.records.get_mut(number as usize) {
            record.set_is_page();
        }
    }

    /// Returns true if a URL that refers to others does so as a redirect.
    pub(super) fn is_redirect(&self, number: u32) -> bool {
        self.get(number).is_some_and(|record| {
            record.status() == LinkStatus::Redirecting || record.is_broken_redirect()
        })
    }

    /// Sets the status of a URL, and of all URLs that redirect to it, to
    /// [`LinkStatus::Fine`]. Their referrers are forgotten, except for the first
    /// of each.
    pub(super) fn set_fine(&mut self, number: u32) {
        let (mut next, mut others) = (Some(number), Vec::new());
        while let Some(number) = next {
            if let Some(record) = self.records.get_mut(number as usize) {
                record.set_status(LinkStatus::Fine);
                let has_further = record.count() as usize > MAX_REFERRERS;
                let (redirects, bytes) = record.forget_referrers(&mut self.pool);
                self.referrer_bytes -= bytes;
                self.note_moved();
                let further = if has_further { self.further.forget(number) } else { Vec::new() };
                let redirects = redirects.into_iter().chain(further);
                let is_redirecting =
                    |from: &u32| self.status(*from) == Some(LinkStatus::Redirecting);
                others.extend(redirects.filter(is_redirecting));
            }
            next = others.pop();
        }
    }

    /// Records that a URL redirects to `target`, or to a URL that is not requested
    /// if that is `None`. Its status becomes that of the target, unless its referrers
    /// are to be kept.
    pub(super) fn set_redirect(&mut self, number: u32, target: Option<u32>, keep: bool) {
        if keep {
            return self.set_status(number, LinkStatus::Broken);
        }
        let status = target.and_then(|target| Some((target, self.status(target)?)));
        match status {
            Some((_, LinkStatus::Broken)) => self.set_status(number, LinkStatus::Broken),
            Some((target, LinkStatus::Open | LinkStatus::Redirecting))
                if self.has_stored(target, number) =>
            {
                self.set_status(number, LinkStatus::Redirecting)
            }
            // A referrer that is not stored does not hear of the target's status.
            _ => self.set_fine(number),
        }
    }

    /// Returns true if `from`, which was the last referrer to be added to a URL, is
    /// stored. All others need not be looked at, of which there may be a million.
    fn has_stored(&self, number: u32, from: u32) -> bool {
        let record = self.get(number);
        record.is_some_and(|record| record.referrers(&self.pool).any(|(first, _)| first == from))
            || self.further.last(number) == Some(from)
    }

    /// Returns true if a URL is known, and too many clicks away to be decided about.
    pub(super) fn is_too_deep(&self, number: u32) -> bool {
        self.get(number).is_some_and(|record| record.state() == State::TooDeep)
    }

    pub(super) fn set_status(&mut self, number: u32, status: LinkStatus) {
        if let Some(record) = self.get_mut(number) {
            record.set_status(status);
        }
    }

    pub(super) fn status(&self, number: u32) -> Option<LinkStatus> {
        self.get(number).map(|record| record.status())
    }

    pub(super) fn get(&self, number: u32) -> Option<&UrlRecord> {
        self.records.get(number as usize)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut UrlRecord> {
        self.records.get_mut(number as usize)
    }
}

/// Returns the text of the first link to a URL.
fn first_text<'a>(record: &UrlRecord, pool: &'a BlockPool) -> Option<&'a str> {
    record.referrers(pool).find_map(|(_, context)| Some(context?.text))
}

/// A segmented vector, which hardly ever moves its items: growing needs no second copy,
/// and at most one segment is partly unused. There are so few segments that their list
/// stays in the caches.
#[derive(Debug)]
struct SegmentedVec<T>(Vec<Vec<T>>);

/// The number of items in one segment.
const SEGMENT_LEN: usize = 2048;

impl<T> Default for SegmentedVec<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> SegmentedVec<T> {
    fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * SEGMENT_LEN + last.len())
    }

    fn push(&mut self, item: T) {
        match self.0.last_mut().filter(|last| last.len() < SEGMENT_LEN) {
            Some(last) => last.push(item),
            None => {
                // The first one grows as needed, since most tables are small.
                let capacity = if self.0.is_empty() { 0 } else { SEGMENT_LEN };
                let mut segment = Vec::with_capacity(capacity);
                segment.push(item);
                self.0.push(segment);
            }
        }
    }

    fn get(&self, n: usize) -> Option<&T> {
        self.0.get(n / SEGMENT_LEN)?.get(n % SEGMENT_LEN)
    }

    fn get_mut(&mut self, n: usize) -> Option<&mut T> {
        self.0.get_mut(n / SEGMENT_LEN)?.get_mut(n % SEGMENT_LEN)
    }
}
