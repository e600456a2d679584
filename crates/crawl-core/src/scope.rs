//! Which URLs belong to the site.

use url::{Host, Url};

use crate::Address;

/// Which hosts besides those of the roots belong to the site. Only http and
/// https ever do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeRule {
    /// The same host, a leading `www.` ignored, at the same port; 80 and 443
    /// count as one, since a site moves from one to the other.
    #[default]
    Strict,
    /// Any host of the same registrable domain (`www.example.co.uk` and
    /// `shop.example.co.uk`, by the public suffix list), at any port.
    Lenient,
}

/// The site: the roots' hosts, and the rule.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    rule: ScopeRule,
    places: Vec<Place>,
    /// The origins asked for of late, the last one first, and what was said.
    decided: Vec<(String, bool)>,
}

/// What two URLs of one site have in common.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    host: String,
    port: Option<u16>,
}

/// Pages link to their own site and to a few others, again and again.
const MOST_DECIDED: usize = 8;

impl Scope {
    pub(crate) fn new(rule: ScopeRule, roots: &[Url]) -> Self {
        let mut places = Vec::new();
        for place in roots.iter().filter_map(|root| place(rule, root)) {
            if !places.contains(&place) {
                places.push(place);
            }
        }
        Self { rule, places, decided: Vec::with_capacity(MOST_DECIDED) }
    }

    /// One comparison, for an address of the same origin as the last one.
    pub(crate) fn contains(&mut self, address: Address<'_>) -> bool {
        let origin = address.origin();
        if let Some(n) = self.decided.iter().position(|(decided, _)| decided == origin) {
            self.decided[..=n].rotate_right(1);
        } else {
            let place = Url::parse(origin).ok().and_then(|url| place(self.rule, &url));
            let is_ours = place.is_some_and(|place| self.places.contains(&place));
            self.decided.truncate(MOST_DECIDED - 1);
            self.decided.insert(0, (origin.to_owned(), is_ours));
        }
        self.decided.first().is_some_and(|&(_, is_ours)| is_ours)
    }
}

fn place(rule: ScopeRule, url: &Url) -> Option<Place> {
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host()?;
    let address = || url.host_str().unwrap_or_default().to_owned();
    let place = match rule {
        ScopeRule::Strict => Place {
            host: match host {
                // The dot at the end is the root of the DNS; it names the same host.
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
        ScopeRule::Lenient => Place {
            host: match host {
                Host::Domain(name) => psl::domain_str(name).unwrap_or(name).to_owned(),
                _ => address(),
            },
            port: None,
        },
    };
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(rule: ScopeRule, root: &str, other: &str) -> bool {
        let parse = |text: &str| Url::parse(text).unwrap();
        let mut scope = Scope::new(rule, &[parse(root)]);
        Address::of(&parse(other)).is_ok_and(|other| scope.contains(other))
    }

    #[test]
    fn what_is_remembered_is_what_was_said() {
        let root = Url::parse("http://1.site.test/").unwrap();
        let mut scope = Scope::new(ScopeRule::Strict, &[root]);
        // Near and far again, in an order that moves all of them about.
        for n in (0..500).map(|n| n * n % 23 % (2 * MOST_DECIDED)) {
            let url = Url::parse(&format!("http://{n}.site.test/{n}")).unwrap();
            assert_eq!(scope.contains(Address::of(&url).unwrap()), n == 1, "{n}");
            assert!(scope.decided.len() <= MOST_DECIDED);
        }
    }

    #[test]
    fn strict_means_this_host_give_or_take_www() {
        let strict = |root, other| within(ScopeRule::Strict, root, other);
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
    fn lenient_means_this_registrable_domain() {
        let lenient = |root, other| within(ScopeRule::Lenient, root, other);
        assert!(lenient("http://www.example.com/", "http://shop.example.com:81/"));
        assert!(lenient("http://a.example.co.uk/", "https://b.example.co.uk/"));
        assert!(!lenient("http://example.co.uk/", "http://other.co.uk/"));
        assert!(!lenient("http://example.com/", "http://examplecom/"));
        assert!(!lenient("http://127.0.0.1/", "http://127.0.0.2/"));
        assert!(lenient("http://localhost/", "http://localhost:81/"));
    }
}
