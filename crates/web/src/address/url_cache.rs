//! One-entry cache for parsing addresses of the same origin.

use std::sync::{Mutex, PoisonError};

use url::{ParseError, Position, Url};

use crate::Address;

/// A parser of addresses that remembers the last URL. If the next address has the
/// same origin, only its path is parsed: parsing the host takes longest, and a
/// crawl fetches from the same host again and again.
#[derive(Debug, Default)]
pub struct UrlCache {
    last: Mutex<Option<Url>>,
}

impl UrlCache {
    /// Parses an address to a URL.
    ///
    /// # Errors
    /// When the text is not a URL. A normalised text always is one.
    pub fn parse(&self, address: Address<'_>) -> Result<Url, ParseError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let path = address.path_and_query();
        // A path that begins with two slashes would name another host.
        let is_path = path.starts_with('/') && !path.starts_with("//");
        let is_same = |last: &&Url| last[..Position::BeforePath] == *address.origin();
        if let Some(last) = last.as_ref().filter(is_same).filter(|_| is_path) {
            return last.join(path);
        }
        let url = Url::parse(address.as_str())?;
        *last = Some(url.clone());
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_parsed_before_make_no_difference() {
        let origins = [
            "http://example.com",
            "https://example.com",
            "https://user:pass%40word@example.com:44",
            "http://[2001:db8::8080]:81",
            "http://127.0.0.1:1",
            "http://b\u{fc}cher.example",
        ];
        let paths = [
            "",
            "/",
            "//",
            "//elsewhere.test/a",
            "/a/../b/./c",
            "/%2e%2e/a",
            "/a?b=c://d/e?f",
            "/?",
            "/a b?c d'\"<>",
            "/\u{e4}?\u{f6}",
            "/a:b@c",
            "/a\\b",
        ];
        let url_cache = UrlCache::default();
        let all = || origins.iter().flat_map(|origin| paths.map(|path| format!("{origin}{path}")));
        // First each path of an origin in turn, then a few paths of each origin.
        for text in all().chain(all().step_by(5)) {
            let url = Url::parse(&text).unwrap();
            let parsed = url_cache.parse(Address::of_normalised(url.as_str())).unwrap();
            assert_eq!(parsed, url);
        }
    }
}
