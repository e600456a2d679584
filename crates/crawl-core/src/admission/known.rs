//! Every URL that was ever found, in little memory.

use std::hash::{BuildHasher, RandomState};
use std::hint::black_box;
use std::sync::Arc;

use hashbrown::HashTable;

use super::entry::{Entry, Fate};
use crate::links::Link;

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
    /// What is noted about all referrers, in bytes.
    noted: usize,
}

/// When what is noted about referrers takes this many bytes (64 MiB), they are
/// known by their URLs only. The second half is for the first link to each URL.
pub(super) const MOST_BYTES: usize = 64 * 1024 * 1024;

impl Known {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// What to look a URL up by.
    pub(super) fn hash(&self, url: &str) -> u32 {
        self.hasher.hash_one(url) as u32
    }

    /// Looks at URLs that will be asked for one after the other, by their hashes,
    /// and forgets what it has seen.
    ///
    /// Of so many URLs as do not fit into the caches, each costs several trips to
    /// memory, which take as long as all else that is done about it. Here no URL
    /// waits for the one before, so the processor is on several trips at a time.
    pub(super) fn look_ahead(&self, hashes: &[u32]) {
        let with_hash = |&hash: &u32| {
            let has_it = |n: &u32| self.get(*n).is_some_and(|entry| entry.hash == hash);
            self.get(*self.numbers.find(spread(hash), has_it)?)
        };
        let entries: Vec<&Entry> = hashes.iter().filter_map(with_hash).collect();
        for entry in entries {
            black_box(entry.first_bytes());
        }
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
        self.entries.push(Entry::new(url, hash));
        let entries = &self.entries;
        let hash_of = |number: &u32| entries.get(*number as usize).map_or(0, |entry| entry.hash);
        self.numbers.insert_unique(spread(hash), number, |number| spread(hash_of(number)));
        Some(number)
    }

    /// Remembers who leads to a URL, and by which link, unless a page redirects
    /// or it does not matter. Whether that is news.
    pub(super) fn refer(&mut self, number: u32, from: u32, link: Option<Link<'_>>) -> bool {
        let Some(entry) = self.entries.get_mut(number as usize) else { return false };
        let most = if entry.count() == 0 { MOST_BYTES } else { MOST_BYTES / 2 };
        let grown = entry.refer(from, link.filter(|_| self.noted < most));
        self.noted += grown.unwrap_or_default();
        grown.is_some()
    }

    /// Nobody has to mend a link to this URL, nor to those that redirect to it:
    /// where they are is forgotten, and who has them but for the first.
    pub(super) fn is_fine(&mut self, number: u32) {
        let (mut next, mut others) = (Some(number), Vec::new());
        while let Some(number) = next {
            if let Some(entry) = self.get_mut(number) {
                entry.set_fate(Fate::Fine);
                let (redirects, bytes) = entry.forget_referrers();
                self.noted -= bytes;
                let is_redirecting = |from: &u32| self.fate(*from) == Some(Fate::Redirecting);
                others.extend(redirects.into_iter().filter(is_redirecting));
            }
            next = others.pop();
        }
    }

    /// This URL redirects to another, if to any that will be asked. What becomes
    /// of that one becomes of this one.
    pub(super) fn redirects(&mut self, number: u32, target: Option<u32>) {
        let target = target.and_then(|target| self.get(target));
        // Who is not among the first is never told of, whatever happens.
        let target = target.filter(|target| target.referrers().any(|(from, _)| from == number));
        match target.map_or(Fate::Fine, |target| target.fate()) {
            Fate::Fine => self.is_fine(number),
            Fate::Broken => self.set_fate(number, Fate::Broken),
            Fate::Open | Fate::Redirecting => self.set_fate(number, Fate::Redirecting),
        }
    }

    pub(super) fn set_fate(&mut self, number: u32, fate: Fate) {
        if let Some(entry) = self.get_mut(number) {
            entry.set_fate(fate);
        }
    }

    pub(super) fn fate(&self, number: u32) -> Option<Fate> {
        self.get(number).map(|entry| entry.fate())
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
