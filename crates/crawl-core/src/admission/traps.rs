//! Sites without an end.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use memchr::{memchr, memchr_iter, memrchr};

use crate::{Address, ErrorClass, FetchError, Purpose};

/// Beyond these limits a URL is taken for a trap: a part of a site that is
/// made up as one goes along, and never ends.
///
/// They are far beyond what sites made for readers have. Above all, a
/// directory may hold any number of pages: a million of them side by side are
/// no trap. What is counted is what grows by itself, variants of one page and
/// directories within directories. Each is allowed in great numbers near the
/// roots; but calendars and the like go on for ever in one direction, so what
/// is many clicks away counts [`FAR_COST`](Self::FAR_COST) times.
///
/// What they let through all the same, such as a flat directory of pages with
/// random names, looks like a large site in every way; the limit on pages is
/// for that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrapLimits {
    /// How long a URL may be, in bytes. The default is the least that any
    /// browser of note has ever allowed, 2,083.
    pub url_bytes: usize,
    /// How many segments a path may have: by default 32.
    pub segments: usize,
    /// How many variants of one path there may be: what differs only in the
    /// query, in parameters behind a `;` of the last segment, or in the user
    /// name. By default 100,000.
    pub variants: u32,
    /// How many URLs of three or more segments may lie below one first
    /// segment of the path: by default 1,000,000.
    pub below: u32,
    /// How many clicks from a root are not far yet: by default 100.
    pub near: u32,
}

impl TrapLimits {
    /// How much a URL counts that is far from the roots. A calendar of months
    /// may go on for some four hundred years, and a list that leads only from
    /// page to page for some five thousand pages.
    pub const FAR_COST: u32 = 20;

    /// How often a segment of a path, or a group of them, may not follow
    /// itself: `/a/a/a/`, `/a/b/a/b/a/b/`. It is what a relative link leads to
    /// that should have been an absolute one. Groups of nothing but numbers
    /// may: `/11/11/11/` is a date, and `/0/0/0` a place on a map.
    pub const REPETITIONS: usize = 3;
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self { url_bytes: 2_083, segments: 32, variants: 100_000, below: 1_000_000, near: 100 }
    }
}

/// Tells traps, and keeps count.
#[derive(Debug, Default)]
pub(super) struct Traps {
    limits: TrapLimits,
    hasher: RandomState,
    /// What is spent of each limit on numbers. The keys are hashes: should two
    /// be the same, what they stand for shares one limit.
    spent: HashMap<u32, u32>,
}

impl Traps {
    pub(super) fn new(limits: TrapLimits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// As much of a URL as is worth remembering. Those that agree as far as
    /// this are one trap.
    pub(super) fn shorten<'a>(&self, url: &'a str) -> &'a str {
        url.get(..=self.limits.url_bytes).unwrap_or(url)
    }

    /// Lets a new URL pass, which counts. What leaves the site is no part of it,
    /// and has no end of its own: it may only not be too long.
    pub(super) fn pass(
        &mut self,
        address: Address<'_>,
        depth: u32,
        purpose: Purpose,
    ) -> Result<(), FetchError> {
        let limits = &self.limits;
        if address.as_str().len() > limits.url_bytes {
            return Err(trap(format!("the URL is longer than {} bytes", limits.url_bytes)));
        }
        if purpose == Purpose::External {
            return Ok(());
        }
        let path = address.path();
        let segments = &path[..path.len() - usize::from(path.ends_with('/'))];
        // There is a slash before each.
        let count = memchr_iter(b'/', segments.as_bytes()).count();
        if count > limits.segments {
            return Err(trap(format!("the path has more than {} segments", limits.segments)));
        }
        let is_below = count >= 3;
        if is_below && repeats_itself(&segments.split('/').skip(1).collect::<Vec<_>>()) {
            return Err(trap(format!("the path repeats itself {} times", TrapLimits::REPETITIONS)));
        }
        let cost = if depth > limits.near { TrapLimits::FAR_COST } else { 1 };
        let variant = variant(address)
            .map(|path| self.count("variants of", path, cost, limits.variants))
            .transpose()?;
        let below = is_below
            .then(|| self.count("URLs below", first_directory(address), cost, limits.below))
            .transpose()?;
        // Only now, so that what is refused costs nothing.
        self.spent.extend(variant.into_iter().chain(below));
        Ok(())
    }

    /// What this is counted under, and up to which number then.
    fn count(
        &self,
        what: &str,
        whose: &str,
        cost: u32,
        limit: u32,
    ) -> Result<(u32, u32), FetchError> {
        let key = self.hasher.hash_one((what, whose)) as u32;
        let spent = self.spent.get(&key).copied().unwrap_or(0).saturating_add(cost);
        if spent > limit {
            return Err(trap(format!("there are too many {what} {whose}")));
        }
        Ok((key, spent))
    }
}

fn trap(message: String) -> FetchError {
    FetchError::new(ErrorClass::Trap, message)
}

