//! What the site is like.

use std::io;
use std::time::Duration;

/// What the site is like. The same options are the same site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteOptions {
    /// What every random choice starts from.
    pub seed: u64,
    /// How many pages: `/`, `/page/1`, `/page/2` and so on, all reachable from
    /// the first. From 1 to [`SiteOptions::MAX_PAGES`].
    pub pages: u32,
    /// How many links a page has. At most [`SiteOptions::MAX_LINKS`], and at
    /// least 1 unless there is a single page.
    pub links_per_page: u32,
    /// The size of a page's HTML in bytes. A page whose links need more room
    /// is larger. At most [`SiteOptions::MAX_PAGE_SIZE`].
    pub page_size: usize,
    /// How long a response lets itself be waited for.
    pub latency: Latency,
    /// What happens to a connection after a response.
    pub connections: Connections,
    /// Whether the pages are served as what they are, HTML, or else as
    /// `text/plain`: for whoever measures a crawl without what it reads. (What
    /// is [expected](crate::DemoSite::expected) is expected of HTML.)
    pub is_html: bool,
    /// Whether `/special/` exists, and with it every oddity that a crawler
    /// meets on the web.
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

    /// Refuses what cannot be served.
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
    /// A hundred pages of 8 KB with ten links each and every special case,
    /// served at once over connections that are kept.
    fn default() -> Self {
        Self {
            seed: 0,
            pages: 100,
            links_per_page: 10,
            page_size: 8 * 1024,
            latency: Latency::None,
            connections: Connections::KeepAlive,
            is_html: true,
            special_cases: true,
        }
    }
}

/// How long after its request a response starts: at least that long, and
/// about a millisecond more, for that is the grain of the system's clock for
/// waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latency {
    /// At once.
    None,
    /// Always the same.
    Fixed(Duration),
    /// Between the two, as the seed and the URL will have it.
    Spread {
        /// The shortest.
        min: Duration,
        /// The longest.
        max: Duration,
    },
}

impl Latency {
    /// The shortest and the longest.
    pub(crate) fn range(self) -> (Duration, Duration) {
        match self {
            Self::None => (Duration::ZERO, Duration::ZERO),
            Self::Fixed(latency) => (latency, latency),
            Self::Spread { min, max } => (min, max),
        }
    }
}

/// What happens to a connection after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// It stays for the next request, unless the client says otherwise. The
    /// site never hangs up on a silent client.
    KeepAlive,
    /// The site closes it, having said so (`Connection: close`).
    Close,
}
