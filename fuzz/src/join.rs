//! The fuzz target of joining links with a base URL.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use url::{Position, Url};
use web::{Address, BaseUrl, LinkError};

use crate::{has_file_url, split_text_line};

/// Joins links with a base URL. The first line of the input is the base URL, the second
/// one is the label of the encoding of the page. The rest is joined as one link, and
/// each of its lines as a link. Asserts that the result is that of the `url` crate, and
/// that it is normalised: joined again, it does not change.
pub fn join(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let Some((base, rest)) = split_text_line(input) else { return };
    let Some((label, rest)) = split_text_line(rest) else { return };
    let Ok(base) = Url::parse(base) else { return };
    let encoding = Encoding::for_label(label.as_bytes()).unwrap_or(UTF_8);
    let link = String::from_utf8_lossy(rest);
    let mut base_url = BaseUrl::new(&base, encoding);
    for link in link.split('\n').chain([&*link]) {
        assert_joined_like_the_url_crate(&mut base_url, &base, encoding, link);
    }
}

/// A joined URL: its text, its origin and its fragment.
type Joined = Result<(String, String, Option<String>), LinkError>;

fn assert_joined_like_the_url_crate(
    base_url: &mut BaseUrl<'_>,
    base: &Url,
    encoding: &'static Encoding,
    link: &str,
) {
    let joined = match base_url.join(link).map(parts) {
        // The links before may have left no room.
        Err(LinkError::TooLong) => BaseUrl::new(base, encoding).join(link).map(parts),
        joined => joined,
    };
    if base.as_str().len() + link.len() > BaseUrl::MAX_BYTES {
        assert_eq!(joined, Err(LinkError::TooLong));
        return;
    }
    assert_eq!(joined, by_url_crate(base, encoding, link), "{link:?}");
    let Ok(joined) = joined else { return };
    assert!(joined.0.is_ascii() && !joined.0.contains('#'));
    if base.as_str().len() + joined.0.len() <= BaseUrl::MAX_BYTES {
        let (text, origin, _) = joined;
        let again = BaseUrl::new(base, encoding).join(&text).map(parts);
        assert_eq!(again, Ok((text.clone(), origin, None)));
    }
}

/// Returns the text, the origin and the fragment of an address.
fn parts(address: Address<'_>) -> (String, String, Option<String>) {
    let fragment = address.fragment().map(str::to_owned);
    (address.as_str().to_owned(), address.origin().to_owned(), fragment)
}

/// Encodes a query, one character after the other (URL Standard, section 1.3, "percent-encode
/// after encoding").
fn encoded(query: &str, encoding: &'static Encoding) -> Vec<u8> {
    let mut encoder = encoding.new_encoder();
    let mut bytes = Vec::new();
    for c in query.chars().map(Some).chain([None]) {
        let text = c.map(String::from).unwrap_or_default();
        let mut rest = text.as_str();
        loop {
            bytes.reserve(32);
            let is_last = c.is_none();
            let (result, read) =
                encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, is_last);
            rest = &rest[read..];
            let EncoderResult::Unmappable(lacking) = result else { break };
            bytes.extend(format!("%26%23{}%3B", u32::from(lacking)).bytes());
        }
    }
    bytes
}

/// Joins by the `url` crate, the reference implementation.
fn by_url_crate(base: &Url, encoding: &'static Encoding, link: &str) -> Joined {
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoded(query, encoding).into();
    let parser = Url::options().base_url(Some(base));
    let parser = parser.encoding_override((encoding != UTF_8).then_some(encode));
    // The crate takes a third slash for an empty host, and the standard ignores it.
    let host = link.trim_start_matches(|c| c <= ' ').replace(['\t', '\n', '\r'], "");
    let host = host.strip_prefix("//").filter(|rest| rest.starts_with(['/', '\\']));
    let parsed = parser.parse(link).or_else(|error| {
        let host = host.ok_or(error)?.trim_start_matches(['/', '\\']);
        parser.parse(&format!("//{host}"))
    });
    let mut url = parsed.map_err(|_| LinkError::Malformed)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(LinkError::Scheme);
    }
    // A link may not have a password. One of the base is the user's own.
    let has_own = url.password().is_some_and(|password| base.password() != Some(password));
    if has_own {
        let _ = url.set_password(None).and_then(|()| url.set_username(""));
    }
    let fragment = url.fragment().map(str::to_owned);
    url.set_fragment(None);
    let origin = url[..Position::BeforePath].to_owned();
    Ok((url.into(), origin, fragment))
}
