//! Ceilings: limits on what one host may have, so that a host which makes up pages
//! without end does not keep the crawl from its end.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::{ErrorClass, FetchError, Options};
use web::Address;

/// The number of pages that lead to new URLs, before the content of pages is hashed, or
/// the limit on equal pages if that is less. Most sites are crawled without it.
const UNHASHED: u32 = 1_000;

/// The number of traps of a host that have a row. There may be any number of others: they
/// are counted.
const MAX_TRAPS: u64 = 100_000;

/// The pages of each host, counted in two ways: all of them, and those of equal
/// content.
///
/// Beyond a ceiling, the first new URL is refused, which is a row. The others are not
/// even stored, since there may be any number of them: they are counted.
#[derive(Debug, Default)]
pub(super) struct Ceilings {
    max_pages: Option<u64>,
    max_equal: u32,
    hasher: RandomState,
    /// The host of the last address and its hash: most addresses have the host of the
    /// one before.
    last_host: (String, u64),
    /// The hash of each host, with the number of its pages.
    pages: HashTable<(u64, u64)>,
    /// The hash of each host that has traps, with their number.
    traps: HashTable<(u64, u64)>,
    /// The hash and the name of each host that has too many of them.
    hosts_of_traps: BTreeMap<u64, String>,
    equal: CountMinSketch,
    /// The number of pages that led to new URLs.
    leading: u32,
    /// The page whose links are being admitted, if there are too many like it.
    copy: Option<EqualPage>,
    reached: BTreeMap<Ceiling, Reached>,
}

/// A page of which there are too many with equal content.
#[derive(Debug)]
struct EqualPage {
    ceiling: Ceiling,
    url: String,
}

/// A ceiling: the hash of a host and, if it is for pages of equal content, that of
/// the content.
type Ceiling = (u64, Option<u64>);

/// A ceiling that was reached.
#[derive(Debug)]
struct Reached {
    sentence: String,
    /// The number of links to new URLs beyond it.
    links: u64,
}

/// The refusal of a new URL.
pub(super) enum Refusal {
    /// The URL becomes a row with this error.
    Row(FetchError),
    /// There are too many like it: it is only counted.
    Counted,
}

impl Ceilings {
    pub(super) fn new(options: &Options) -> Self {
        let max_equal = options.settings.traps.equal_pages;
        Self { max_pages: options.settings.max_pages_per_host, max_equal, ..Self::default() }
    }

    fn host(&mut self, address: Address<'_>) -> u64 {
        let (host, hash) = &mut self.last_host;
        if !address.has_authority(host) {
            address.authority().clone_into(host);
            *hash = self.hasher.hash_one(&host);
        }
        *hash
    }

    /// Counts a new page of a host.
    pub(super) fn count(&mut self, address: Address<'_>) {
        if self.max_pages.is_some() {
            let host = self.host(address);
            *number_of(&mut self.pages, host) += 1;
        }
    }

    fn num_pages(&self, host: u64) -> u64 {
        self.pages.find(host, |(other, _)| *other == host).map_or(0, |(_, pages)| *pages)
    }

    /// Begins a page with this hash of its content, before its links are admitted.
    pub(super) fn begin_page(&mut self, address: Address<'_>, content: Option<u64>) {
        self.copy = content.and_then(|content| {
            let ceiling = (self.host(address), Some(content));
            let is_copy = self.equal.count(self.hasher.hash_one(ceiling)) >= self.max_equal;
            is_copy.then(|| EqualPage { ceiling, url: address.as_str().to_owned() })
        });
    }

    /// Ends a page. It is counted if it has led to new URLs: only such pages are able
    /// to go on without end. Returns true, once, when the content of further pages is
    /// wanted.
    pub(super) fn end_page(
        &mut self,
        address: Address<'_>,
        content: Option<u64>,
        num_new_urls: u32,
    ) -> bool {
        self.copy = None;
        if num_new_urls == 0 {
            return false;
        }
        if content.is_some() {
            let ceiling = (self.host(address), content);
            self.equal.add(self.hasher.hash_one(ceiling));
        }
        self.leading = self.leading.saturating_add(1);
        self.leading == self.max_equal.min(UNHASHED)
    }

