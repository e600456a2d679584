//! The limits beyond which a URL is taken for a crawler trap.

use serde::{Deserialize, Serialize};

/// The limits beyond which a URL is taken for a crawler trap: a part of a site
/// that is generated on request and never ends.
///
/// The limits are far above the size of sites made for readers. A directory may
/// hold any number of pages: a million of them side by side are no trap. Only
/// URLs that can be generated without end are counted: variants of one page, and
/// directories within directories. Near the roots each is allowed in great
/// numbers. But calendars and the like go on for ever in one direction, so a URL
/// that is many clicks away counts [`FAR_COST`](Self::FAR_COST) times.
///
/// A flat directory of pages with random names looks like a large site. It is noticed
/// by what is fetched, if the pages say the same, and by the limit on the
/// [pages of a host](crate::Settings::max_pages_per_host).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrapLimits {
    /// The maximum length of a URL, in bytes. The default is the lowest limit
    /// that a common browser has ever had, 2,083.
    #[serde(rename = "maximum length of a URL")]
    pub url_bytes: usize,
    /// The maximum number of segments in a path: by default 32.
    #[serde(rename = "--max-path-segments")]
    pub segments: usize,
    /// The number of consecutive repetitions of a segment, or of a group of
    /// segments, that makes a path a trap, at least 2: with the default of 3,
    /// `/a/a/a/` and `/a/b/a/b/a/b/`. Such paths come from a relative link that
    /// should have been absolute. Groups of numbers alone are allowed: `/11/11/11/`
    /// is a date, and `/0/0/0` a map tile.
    #[serde(rename = "--max-repeats")]
    pub repetitions: usize,
    /// The maximum number of variants of one path: URLs that differ only in the
    /// query, in parameters after a `;` in the last segment, or in the user name.
    /// By default 100,000.
    #[serde(rename = "--max-pages-per-pattern")]
    pub variants: u32,
    /// The maximum number of URLs with three or more segments below one first
    /// segment of the path: by default 1,000,000.
    #[serde(rename = "maximum number of URLs below one segment")]
    pub below: u32,
    /// The maximum depth in clicks from a root that counts as near: by default
    /// 100.
    #[serde(rename = "depth that is near")]
    pub near: u32,
    /// The maximum number of pages of one host that say the same and lead to new URLs:
    /// by default 5,000. Beyond it, such pages are searched for known URLs only. The first
    /// 1,000 pages of a crawl that lead to new URLs are not counted, or as many as the
    /// limit if that is less.
    #[serde(rename = "maximum number of equal pages")]
    pub equal_pages: u32,
}

impl TrapLimits {
    /// The cost of a URL that is far from the roots; others cost 1. With it, a
    /// calendar of months may have some four hundred years, and a list with links
    /// to the next page only some five thousand pages.
    pub const FAR_COST: u32 = 20;
}

impl Default for TrapLimits {
    fn default() -> Self {
        Self {
            url_bytes: 2_083,
            segments: 32,
            repetitions: 3,
            variants: 100_000,
            below: 1_000_000,
            near: 100,
            equal_pages: 5_000,
        }
    }
}
