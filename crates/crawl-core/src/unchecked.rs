//! The URLs that a crawl has found and not checked, each with the reason.

use std::collections::HashMap;

use crate::Admission;

/// The reason why a URL that was found is not checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UncheckedReason {
    /// It is on another site, and [`Settings::external`](crate::Settings::external) is off.
    OtherSite,
    /// All links to it ask crawlers not to follow them, and
    /// [`Settings::robots`](crate::Settings::robots) is on.
    Nofollow,
    /// The filters of the user exclude it.
    Excluded,
    /// It is of a scheme that no crawler can request, as `mailto:` is.
    Scheme,
    /// Its fragment is a route, which only the scripts of its page understand.
    Route,
    /// It is too many clicks away.
    Depth,
    /// It was requested, but is of a type that is not searched for links.
    Type,
    /// A limit was reached before its turn came, or the crawl was stopped.
    Limit,
}

impl UncheckedReason {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::OtherSite,
        Self::Nofollow,
        Self::Excluded,
        Self::Scheme,
        Self::Route,
        Self::Depth,
        Self::Type,
        Self::Limit,
    ];

    /// Returns the name of the reason in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::OtherSite => "other_site",
            Self::Nofollow => "nofollow",
            Self::Excluded => "excluded",
            Self::Scheme => "scheme",
            Self::Route => "route",
            Self::Depth => "depth",
            Self::Type => "type",
            Self::Limit => "limit",
        }
    }
}

/// The memory limit for the texts of these URLs, in bytes: 16 MiB.
const MAX_MEMORY: usize = 16 << 20;

/// The approximate memory of a URL besides its text, in bytes.
const OVERHEAD: usize = 48;

/// URLs that were found and not checked. Beyond 16 MiB they are only counted, each time that
/// a page links to them.
#[derive(Debug, Default)]
pub struct Unchecked {
    reasons: HashMap<Box<str>, UncheckedReason>,
    memory: usize,
    more: [u64; UncheckedReason::ALL.len()],
}

impl Unchecked {
    /// Adds a URL, or the text of a link. Returns true if it is new.
    pub(crate) fn add(&mut self, url: &str, reason: UncheckedReason) -> bool {
        if self.reasons.contains_key(url) {
            return false;
        }
        let memory = self.memory + url.len() + OVERHEAD;
        if memory > MAX_MEMORY {
            self.more[reason as usize] += 1;
            return true;
        }
        self.memory = memory;
        self.reasons.insert(url.into(), reason);
        true
    }

    /// Removes the URLs that were checked, because another link led to them.
    pub(crate) fn remove_checked(&mut self, admission: &Admission) {
        self.reasons
            .retain(|url, reason| *reason == UncheckedReason::Type || !admission.has_url(url));
    }

    /// Returns the number of URLs that are not checked for this reason.
    pub fn count(&self, reason: UncheckedReason) -> u64 {
        self.urls(reason).count() as u64 + self.more[reason as usize]
    }

    /// Returns the URLs that are not checked for this reason, in no particular order.
    pub fn urls(&self, reason: UncheckedReason) -> impl Iterator<Item = &str> {
        let matching = self.reasons.iter().filter(move |(_, other)| **other == reason);
        matching.map(|(url, _)| &**url)
    }
}
