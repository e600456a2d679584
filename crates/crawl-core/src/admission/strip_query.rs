//! The stripping of query parameters, such as session identifiers.

use url::form_urlencoded;

use web::Address;

/// The keys of the pairs to remove from queries, with a buffer for the result.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripQuery {
    keys: Vec<String>,
    buffer: String,
}

impl StripQuery {
    /// Creates a stripper for these keys; `*` stands for all of them.
    pub(crate) fn new(keys: &[String]) -> Self {
        Self { keys: keys.to_vec(), buffer: String::new() }
    }

    /// Returns the address without the pairs that have one of the keys, in any
    /// encoding; the other pairs stay as they are. If no pair is left, the
    /// question mark is removed, too.
    pub(crate) fn strip<'a>(&'a mut self, address: Address<'a>) -> Address<'a> {
        let Self { keys, buffer } = self;
        if keys.is_empty() {
            return address;
        }
        let Some(query) = address.query() else { return address };
        let (text, _) = address.as_str().split_at(address.as_str().len() - query.len() - 1);
        if keys.iter().any(|key| key == "*") {
            return address.with_text(text);
        }
        let is_stripped = |pair: &&str| {
            let key = pair.split('=').next().unwrap_or_default();
            let decoded = form_urlencoded::parse(key.as_bytes()).next();
            decoded.is_some_and(|(decoded, _)| keys.iter().any(|key| *key == decoded))
        };
        if !query.split('&').any(|pair| is_stripped(&pair)) {
            return address;
        }
        buffer.clear();
        buffer.push_str(text);
        for (n, pair) in query.split('&').filter(|pair| !is_stripped(pair)).enumerate() {
            buffer.push(if n == 0 { '?' } else { '&' });
            buffer.push_str(pair);
        }
        if buffer.ends_with('?') && buffer.len() == text.len() + 1 {
            buffer.pop();
        }
        address.with_text(buffer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn strip(keys: &[&str], url: &str) -> String {
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        let url = Url::parse(url).unwrap();
        StripQuery::new(&keys).strip(Address::of(&url).unwrap()).as_str().to_owned()
    }

    #[test]
    fn only_pairs_with_a_listed_key_are_removed() {
        for (keys, path, stripped) in [
            (&["sid"][..], "?sid=1", ""),
            (&["sid"], "?sid", ""),
            (&["sid"], "?sid=1&", ""),
            (&["sid"], "?a=1&sid=1&b=%20+&&sid=2=3&c", "?a=1&b=%20+&&c"),
            (&["sid"], "?s%69d=1&a", "?a"),
            (&["sid"], "?SID=1&sidx=1&xsid&a=sid", "?SID=1&sidx=1&xsid&a=sid"),
            (&["sid", "b"], "?b&a&sid&c", "?a&c"),
            (&["a b", "ä"], "?a+b=1&a%20b=2&%C3%A4=3&c", "?c"),
            (&["sid"], "?", "?"),
            (&["sid"], "?&&", "?&&"),
            (&["sid"], "?a?sid=1", "?a?sid=1"),
            (&["sid"], "", ""),
            (&["*"], "?a=1&b", ""),
            (&["*"], "?", ""),
            (&[], "?sid=1", "?sid=1"),
        ] {
            let (base, other) = ("http://site.test/p", "http://site.test/sid=1/sid");
            assert_eq!(strip(keys, &format!("{base}{path}")), format!("{base}{stripped}"));
            assert_eq!(strip(keys, &format!("{other}{path}#sid=1")), format!("{other}{stripped}"));
        }
    }

    proptest! {
        #[test]
        fn the_rest_of_the_query_does_not_change(pairs in proptest::collection::vec("(s|sid|a|%73id|)(=[s&]{0,2})?", 0..8)) {
            let url = format!("http://site.test/?{}", pairs.join("&"));
            let query = &url["http://site.test/?".len()..];
            let has_key = |pair: &&str| matches!(pair.split('=').next(), Some("sid" | "%73id"));
            let kept: Vec<&str> = query.split('&').filter(|pair| !has_key(pair)).collect();
            let stripped = strip(&["sid"], &url);
            if kept.len() == query.split('&').count() {
                prop_assert_eq!(&stripped, &url);
            } else {
                let kept = kept.join("&");
                let mark = if kept.is_empty() { "" } else { "?" };
                prop_assert_eq!(&stripped, &format!("http://site.test/{mark}{kept}"));
            }
            prop_assert_eq!(strip(&["sid"], &stripped), stripped);
        }
    }
}
