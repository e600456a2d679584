//! What a crawl is asked to do.

use std::ops::RangeInclusive;
use std::time::Duration;

use regex::Regex;
use url::Url;

use crate::http::Header;
use crate::links::Wanted;
use crate::select::Selection;
use crate::{Address, Row, ScopeRule, TrapLimits};

/// Takes each row as its URL is finished.
///
/// It may be called from another thread than the one that started the crawl,
/// but never from two at once.
pub type Sink = Box<dyn FnMut(Row) + Send>;

/// What is checked besides links. Images, scripts and style sheets of the site
/// are fetched; those of other sites are [`Options::external`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Images, sound and films.
    pub images: bool,
    /// Scripts.
    pub scripts: bool,
    /// Style sheets, and what CSS within a page loads.
    pub styles: bool,
    /// Whether the places exist that links name after a `#`.
    pub fragments: bool,
}

/// Where a crawl begins, how far it goes, and how long it is willing to wait.
/// The names and defaults are those of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where to begin. Their hosts are the site.
    pub roots: Vec<Url>,
    /// Which other hosts belong to the site.
    pub scope: ScopeRule,
    /// If there are any: URLs that match none of these are not fetched, except
    /// for the roots.
    pub include: Vec<Regex>,
    /// URLs that match one of these are never fetched, whatever `include` says.
    pub exclude: Vec<Regex>,
    /// What is checked besides links to pages of the site.
    pub check: Check,
    /// Whether links to what is broken are reported with their place in the page
    /// and their text. It takes some time for each link, and memory up to
    /// [`MOST_MENTION_BYTES`](crate::Admission::MOST_MENTION_BYTES).
    pub mentions: bool,
    /// How many clicks from a root it goes; a redirect is none.
    pub max_depth: Option<u32>,
    /// The keys of pairs that are taken out of every query before anything
    /// else is asked about a URL; `*` stands for the whole query.
    pub strip_query: Vec<String>,
    /// What is taken for a site without an end.
    pub traps: TrapLimits,
    /// How many fetches at a time; `None` leaves it to the stage, and none at
    /// all counts as one.
    pub max_tasks: Option<usize>,
    /// How many redirects of one chain are followed.
    pub max_redirect: u32,
    /// How often one URL is tried, on errors of the network. At least 1.
    pub max_tries: u32,
    /// What the pauses between the tries of a URL are drawn from. With the same
    /// seed they are the same; two crawls of one site should not have the same.
    pub seed: u64,
    /// How many URLs are fetched in all.
    pub max_pages: Option<u64>,
    /// How long the whole crawl may take. Stage 3 only, like the next four.
    pub max_time: Option<Duration>,
    /// Whether links that leave the site are checked, though not followed: asked
    /// for by `HEAD`, and by `GET` if that is refused.
    pub external: bool,
    /// Whether what the sites' sitemaps name counts as linked from the roots.
    pub sitemap: bool,
    /// How many requests a second one host gets at most.
    pub rate_limit: Option<u32>,
    /// How long to pause between two requests to one host.
    pub delay: Duration,
    /// Whether robots are obeyed: `nofollow` by every stage, robots.txt by
    /// stage 3.
    pub robots: bool,
    /// How long a connection may take to be made.
    pub connect_timeout: Duration,
    /// How long the server may be silent.
    pub read_timeout: Duration,
    /// How long one try may take, from the look-up to the last byte.
    pub timeout: Duration,
    /// The greatest body, in bytes.
    pub max_body_size: u64,
    /// Who we say we are.
    pub user_agent: String,
    /// What else every request to a host of the roots says.
    pub headers: Vec<Header>,
    /// Certificates of authorities to trust beside the common ones, in DER.
    pub ca_certificates: Vec<Vec<u8>>,
    /// Whether to accept any certificate of a server.
    pub insecure: bool,
    /// Which error statuses (4xx, 5xx) are not taken for broken.
    pub accept: Vec<RangeInclusive<u16>>,
    /// What to take out of every page for its row.
    pub select: Vec<Selection>,
}

impl Options {
    /// The defaults, for these roots.
    pub fn new(roots: Vec<Url>) -> Self {
        Self {
            roots,
            scope: ScopeRule::Strict,
            include: Vec::new(),
            exclude: Vec::new(),
            check: Check::default(),
            mentions: true,
            max_depth: None,
            strip_query: Vec::new(),
            traps: TrapLimits::default(),
            max_tasks: None,
            max_redirect: 10,
            max_tries: 4,
            seed: 0,
            max_pages: None,
            max_time: None,
            external: false,
            sitemap: false,
            rate_limit: None,
            delay: Duration::ZERO,
            robots: true,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            timeout: Duration::from_secs(30),
            max_body_size: 10 * 1024 * 1024,
            user_agent: concat!("crawl/", env!("CARGO_PKG_VERSION")).into(),
            headers: Vec::new(),
            ca_certificates: Vec::new(),
            insecure: false,
            accept: Vec::new(),
            select: Vec::new(),
        }
    }

    /// What else is said to a server: nothing to one that no root names, by its
    /// host and port, and nothing in the open that a root would have secured.
    /// Such headers may be secrets, and what listens at another port of a host
    /// may be somebody else's.
    pub(crate) fn headers_for(&self, url: Address<'_>) -> &[Header] {
        if self.headers.is_empty() {
            return &[];
        }
        // A site moves from port 80 to 443.
        let site_port = |port| if port == 443 { 80 } else { port };
        let is_named = |root: &Url| {
            root.host_str() == Some(url.host())
                && root.port_or_known_default().map(site_port) == Some(site_port(url.port()))
                && (url.is_secure() || root.scheme() == "http")
        };
        if self.roots.iter().any(is_named) { &self.headers } else { &[] }
    }

    /// Whether the user takes this status for a good one.
    pub fn accepts(&self, status: u16) -> bool {
        self.accept.iter().any(|statuses| statuses.contains(&status))
    }

    /// What to look for in a page.
    pub(crate) fn wanted(&self) -> Wanted {
        let Check { images, scripts, styles, fragments } = self.check;
        Wanted {
            images,
            media: images,
            scripts,
            styles,
            ids: fragments,
            details: self.mentions,
            nofollow: self.robots,
            ..Wanted::default()
        }
    }
}
