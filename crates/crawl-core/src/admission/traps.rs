//! Crawler traps: parts of a site that never end.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use memchr::{memchr, memchr_iter, memrchr};

use crate::{ErrorClass, FetchError, FetchResult, Purpose, TrapLimits};
use web::Address;

/// The detector of traps, which counts URLs per path and per directory.
#[derive(Debug, Default)]
pub(super) struct Traps {
    limits: TrapLimits,
    hasher: RandomState,
    /// The cost so far of each path with variants and of each first segment. The
    /// keys are hashes: if two are the same, they share one limit.
    counts: HashMap<u32, u32>,
}

impl Traps {
    pub(super) fn new(limits: TrapLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Shortens the URL of a page that is too long. Long URLs with the same beginning are one
    /// trap. Other URLs lead to no further ones, so that they may be longer.
    pub(super) fn shorten<'a>(&self, url: &'a str, purpose: Purpose) -> &'a str {
        if purpose == Purpose::Page { self.shorten_page(url) } else { url }
    }

    /// Shortens a URL as if it was that of a page.
    pub(super) fn shorten_page<'a>(&self, url: &'a str) -> &'a str {
        url.get(..=self.limits.url_bytes).unwrap_or(url)
    }

    /// Checks a new URL against all limits, and counts it if it is not a trap. Links
    /// of an external URL are not followed, so it is none.
    pub(super) fn check(
        &mut self,
        address: Address<'_>,
        depth: u32,
        purpose: Purpose,
    ) -> FetchResult {
        self.check_alone(address, purpose)?;
        let counts = self
            .counts_of(address, depth, purpose)
            .map(|count| self.add(&count))
            .collect::<Result<Vec<_>, _>>()?;
        // Counted only now, so that a refused URL costs nothing.
        self.counts.extend(counts);
        Ok(())
    }

    /// Checks a URL against the limits that concern one URL alone. The length is that of a
    /// page only.
    pub(super) fn check_alone(&self, address: Address<'_>, purpose: Purpose) -> FetchResult {
        let limits = &self.limits;
        if purpose == Purpose::Page && address.as_str().len() > limits.url_bytes {
            return Err(trap(format!("the URL is longer than {} bytes", limits.url_bytes)));
        }
        if purpose == Purpose::External {
            return Ok(());
        }
        let segments = segments(address);
        // Each segment begins with a slash.
        let count = memchr_iter(b'/', segments.as_bytes()).count();
        if count > limits.segments {
            return Err(trap(format!("the path has more than {} segments", limits.segments)));
        }
        let repetitions = limits.repetitions.max(2);
        let parts = || segments.split('/').skip(1).collect::<Vec<_>>();
        if count >= repetitions && has_repetition(&parts(), repetitions) {
            return Err(trap(format!("a part of the path repeats {repetitions} times")));
        }
        Ok(())
    }

    /// Returns the counts to which a URL adds.
    pub(super) fn counts_of<'a>(
        &self,
        address: Address<'a>,
        depth: u32,
        purpose: Purpose,
    ) -> impl Iterator<Item = TrapCount<'a>> + use<'a> {
        let limits = &self.limits;
        let cost = if depth > limits.near { TrapLimits::FAR_COST } else { 1 };
        let is_counted = purpose != Purpose::External;
        let is_below =
            is_counted && memchr_iter(b'/', segments(address).as_bytes()).count() >= BELOW;
        let variant = variant(address).filter(|_| is_counted);
        let variant = variant.map(|name| TrapCount {
            what: "variants of",
            name,
            cost,
            limit: limits.variants,
        });
        let below = is_below.then(|| {
            let name = first_directory(address);
            TrapCount { what: "URLs below", name, cost, limit: limits.below }
        });
        variant.into_iter().chain(below)
    }

    /// Returns the key of a count and its new value, or the error of a trap if that
    /// exceeds the limit.
    fn add(&self, count: &TrapCount<'_>) -> Result<(u32, u32), FetchError> {
        let key = self.hasher.hash_one((count.what, count.name)) as u32;
        let sum = self.counts.get(&key).copied().unwrap_or(0).saturating_add(count.cost);
        if sum > count.limit { Err(count.error()) } else { Ok((key, sum)) }
    }
}

