//! The options of a crawl.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use url::Url;

use crate::host_options::of_host;
use crate::{CookieJar, HostOptions, ProxyRules, Row, ScopeRule, TrapLimits};
use web::Address;
use web::http::Header;
use web::links::ExtractOptions;
use web::select::Selection;

/// A callback that takes each row as soon as its URL is finished.
///
/// It may be called from another thread than the one that started the crawl,
/// but never from two at once.
pub type Sink = Box<dyn FnMut(Row) + Send>;

/// The kinds of links that are checked besides hyperlinks. What they lead to is asked
/// for if it is on the site; what is on other sites needs [`Options::external`] as well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Check {
    /// Images.
    pub images: bool,
    /// Scripts.
    pub scripts: bool,
    /// Style sheets, and what CSS loads.
    pub styles: bool,
    /// Pages in frames.
    pub frames: bool,
    /// Pages to which a page or a header leads by itself (`Refresh`).
    pub refresh: bool,
    /// Documents that a `link`, the header `Link`, a quotation or the manifest of a web app
    /// names, and forms that are sent by `GET`.
    pub relations: bool,
    /// Audio and video, and what is embedded.
    pub media: bool,
    /// Fragments: the elements that links name after a `#` must exist.
    pub fragments: bool,
}

impl Check {
    /// Every kind.
    pub const ALL: Self = Self {
        images: true,
        scripts: true,
        styles: true,
        frames: true,
        refresh: true,
        relations: true,
        media: true,
        fragments: true,
    };

    /// Every place that a browser would load or a reader follow: the default of the
    /// program `crawl`. Fragments are left out, since scripts make many of them.
    pub const USUAL: Self = Self { fragments: false, ..Self::ALL };

    /// The names of the kinds, as `--check` has them.
    pub const NAMES: [&'static str; 8] =
        ["images", "scripts", "styles", "frames", "refresh", "relations", "media", "fragments"];

    /// Returns the kind of this name, to be changed.
    pub fn kind(&mut self, name: &str) -> Option<&mut bool> {
        Some(match name {
            "images" => &mut self.images,
            "scripts" => &mut self.scripts,
            "styles" => &mut self.styles,
            "frames" => &mut self.frames,
            "refresh" => &mut self.refresh,
            "relations" => &mut self.relations,
            "media" => &mut self.media,
            "fragments" => &mut self.fragments,
            _ => return None,
        })
    }

    /// Returns the names of the kinds that are checked.
    pub fn names(mut self) -> Vec<&'static str> {
        Self::NAMES.into_iter().filter(|name| self.kind(name).is_some_and(|kind| *kind)).collect()
    }
}