    /// Checks a new URL.
    ///
    /// # Errors
    /// When it is beyond a ceiling. Only the first one becomes a row.
    pub(super) fn check(&mut self, address: Address<'_>) -> Result<(), Refusal> {
        let host = self.host(address);
        let (ceiling, reason, sentence) = match (&self.copy, self.max_pages) {
            (Some(EqualPage { ceiling, url }), _) if ceiling.0 == host => {
                let n = self.max_equal;
                let reason = format!("{n} pages with new links have the same content as {url}");
                let sentence = format!("{}: {reason}", address.authority());
                (*ceiling, reason, sentence)
            }
            (_, Some(max)) if self.num_pages(host) >= max => {
                let reason = too_many_pages(max);
                let sentence = format!(
                    "{} has more than {max} pages (--max-pages-per-host)",
                    address.authority()
                );
                ((host, None), reason, sentence)
            }
            _ => return Ok(()),
        };
        if let Some(reached) = self.reached.get_mut(&ceiling) {
            reached.links += 1;
            return Err(Refusal::Counted);
        }
        self.reached.insert(ceiling, Reached { sentence, links: 1 });
        Err(Refusal::Row(FetchError::new(ErrorClass::Trap, reason)))
    }

    /// Counts a new URL that is a trap. Returns false if its host has so many that this one
    /// is counted only.
    pub(super) fn count_trap(&mut self, address: Address<'_>) -> bool {
        let host = self.host(address);
        let traps = number_of(&mut self.traps, host);
        *traps += 1;
        if *traps > MAX_TRAPS {
            self.hosts_of_traps.entry(host).or_insert_with(|| address.authority().to_owned());
        }
        *traps <= MAX_TRAPS
    }

    /// Returns a sentence for each ceiling that was reached, without its full stop.
    pub(super) fn warnings(&self) -> impl Iterator<Item = String> {
        let reached = self.reached.values().map(|Reached { sentence, links }| {
            format!("{sentence}; other new links not followed: {links}")
        });
        let traps = self.hosts_of_traps.iter().map(|(host, name)| {
            let traps = self.traps.find(*host, |(other, _)| other == host);
            let more = traps.map_or(0, |(_, traps)| traps - MAX_TRAPS);
            format!("{name} has more than {MAX_TRAPS} crawler traps: {more} more are not listed")
        });
        reached.chain(traps)
    }
}

/// Returns the number that a table has for a host, 0 at first.
fn number_of(table: &mut HashTable<(u64, u64)>, host: u64) -> &mut u64 {
    let entry = table.entry(host, |(other, _)| *other == host, |(hash, _)| *hash);
    &mut entry.or_insert((host, 0)).into_mut().1
}

/// Says why a page is refused: its host has as many as it may.
pub(super) fn too_many_pages(max: u64) -> String {
    format!("the host has more than {max} pages (--max-pages-per-host)")
}

/// The number of counters in a row of the sketch: a power of two.
const ROW_LEN: usize = 1 << 14;

/// A count-min sketch: counts how often hashes come, in memory that does not grow. A
/// count may be too high, by what other hashes have added to both of its counters: with a
/// million of them about a hundred, which is little beside the limit.
#[derive(Debug, Default)]
struct CountMinSketch {
    /// Two rows of counters, allocated at the first count.
    rows: Vec<[u32; 2]>,
}

impl CountMinSketch {
    fn indices(hash: u64) -> [usize; 2] {
        [hash as usize % ROW_LEN, (hash >> 32) as usize % ROW_LEN]
    }

    fn count(&self, hash: u64) -> u32 {
        let [first, second] = Self::indices(hash);
        let counts = self.rows.get(first).zip(self.rows.get(second));
        counts.map_or(0, |(first, second)| first[0].min(second[1]))
    }

    fn add(&mut self, hash: u64) {
        self.rows.resize(ROW_LEN, [0; 2]);
        for (row, index) in Self::indices(hash).into_iter().enumerate() {
            let counter = &mut self.rows[index][row];
            *counter = counter.saturating_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn a_sketch_counts_what_is_frequent_and_little_else() {
        // Always the same hashes: two that share both counters are rare, and not impossible.
        let hasher = BuildHasherDefault::<DefaultHasher>::new();
        let mut sketch = CountMinSketch::default();
        assert_eq!(sketch.count(7), 0);
        for n in 0..1_000_000_u32 {
            sketch.add(hasher.hash_one(n));
            if n % 100 == 0 {
                sketch.add(hasher.hash_one("frequent"));
            }
        }
        let frequent = sketch.count(hasher.hash_one("frequent"));
        assert!((10_000..10_200).contains(&frequent), "{frequent}");
        let most = (0..1_000_000_u32).map(|n| sketch.count(hasher.hash_one(n))).max().unwrap();
        assert!(most < 500, "{most}");
    }
}
