//! Links become addresses as the `url` crate has it, the short way or not.
#![allow(clippy::unwrap_used, missing_docs)]

use std::borrow::Cow;

use crawl_core::{Address, Joiner, Unfit};
use encoding_rs::{BIG5, Encoding, ISO_2022_JP, UTF_8, UTF_16LE, WINDOWS_1251};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use url::Url;

const BASES: [&str; 20] = [
    "http://site.test/",
    "http://site.test",
    "http://site.test?q",
    "https://site.test/a/b/c.html?q=1&r#part",
    "https://site.test/a/b/",
    "http://site.test/a//b//c",
    "http://site.test//",
    "http://site.test:8080/a/b",
    "http://user:word@site.test/a/b?q",
    "http://user@site.test:81/",
    "http://[::1]:81/a",
    "http://127.0.0.1/a/b",
    "http://bücher.test/ä/ö?ü",
    "http://site.test/a;b/c,d/%2F/e",
    "http://site.test/a/.b/..c/d",
    "http://site.test/?a/b/c",
    "ftp://site.test/a/b",
    "file:///a/b",
    "mailto:somebody@site.test",
    "data:text/html,x",
];

type Joined = Result<(String, String, Option<String>), Unfit>;

fn by_url_crate(base: &Url, encoding: &'static Encoding, reference: &str) -> Joined {
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoding.encode(query).0;
    let parser = Url::options().base_url(Some(base));
    let parser = parser.encoding_override((encoding != UTF_8).then_some(encode));
    let mut url = parser.parse(reference).map_err(|_| Unfit::Malformed)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Unfit::Scheme);
    }
    let fragment = url.fragment().map(str::to_owned);
    url.set_fragment(None);
    let origin = url[..url::Position::BeforePath].to_owned();
    Ok((url.into(), origin, fragment))
}

fn by_joiner(joiner: &mut Joiner<'_>, reference: &str) -> Joined {
    let address = joiner.join(reference)?;
    let fragment = address.fragment().map(str::to_owned);
    Ok((address.as_str().to_owned(), address.origin().to_owned(), fragment))
}

/// Texts of pieces that mean something in a URL, and of letters that do not.
fn nasty() -> impl Strategy<Value = String> {
    const PIECES: [&str; 59] = [
        "/",
        "/",
        "/",
        "/",
        ".",
        "..",
        "../",
        "./",
        "/../",
        "/./",
        ":",
        ":",
        "?",
        "?",
        "#",
        "#",
        "%",
        "%2e",
        "%2E",
        ".%2e",
        "%2f",
        "%",
        "@",
        "\\",
        "[",
        "]",
        "[::1]",
        " ",
        "\t",
        "\n",
        "\r",
        "\u{0}",
        "\u{7f}",
        "'",
        "\"",
        "<",
        "{",
        "|",
        "^",
        "`",
        "é",
        "日",
        "a",
        "b.html",
        "index",
        "http:",
        "https:",
        "http://",
        "//",
        "//other.test",
        "HTTP://",
        "site.test",
        "Other.Test",
        "xn--bcher-kva",
        "//xn--a",
        ":80",
        ":443",
        "1",
        "mailto:",
    ];
    vec(select(&PIECES[..]), 0..9).prop_map(|pieces| pieces.concat())
}