/// In time linear in the number of segments, for each length of a group.
fn repeats_itself(segments: &[&str]) -> bool {
    let is_number =
        |segment: &&str| !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
    (1..=segments.len() / TrapLimits::REPETITIONS).any(|group| {
        let mut alike = 0;
        segments.iter().zip(&segments[group..]).enumerate().any(|(n, (one, next))| {
            alike = if one == next { alike + 1 } else { 0 };
            alike >= group * (TrapLimits::REPETITIONS - 1)
                && !segments[n + 1..=n + group].iter().all(is_number)
        })
    })
}

/// The host and path of which this is a variant, if it is one.
fn variant(address: Address<'_>) -> Option<&str> {
    let page = from_host(address);
    let path_end = memchr(b'?', page.as_bytes()).unwrap_or(page.len());
    let last_segment = memrchr(b'/', &page.as_bytes()[..path_end])?;
    let parameters = memchr(b';', &page.as_bytes()[last_segment..path_end]);
    let end = parameters.map_or(path_end, |n| last_segment + n);
    (end < page.len() || address.before_host().ends_with('@')).then_some(&page[..end])
}

/// The host and the first segment of the path.
fn first_directory(address: Address<'_>) -> &str {
    let page = from_host(address);
    page.match_indices('/').nth(1).map_or(page, |(end, _)| &page[..end])
}

/// A URL without its scheme and user name.
fn from_host(address: Address<'_>) -> &str {
    &address.as_str()[address.before_host().len()..]
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn pass_at(traps: &mut Traps, url: &str, depth: u32) -> Result<(), String> {
        let url = Url::parse(url).unwrap();
        let passed = traps.pass(Address::of(&url).unwrap(), depth, Purpose::Page);
        passed.map_err(|error| {
            assert_eq!(error.class, ErrorClass::Trap);
            error.message
        })
    }

    fn pass(traps: &mut Traps, path: &str) -> Result<(), String> {
        pass_at(traps, &format!("http://site.test{path}"), 0)
    }

    #[test]
    fn what_repeats_itself() {
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
            let message = pass(&mut traps, path).unwrap_err();
            assert_eq!(message, "the path repeats itself 3 times", "{path}");
        }
    }

    #[test]
    fn what_does_not() {
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
            assert_eq!(pass(&mut traps, path), Ok(()), "{path}");
        }
    }

    #[test]
    fn long_and_deep() {
        let mut traps = Traps::default();
        let long = |bytes: usize| "/".to_owned() + &"a".repeat(bytes - "http://site.test/".len());
        assert_eq!(pass(&mut traps, &long(2_083)), Ok(()));
        assert!(pass(&mut traps, &long(2_084)).unwrap_err().contains("2083 bytes"));
        let deep = |segments: u32| (0..segments).map(|n| format!("/{n}")).collect::<String>();
        assert_eq!(pass(&mut traps, &deep(32)), Ok(()));
        assert_eq!(pass(&mut traps, &(deep(32) + "/")), Ok(()));
        assert!(pass(&mut traps, &deep(33)).unwrap_err().contains("32 segments"));
    }

    #[test]
    fn variants_are_counted_by_path() {
        let limits = TrapLimits { variants: 3, ..TrapLimits::default() };
        let mut traps = Traps::new(limits);
        for path in ["/a?1", "/a;2", "/a;3?4", "/a", "/b?1", "/a/?1", "/c;1/a"] {
            assert_eq!(pass(&mut traps, path), Ok(()), "{path}");
        }
        let message = pass(&mut traps, "/a?5").unwrap_err();
        assert_eq!(message, "there are too many variants of site.test/a");
        assert!(pass_at(&mut traps, "https://user@site.test/a", 0).is_err());
        assert_eq!(pass_at(&mut traps, "http://site.test:81/a?1", 0), Ok(()));
        assert_eq!(pass(&mut traps, "/d?1"), Ok(()), "what was refused has cost nothing");
    }

    #[test]
    fn below_a_directory_pages_are_counted_but_not_in_it() {
        let limits = TrapLimits { below: 3, ..TrapLimits::default() };
        let mut traps = Traps::new(limits);
        for n in 0..100 {
            assert_eq!(pass(&mut traps, &format!("/{n}")), Ok(()));
            assert_eq!(pass(&mut traps, &format!("/{n}/")), Ok(()));
            assert_eq!(pass(&mut traps, &format!("/news/{n}")), Ok(()));
            assert_eq!(pass(&mut traps, &format!("/news/{n}/")), Ok(()));
            assert_eq!(pass(&mut traps, &format!("/cal/{n}/1")).is_ok(), n < 3, "{n}");
        }
        assert_eq!(
            pass(&mut traps, "/cal/a/b/c").unwrap_err(),
            "there are too many URLs below site.test/cal"
        );
        assert_eq!(pass(&mut traps, "/other/a/b/c"), Ok(()));
    }

    #[test]
    fn what_is_far_away_counts_more() {
        let limits = TrapLimits { variants: 2 * TrapLimits::FAR_COST, ..TrapLimits::default() };
        let mut traps = Traps::new(limits);
        assert_eq!(pass_at(&mut traps, "http://site.test/?1", 100), Ok(()));
        assert_eq!(pass_at(&mut traps, "http://site.test/?2", 101), Ok(()));
        assert!(pass_at(&mut traps, "http://site.test/?3", 101).is_err());
        assert_eq!(pass_at(&mut traps, "http://site.test/?4", 100), Ok(()));
    }
}
