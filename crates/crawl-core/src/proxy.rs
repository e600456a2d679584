//! Proxies: the one through which a URL is asked, by the rules of curl.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use url::Url;

use web::Address;

/// A proxy. Its text, for messages, has no credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    kind: ProxyKind,
    /// `https://host:port/` of a proxy with TLS, otherwise `http://host:port/`.
    url: Url,
    credentials: Option<(Vec<u8>, Vec<u8>)>,
}

/// The protocol of a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyKind {
    /// HTTP: `CONNECT` for https, and requests with a whole URL for http.
    Http,
    /// HTTP within TLS.
    Https,
    /// SOCKS version 5 (RFC 1928), which gets an address: the first one of a name. The proxy
    /// may not reach that, and so `socks5h` is better where it is possible.
    Socks5,
    /// SOCKS version 5, which gets names and looks them up itself.
    Socks5h,
}

impl Proxy {
    /// Parses a proxy: `http://`, `https://`, `socks5://` or `socks5h://`, then a host,
    /// which may have `NAME:PASSWORD@` before it and `:PORT` behind it. Without a scheme it
    /// is http, and without a port 1080, or 443 for https, as in curl.
    ///
    /// # Errors
    /// When it is no such text. The message does not repeat it, since it may have a
    /// password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.trim().split_once("://").unwrap_or(("http", text.trim()));
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "http" => ProxyKind::Http,
            "https" => ProxyKind::Https,
            "socks5" => ProxyKind::Socks5,
            "socks5h" => ProxyKind::Socks5h,
            _ => {
                return Err(
                    "the URL of a proxy begins with http://, https://, socks5:// or socks5h://"
                        .into(),
                );
            }
        };
        let scheme = if kind == ProxyKind::Https { "https" } else { "http" };
        let url = Url::parse(&format!("{scheme}://{rest}"));
        let mut url = url.map_err(|error| format!("the URL of the proxy is wrong: {error}"))?;
        let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
        let (name, password) = (decoded(url.username()), url.password().map(decoded));
        let is_given = !name.is_empty() || password.is_some();
        let credentials = is_given.then(|| (name, password.unwrap_or_default()));
        let is_long = |text: &[u8]| text.len() > 255;
        if credentials.as_ref().is_some_and(|(name, word)| is_long(name) || is_long(word)) {
            return Err("the name or the password of the proxy is longer than 255 bytes".into());
        }
        // The port 80 is left out of a URL, but is not that of a proxy without one.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let port = url.port().unwrap_or(match kind {
            ProxyKind::Https => 443,
            _ if authority.ends_with(":80") => 80,
            _ => 1080,
        });
        let without = url.set_username("").and_then(|()| url.set_password(None));
        let with_port = without.and_then(|()| url.set_port(Some(port)));
        with_port.map_err(|()| "the proxy has no host".to_owned())?;
        url.set_path("");
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self { kind, url, credentials })
    }

    /// Returns the protocol.
    pub fn kind(&self) -> ProxyKind {
        self.kind
    }

    /// Returns true for a proxy of HTTP, with TLS or without.
    pub fn is_http(&self) -> bool {
        matches!(self.kind, ProxyKind::Http | ProxyKind::Https)
    }

    /// Returns a URL with the host and the port of the proxy.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns the name and the password.
    pub fn credentials(&self) -> Option<(&[u8], &[u8])> {
        self.credentials.as_ref().map(|(name, password)| (name.as_slice(), password.as_slice()))
    }

    /// Returns the line of a request that has the credentials, with its line end; an
    /// empty text if there are none.
    pub fn authorization(&self) -> String {
        self.credentials.as_ref().map_or_else(String::new, |(name, password)| {
            let encoded = BASE64_STANDARD.encode([name, &b":"[..], password].concat());
            format!("Proxy-Authorization: Basic {encoded}\r\n")
        })
    }
}

/// Writes the proxy without its credentials.
impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.kind {
            ProxyKind::Http => "http",
            ProxyKind::Https => "https",
            ProxyKind::Socks5 => "socks5",
            ProxyKind::Socks5h => "socks5h",
        };
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().unwrap_or_default();
        write!(f, "{scheme}://{host}:{port}")
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The rules by which each URL has a proxy or none. By default none has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyRules {
    http: Option<Arc<Proxy>>,
    https: Option<Arc<Proxy>>,
    no_proxy: Vec<Exempt>,
}

/// The hosts of one word of `no_proxy`.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Exempt {
    All,
    /// A host, and the hosts below it.
    Domain(String),
    /// The addresses that begin with so many bits of this one.
    Network(IpAddr, u8),
}

