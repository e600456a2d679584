//! Every URL that was ever found, in little memory.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use hashbrown::HashTable;

/// How many referrers of one URL are remembered by name.
pub(super) const MOST_REFERRERS: usize = 10;

/// The URLs found so far, numbered in that order, and who leads to them.
///
/// A site chooses its URLs, so it must not be able to choose where they lie in
/// the table. The standard library's hash (SipHash, with keys of this process)
/// is made for that, and for the length of a URL it is hardly slower than
/// those that are not.
#[derive(Debug, Default)]
pub(super) struct Known {
    hasher: RandomState,
    /// The numbers of the entries, by the hashes of their URLs.
    numbers: HashTable<u32>,
    entries: Segments<Entry>,
}

/// One URL.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) url: Arc<str>,
    /// When the table grows, nobody has to look at a million texts again.
    hash: u32,
    pub(super) state: State,
    pub(super) referrers: Referrers,
}

/// What is decided about a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing, since it is too many clicks away as far as is known.
    TooDeep,
    /// Everything; the user named it, or a sitemap did.
    Named,
    /// Everything; something led to it.
    Decided,
}

/// Who leads to a URL: the first few, and how many.
#[derive(Debug, Default)]
pub(super) struct Referrers {
    first: [u32; MOST_REFERRERS],
    count: u32,
    last: u32,
}

impl Known {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What to look a URL up by.
    pub(super) fn hash(&self, url: &str) -> u32 {
        self.hasher.hash_one(url) as u32
    }

    /// The number of a URL.
    pub(super) fn find(&self, hash: u32, url: &str) -> Option<u32> {
        let is_it = |number: &u32| {
            self.get(*number).is_some_and(|entry| entry.hash == hash && &*entry.url == url)
        };
        self.numbers.find(spread(hash), is_it).copied()
    }

    /// Adds a URL that is not there, undecided, and returns its number; `None`
    /// when there is none left, which takes more memory than there is.
    pub(super) fn insert(&mut self, hash: u32, url: Arc<str>) -> Option<u32> {
        let number = u32::try_from(self.len()).ok()?;
        let (state, referrers) = (State::TooDeep, Referrers::default());
        self.entries.push(Entry { url, hash, state, referrers });
        let entries = &self.entries;
        let hash_of = |number: &u32| entries.get(*number as usize).map_or(0, |entry| entry.hash);
        self.numbers.insert_unique(spread(hash), number, |number| spread(hash_of(number)));
        Some(number)
    }

    pub(super) fn get(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Entry> {
        self.entries.get_mut(number as usize)
    }
}

/// The table takes the place from the lower bits and a tag from the upper ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

impl Referrers {
    /// Whether this is news. A page is done with before the next one comes, so
    /// it is enough to remember the last.
    pub(super) fn add(&mut self, from: u32) -> bool {
        if self.count > 0 && self.last == from {
            return false;
        }
        if let Some(free) = self.first.get_mut(self.count as usize) {
            *free = from;
        }
        self.last = from;
        self.count = self.count.saturating_add(1);
        true
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn first(&self) -> &[u32] {
        &self.first[..MOST_REFERRERS.min(self.count as usize)]
    }
}

/// A list that never moves what is in it: growing takes no second copy, and at
/// most one segment is reserved for nothing.
#[derive(Debug)]
struct Segments<T>(Vec<Vec<T>>);

const SEGMENT: usize = 128;

impl<T> Default for Segments<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Segments<T> {
    fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * SEGMENT + last.len())
    }

    fn push(&mut self, item: T) {
        match self.0.last_mut().filter(|last| last.len() < SEGMENT) {
            Some(last) => last.push(item),
            None => {
                let mut segment = Vec::with_capacity(SEGMENT);
                segment.push(item);
                self.0.push(segment);
            }
        }
    }

    fn get(&self, n: usize) -> Option<&T> {
        self.0.get(n / SEGMENT)?.get(n % SEGMENT)
    }

    fn get_mut(&mut self, n: usize) -> Option<&mut T> {
        self.0.get_mut(n / SEGMENT)?.get_mut(n % SEGMENT)
    }
}
