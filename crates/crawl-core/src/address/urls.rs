//! Addresses to URLs, most of them of one origin.

use std::sync::{Mutex, PoisonError};

use url::{ParseError, Position, Url};

use crate::Address;

/// Takes the text of an address apart as far as it differs from the last one.
/// What takes longest is the host, and a crawl is at the same one again and
/// again.
#[derive(Debug, Default)]
pub(crate) struct Urls {
    last: Mutex<Option<Url>>,
}

impl Urls {
    /// The URL of an address.
    ///
    /// # Errors
    /// When the text is no URL, which one that is normalised always is.
    pub(crate) fn parse(&self, address: Address<'_>) -> Result<Url, ParseError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let path = address.path_and_query();
        // To begin with two slashes is to name another host.
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
    fn what_comes_before_makes_no_difference() {
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
        let urls = Urls::default();
        let all = || origins.iter().flat_map(|origin| paths.map(|path| format!("{origin}{path}")));
        // From one path to the next, and from one origin to the next.
        for text in all().chain(all().step_by(5)) {
            let url = Url::parse(&text).unwrap();
            let parsed = urls.parse(Address::of_normalised(url.as_str())).unwrap();
            assert_eq!(parsed, url);
        }
    }
}