impl ProxyRules {
    /// The names of the variables of the environment that say which proxies there are.
    /// `HTTP_PROXY` is none of them: a server can be made to set it, as the header
    /// `Proxy` of a request that it hands to a CGI program.
    pub const VARIABLES: [&str; 7] = [
        "http_proxy",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
        "no_proxy",
        "NO_PROXY",
    ];

    /// Reads the rules from the environment, as curl does: the first variable that is set
    /// and not empty counts, in the order of [`ProxyRules::VARIABLES`].
    ///
    /// # Errors
    /// When a proxy is wrong. The message names the variable, and has no credentials.
    pub fn from_env(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let first = |names: &[&'static str]| {
            let set = |name: &&'static str| Some((*name, variable(name)?));
            names.iter().filter_map(set).find(|(_, value)| !value.is_empty())
        };
        let proxy = |names: &[&'static str]| {
            let parse = |(name, text): (&str, String)| {
                Proxy::parse(&text).map(Arc::new).map_err(|error| format!("{name}: {error}"))
            };
            first(names).map(parse).transpose()
        };
        let no_proxy = first(&["no_proxy", "NO_PROXY"]).map(|(_, text)| text);
        Ok(Self {
            http: proxy(&["http_proxy", "all_proxy", "ALL_PROXY"])?,
            https: proxy(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])?,
            no_proxy: exempt(&no_proxy.unwrap_or_default()),
        })
    }

    /// Asks every URL through this proxy, but for those of hosts that are exempt.
    #[must_use]
    pub fn through(self, proxy: Proxy) -> Self {
        let proxy = Arc::new(proxy);
        Self { http: Some(Arc::clone(&proxy)), https: Some(proxy), ..self }
    }

    /// Returns the proxy through which a URL is asked, if there is one.
    pub fn find(&self, url: Address<'_>) -> Option<&Proxy> {
        let proxy = if url.is_secure() { &self.https } else { &self.http };
        proxy.as_deref().filter(|_| !self.no_proxy.iter().any(|exempt| exempt.has(url.host())))
    }

    /// Returns all proxies.
    pub fn proxies(&self) -> impl Iterator<Item = &Proxy> {
        self.http.iter().chain(&self.https).map(|proxy| &**proxy)
    }
}

/// Parses a list of hosts, with commas or blanks between them. A `*` alone stands for
/// all hosts; addresses may have a length, as in `10.0.0.0/8`.
fn exempt(list: &str) -> Vec<Exempt> {
    if list.trim() == "*" {
        return vec![Exempt::All];
    }
    let words = list.split(|c: char| c == ',' || c.is_whitespace());
    let words = words.filter(|word| !word.trim_matches('.').is_empty());
    words.map(Exempt::of).collect()
}

impl Exempt {
    fn of(word: &str) -> Self {
        let (address, length) = word.split_once('/').unwrap_or((word, ""));
        match (ip(address), length.parse()) {
            (Some(ip), Ok(length)) => Self::Network(ip, length),
            (Some(ip), Err(_)) if length.is_empty() => Self::Network(ip, u8::MAX),
            _ => Self::Domain(word.trim_matches('.').to_ascii_lowercase()),
        }
    }

    /// Returns true if it has this host: a name, an IPv4 address, or an IPv6 address in
    /// brackets.
    fn has(&self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Domain(domain) => {
                let host = host.trim_end_matches('.');
                let above = host.strip_suffix(domain.as_str());
                above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
            }
            Self::Network(network, length) => match (network, ip(host)) {
                (IpAddr::V4(network), Some(IpAddr::V4(host))) => {
                    let differing = network.to_bits() ^ host.to_bits();
                    differing.leading_zeros() >= u32::from(*length).min(u32::BITS)
                }
                (IpAddr::V6(network), Some(IpAddr::V6(host))) => {
                    let differing = network.to_bits() ^ host.to_bits();
                    differing.leading_zeros() >= u32::from(*length).min(u128::BITS)
                }
                _ => false,
            },
        }
    }
}

