//! Links that become addresses.

use std::borrow::Cow;

use crawl_core::{Address, Joiner, Unfit};
use encoding_rs::{Encoding, UTF_8};
use url::{Position, Url};

use crate::{has_file_url, split_text_line};

/// Joins links with a base: the first line is the base, the second the label of
/// the page's encoding, and the rest a link, as a whole and line by line. The
/// result is that of the `url` crate, and normal: joined once more, it stays.
pub fn join(input: &[u8]) {
    if has_file_url(input) {
        return;
    }
    let Some((base, rest)) = split_text_line(input) else { return };
    let Some((label, rest)) = split_text_line(rest) else { return };
    let Ok(base) = Url::parse(base) else { return };
    let encoding = Encoding::for_label(label.as_bytes()).unwrap_or(UTF_8);
    let link = String::from_utf8_lossy(rest);
    let mut joiner = Joiner::new(&base, encoding);
    for link in link.split('\n').chain([&*link]) {
        assert_joined_as_usual(&mut joiner, &base, encoding, link);
    }
}

/// The text, the origin and the fragment.
type Joined = Result<(String, String, Option<String>), Unfit>;

fn assert_joined_as_usual(
    joiner: &mut Joiner<'_>,
    base: &Url,
    encoding: &'static Encoding,
    link: &str,
) {
    let joined = joiner.join(link).map(parts);
    if base.as_str().len() + link.len() > Joiner::MOST_BYTES {
        assert_eq!(joined, Err(Unfit::TooLong));
        return;
    }
    assert_eq!(joined, by_url_crate(base, encoding, link), "{link:?}");
    let Ok(joined) = joined else { return };
    assert!(joined.0.is_ascii() && !joined.0.contains('#'));
    if base.as_str().len() + joined.0.len() <= Joiner::MOST_BYTES {
        let (text, origin, _) = joined;
        assert_eq!(joiner.join(&text).map(parts), Ok((text.clone(), origin, None)));
    }
}

fn parts(address: Address<'_>) -> (String, String, Option<String>) {
    let fragment = address.fragment().map(str::to_owned);
    (address.as_str().to_owned(), address.origin().to_owned(), fragment)
}

fn by_url_crate(base: &Url, encoding: &'static Encoding, link: &str) -> Joined {
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoding.encode(query).0;
    let parser = Url::options().base_url(Some(base));
    let parser = parser.encoding_override((encoding != UTF_8).then_some(encode));
    let mut url = parser.parse(link).map_err(|_| Unfit::Malformed)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Unfit::Scheme);
    }
    let fragment = url.fragment().map(str::to_owned);
    url.set_fragment(None);
    let origin = url[..Position::BeforePath].to_owned();
    Ok((url.into(), origin, fragment))
}
