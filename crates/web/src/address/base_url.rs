//! Base URL of a page, which resolves its links to addresses.

use std::borrow::Cow;

use memchr::memchr;
use url::{ParseError, ParseOptions, Url};

use super::fast_join::FastJoin;
use super::{Address, LinkError, remove_password};
use crate::encoding::{Encoding, UTF_8, encode_query};

/// The base URL of a page. It resolves the links of the page as browsers do, with
/// the query in the encoding of the page (WHATWG URL Standard, section 4.4).
///
/// The result is that of the `url` crate, but for slashes before a host, which do not
/// count. Nearly all links are so simple that it is enough to append them to the right part
/// of the base. This fast path writes to a buffer that is reused for each link.
#[derive(Debug)]
pub struct BaseUrl<'a> {
    base: &'a Url,
    fast_join: Option<FastJoin<'a>>,
    encoding: &'static Encoding,
    buffer: String,
    /// The bytes of bases and links that may still be joined.
    room: usize,
    /// The bytes of too long hosts that may still be parsed.
    room_for_hosts: usize,
    num_passwords: u64,
}

/// The maximum of the bytes of bases and links that are joined for one page. A page of
/// many links needs a tenth of it; the links of a malicious one have a long base each.
const MAX_JOINED_LEN: usize = 512 * 1024 * 1024;

/// The maximum length of the name of a host in bytes (RFC 1035, section 2.3.4). In other
/// scripts than Latin, one may be written with more.
const MAX_HOST_LEN: usize = 253;

/// The maximum of the bytes of longer hosts that are parsed for one page. The time for a
/// label is quadratic in its length.
const MAX_LONG_HOSTS_LEN: usize = 64 * 1024;

impl<'a> BaseUrl<'a> {
    /// The largest sum of the lengths of a base and a link, in bytes. No server
    /// accepts a longer URL, and a page with many links must not multiply a long
    /// base.
    pub const MAX_BYTES: usize = 64 * 1024;

    /// Creates the base URL for the links of a page in this encoding. (The queries
    /// of a page in UTF-16 are in UTF-8.)
    pub fn new(base: &'a Url, encoding: &'static Encoding) -> Self {
        let buffer = String::with_capacity(base.as_str().len() + 64);
        Self {
            base,
            fast_join: FastJoin::new(base),
            encoding,
            buffer,
            room: MAX_JOINED_LEN,
            room_for_hosts: MAX_LONG_HOSTS_LEN,
            num_passwords: 0,
        }
    }

    /// Returns the number of links so far that had a password, which was removed.
    pub fn num_passwords(&self) -> u64 {
        self.num_passwords
    }

    /// Resolves a link as it is written in the page, and removes its password.
    ///
    /// # Errors
    /// When the link cannot be fetched.
    pub fn join(&mut self, reference: &str) -> Result<Address<'_>, LinkError> {
        let length = self.base.as_str().len() + reference.len();
        if length > Self::MAX_BYTES || length > self.room {
            return Err(LinkError::TooLong);
        }
        self.room -= length;
        self.buffer.clear();
        let joined = self
            .fast_join
            .as_ref()
            .and_then(|fast_join| fast_join.join(reference, &mut self.buffer));
        let origin_end = match joined {
            Some(origin_end) => origin_end,
            None => self.parse(reference)?,
        };
        let (text, fragment) = match memchr(b'#', self.buffer.as_bytes()) {
            Some(mark) => (&self.buffer[..mark], Some(&self.buffer[mark + 1..])),
            None => (self.buffer.as_str(), None),
        };
        Ok(Address { text, origin_end, fragment })
    }

    /// Resolves one reference, such as a `Location`, whose query is in UTF-8. Its length
    /// has no limit.
    ///
    /// # Errors
    /// When it is not a URL.
    pub fn resolve(base: &Url, reference: &str) -> Result<Url, ParseError> {
        parse(Url::options().base_url(Some(base)), reference)
    }

    /// Resolves any link with the `url` crate. Writes it to the buffer, and returns
    /// the end of its origin.
    fn parse(&mut self, reference: &str) -> Result<usize, LinkError> {
        let host = if reference.len() > MAX_HOST_LEN { written_host_len(reference) } else { 0 };
        if host > MAX_HOST_LEN {
            self.room_for_hosts =
                self.room_for_hosts.checked_sub(host).ok_or(LinkError::TooLong)?;
        }
        let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encode_query(query, self.encoding);
        let parser = Url::options().base_url(Some(self.base));
        let parser = parser.encoding_override((self.encoding != UTF_8).then_some(encode));
        let mut url = parse(parser, reference).map_err(|_| LinkError::Malformed)?;
        self.num_passwords += u64::from(remove_password(&mut url));
        let origin_end = Address::of(&url)?.origin_end;
        self.buffer.clear();
        self.buffer.push_str(url.as_str());
        Ok(origin_end)
    }
}

/// Resolves any reference. The slashes before its host do not count.
fn parse(parser: ParseOptions<'_>, reference: &str) -> Result<Url, ParseError> {
    parser.parse(reference).or_else(|error| match without_surplus_slashes(reference) {
        Some(reference) => parser.parse(&reference),
        None => Err(error),
    })
}

/// The schemes whose hosts are those of the DNS.
const SPECIAL: [&[u8]; 6] = [b"http", b"https", b"ws", b"wss", b"ftp", b"file"];

/// Returns true for the characters that a parser of URLs drops wherever they are.
fn is_dropped(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r')
}

fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Returns the length of the host and the port that a link names, as they are written; 0
/// if it names none.
fn written_host_len(reference: &str) -> usize {
    let text = reference.trim_start_matches(|c| c <= ' ').bytes();
    let text: Vec<u8> = text.filter(|&byte| !is_dropped(byte)).collect();
    let colon = text.iter().take(6).position(|&byte| byte == b':').unwrap_or(0);
    let has_scheme = SPECIAL.iter().any(|scheme| text[..colon].eq_ignore_ascii_case(scheme));
    let rest = if has_scheme { &text[colon + 1..] } else { &text[..] };
    let slashes = rest.iter().take_while(|&&byte| is_slash(byte)).count();
    if !has_scheme && slashes < 2 {
        return 0;
    }
    let authority = &rest[slashes..];
    let ends = |&byte: &u8| is_slash(byte) || matches!(byte, b'?' | b'#');
    let end = authority.iter().position(ends).unwrap_or(authority.len());
    // The name of a user ends at the last `@`.
    authority[..end].iter().rev().take_while(|&&byte| byte != b'@').count()
}

/// Returns a link with two slashes before its host, if it has more. They do not count
/// (URL Standard, section 4.4, "special authority ignore slashes state"), but the `url`
/// crate takes them for an empty host.
fn without_surplus_slashes(reference: &str) -> Option<String> {
    let reference = reference.trim_start_matches(|c| c <= ' ');
    let host = reference.trim_start_matches(['/', '\\', '\t', '\n', '\r']);
    let before = &reference.as_bytes()[..reference.len() - host.len()];
    let slashes = before.iter().filter(|&&byte| is_slash(byte)).count();
    (slashes > 2).then(|| format!("//{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_base_is_not_multiplied_without_end() {
        let base = Url::parse(&format!("http://site.test/{}/", "x".repeat(60_000))).unwrap();
        let mut base_url = BaseUrl { room: 3 * 60_100, ..BaseUrl::new(&base, UTF_8) };
        // With and without the fast path.
        for link in ["a", "b c", "d"] {
            assert!(base_url.join(link).is_ok(), "{link}");
        }
        assert_eq!(base_url.join("e"), Err(LinkError::TooLong));
    }
}