/// Links as they are met with.
fn usual() -> impl Strategy<Value = String> {
    let begin = select(
        &[
            "",
            "/",
            "./",
            "../",
            "../../",
            "?",
            "#",
            "//other.test",
            "//other.test/",
            "http://site.test",
            "http://site.test/",
            "https://site.test/",
            "http://site.test:8080/",
            "http://user:word@site.test/",
            "http://[::1]:81/",
            "http://127.0.0.1/",
            "https://a.b-c.test/",
            "http://a..test/",
            "http://-a.test/",
            "http://a.test./",
            "http://1.2.3/",
            "http://a.0x7f/",
            "http://other.1/",
            "http:/",
            "http:",
            "http",
        ][..],
    );
    let rest = vec(
        select(&["a", "B1", "/", "-", "_", ".html", "~", "=", "&", "?", "#", "%20"][..]),
        0..12,
    );
    (begin, rest).prop_map(|(begin, rest)| begin.to_owned() + &rest.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn joined_as_the_url_crate_does(
        base in select(&BASES[..]),
        encoding in select(vec![UTF_8, WINDOWS_1251, UTF_16LE, BIG5, ISO_2022_JP]),
        references in vec(prop_oneof![nasty(), usual(), any::<String>()], 1..8),
    ) {
        let base = Url::parse(base).unwrap();
        let mut joiner = Joiner::new(&base, encoding);
        for reference in references {
            let expected = by_url_crate(&base, encoding, &reference);
            prop_assert_eq!(by_joiner(&mut joiner, &reference), expected, "{:?}", reference);
        }
    }

    #[test]
    fn any_normalised_url_is_a_base(
        path in nasty(),
        reference in prop_oneof![nasty(), usual()],
    ) {
        let Ok(base) = Url::parse(&format!("http://site.test/{path}")) else { return Ok(()) };
        let expected = by_url_crate(&base, UTF_8, &reference);
        prop_assert_eq!(by_joiner(&mut Joiner::new(&base, UTF_8), &reference), expected);
    }

    #[test]
    fn an_address_is_normalised_already(reference in prop_oneof![nasty(), usual()]) {
        let base = Url::parse("http://site.test/a/b?c").unwrap();
        let mut joiner = Joiner::new(&base, UTF_8);
        if let Ok(address) = joiner.join(&reference) {
            let url = Url::parse(address.as_str()).unwrap();
            let again = Address::of(&url).unwrap();
            prop_assert_eq!(again.as_str(), address.as_str());
            prop_assert_eq!(again.origin(), address.origin());
            prop_assert_eq!((again.path(), again.query()), (address.path(), address.query()));
            prop_assert_eq!((url.path(), url.query()), (address.path(), address.query()));
            prop_assert!(address.as_str().is_ascii());
        }
    }
}

#[test]
fn every_byte_everywhere() {
    let base = Url::parse("http://site.test/a/b?c").unwrap();
    let mut joiner = Joiner::new(&base, UTF_8);
    for byte in 0..=255_u8 {
        let c = char::from(byte);
        for begin in ["", "x", "/x/", "x/", "?", "x?y", "#", "x#y", "http://other", "//o.test/"] {
            for end in ["", "x", "/", "2e", ":80/"] {
                let reference = format!("{begin}{c}{end}");
                let expected = by_url_crate(&base, UTF_8, &reference);
                assert_eq!(by_joiner(&mut joiner, &reference), expected, "{reference:?}");
            }
        }
    }
}

/// The `url` crate does not go above what looks like a drive; the short way must
/// not either.
#[test]
fn drives_in_the_path() {
    for path in ["a/C:/b", "a/C:/", "C:/b", "a/c|/b", "a/C:/D:/b", "a/1:/b", "a/CD:/b", "a/C:"] {
        let base = Url::parse(&format!("http://site.test/{path}")).unwrap();
        let mut joiner = Joiner::new(&base, UTF_8);
        for reference in ["../x", "../../x", "../../../x", "./x", "x", "../C:/../x", ".."] {
            let expected = by_url_crate(&base, UTF_8, reference);
            assert_eq!(by_joiner(&mut joiner, reference), expected, "{base} {reference}");
        }
    }
}

#[test]
fn the_parts_of_an_address() {
    let base = Url::parse("http://site.test:81/a/b").unwrap();
    let mut joiner = Joiner::new(&base, UTF_8);
    let address = joiner.join("c;d?e?f#g").unwrap();
    assert_eq!(address.as_str(), "http://site.test:81/a/c;d?e?f");
    assert_eq!(address.origin(), "http://site.test:81");
    assert_eq!((address.path(), address.query()), ("/a/c;d", Some("e?f")));
    assert_eq!(address.fragment(), Some("g"));
    let bare = Url::parse("http://site.test?").unwrap();
    let address = Address::of(&bare).unwrap();
    assert_eq!((address.path(), address.query(), address.fragment()), ("/", Some(""), None));
}

#[test]
fn what_cannot_be_fetched_is_told_apart() {
    let base = Url::parse("http://site.test/").unwrap();
    let mut joiner = Joiner::new(&base, UTF_8);
    for (reference, unfit) in [
        ("http://", Unfit::Malformed),
        ("http://exa mple.test/", Unfit::Malformed),
        ("http://site.test:99999/", Unfit::Malformed),
        ("mailto:somebody@site.test", Unfit::Scheme),
        ("javascript:void(0)", Unfit::Scheme),
        ("ftp://site.test/", Unfit::Scheme),
        (&"a".repeat(Joiner::MOST_BYTES), Unfit::TooLong),
    ] {
        assert_eq!(joiner.join(reference), Err(unfit), "{reference:.40}");
    }
    let mail = Url::parse("mailto:somebody@site.test").unwrap();
    assert_eq!(Address::of(&mail), Err(Unfit::Scheme));
}
