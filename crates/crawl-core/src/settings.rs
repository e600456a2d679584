//! The settings of a crawl: the part of its options that a journal and a crawl on many
//! machines keep.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Deserializer, Serialize};
use url::Url;
use web::http::Header;
use web::select::Selection;

use crate::{Check, HostOptions, ScopeRule, TrapLimits, texts};

/// The settings that all parts of one crawl share: a run that resumes it, and each of its
/// workers on many machines.
///
/// They are serialised under the names that users know: those of the flags, where there is
/// one. A journal and Redis keep them in that form. Who uses only some of them names every
/// field, without `..`, so that the compiler asks about each new one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The root URLs, from which the crawl begins. Their hosts are the site. There may be
    /// a long list of them: a clone of the settings shares it.
    #[serde(rename = "URL", serialize_with = "texts::serialize", deserialize_with = "roots")]
    pub roots: Arc<[Url]>,
    /// The rule for other hosts that belong to the site.
    pub scope: ScopeRule,
    /// Patterns of URLs to fetch. If there are any, a page that matches none of
    /// them is not fetched, unless it is a root.
    #[serde(rename = "--include", with = "texts")]
    pub include: Vec<Regex>,
    /// Patterns of URLs that are never fetched, even if `include` matches.
    #[serde(rename = "--exclude", with = "texts")]
    pub exclude: Vec<Regex>,
    /// The checks besides links to pages of the site. None by default, as in the
    /// chapter; see [`Check::USUAL`].
    #[serde(rename = "--check")]
    pub check: Check,
    /// Checks links that leave the site without following them: by `HEAD`, and
    /// by `GET` unless the answer already says that the file is not a page, that the
    /// server throttles us (429), or that it cannot be reached.
    #[serde(rename = "--external")]
    pub external: bool,
    /// Reads the sitemaps of the site; their URLs count as linked from the roots.
    #[serde(rename = "--sitemap")]
    pub sitemap: bool,
    /// Counts the host to which a start URL redirects as a part of the site.
    #[serde(rename = "--follow-root")]
    pub follow_root: bool,
    /// The maximum depth in clicks from a root; a redirect is not a click.
    #[serde(rename = "--max-depth")]
    pub max_depth: Option<u32>,
    /// Follows no link of a page that a start URL links to, and requests nothing that such a
    /// page loads.
    #[serde(rename = "--one-page")]
    pub one_page: bool,
    /// The keys of pairs that are removed from the queries of the URLs of the site; `*`
    /// stands for the whole query.
    #[serde(rename = "--strip-query")]
    pub strip_query: Vec<String>,
    /// The limits beyond which a URL counts as a crawler trap.
    #[serde(flatten)]
    pub traps: TrapLimits,
    /// The maximum number of URLs of one host that are fetched; `None` lifts the limit.
    /// By default [`Settings::MAX_PAGES_PER_HOST`]. Roots and external URLs are not limited.
    #[serde(rename = "--max-pages-per-host")]
    pub max_pages_per_host: Option<u64>,
    /// The maximum number of redirects that are followed in one chain.
    #[serde(rename = "--max-redirect")]
    pub max_redirect: u32,
    /// Obeys the rules for robots: `nofollow` in every stage, robots.txt in
    /// stage 3.
    pub robots: bool,
    /// Requests nothing from loopback and private addresses, unless a root has one.
    /// Link-local addresses and those of cloud metadata services are never requested,
    /// unless a root has one.
    #[serde(rename = "--deny-private")]
    pub deny_private: bool,
    /// The CSS selections that are taken out of every page for its row.
    #[serde(rename = "--select", with = "texts")]
    pub select: Vec<Selection>,
    /// Options for single hosts.
    #[serde(rename = "hosts in crawl.toml")]
    pub hosts: Vec<HostOptions>,
    /// The error statuses (4xx, 5xx) that do not count as broken.
    #[serde(rename = "--accept", with = "texts")]
    pub accept: Vec<RangeInclusive<u16>>,
    /// The maximum number of attempts of one URL, on errors of the network. At
    /// least 1.
    #[serde(rename = "--max-tries")]
    pub max_tries: u32,
    /// The maximum time that a busy URL can make the crawl wait, whatever its host asks
    /// for (`Retry-After`). A host that answers nothing else for twice that time is
    /// given up. Stage 3 only, as are `sitemap`, `rate_limit`, `delay`, `external_rate`,
    /// and the pace of single hosts.
    #[serde(rename = "--max-wait", with = "seconds")]
    pub max_wait: Duration,
    /// The maximum number of requests per second to one host.
    #[serde(rename = "--rate-limit")]
    pub rate_limit: Option<u32>,
    /// The minimum delay between two requests to one host.
    #[serde(rename = "--delay", with = "seconds")]
    pub delay: Duration,
    /// The maximum number of requests per second to one host outside of the site.
    #[serde(rename = "--external-rate")]
    pub external_rate: Option<u32>,
    /// The timeout for making a connection, DNS lookup included.
    #[serde(rename = "--connect-timeout", with = "seconds")]
    pub connect_timeout: Duration,
    /// The timeout for silence of the server.
    #[serde(rename = "--read-timeout", with = "seconds")]
    pub read_timeout: Duration,
    /// The timeout for one whole attempt, from the DNS lookup to the last byte.
    #[serde(rename = "--timeout", with = "seconds")]
    pub timeout: Duration,
    /// The maximum size of a page, or of a sitemap that is a root, in bytes. Other files may be
    /// larger, and so may the sitemaps of `sitemap`.
    #[serde(rename = "--max-body-size")]
    pub max_body_size: u64,
    /// The value of the `User-Agent` header.
    #[serde(rename = "--user-agent")]
    pub user_agent: String,
    /// Further headers of the requests to a host and port of the roots, but not without TLS
    /// if that root has TLS. They may be secrets.
    #[serde(rename = "--header", with = "texts")]
    pub headers: Vec<Header>,
}

impl Settings {
    /// The default of [`Settings::max_pages_per_host`].
    pub const MAX_PAGES_PER_HOST: u64 = 1_000_000;

    /// Returns the default settings for these roots.
    pub fn new(roots: Vec<Url>) -> Self {
        Self {
            roots: roots.into(),
            scope: ScopeRule::Strict,
            include: Vec::new(),
            exclude: Vec::new(),
            check: Check::default(),
            external: false,
            sitemap: false,
            follow_root: false,
            max_depth: None,
            one_page: false,
            strip_query: Vec::new(),
            traps: TrapLimits::default(),
            max_pages_per_host: Some(Self::MAX_PAGES_PER_HOST),
            max_redirect: 10,
            robots: true,
            deny_private: false,
            select: Vec::new(),
            hosts: Vec::new(),
            accept: Vec::new(),
            max_tries: 4,
            max_wait: Duration::from_secs(60),
            rate_limit: None,
            delay: Duration::ZERO,
            external_rate: None,
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(15),
            timeout: Duration::from_secs(30),
            max_body_size: 10 * 1024 * 1024,
            user_agent: concat!("crawl/", env!("CARGO_PKG_VERSION")).into(),
            headers: Vec::new(),
        }
    }
}

fn roots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[Url]>, D::Error> {
    texts::deserialize(deserializer).map(Vec::into)
}

/// Durations as numbers of seconds, which a user reads in messages.
mod seconds {
    use std::time::Duration;

    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub(super) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}
