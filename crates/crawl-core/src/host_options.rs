//! Options for single hosts, which differ from those of the crawl.

use std::ops::RangeInclusive;
use std::time::Duration;

use regex::Regex;
use serde::{Deserialize, Serialize};

use web::Address;
use web::http::Header;

use crate::texts;

/// The options for the hosts that a pattern matches. What is `None` is as for all hosts,
/// but `delay` and `rate_limit` go together: if either is set, neither of the crawl holds
/// for the host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostOptions {
    /// The pattern.
    pub host: HostPattern,
    /// The minimum delay between two requests.
    pub delay: Option<Duration>,
    /// The maximum number of requests per second.
    pub rate_limit: Option<u32>,
    /// The maximum number of requests at a time. The sitemaps of
    /// [`Settings::sitemap`](crate::Settings::sitemap) are read besides, one after another.
    pub max_tasks: Option<usize>,
    /// Further headers, which replace others of the same name. They may be secrets, so
    /// they are sent with TLS only, unless the pattern begins with `http://`.
    #[serde(with = "texts")]
    pub headers: Vec<Header>,
    /// The timeout for making a connection.
    pub connect_timeout: Option<Duration>,
    /// The timeout for silence of the server.
    pub read_timeout: Option<Duration>,
    /// The timeout for one whole attempt.
    pub timeout: Option<Duration>,
    /// Error statuses that do not count as broken, besides those of the crawl.
    #[serde(with = "texts")]
    pub accept: Vec<RangeInclusive<u16>>,
    /// Patterns of paths, with their queries, that are never fetched.
    #[serde(with = "texts")]
    pub exclude: Vec<Regex>,
    /// False if nothing is fetched from the host.
    pub check: bool,
}

/// A pattern of hosts: `a.test`, with a port if that is no default one; `*.a.test` for
/// all hosts below it. `http://` or `https://` before it leaves the other scheme out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct HostPattern {
    is_secure: Option<bool>,
    /// The authority, or its end after a `*`.
    authority: String,
    is_end: bool,
}

impl From<HostPattern> for String {
    fn from(HostPattern { is_secure, authority, is_end }: HostPattern) -> Self {
        let scheme = match is_secure {
            Some(true) => "https://",
            Some(false) => "http://",
            None => "",
        };
        let star = if is_end { "*" } else { "" };
        format!("{scheme}{star}{authority}")
    }
}

impl TryFrom<String> for HostPattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl HostPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// When it is no such text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_secure, rest) = match text.split_once("://") {
            Some(("http", rest)) => (Some(false), rest),
            Some(("https", rest)) => (Some(true), rest),
            None => (None, text),
            Some(_) => {
                return Err(
                    "a host may begin with http:// or https://, but not with another scheme".into(),
                );
            }
        };
        let (is_end, host) = match rest.strip_prefix("*.") {
            Some(host) => (true, host),
            None => (false, rest),
        };
        let scheme = if is_secure == Some(false) { "http" } else { "https" };
        let parsed = url::Url::parse(&format!("{scheme}://{host}/"));
        let parsed = parsed.ok().filter(|url| {
            url.path() == "/"
                && url.username().is_empty()
                && url.password().is_none()
                && !host.contains(['*', '?', '#'])
        });
        let expected = "write a host as a.test, a.test:8080 or *.a.test";
        let url = parsed.ok_or(expected)?;
        let address = Address::of(&url).map_err(|_| expected)?;
        let dot = if is_end { "." } else { "" };
        Ok(Self { is_secure, authority: format!("{dot}{}", address.authority()), is_end })
    }

    /// Returns true if the host of a URL matches.
    fn matches(&self, url: Address<'_>) -> bool {
        let authority = url.authority();
        let is_host = match self.is_end {
            true => authority.ends_with(&self.authority),
            false => authority == self.authority,
        };
        is_host && self.is_secure.is_none_or(|is_secure| is_secure == url.is_secure())
    }
}

impl HostOptions {
    /// Returns the options that change nothing for these hosts.
    pub fn new(host: HostPattern) -> Self {
        Self {
            host,
            delay: None,
            rate_limit: None,
            max_tasks: None,
            headers: Vec::new(),
            connect_timeout: None,
            read_timeout: None,
            timeout: None,
            accept: Vec::new(),
            exclude: Vec::new(),
            check: true,
        }
    }

    /// Returns true if the headers may be sent with a request to this URL.
    pub(crate) fn may_get_secrets(&self, url: Address<'_>) -> bool {
        url.is_secure() || self.host.is_secure == Some(false)
    }

    /// Returns true if a URL of the host may be fetched.
    pub(crate) fn allow(&self, url: Address<'_>) -> bool {
        self.check && !self.exclude.iter().any(|pattern| pattern.is_match(url.path_and_query()))
    }
}

/// Returns the options for the host of a URL, if there are any: those of the longest
/// pattern that matches, and of two that are equally long those of the one with a scheme.
pub(crate) fn of_host<'a>(hosts: &'a [HostOptions], url: Address<'_>) -> Option<&'a HostOptions> {
    let matching = hosts.iter().filter(|options| options.host.matches(url));
    matching.max_by_key(|options| {
        let HostPattern { is_end, authority, is_secure, .. } = &options.host;
        (!is_end, authority.len(), is_secure.is_some())
    })
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    fn matches(pattern: &str, url: &str) -> bool {
        let url = Url::parse(url).unwrap();
        HostPattern::parse(pattern).unwrap().matches(Address::of(&url).unwrap())
    }

    #[test]
    fn patterns_match_hosts() {
        for (pattern, url, expected) in [
            ("A.test", "http://a.test/x", true),
            ("a.test", "https://a.test/", true),
            ("a.test", "https://a.test:8080/", false),
            ("a.test:8080", "http://a.test:8080/", true),
            ("a.test", "http://b.a.test/", false),
            ("*.a.test", "http://b.a.test/", true),
            ("*.a.test", "http://a.test/", false),
            ("*.a.test", "http://ba.test/", false),
            ("https://a.test", "http://a.test/", false),
            ("http://[::1]:80", "http://[::1]/", true),
        ] {
            assert_eq!(matches(pattern, url), expected, "{pattern} {url}");
        }
        for bad in ["", "*", "a b", "a.test/x", "ftp://a.test", "me@a.test", "a*.test", "a.test?x"]
        {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_pattern_with_a_scheme_counts_in_any_order() {
        let option = |pattern: &str| HostOptions::new(HostPattern::parse(pattern).unwrap());
        let mut hosts = vec![option("http://a.test"), option("a.test"), option("*.test")];
        for _ in 0..3 {
            hosts.rotate_right(1);
            for (url, is_secure) in [("http://a.test/", Some(false)), ("https://a.test/", None)] {
                let url = Url::parse(url).unwrap();
                let found = of_host(&hosts, Address::of(&url).unwrap()).unwrap();
                assert_eq!((found.host.is_secure, found.host.is_end), (is_secure, false));
            }
        }
    }
}