/// The options of a crawl: its roots, scope, limits, timeouts and politeness.
/// Names and defaults are those of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The root URLs, from which the crawl begins. Their hosts are the site. There may be
    /// a long list of them: a clone of the options shares it.
    pub roots: Arc<[Url]>,
    /// The rule for other hosts that belong to the site.
    pub scope: ScopeRule,
    /// Patterns of URLs to fetch. If there are any, a page that matches none of
    /// them is not fetched, unless it is a root.
    pub include: Vec<Regex>,
    /// Patterns of URLs that are never fetched, even if `include` matches.
    pub exclude: Vec<Regex>,
    /// The checks besides links to pages of the site. None by default, as in the
    /// chapter; see [`Check::USUAL`].
    pub check: Check,
    /// Reports links to broken URLs with their position in the page and their
    /// text. This takes some time for each link, and memory up to
    /// [`MAX_LINK_CONTEXT_BYTES`](crate::Admission::MAX_LINK_CONTEXT_BYTES).
    pub link_contexts: bool,
    /// The maximum depth in clicks from a root; a redirect is not a click.
    pub max_depth: Option<u32>,
    /// The keys of pairs that are removed from the queries of the URLs of the site; `*`
    /// stands for the whole query.
    pub strip_query: Vec<String>,
    /// The limits beyond which a URL is taken for a crawler trap.
    pub traps: TrapLimits,
    /// The maximum number of concurrent fetches; `None` leaves it to the stage, and 0
    /// counts as 1. The command line and stage 3 take at most [`Options::MAX_TASKS`]. The
    /// sitemaps of `sitemap` are read besides, one after another.
    pub max_tasks: Option<usize>,
    /// The maximum number of redirects that are followed in one chain.
    pub max_redirect: u32,
    /// The maximum number of tries of one URL, on errors of the network. At
    /// least 1.
    pub max_tries: u32,
    /// The seed of the jitter in the backoff between the tries of a URL. The same
    /// seed gives the same pauses; two crawls of one site should have different
    /// seeds.
    pub seed: u64,
    /// The maximum number of URLs that are fetched in all.
    pub max_pages: Option<u64>,
    /// The maximum number of URLs of one host that are fetched; `None` lifts the limit.
    /// By default [`Options::MAX_PAGES_PER_HOST`]. Roots and external URLs are not limited.
    pub max_pages_per_host: Option<u64>,
    /// The maximum duration of the whole crawl. Stage 3 only, as are `max_wait`,
    /// `sitemap`, `rate_limit`, `delay`, `external_rate`, and the pace of single hosts.
    pub max_time: Option<Duration>,
    /// The maximum time that a busy URL can make the crawl wait, whatever its host asks
    /// for (`Retry-After`). A host that answers nothing else for twice that time is
    /// given up.
    pub max_wait: Duration,
    /// Takes the host to which a root redirects for one of the site.
    pub follow_root: bool,
    /// Keeps all referrers of a URL that redirects, and not only those of one that
    /// leads to a broken URL.
    pub keep_redirects: bool,
    /// Checks links that leave the site without following them: by `HEAD`, and
    /// by `GET` unless that shows that they lead to a file that is no page, that the
    /// server is busy (429), or that it cannot be reached.
    pub external: bool,
    /// Reads the sitemaps of the site; their URLs count as linked from the roots.
    pub sitemap: bool,
    /// The maximum number of requests per second to one host.
    pub rate_limit: Option<u32>,
    /// The minimum delay between two requests to one host.
    pub delay: Duration,
    /// The maximum number of requests per second to one host outside of the site.
    pub external_rate: Option<u32>,
    /// Options for single hosts.
    pub hosts: Vec<HostOptions>,
    /// Obeys the rules for robots: `nofollow` in every stage, robots.txt in
    /// stage 3.
    pub robots: bool,
    /// The timeout for making a connection, DNS lookup included.
    pub connect_timeout: Duration,
    /// The timeout for silence of the server.
    pub read_timeout: Duration,
    /// The timeout for one whole try, from the DNS lookup to the last byte.
    pub timeout: Duration,
    /// The maximum size of a page, or of a sitemap that is a root, in bytes. Other files may be
    /// larger, and so may the sitemaps of `sitemap`.
    pub max_body_size: u64,
    /// The value of the `User-Agent` header.
    pub user_agent: String,
    /// Further headers of the requests to a host and port of the roots, but not without TLS
    /// if that root has TLS.
    pub headers: Vec<Header>,
    /// Keeps the cookies that servers set, and sends them. Each crawl has a jar of its
    /// own, unless there is a [`Options::cookie_jar`].
    pub cookies: bool,
    /// The jar to begin with, and to keep the cookies in.
    pub cookie_jar: Option<CookieJar>,
    /// Certificates of authorities to trust besides the common ones, in DER.
    pub ca_certificates: Vec<Vec<u8>>,
    /// Accepts any certificate of a server.
    pub insecure: bool,
    /// Requests nothing from loopback and private addresses, unless a root has one.
    /// Link-local addresses and those of cloud metadata services are never requested,
    /// unless a root has one.
    pub deny_private: bool,
    /// The proxies through which URLs are asked. Stage 3 only. A proxy itself may have any
    /// address. It looks names up where this crawler cannot see the result, so of
    /// the hosts behind it only those that are written as addresses can be denied; with
    /// [`ProxyKind::Socks5`](crate::ProxyKind::Socks5) all can.
    pub proxies: ProxyRules,
    /// The error statuses (4xx, 5xx) that do not count as broken.
    pub accept: Vec<RangeInclusive<u16>>,
    /// The CSS selections that are taken out of every page for its row.
    pub select: Vec<Selection>,
}

