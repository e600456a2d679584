//! URLs as the door sees them: normalised text, without a `Url` for each link.

mod joiner;
mod plain;
mod urls;

use memchr::{memchr, memrchr};
use url::{Position, Url};

pub use self::joiner::Joiner;
pub(crate) use self::urls::Urls;

/// An `http` or `https` URL as the WHATWG URL Standard writes it (the `url`
/// crate's serialisation). What follows the `#` is kept apart, since it never
/// reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    text: &'a str,
    origin_end: usize,
    fragment: Option<&'a str>,
}

/// Why a link leads to nothing that can be fetched here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// It is no URL.
    Malformed,
    /// Its scheme is neither `http` nor `https`.
    Scheme,
    /// It is longer than [`Joiner::MOST_BYTES`].
    TooLong,
}

impl<'a> Address<'a> {
    /// The address of a URL.
    ///
    /// # Errors
    /// [`Unfit::Scheme`].
    pub fn of(url: &'a Url) -> Result<Self, Unfit> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Unfit::Scheme);
        }
        let text = &url[..Position::AfterQuery];
        let origin_end = url[..Position::BeforePath].len();
        Ok(Self { text, origin_end, fragment: url.fragment() })
    }

    /// The address that this is the text of.
    pub(crate) fn of_normalised(text: &'a str) -> Self {
        let begin = authority_begin(text);
        let path = text.as_bytes().get(begin..).and_then(|rest| memchr(b'/', rest));
        Self { text, origin_end: path.map_or(text.len(), |end| begin + end), fragment: None }
    }

    /// All of it but the fragment.
    pub fn as_str(self) -> &'a str {
        self.text
    }

    /// The scheme, the host, and the port unless it is the usual one; with the
    /// user name and the password, where there are any.
    pub fn origin(self) -> &'a str {
        &self.text[..self.origin_end]
    }

    /// The host, and the port unless it is the usual one.
    pub fn authority(self) -> &'a str {
        &self.origin()[self.before_host().len()..]
    }

    /// The scheme, and the user name and the password, where there are any.
    pub(crate) fn before_host(self) -> &'a str {
        let begin = authority_begin(self.text).min(self.origin_end);
        let user = memrchr(b'@', &self.origin().as_bytes()[begin..]);
        &self.text[..user.map_or(begin, |end| begin + end + 1)]
    }

    /// A name, an IPv4 address or an IPv6 address in brackets.
    pub fn host(self) -> &'a str {
        self.host_and_written_port().0
    }

    /// The port, be it written or the usual one.
    pub fn port(self) -> u16 {
        self.host_and_port().1
    }

    /// Both at once.
    pub fn host_and_port(self) -> (&'a str, u16) {
        let usual = if self.is_secure() { 443 } else { 80 };
        let (host, port) = self.host_and_written_port();
        (host, port.unwrap_or(usual))
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

    /// Whether its scheme is `https`.
    pub fn is_secure(self) -> bool {
        self.text.starts_with("https:")
    }

    /// What a request is for: the path and, behind a question mark, the query.
    pub fn path_and_query(self) -> &'a str {
        &self.text[self.origin_end..]
    }

    /// The path, which begins with a slash.
    pub fn path(self) -> &'a str {
        let rest = self.path_and_query();
        memchr(b'?', rest.as_bytes()).map_or(rest, |end| &rest[..end])
    }

    /// What follows the first question mark.
    pub fn query(self) -> Option<&'a str> {
        let rest = self.path_and_query();
        memchr(b'?', rest.as_bytes()).map(|mark| &rest[mark + 1..])
    }

    /// Another text behind the same origin.
    pub(crate) fn with_text<'b>(self, text: &'b str) -> Address<'b>
    where
        'a: 'b,
    {
        Address { text, ..self }
    }

    /// What followed the `#`, percent-encoded.
    pub fn fragment(self) -> Option<&'a str> {
        self.fragment
    }
}

/// Where what follows the scheme begins. There are two schemes only, and their
/// lengths are known.
fn authority_begin(text: &str) -> usize {
    if text.starts_with("https:") { "https://".len() } else { "http://".len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of a URL says the same as the URL.
    #[test]
    fn a_text_is_as_good_as_a_url() {
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
            let asked = &url[Position::BeforePath..Position::AfterQuery];
            assert_eq!(address.path_and_query(), asked);
        }
    }
}
