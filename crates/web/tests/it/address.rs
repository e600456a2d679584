//! `BaseUrl` resolves every link to the same address as the `url` crate, on the
//! fast path or not.

use std::borrow::Cow;

use encoding_rs::{
    BIG5, EUC_KR, EncoderResult, Encoding, GB18030, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16LE,
    WINDOWS_1251, WINDOWS_1252,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use test_support::cases;
use url::Url;
use web::{Address, BaseUrl, LinkError, remove_password};

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

fn by_url_crate(base: &Url, encoding: &'static Encoding, reference: &str) -> Joined {
    let encode: &dyn Fn(&str) -> Cow<'_, [u8]> = &|query| encoded(query, encoding).into();
    let parser = Url::options().base_url(Some(base));
    let parser = parser.encoding_override((encoding != UTF_8).then_some(encode));
    // The crate takes a third slash for an empty host, and the standard ignores it.
    let dropped = ['\t', '\n', '\r'];
    let host = reference.trim_start_matches(|c| c <= ' ').replace(dropped, "");
    let host = host.strip_prefix("//").filter(|rest| rest.starts_with(['/', '\\']));
    let parsed = parser.parse(reference).or_else(|error| {
        let host = host.ok_or(error)?.trim_start_matches(['/', '\\']);
        parser.parse(&format!("//{host}"))
    });
    let mut url = parsed.map_err(|_| LinkError::Malformed)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(LinkError::Scheme);
    }
    remove_password(&mut url);
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
        let mut base = Url::parse(base).unwrap();
        remove_password(&mut base);
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

/// Most are from the web platform tests, `url/percent-encoding.window.js`.
#[test]
fn a_query_is_in_the_encoding_of_the_page_and_what_that_lacks_is_a_reference() {
    let base = Url::parse("http://site.test/s").unwrap();
    for (query, encoding, expected) in [
        ("q=\u{65e5}&r=%\u{e9}#", WINDOWS_1252, "q=%26%2326085%3B&r=%%E9"),
        ("&#1;\u{65e5}\u{672c}", WINDOWS_1252, "&"),
        ("\u{65e5}\u{672c};", WINDOWS_1252, "%26%2326085%3B%26%2326412%3B;"),
        ("\u{2020}", BIG5, "%26%238224%3B"),
        ("\u{2020}", EUC_KR, "%A2%D3"),
        ("\u{2020}", WINDOWS_1252, "%86"),
        ("\u{2020}", UTF_8, "%E2%80%A0"),
        ("\u{e}A", BIG5, "%0EA"),
        ("\u{e}A", ISO_2022_JP, "%26%2365533%3BA"),
        ("\u{203e}\\", ISO_2022_JP, "%1B(J~%1B(B\\"),
        ("\u{3042}\u{e9}\u{3042}", ISO_2022_JP, "%1B$B$%22%1B(B%26%23233%3B%1B$B$%22%1B(B"),
        ("\u{e5e5}", GB18030, "%26%2358853%3B"),
        ("\u{2212}", SHIFT_JIS, "%81|"),
        ("\u{65e5}", UTF_16LE, "%E6%97%A5"),
    ] {
        let mut base_url = BaseUrl::new(&base, encoding);
        let address = base_url.join(&format!("?{query}")).unwrap().as_str().to_owned();
        assert_eq!(address, format!("http://site.test/s?{expected}"), "{query}");
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

/// URL Standard, section 4.4, "special authority ignore slashes state".
#[test]
fn slashes_before_a_host_do_not_count() {
    let base = Url::parse("http://site.test/a/b").unwrap();
    let mut base_url = BaseUrl::new(&base, UTF_8);
    for (reference, expected) in [
        ("///o.test/x?y", "http://o.test/x?y"),
        ("////o.test", "http://o.test/"),
        ("//\\/o.test//x", "http://o.test//x"),
        (" \n/\t/\r//\n\u{fc}.test/ ", "http://xn--tda.test/"),
        ("/\\/o.test", "http://o.test/"),
        ("http:///o.test", "http://o.test/"),
        ("https:////o.test", "https://o.test/"),
        ("///me@o.test:81/x", "http://me@o.test:81/x"),
    ] {
        let found = base_url.join(reference).map(|address| address.as_str().to_owned());
        assert_eq!(found.as_deref(), Ok(expected), "{reference:?}");
    }
    for reference in ["//", "///", "////", "///?x", "///:80", "///[bad", "http:///"] {
        assert_eq!(base_url.join(reference), Err(LinkError::Malformed), "{reference:?}");
    }
    let windows = BaseUrl::new(&base, WINDOWS_1252)
        .join("///o.test?\u{fc}")
        .map(|address| address.as_str().to_owned());
    assert_eq!(windows.as_deref(), Ok("http://o.test/?%FC"));
}

/// No resolver knows them, and the time to parse them is quadratic in their length.
#[test]
fn hosts_that_are_too_long_have_a_budget() {
    let base = Url::parse("http://site.test/").unwrap();
    let name = "\u{4e00}".repeat(300) + ".test";
    let is_too_long =
        |base_url: &mut BaseUrl<'_>, link: &str| base_url.join(link) == Err(LinkError::TooLong);
    let encoded = "%e4%b8%80".repeat(300);
    for (begin, name, expected) in [
        ("//", &name, 72),
        ("\n /\t/\\", &name, 72),
        ("https:", &name, 72),
        ("HT\nTPS:/", &name, 72),
        ("wss:\\\\", &name, 72),
        ("http://me:word@you@", &name, 72),
        ("//", &encoded, 24),
    ] {
        let mut base_url = BaseUrl::new(&base, UTF_8);
        let mut is_joined = |n: &usize| !is_too_long(&mut base_url, &format!("{begin}{name}/{n}"));
        assert_eq!((0..100).take_while(|n| is_joined(n)).count(), expected, "{begin:?}");
        // A host that may exist can be written with this many bytes.
        let other = format!("//{}.test/{}", "\u{4e00}".repeat(70), "\u{fc}".repeat(500));
        for link in ["x", "//\u{fc}.test/", &other] {
            assert!(base_url.join(link).is_ok(), "{link}");
        }
    }
    // What is long is no host.
    let long = "\u{fc}".repeat(500);
    let mut base_url = BaseUrl::new(&base, UTF_8);
    for n in 0..100 {
        for begin in ["", "/", "?", "#", "//o.test/", "//o.test?", "https://o.test#", "data:"] {
            assert!(!is_too_long(&mut base_url, &format!("{begin}{long}{n}")), "{begin}");
        }
        assert!(!is_too_long(&mut base_url, &format!("//{long}@\u{fc}.test/{n}")));
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