impl Options {
    /// The limit on concurrent fetches: each takes memory, although there are fewer
    /// ports and descriptors.
    pub const MAX_TASKS: usize = 100_000;

    /// The default of [`Options::max_pages_per_host`].
    pub const MAX_PAGES_PER_HOST: u64 = 1_000_000;

    /// Returns the default options for these roots.
    pub fn new(roots: Vec<Url>) -> Self {
        Self {
            roots: roots.into(),
            scope: ScopeRule::Strict,
            include: Vec::new(),
            exclude: Vec::new(),
            check: Check::default(),
            link_contexts: true,
            max_depth: None,
            strip_query: Vec::new(),
            traps: TrapLimits::default(),
            max_tasks: None,
            max_redirect: 10,
            max_tries: 4,
            seed: 0,
            max_pages: None,
            max_pages_per_host: Some(Self::MAX_PAGES_PER_HOST),
            max_time: None,
            max_wait: Duration::from_secs(60),
            follow_root: false,
            keep_redirects: false,
            external: false,
            sitemap: false,
            rate_limit: None,
            delay: Duration::ZERO,
            external_rate: None,
            hosts: Vec::new(),
            robots: true,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            timeout: Duration::from_secs(30),
            max_body_size: 10 * 1024 * 1024,
            user_agent: concat!("crawl/", env!("CARGO_PKG_VERSION")).into(),
            headers: Vec::new(),
            cookies: true,
            cookie_jar: None,
            ca_certificates: Vec::new(),
            insecure: false,
            deny_private: false,
            proxies: ProxyRules::default(),
            accept: Vec::new(),
            select: Vec::new(),
        }
    }

    /// Returns the options for the host of a URL, if it has any: those of the longest
    /// pattern that matches.
    pub(crate) fn host(&self, url: Address<'_>) -> Option<&HostOptions> {
        of_host(&self.hosts, url)
    }

    /// Returns the further headers for a request to this URL: those of its host, and
    /// those of the crawl with other names.
    pub(crate) fn headers_for(&self, url: Address<'_>) -> impl Iterator<Item = &Header> + Clone {
        let host = self.host(url).filter(|host| host.may_get_secrets(url));
        let of_host = host.map_or(&[][..], |host| &host.headers);
        let is_other = |header: &&Header| !of_host.iter().any(|other| other.is(header.name()));
        self.headers_of_roots(url).iter().filter(is_other).chain(of_host)
    }

    /// Returns the headers of the crawl for a request to this URL. There are none
    /// unless a root has the same host and port, and none without TLS if that
    /// root has TLS: such headers may be secrets, and another port of the same
    /// host may belong to another owner.
    fn headers_of_roots(&self, url: Address<'_>) -> &[Header] {
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

    /// Returns the options with a cookie jar, if cookies are kept.
    pub fn with_cookie_jar(mut self) -> Self {
        self.cookie_jar = self.cookies.then(|| self.cookie_jar.take().unwrap_or_default());
        self
    }

    /// Returns true if the user accepts this status of a URL as a good one.
    pub(crate) fn accepts(&self, url: &str, status: u16) -> bool {
        let of_host = match self.hosts.is_empty() {
            true => None,
            false => self.host(Address::of_normalised(url)),
        };
        let of_host = of_host.map_or(&[][..], |host| &host.accept);
        self.accept.iter().chain(of_host).any(|statuses| statuses.contains(&status))
    }

    /// Returns what a page is searched for.
    pub(crate) fn extract_options(&self) -> ExtractOptions {
        let Check { images, scripts, styles, frames, refresh, relations, media, fragments } =
            self.check;
        ExtractOptions {
            frames,
            refresh,
            images,
            media,
            scripts,
            styles,
            relations,
            ids: fragments,
            details: self.link_contexts,
            nofollow: self.robots,
        }
    }
}