/// Parses an address, which may be in brackets.
fn ip(text: &str) -> Option<IpAddr> {
    text.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(variables: &[(&str, &str)]) -> Result<ProxyRules, String> {
        let find = |name: &str| variables.iter().find(|(n, _)| *n == name);
        ProxyRules::from_env(|name| find(name).map(|(_, value)| (*value).to_owned()))
    }

    fn found(rules: &ProxyRules, url: &str) -> String {
        let url = Url::parse(url).unwrap();
        let proxy = rules.find(Address::of(&url).unwrap());
        proxy.map_or_else(|| "-".into(), ToString::to_string)
    }

    #[test]
    fn a_proxy_has_the_defaults_of_curl() {
        for (text, expected) in [
            ("p.test", "http://p.test:1080"),
            ("p.test:80", "http://p.test:80"),
            ("http://p.test:80/", "http://p.test:80"),
            ("HTTP://P.test:3128/x?y#z", "http://p.test:3128"),
            ("socks5://me:word@[::1]:9", "socks5://[::1]:9"),
            ("socks5h://me@p.test", "socks5h://p.test:1080"),
            ("https://p.test", "https://p.test:443"),
            ("https://me:word@p.test:443", "https://p.test:443"),
            ("https://p.test:80", "https://p.test:80"),
        ] {
            assert_eq!(Proxy::parse(text).unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "ftp://p.test", "socks4://p.test", "http://", "p test", "p.test:99999"] {
            assert!(Proxy::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn credentials_are_decoded_and_never_shown() {
        let proxy = Proxy::parse("me:p%40ss%3aword@p.test:1").unwrap();
        assert_eq!(proxy.credentials(), Some((&b"me"[..], &b"p@ss:word"[..])));
        assert_eq!(proxy.authorization(), "Proxy-Authorization: Basic bWU6cEBzczp3b3Jk\r\n");
        assert_eq!(
            format!("{proxy} {proxy:?} {}", proxy.url()),
            "http://p.test:1 http://p.test:1 http://p.test:1/"
        );
        assert_eq!(Proxy::parse("p.test").unwrap().authorization(), "");
        for text in ["ftp://me:secret@p.test", "http://me:secret@p.test:x", "me:secret@"] {
            assert!(!Proxy::parse(text).unwrap_err().contains("secret"), "{text}");
        }
        let long = format!("me:{}@p.test", "x".repeat(256));
        assert!(Proxy::parse(&long).unwrap_err().contains("255"));
        let error = rules(&[("https_proxy", "ftp://me:secret@p.test")]).unwrap_err();
        assert!(error.starts_with("https_proxy: ") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn the_environment_is_read_as_curl_reads_it() {
        let [http, https] = ["http://a.test/", "https://a.test/"];
        let none = rules(&[("HTTP_PROXY", "p.test:1"), ("http_proxy", "")]).unwrap();
        assert_eq!([http, https].map(|url| found(&none, url)), ["-", "-"]);
        let all = rules(&[("ALL_PROXY", "p.test:1"), ("https_proxy", "q.test:2")]).unwrap();
        let expected = ["http://p.test:1", "http://q.test:2"];
        assert_eq!([http, https].map(|url| found(&all, url)), expected);
        let lower_case =
            rules(&[("HTTPS_PROXY", "p.test:1"), ("https_proxy", "q.test:2")]).unwrap();
        assert_eq!([http, https].map(|url| found(&lower_case, url)), ["-", "http://q.test:2"]);
        let through = lower_case.through(Proxy::parse("r.test:3").unwrap());
        assert_eq!([http, https].map(|url| found(&through, url)), ["http://r.test:3"; 2]);
        assert_eq!(through.proxies().count(), 2);
    }

    #[test]
    fn no_proxy_names_hosts_domains_and_networks() {
        let list = " .One.test,two.test. 10.0.0.0/8,192.168.1.7 [fd00::1] fe80::/10,x/y";
        let listed = rules(&[("all_proxy", "p.test:1"), ("no_proxy", list)]).unwrap();
        for (host, is_exempt) in [
            ("one.test", true),
            ("a.one.test", true),
            ("two.test.", true),
            ("a.two.test", true),
            ("notone.test", false),
            ("one.test.org", false),
            ("10.255.0.1", true),
            ("11.0.0.1", false),
            ("192.168.1.7", true),
            ("192.168.1.8", false),
            ("[fd00::1]", true),
            ("[fd00::2]", false),
            ("[febf::1]", true),
            ("[fec0::1]", false),
        ] {
            let url = format!("http://{host}/");
            assert_eq!(found(&listed, &url) == "-", is_exempt, "{host}");
        }
        let all = rules(&[("all_proxy", "p.test:1"), ("NO_PROXY", "*")]).unwrap();
        assert_eq!(found(&all, "http://a.test/"), "-");
        let through = all.through(Proxy::parse("r.test:3").unwrap());
        assert_eq!(found(&through, "http://a.test/"), "-", "as in curl");
    }
}