/// The number of segments from which on a URL counts as below its first segment.
const BELOW: usize = 3;

/// A count to which a URL adds: of the variants of a path, or of the URLs below a
/// directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrapCount<'a> {
    /// The things that are counted.
    pub what: &'static str,
    /// The path or directory.
    pub name: &'a str,
    /// The number that the URL adds.
    pub cost: u32,
    /// The sum above which a URL is taken for a trap.
    pub limit: u32,
}

impl TrapCount<'_> {
    /// Returns the error of a URL that exceeds the limit.
    pub fn error(&self) -> FetchError {
        trap(format!("too many {} {}", self.what, self.name))
    }
}

/// Returns the path without a slash at its end.
fn segments(address: Address<'_>) -> &str {
    let path = address.path();
    &path[..path.len() - usize::from(path.ends_with('/'))]
}

fn trap(message: String) -> FetchError {
    FetchError::new(ErrorClass::Trap, message)
}

/// Returns true if a group of segments follows itself too often. For each length
/// of a group the time is linear in the number of segments.
fn has_repetition(segments: &[&str], repetitions: usize) -> bool {
    let is_number =
        |segment: &&str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    (1..=segments.len() / repetitions).any(|group| {
        let mut alike = 0;
        segments.iter().zip(&segments[group..]).enumerate().any(|(n, (one, next))| {
            alike = if one == next { alike + 1 } else { 0 };
            alike >= group * (repetitions - 1) && !segments[n + 1..=n + group].iter().all(is_number)
        })
    })
}

/// Returns the host and path of a URL that is a variant of another one.
fn variant(address: Address<'_>) -> Option<&str> {
    let page = from_host(address);
    let path_end = memchr(b'?', page.as_bytes()).unwrap_or(page.len());
    let last_segment = memrchr(b'/', &page.as_bytes()[..path_end])?;
    let parameters = memchr(b';', &page.as_bytes()[last_segment..path_end]);
    let end = parameters.map_or(path_end, |n| last_segment + n);
    (end < page.len() || address.before_host().ends_with('@')).then_some(&page[..end])
}

/// Returns the URL from its host on.
fn from_host(address: Address<'_>) -> &str {
    &address.as_str()[address.before_host().len()..]
}

