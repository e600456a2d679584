//! Content types and character encodings.
#![allow(clippy::unwrap_used, missing_docs)]

use std::borrow::Cow;

use crawl_core::content::{ContentType, decode};
use proptest::prelude::*;

#[test]
fn content_types_are_read_as_they_are_written() {
    for (value, essence, charset) in [
        ("text/html", "text/html", None),
        ("text/html; charset=utf-8", "text/html", Some("utf-8")),
        ("TEXT/HTML;CHARSET=UTF-8", "text/html", Some("utf-8")),
        (" text/html ;\tcharset = \"ISO-8859-1\" ", "text/html", Some("iso-8859-1")),
        ("text/html; charset='utf-8'", "text/html", Some("utf-8")),
        ("text/html; charset=\" utf-8 \"", "text/html", Some("utf-8")),
        ("text/html; charset=\"utf-8", "text/html", Some("utf-8")),
        ("text/html; boundary=x; charset=utf-8; charset=gbk", "text/html", Some("utf-8")),
        ("text/html;;; charset=utf-8", "text/html", Some("utf-8")),
        ("text/html, charset=utf-8", "text/html", Some("utf-8")),
        ("text/html,text/html", "text/html", None),
        ("text/html; charset=", "text/html", None),
        ("text/html; charset=; charset=gbk", "text/html", Some("gbk")),
        ("text/html; charset", "text/html", None),
        ("text/html; xcharset=gbk", "text/html", None),
        ("text/html; charset=no such", "text/html", None),
        ("application/vnd.api+json", "application/vnd.api+json", None),
        ("", "", None),
        (";", "", None),
        ("html", "", None),
        ("text/", "", None),
        ("/html", "", None),
        ("text/ht ml", "", None),
        ("text/html/x", "", None),
        ("charset=utf-8", "", None),
        ("; charset=utf-8", "", Some("utf-8")),
    ] {
        let expected = ContentType { essence: essence.into(), charset: charset.map(Into::into) };
        assert_eq!(ContentType::parse(value.as_bytes()), expected, "{value:?}");
    }
    assert_eq!(ContentType::parse(b"text/\xff\xfe").essence, "");
}

#[test]
fn pages_are_told_from_other_bodies() {
    for (value, is_html) in [
        ("text/html", true),
        ("Text/HTML; charset=x", true),
        ("application/xhtml+xml", true),
        ("application/xml", false),
        ("text/plain", false),
        ("text/htmlx", false),
        ("", false),
    ] {
        assert_eq!(ContentType::parse(value.as_bytes()).is_html(), is_html, "{value:?}");
    }
}

#[test]
fn the_mark_decides_then_the_header_then_utf_8() {
    for (body, label, text, name) in [
        (&b"a\xc3\xbc"[..], None, "a\u{fc}", "utf-8"),
        (b"a\xc3\xbc", Some("utf8"), "a\u{fc}", "utf-8"),
        (b"a\xfc", Some("ISO-8859-1"), "a\u{fc}", "windows-1252"),
        (b"a\xfc", Some(" latin1 "), "a\u{fc}", "windows-1252"),
        (b"\x93\xfa\x96\x7b", Some("Shift_JIS"), "\u{65e5}\u{672c}", "shift_jis"),
        (b"\xef\xbb\xbfa\xc3\xbc", Some("iso-8859-1"), "a\u{fc}", "utf-8"),
        (b"\xff\xfea\0", Some("iso-8859-1"), "a", "utf-16le"),
        (b"\xfe\xff\0a", None, "a", "utf-16be"),
        (b"a\0b\0", Some("utf-16"), "ab", "utf-16le"),
        // Malformed bytes are replaced, one by one.
        (b"a\xfcb", None, "a\u{fffd}b", "utf-8"),
        (b"a\xfcb", Some("no such label"), "a\u{fffd}b", "utf-8"),
        (b"a\xfcb", Some(""), "a\u{fffd}b", "utf-8"),
        // Encodings that browsers show nothing of: the links are in ASCII.
        (b"<a href=x>", Some("iso-2022-kr"), "<a href=x>", "utf-8"),
        (b"", None, "", "utf-8"),
    ] {
        assert_eq!(decode(body, label), (text.into(), name), "{body:?} {label:?}");
    }
}

#[test]
fn every_encoding_has_its_name_in_lower_case() {
    for label in [
        "utf-8",
        "ibm866",
        "iso-8859-2",
        "iso-8859-3",
        "iso-8859-4",
        "iso-8859-5",
        "iso-8859-6",
        "iso-8859-7",
        "iso-8859-8",
        "iso-8859-8-i",
        "iso-8859-10",
        "iso-8859-13",
        "iso-8859-14",
        "iso-8859-15",
        "iso-8859-16",
        "koi8-r",
        "koi8-u",
        "macintosh",
        "windows-874",
        "windows-1250",
        "windows-1251",
        "windows-1252",
        "windows-1253",
        "windows-1254",
        "windows-1255",
        "windows-1256",
        "windows-1257",
        "windows-1258",
        "x-mac-cyrillic",
        "gbk",
        "gb18030",
        "big5",
        "euc-jp",
        "iso-2022-jp",
        "shift_jis",
        "euc-kr",
        "utf-16be",
        "utf-16le",
        "x-user-defined",
    ] {
        assert_eq!(decode(b"a", Some(label)).1, label);
    }
}

#[test]
fn valid_utf_8_is_not_copied() {
    let body = "caf\u{e9} ".repeat(1_000);
    assert!(matches!(decode(body.as_bytes(), None).0, Cow::Borrowed(text) if text == body));
}

proptest! {
    #[test]
    fn any_header_and_body_can_be_read(header: Vec<u8>, body: Vec<u8>) {
        let content_type = ContentType::parse(&header);
        let (_, name) = decode(&body, content_type.charset.as_deref());
        prop_assert_eq!(name.to_ascii_lowercase(), name);
    }

    #[test]
    fn what_is_valid_utf_8_stays_as_it_is(body in "[^\u{feff}]*") {
        prop_assert_eq!(decode(body.as_bytes(), None), (body.as_str().into(), "utf-8"));
    }
}

#[test]
fn a_charset_that_is_no_token_is_none() {
    for value in
        ["text/html; charset=\u{9b}31m", "text/html; charset=a b", "text/html; charset=\x1b[2J"]
    {
        assert_eq!(ContentType::parse(value.as_bytes()).charset, None, "{value:?}");
    }
}
