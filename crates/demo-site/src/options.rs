//! The options of a site.

use std::io;
use std::time::Duration;

use crate::graph::Graph;

/// The options of a site. The same options are the same site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteOptions {
    /// The seed of every random choice.
    pub seed: u64,
    /// The number of pages: `/`, `/page/1`, `/page/2` and so on, all reachable
    /// from the first. From 1 to [`SiteOptions::MAX_PAGES`].
    pub pages: u32,
    /// The number of links on a page. At most [`SiteOptions::MAX_LINKS`], and at
    /// least 1 unless there is a single page.
    pub links_per_page: u32,
    /// The size of a page's HTML in bytes. A page whose links need more room
    /// is larger. At most [`SiteOptions::MAX_PAGE_SIZE`].
    pub page_size: usize,
    /// The latency of every response.
    pub latency: Latency,
    /// The fate of a connection after a response.
    pub connections: Connections,
    /// True to serve the pages as `text/html`, which they are; false to serve
    /// them as `application/octet-stream`, to measure a crawl that reads no body. (The
    /// [expected](crate::DemoSite::expected) URLs are those of HTML.)
    pub is_html: bool,
    /// Further header lines of the pages, each with its line end.
    pub page_fields: &'static str,
    /// The number of busy pages: `/page/1` to `/page/N` answer 429 with
    /// `Retry-After: 5`, whenever they are asked. (The
    /// [expected](crate::DemoSite::expected) URLs are those of a site without any.)
    pub busy_pages: u32,
    /// True if `/special/` exists, and with it every special case: the oddities
    /// that a crawler meets on the web.
    pub special_cases: bool,
}

impl SiteOptions {
    /// The greatest number of pages (their hit counters take 40 MB).
    pub const MAX_PAGES: u32 = 10_000_000;
    /// The greatest number of links on a page.
    pub const MAX_LINKS: u32 = 10_000;
    /// The greatest size of a page, in bytes.
    pub const MAX_PAGE_SIZE: usize = 1 << 30;
    /// The longest latency.
    pub const MAX_LATENCY: Duration = Duration::from_secs(24 * 60 * 60);

    /// Returns the numbers of the pages that the links of `page` lead to, in the order
    /// of the links.
    #[must_use]
    pub fn links(&self, page: u32) -> Vec<u32> {
        let graph = Graph::new(self.seed, self.pages, self.links_per_page);
        graph.links(page).map(|link| link.target).collect()
    }

    /// Refuses options that cannot be served.
    pub(crate) fn validate(&self) -> io::Result<()> {
        let refuse = |why: String| Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        if self.pages == 0 || self.pages > Self::MAX_PAGES {
            return refuse(format!(
                "a site has from 1 to {} pages, not {}",
                Self::MAX_PAGES,
                self.pages
            ));
        }
        if self.links_per_page == 0 && self.pages > 1 {
            return refuse(format!(
                "without links, {} of the {} pages cannot be reached",
                self.pages - 1,
                self.pages
            ));
        }
        if self.links_per_page > Self::MAX_LINKS {
            return refuse(format!(
                "a page has at most {} links, not {}",
                Self::MAX_LINKS,
                self.links_per_page
            ));
        }
        if self.page_size > Self::MAX_PAGE_SIZE {
            return refuse(format!(
                "a page has at most {} bytes, not {}",
                Self::MAX_PAGE_SIZE,
                self.page_size
            ));
        }
        let (min, max) = self.latency.range();
        if min > max {
            return refuse(format!("the least latency, {min:?}, is above the greatest, {max:?}"));
        }
        if max > Self::MAX_LATENCY {
            return refuse(format!("a latency is at most {:?}, not {max:?}", Self::MAX_LATENCY));
        }
        Ok(())
    }
}

impl Default for SiteOptions {
    /// Returns the options of a site of a hundred pages of 8 KB with ten links
    /// each and every special case, served without latency over keep-alive
    /// connections.
    fn default() -> Self {
        Self {
            seed: 0,
            pages: 100,
            links_per_page: 10,
            page_size: 8 * 1024,
            latency: Latency::None,
            connections: Connections::KeepAlive,
            is_html: true,
            page_fields: "",
            busy_pages: 0,
            special_cases: true,
        }
    }
}

/// The time between a request and the start of its response: at least the given
/// time, and up to about a millisecond more, the resolution of the system's
/// timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// No latency.
    None,
    /// The same latency for every URL.
    Fixed(Duration),
    /// A latency between the two, derived from the seed and the URL.
    Spread {
        /// The shortest latency.
        min: Duration,
        /// The longest latency.
        max: Duration,
    },
}

impl Latency {
    /// Returns the shortest and the longest latency.
    pub(crate) fn range(self) -> (Duration, Duration) {
        match self {
            Self::None => (Duration::ZERO, Duration::ZERO),
            Self::Fixed(latency) => (latency, latency),
            Self::Spread { min, max } => (min, max),
        }
    }
}

/// The fate of a connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Keep-alive: the connection stays open for the next request, unless the
    /// client wants it closed. The site sets no idle timeout.
    KeepAlive,
    /// The site announces `Connection: close` and closes the connection.
    Close,
}