/// Returns the host and the first segment of the path.
fn first_directory(address: Address<'_>) -> &str {
    let page = from_host(address);
    page.match_indices('/').nth(1).map_or(page, |(end, _)| &page[..end])
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn check_at(traps: &mut Traps, url: &str, depth: u32) -> Result<(), String> {
        let url = Url::parse(url).unwrap();
        let passed = traps.check(Address::of(&url).unwrap(), depth, Purpose::Page);
        passed.map_err(|error| {
            assert_eq!(error.class, ErrorClass::Trap);
            error.message
        })
    }

    fn check(traps: &mut Traps, path: &str) -> Result<(), String> {
        check_at(traps, &format!("http://site.test{path}"), 0)
    }

    #[test]
    fn a_path_that_repeats_itself_is_a_trap() {
        let mut traps = Traps::default();
        for path in [
            "/a/a/a/",
            "/a/a/a/b.html",
            "/x/a/a/a",
            "/a/b/a/b/a/b/",
            "/x/a/b/a/b/a/b/c",
            "/a/1/a/1/a/1",
            "/2/2/a/2/2/a/2/2/a",
            "/a/b/c/a/b/c/a/b/c?d",
            "/a////b",
        ] {
            let message = check(&mut traps, path).unwrap_err();
            assert_eq!(message, "a part of the path repeats 3 times", "{path}");
        }
    }

    #[test]
    fn the_number_of_repetitions_can_be_set() {
        let limits = |repetitions| TrapLimits { repetitions, ..TrapLimits::default() };
        let mut traps = Traps::new(limits(5));
        assert_eq!(check(&mut traps, "/a/a/a/a"), Ok(()));
        let message = check(&mut traps, "/a/a/a/a/a").unwrap_err();
        assert_eq!(message, "a part of the path repeats 5 times");
        // Once is no repetition.
        for few in [0, 1, 2] {
            let mut traps = Traps::new(limits(few));
            assert_eq!(check(&mut traps, "/a/b"), Ok(()));
            assert_eq!(
                check(&mut traps, "/a/a").unwrap_err(),
                "a part of the path repeats 2 times"
            );
        }
    }

    #[test]
    fn an_ordinary_path_is_no_trap() {
        let mut traps = Traps::default();
        for path in [
            "/",
            "//",
            "/a//b//",
            "/1/1/",
            "/a/a/",
            "/a/a",
            "/11/11/11/",
            "/tiles/0/0/0",
            "/1/2/1/2/1/2",
            "/a/b/a/c/a/d",
            "/a/b/a/b/a",
            "/aa/a/aaa",
            "/a/a/b/a/a",
            "/a?b/b/b/b",
        ] {
            assert_eq!(check(&mut traps, path), Ok(()), "{path}");
        }
    }

    #[test]
    fn long_and_deep() {
        let mut traps = Traps::default();
        let long = |bytes: usize| "/".to_owned() + &"a".repeat(bytes - "http://site.test/".len());
        assert_eq!(check(&mut traps, &long(2_083)), Ok(()));
        assert!(check(&mut traps, &long(2_084)).unwrap_err().contains("2083 bytes"));
        let deep = |segments: u32| (0..segments).map(|n| format!("/{n}")).collect::<String>();
        assert_eq!(check(&mut traps, &deep(32)), Ok(()));
        assert_eq!(check(&mut traps, &(deep(32) + "/")), Ok(()));
        assert!(check(&mut traps, &deep(33)).unwrap_err().contains("32 segments"));
    }

    #[test]
    fn variants_are_counted_by_path() {
        let limits = TrapLimits { variants: 3, ..TrapLimits::default() };
        let mut traps = Traps::new(limits);
        for path in ["/a?1", "/a;2", "/a;3?4", "/a", "/b?1", "/a/?1", "/c;1/a"] {
            assert_eq!(check(&mut traps, path), Ok(()), "{path}");
        }
        let message = check(&mut traps, "/a?5").unwrap_err();
        assert_eq!(message, "too many variants of site.test/a");
        assert!(check_at(&mut traps, "https://user@site.test/a", 0).is_err());
        assert_eq!(check_at(&mut traps, "http://site.test:81/a?1", 0), Ok(()));
        assert_eq!(check(&mut traps, "/d?1"), Ok(()), "what was refused has cost nothing");
    }

    #[test]
    fn only_urls_deep_below_a_first_segment_are_counted() {
        let limits = TrapLimits { below: 3, ..TrapLimits::default() };
        let mut traps = Traps::new(limits);
        for n in 0..100 {
            assert_eq!(check(&mut traps, &format!("/{n}")), Ok(()));
            assert_eq!(check(&mut traps, &format!("/{n}/")), Ok(()));
            assert_eq!(check(&mut traps, &format!("/news/{n}")), Ok(()));
            assert_eq!(check(&mut traps, &format!("/news/{n}/")), Ok(()));
            assert_eq!(check(&mut traps, &format!("/cal/{n}/1")).is_ok(), n < 3, "{n}");
        }
        assert_eq!(
            check(&mut traps, "/cal/a/b/c").unwrap_err(),
            "too many URLs below site.test/cal"
        );
        assert_eq!(check(&mut traps, "/other/a/b/c"), Ok(()));
    }

    #[test]
    fn a_url_far_from_the_roots_counts_more() {
        let limits = TrapLimits { variants: 2 * TrapLimits::FAR_COST, ..TrapLimits::default() };
        let mut traps = Traps::new(limits);
        assert_eq!(check_at(&mut traps, "http://site.test/?1", 100), Ok(()));
        assert_eq!(check_at(&mut traps, "http://site.test/?2", 101), Ok(()));
        assert!(check_at(&mut traps, "http://site.test/?3", 101).is_err());
        assert_eq!(check_at(&mut traps, "http://site.test/?4", 100), Ok(()));
    }
}
