//! Addresses: `http` and `https` URLs as normalised text, without a `Url` for
//! each link.

mod base_url;
mod fast_join;
mod no_url;
mod password;
mod url_cache;

use memchr::{memchr, memrchr};
use url::{Position, Url};

pub use self::base_url::BaseUrl;
pub(crate) use self::no_url::has_other_scheme;
pub use self::no_url::{TOO_LONG, why_no_host, why_no_url};
pub use self::password::{mask_passwords, remove_password};
pub use self::url_cache::UrlCache;

/// An `http` or `https` URL, serialised as in the WHATWG URL Standard (and by the
/// `url` crate). The fragment is kept apart, since it is never sent to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    text: &'a str,
    origin_end: usize,
    fragment: Option<&'a str>,
}

/// The reason why a link cannot be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The link is not a URL.
    Malformed,
    /// The scheme is neither `http` nor `https`.
    Scheme,
    /// The link and its base are longer than [`BaseUrl::MAX_BYTES`]; or those of the page
    /// together are longer than 512 MiB, or its hosts of more than 253 bytes than 64 KiB.
    TooLong,
}

impl<'a> Address<'a> {
    /// Returns the address of a URL.
    ///
    /// # Errors
    /// [`LinkError::Scheme`] when the scheme is neither `http` nor `https`.
    pub fn of(url: &'a Url) -> Result<Self, LinkError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(LinkError::Scheme);
        }
        let text = &url[..Position::AfterQuery];
        let origin_end = url[..Position::BeforePath].len();
        Ok(Self { text, origin_end, fragment: url.fragment() })
    }

    /// Returns the address with this text, which must be normalised and have no
    /// fragment.
    pub fn of_normalised(text: &'a str) -> Self {
        let begin = authority_begin(text);
        let path = text.as_bytes().get(begin..).and_then(|rest| memchr(b'/', rest));
        Self { text, origin_end: path.map_or(text.len(), |end| begin + end), fragment: None }
    }

    /// Returns the URL without its fragment.
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// Returns the origin: the scheme, the host, and the port unless it is the
    /// default port. The user name and the password are part of it, if there are
    /// any.
    pub fn origin(self) -> &'a str {
        &self.text[..self.origin_end]
    }

    /// Returns the host, and the port unless it is the default port.
    pub fn authority(self) -> &'a str {
        &self.origin()[self.before_host().len()..]
    }

    /// Returns true if this is the [`authority`](Self::authority) of the address. It takes
    /// less time than to look for that one. (It must be an authority: the answer is also
    /// true for one with the user name before it, which is none.)
    pub fn has_authority(self, authority: &str) -> bool {
        let before = self.origin().strip_suffix(authority);
        before.is_some_and(|before| before.ends_with(['/', '@']))
    }

    /// Returns the part before the host: the scheme, and the user name and the
    /// password, if there are any.
    pub fn before_host(self) -> &'a str {
        let begin = authority_begin(self.text).min(self.origin_end);
        let user = memrchr(b'@', &self.origin().as_bytes()[begin..]);
        &self.text[..user.map_or(begin, |end| begin + end + 1)]
    }

    /// Returns the host: a name, an IPv4 address or an IPv6 address in brackets.
    pub fn host(self) -> &'a str {
        self.host_and_written_port().0
    }

    /// Returns the port: the written one or the default port of the scheme.
    pub fn port(self) -> u16 {
        self.host_and_port().1
    }

    /// Returns the [`host`](Self::host) and the [`port`](Self::port).
    pub fn host_and_port(self) -> (&'a str, u16) {
        let default = if self.is_secure() { 443 } else { 80 };
        let (host, port) = self.host_and_written_port();
        (host, port.unwrap_or(default))
    }

    fn host_and_written_port(self) -> (&'a str, Option<u16>) {
        let authority = self.authority();
        let digits = authority.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (before, port) = authority.split_at(authority.len() - digits);
        // The colons of an IPv6 address are within its brackets.
        match before.strip_suffix(':') {
            Some(host) => (host, port.parse().ok()),
            None => (authority, None),
        }
    }

    /// Returns true if the scheme is `https`.
    pub fn is_secure(self) -> bool {
        self.text.starts_with("https:")
    }

    /// Returns the request target: the path and, behind a question mark, the
    /// query.
    pub fn path_and_query(self) -> &'a str {
        &self.text[self.origin_end..]
    }

    /// Returns the path, which begins with a slash.
    pub fn path(self) -> &'a str {
        let rest = self.path_and_query();
        memchr(b'?', rest.as_bytes()).map_or(rest, |end| &rest[..end])
    }

    /// Returns the query: the part behind the first question mark.
    pub fn query(self) -> Option<&'a str> {
        let rest = self.path_and_query();
        memchr(b'?', rest.as_bytes()).map(|mark| &rest[mark + 1..])
    }

    /// Returns an address with the same origin and fragment, and another text. The
    /// text must begin with that origin.
    pub fn with_text<'b>(self, text: &'b str) -> Address<'b>
    where
        'a: 'b,
    {
        Address { text, ..self }
    }

    /// Returns the fragment, the part behind the `#`, percent-encoded.
    pub fn fragment(self) -> Option<&'a str> {
        self.fragment
    }
}

/// Returns the index of the first byte behind the scheme and its slashes. There
/// are only two schemes, so their lengths are known.
fn authority_begin(text: &str) -> usize {
    if text.starts_with("https:") { "https://".len() } else { "http://".len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_same_parts_as_its_url() {
        for url in [
            "http://example.com",
            "https://example.com:443/a?b=c://d/e",
            "http://example.com:8080?a@b:9",
            "https://user:pass%40word@example.com:44/@/:1",
            "http://user@[::1]/",
            "http://[2001:db8::8080]:81/a/b",
            "https://127.0.0.1:1/x?",
            "http://b\u{fc}cher.example/\u{e4}",
        ] {
            let url = Url::parse(url).unwrap();
            let address = Address::of_normalised(url.as_str());
            assert_eq!(address, Address::of(&url).unwrap());
            assert_eq!(Some(address.host()), url.host_str());
            assert_eq!(Some(address.port()), url.port_or_known_default());
            assert_eq!(address.is_secure(), url.scheme() == "https");
            assert_eq!(address.authority(), &url[Position::BeforeHost..Position::AfterPort]);
            assert!(address.has_authority(address.authority()));
            assert!(!address.has_authority(&address.authority()[1..]));
            let path_and_query = &url[Position::BeforePath..Position::AfterQuery];
            assert_eq!(address.path_and_query(), path_and_query);
        }
    }
}
