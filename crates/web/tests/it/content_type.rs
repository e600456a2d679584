//! Tests of the `Content-Type` parser.

use proptest::prelude::*;
use web::body::ContentType;

#[test]
fn content_types_are_parsed() {
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
fn html_pages_are_told_from_other_bodies() {
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

proptest! {
    #[test]
    fn any_header_can_be_parsed(header: Vec<u8>) {
        let ContentType { essence, charset } = ContentType::parse(&header);
        for text in [Some(essence), charset].into_iter().flatten() {
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{:?}", text);
            prop_assert_eq!(&text.to_ascii_lowercase(), &text);
        }
    }
}

#[test]
fn a_charset_that_is_no_token_is_ignored() {
    for value in
        ["text/html; charset=\u{9b}31m", "text/html; charset=a b", "text/html; charset=\x1b[2J"]
    {
        assert_eq!(ContentType::parse(value.as_bytes()).charset, None, "{value:?}");
    }
}
