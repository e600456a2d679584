//! The scope of a crawl: the URLs that belong to the site.

use std::collections::HashSet;
use std::ops::RangeTo;

use serde::{Deserialize, Serialize};
use url::{Host, Position, Url};

use web::Address;

use crate::public_suffix;

/// The rule for hosts that belong to the site besides those of the roots. Only
/// http and https URLs can belong to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ScopeRule {
    /// The same host, a leading `www.` ignored, at the same port; 80 and 443
    /// count as one, since a site moves from one to the other.
    #[default]
    Strict,
    /// Any host of the same registrable domain (`www.example.co.uk` and
    /// `shop.example.co.uk`, by the public suffix list), at any port.
    Lenient,
}

impl ScopeRule {
    /// Returns true if two URLs belong to one site by this rule. A URL that is
    /// neither http nor https belongs to no site.
    pub fn is_same_site(self, one: &Url, other: &Url) -> bool {
        let other = site_key(self, other);
        other.is_some() && site_key(self, one) == other
    }
}

/// The scope: the hosts of the roots and the rule, with a small LRU cache.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    rule: ScopeRule,
    sites: HashSet<SiteKey>,
    /// The beginning of the paths that belong to the site; empty for all.
    path: String,
    /// The cache: origins with the answer for each, the most recently used first.
    recent: Vec<(String, bool)>,
}

/// The part of a URL that is the same for all URLs of one site.
#[derive(Debug, PartialEq, Eq, Hash)]
struct SiteKey {
    host: String,
    port: Option<u16>,
}

/// The capacity of the cache. Pages link to their own site and to a few others,
/// again and again.
const MAX_RECENT: usize = 8;

impl Scope {
    pub(crate) fn new(rule: ScopeRule, roots: &[Url]) -> Self {
        // Often there are many roots of one site, one after another.
        const ORIGIN: RangeTo<Position> = ..Position::BeforePath;
        let same_origins = roots.chunk_by(|one, next| one[ORIGIN] == next[ORIGIN]);
        let roots = same_origins.filter_map(<[Url]>::first);
        let sites = roots.filter_map(|root| site_key(rule, root)).collect();
        Self { rule, sites, path: String::new(), recent: Vec::with_capacity(MAX_RECENT) }
    }

    /// Adds the host of a URL to the site.
    pub(crate) fn add(&mut self, address: Address<'_>) {
        self.recent.clear();
        let url = Url::parse(address.origin());
        self.sites.extend(url.ok().and_then(|url| site_key(self.rule, &url)));
    }

    /// From now on, only paths that begin with this one belong to the site.
    pub(crate) fn keep_below(&mut self, path: &str) {
        path.clone_into(&mut self.path);
    }

    /// Returns true if an address belongs to the site. For an address of the same
    /// origin as the last one this is a single comparison.
    pub(crate) fn contains(&mut self, address: Address<'_>) -> bool {
        let origin = address.origin();
        if let Some(n) = self.recent.iter().position(|(recent, _)| recent == origin) {
            self.recent[..=n].rotate_right(1);
        } else {
            let site_key = Url::parse(origin).ok().and_then(|url| site_key(self.rule, &url));
            let is_in_scope = site_key.is_some_and(|site_key| self.sites.contains(&site_key));
            self.recent.truncate(MAX_RECENT - 1);
            self.recent.insert(0, (origin.to_owned(), is_in_scope));
        }
        self.recent.first().is_some_and(|&(_, is_in_scope)| is_in_scope)
            && address.as_str()[origin.len()..].starts_with(&self.path)
    }
}

