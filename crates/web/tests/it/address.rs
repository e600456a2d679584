//! `BaseUrl` resolves every link to the same address as the `url` crate, on the
//! fast path or not.

use std::borrow::Cow;

use encoding_rs::{BIG5, Encoding, ISO_2022_JP, UTF_8, UTF_16LE, WINDOWS_1251};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use test_support::properties::cases;
use url::Url;
use web::{Address, BaseUrl, LinkError};

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

type Joined = Result<(String, String, Option<String>), LinkError>;

fn by_url_crate(base: &Url, encoding: &'static Encoding, reference: &str) -> Joined {
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoding.encode(query).0;
    let parser = Url::options().base_url(Some(base));
    let parser = parser.encoding_override((encoding != UTF_8).then_some(encode));
    let mut url = parser.parse(reference).map_err(|_| LinkError::Malformed)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(LinkError::Scheme);
    }
    let fragment = url.fragment().map(str::to_owned);
    url.set_fragment(None);
    let origin = url[..url::Position::BeforePath].to_owned();
    Ok((url.into(), origin, fragment))
}

fn by_base_url(base_url: &mut BaseUrl<'_>, reference: &str) -> Joined {
    let address = base_url.join(reference)?;
    let fragment = address.fragment().map(str::to_owned);
    Ok((address.as_str().to_owned(), address.origin().to_owned(), fragment))
}

/// Generates texts of pieces that have a meaning in a URL, and of letters.
fn tricky_references() -> impl Strategy<Value = String> {
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

/// Generates links of the usual forms.
fn usual_references() -> impl Strategy<Value = String> {
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
    #![proptest_config(ProptestConfig::with_cases(cases(4_000)))]

    #[test]
    fn links_are_resolved_as_by_the_url_crate(
        base in select(&BASES[..]),
        encoding in select(vec![UTF_8, WINDOWS_1251, UTF_16LE, BIG5, ISO_2022_JP]),
        references in vec(prop_oneof![tricky_references(), usual_references(), any::<String>()], 1..8),
    ) {
        let base = Url::parse(base).unwrap();
        let mut base_url = BaseUrl::new(&base, encoding);
        for reference in references {
            let expected = by_url_crate(&base, encoding, &reference);
            prop_assert_eq!(by_base_url(&mut base_url, &reference), expected, "{:?}", reference);
        }
    }

    #[test]
    fn links_are_resolved_against_any_normalised_base(
        path in tricky_references(),
        reference in prop_oneof![tricky_references(), usual_references()],
    ) {
        let Ok(base) = Url::parse(&format!("http://site.test/{path}")) else { return Ok(()) };
        let expected = by_url_crate(&base, UTF_8, &reference);
        prop_assert_eq!(by_base_url(&mut BaseUrl::new(&base, UTF_8), &reference), expected);
    }

    #[test]
    fn addresses_are_normalised(reference in prop_oneof![tricky_references(), usual_references()]) {
        let base = Url::parse("http://site.test/a/b?c").unwrap();
        let mut base_url = BaseUrl::new(&base, UTF_8);
        if let Ok(address) = base_url.join(&reference) {
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
fn every_byte_is_resolved_as_by_the_url_crate() {
    let base = Url::parse("http://site.test/a/b?c").unwrap();
    let mut base_url = BaseUrl::new(&base, UTF_8);
    for byte in 0..=255_u8 {
        let c = char::from(byte);
        for begin in ["", "x", "/x/", "x/", "?", "x?y", "#", "x#y", "http://other", "//o.test/"] {
            for end in ["", "x", "/", "2e", ":80/"] {
                let reference = format!("{begin}{c}{end}");
                let expected = by_url_crate(&base, UTF_8, &reference);
                assert_eq!(by_base_url(&mut base_url, &reference), expected, "{reference:?}");
            }
        }
    }
}

/// In the `url` crate, `..` does not remove a segment that looks like a drive
/// letter; the fast path must do the same.
#[test]
fn drive_letters_in_the_path_are_kept_as_by_the_url_crate() {
    for path in ["a/C:/b", "a/C:/", "C:/b", "a/c|/b", "a/C:/D:/b", "a/1:/b", "a/CD:/b", "a/C:"] {
        let base = Url::parse(&format!("http://site.test/{path}")).unwrap();
        let mut base_url = BaseUrl::new(&base, UTF_8);
        for reference in ["../x", "../../x", "../../../x", "./x", "x", "../C:/../x", ".."] {
            let expected = by_url_crate(&base, UTF_8, reference);
            assert_eq!(by_base_url(&mut base_url, reference), expected, "{base} {reference}");
        }
    }
}

#[test]
fn an_address_has_the_parts_of_its_url() {
    let base = Url::parse("http://site.test:81/a/b").unwrap();
    let mut base_url = BaseUrl::new(&base, UTF_8);
    let address = base_url.join("c;d?e?f#g").unwrap();
    assert_eq!(address.as_str(), "http://site.test:81/a/c;d?e?f");
    assert_eq!(address.origin(), "http://site.test:81");
    assert_eq!((address.path(), address.query()), ("/a/c;d", Some("e?f")));
    assert_eq!(address.fragment(), Some("g"));
    let bare = Url::parse("http://site.test?").unwrap();
    let address = Address::of(&bare).unwrap();
    assert_eq!((address.path(), address.query(), address.fragment()), ("/", Some(""), None));
}

#[test]
fn links_that_cannot_be_fetched_are_errors_with_a_reason() {
    let base = Url::parse("http://site.test/").unwrap();
    let mut base_url = BaseUrl::new(&base, UTF_8);
    for (reference, error) in [
        ("http://", LinkError::Malformed),
        ("http://exa mple.test/", LinkError::Malformed),
        ("http://site.test:99999/", LinkError::Malformed),
        ("mailto:somebody@site.test", LinkError::Scheme),
        ("javascript:void(0)", LinkError::Scheme),
        ("ftp://site.test/", LinkError::Scheme),
        (&"a".repeat(BaseUrl::MAX_BYTES), LinkError::TooLong),
    ] {
        assert_eq!(base_url.join(reference), Err(error), "{reference:.40}");
    }
    let mail = Url::parse("mailto:somebody@site.test").unwrap();
    assert_eq!(Address::of(&mail), Err(LinkError::Scheme));
}
