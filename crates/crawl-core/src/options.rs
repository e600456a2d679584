//! The options of a crawl.

use std::time::Duration;

use url::Url;

use crate::host_options::of_host;
use crate::{Check, CookieJar, HostOptions, ProxyRules, Row, Settings};
use web::Address;
use web::http::Header;
use web::links::ExtractOptions;

/// A callback that takes each row as soon as its URL is finished.
///
/// It may be called from another thread than the one that started the crawl,
/// but never from two at once.
pub type Sink = Box<dyn FnMut(Row) + Send>;

/// The options of a crawl: its settings, and what each run of it may have for itself.
/// Names and defaults are those of the command line.
#[derive(Clone, Debug)]
pub struct Options {
    /// The settings that every run and every worker of the crawl shares.
    pub settings: Settings,
    /// Reports links to broken URLs with their position in the page and their
    /// text. This takes some time for each link, and memory up to
    /// [`MAX_LINK_CONTEXT_BYTES`](crate::Admission::MAX_LINK_CONTEXT_BYTES).
    pub link_contexts: bool,
    /// The maximum number of concurrent fetches; `None` leaves it to the stage, and 0
    /// counts as 1. The command line and stage 3 take at most [`Options::MAX_TASKS`]. The
    /// sitemaps of `sitemap` are read besides, one after another.
    pub max_tasks: Option<usize>,
    /// The seed of the jitter in the backoff between the attempts of a URL. The same
    /// seed gives the same pauses; two crawls of one site should have different
    /// seeds.
    pub seed: u64,
    /// The maximum number of URLs that are fetched in all.
    pub max_pages: Option<u64>,
    /// The maximum duration of the whole crawl. Stage 3 only.
    pub max_time: Option<Duration>,
    /// Keeps all referrers of a URL that redirects, and not only those of one that
    /// leads to a broken URL.
    pub keep_redirects: bool,
    /// Keeps the cookies that servers set, and sends them. Each crawl has a jar of its
    /// own, unless there is a [`Options::cookie_jar`].
    pub cookies: bool,
    /// The jar to begin with, and to keep the cookies in.
    pub cookie_jar: Option<CookieJar>,
    /// Certificates of authorities to trust besides the common ones, in DER.
    pub ca_certificates: Vec<Vec<u8>>,
    /// Accepts any certificate of a server.
    pub insecure: bool,
    /// The proxies through which URLs are asked. Stage 3 only. A proxy itself may have any
    /// address. It looks names up where this crawler cannot see the result, so of
    /// the hosts behind it only those that are written as addresses can be denied; with
    /// [`ProxyKind::Socks5`](crate::ProxyKind::Socks5) all can.
    pub proxies: ProxyRules,
}

impl Options {
    /// The limit on concurrent fetches: each takes memory, although there are fewer
    /// ports and descriptors.
    pub const MAX_TASKS: usize = 100_000;

    /// The number of workers of a crawl whose user has not chosen one.
    const DEFAULT_WORKERS: usize = 10;

    /// Returns the default options for these roots.
    pub fn new(roots: Vec<Url>) -> Self {
        Self {
            settings: Settings::new(roots),
            link_contexts: true,
            max_tasks: None,
            seed: 0,
            max_pages: None,
            max_time: None,
            keep_redirects: false,
            cookies: true,
            cookie_jar: None,
            ca_certificates: Vec::new(),
            insecure: false,
            proxies: ProxyRules::default(),
        }
    }

    /// Returns the number of workers of a crawl that has a fixed number of them.
    pub fn num_workers(&self) -> usize {
        self.max_tasks.unwrap_or(Self::DEFAULT_WORKERS).clamp(1, Self::MAX_TASKS)
    }

    /// Returns the options for the host of a URL, if it has any: those of the longest
    /// pattern that matches.
    pub(crate) fn host(&self, url: Address<'_>) -> Option<&HostOptions> {
        of_host(&self.settings.hosts, url)
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
        if self.settings.headers.is_empty() {
            return &[];
        }
        // A site moves from port 80 to 443.
        let site_port = |port| if port == 443 { 80 } else { port };
        let is_named = |root: &Url| {
            root.host_str() == Some(url.host())
                && root.port_or_known_default().map(site_port) == Some(site_port(url.port()))
                && (url.is_secure() || root.scheme() == "http")
        };
        if self.settings.roots.iter().any(is_named) { &self.settings.headers } else { &[] }
    }

    /// Returns the options with a cookie jar, if cookies are kept.
    pub fn with_cookie_jar(mut self) -> Self {
        self.cookie_jar = self.cookies.then(|| self.cookie_jar.take().unwrap_or_default());
        self
    }

    /// Returns true if the user accepts this status of a URL as a good one.
    pub(crate) fn accepts(&self, url: &str, status: u16) -> bool {
        let of_host = match self.settings.hosts.is_empty() {
            true => None,
            false => self.host(Address::of_normalised(url)),
        };
        let of_host = of_host.map_or(&[][..], |host| &host.accept);
        self.settings.accept.iter().chain(of_host).any(|statuses| statuses.contains(&status))
    }

    /// Returns what a page is searched for.
    pub(crate) fn extract_options(&self) -> ExtractOptions {
        let Check { images, scripts, styles, frames, refresh, relations, media, fragments } =
            self.settings.check;
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
            nofollow: self.settings.robots,
        }
    }
}