/// Returns the site of a URL, or `None` if it is not http or https.
fn site_key(rule: ScopeRule, url: &Url) -> Option<SiteKey> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host()?;
    let address = || url.host_str().unwrap_or_default().to_owned();
    let site_key = match rule {
        ScopeRule::Strict => SiteKey {
            host: match host {
                // A dot at the end is the root of the DNS: the host is the same.
                Host::Domain(name) => {
                    let name = name.strip_suffix('.').unwrap_or(name);
                    name.strip_prefix("www.").unwrap_or(name).to_owned()
                }
                _ => address(),
            },
            port: Some(match url.port_or_known_default()? {
                443 => 80,
                port => port,
            }),
        },
        ScopeRule::Lenient => SiteKey {
            host: match host {
                Host::Domain(name) => {
                    let name = name.strip_suffix('.').unwrap_or(name);
                    public_suffix::domain_str(name).unwrap_or(name).to_owned()
                }
                _ => address(),
            },
            port: None,
        },
    };
    Some(site_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_in_scope(rule: ScopeRule, root: &str, other: &str) -> bool {
        let parse = |text: &str| Url::parse(text).unwrap();
        let mut scope = Scope::new(rule, &[parse(root)]);
        Address::of(&parse(other)).is_ok_and(|other| scope.contains(other))
    }

    #[test]
    fn a_cached_answer_is_the_computed_one() {
        let root = Url::parse("http://1.site.test/").unwrap();
        let mut scope = Scope::new(ScopeRule::Strict, &[root]);
        // An order that moves entries within the cache and evicts them.
        for n in (0..500).map(|n| n * n % 23 % (2 * MAX_RECENT)) {
            let url = Url::parse(&format!("http://{n}.site.test/{n}")).unwrap();
            assert_eq!(scope.contains(Address::of(&url).unwrap()), n == 1, "{n}");
            assert!(scope.recent.len() <= MAX_RECENT);
        }
    }

    /// To compare each of them with all others would take minutes.
    #[test]
    fn a_scope_may_have_any_number_of_hosts() {
        let parse = |n: usize| Url::parse(&format!("http://{n}.test/")).unwrap();
        let roots: Vec<Url> = (0..100_000).map(parse).collect();
        let mut scope = Scope::new(ScopeRule::Strict, &roots);
        for (n, is_in_scope) in [(0, true), (99_999, true), (100_000, false)] {
            assert_eq!(scope.contains(Address::of(&parse(n)).unwrap()), is_in_scope, "{n}");
        }
    }

    #[test]
    fn strict_means_the_same_host_with_or_without_www() {
        let strict = |root, other| is_in_scope(ScopeRule::Strict, root, other);
        assert!(strict("http://example.com/a", "http://example.com/b"));
        assert!(strict("http://example.com/", "http://WWW.Example.com/"));
        assert!(strict("http://www.example.com/", "http://example.com/"));
        assert!(strict("http://example.com/", "https://example.com/"));
        assert!(strict("http://example.com./", "https://example.com/"));
        assert!(!strict("http://example.com/", "http://shop.example.com/"));
        assert!(!strict("http://example.com/", "http://example.com:8080/"));
        assert!(!strict("http://example.com/", "http://notexample.com/"));
        assert!(!strict("http://example.com/", "ftp://example.com/"));
        assert!(strict("http://127.0.0.1:81/", "http://127.0.0.1:81/x"));
        assert!(!strict("http://127.0.0.1/", "http://127.0.0.2/"));
        assert!(strict("http://[::1]:81/", "http://[0:0::1]:81/x"));
    }

    #[test]
    fn lenient_means_the_same_registrable_domain() {
        let lenient = |root, other| is_in_scope(ScopeRule::Lenient, root, other);
        assert!(lenient("http://www.example.com/", "http://shop.example.com:81/"));
        assert!(lenient("http://a.example.co.uk/", "https://b.example.co.uk/"));
        assert!(!lenient("http://example.co.uk/", "http://other.co.uk/"));
        assert!(!lenient("http://example.com/", "http://examplecom/"));
        assert!(!lenient("http://127.0.0.1/", "http://127.0.0.2/"));
        assert!(lenient("http://localhost/", "http://localhost:81/"));
        assert!(lenient("http://localhost/", "http://localhost./"));
    }
}
