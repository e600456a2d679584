//! Tests of the text decoder: the encoding that it finds, and the text.

use encoding_rs::Encoding;
use web::body::{TextDecoder, encoding_name};

/// Returns the text of a page that arrives at once, and the name of its encoding.
fn decode(page: &[u8], label: Option<&str>) -> (String, String) {
    decode_from(page, label, None)
}

fn decode_from(page: &[u8], label: Option<&str>, tld: Option<&str>) -> (String, String) {
    let mut decoder = TextDecoder::new(label, tld);
    let mut text = Vec::new();
    decoder.feed(page, &mut |slice| text.extend_from_slice(slice));
    let encoding = decoder.finish(&mut |slice| text.extend_from_slice(slice));
    (String::from_utf8_lossy(&text).into_owned(), encoding_name(encoding))
}

/// Returns the name of the encoding that is found for a page with this beginning.
fn declared(start: &str) -> String {
    decode(start.as_bytes(), None).1
}

fn encoded(label: &str, text: &str) -> Vec<u8> {
    let (bytes, _, had_errors) = Encoding::for_label(label.as_bytes()).unwrap().encode(text);
    assert!(!had_errors, "{label}");
    bytes.into_owned()
}

fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

const RUSSIAN: &str = "Все счастливые семьи похожи друг на друга, каждая несчастливая семья \
    несчастлива по-своему. Все смешалось в доме Облонских.";
const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。";
const CHINESE: &str = "道可道，非常道。名可名，非常名。无名天地之始；有名万物之母。";
const TAIWANESE: &str = "道可道，非常道。名可名，非常名。無名天地之始；有名萬物之母。";
const KOREAN: &str = "나랏말싸미 중국에 달아 문자와로 서로 사맛디 아니할쎄 이런 전차로";
const GERMAN: &str = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. \
    Süße Früchte fürs Frühstück.";

#[test]
fn every_encoding_is_decoded_by_its_label() {
    for (label, name, text) in [
        ("utf-8", "utf-8", RUSSIAN),
        ("Shift_JIS", "shift_jis", JAPANESE),
        ("x-sjis", "shift_jis", JAPANESE),
        ("EUC-JP", "euc-jp", JAPANESE),
        ("ISO-2022-JP", "iso-2022-jp", JAPANESE),
        ("gb2312", "gbk", CHINESE),
        ("GB18030", "gb18030", CHINESE),
        ("big5", "big5", TAIWANESE),
        ("euc-kr", "euc-kr", KOREAN),
        ("windows-1251", "windows-1251", RUSSIAN),
        ("koi8-r", "koi8-r", RUSSIAN),
        (" latin1\t", "windows-1252", GERMAN),
    ] {
        let bytes = encoded(label.trim(), text);
        assert_eq!(decode(&bytes, Some(label)), (text.into(), name.into()), "{label}");
        let page = [format!("<meta charset='{label}'>").as_bytes(), &bytes].concat();
        let (decoded, encoding) = decode(&page, None);
        assert_eq!((decoded.ends_with(text), encoding), (true, name.into()), "{label} in a meta");
    }
}

#[test]
fn utf_16_needs_a_byte_order_mark_or_a_header() {
    for (to_bytes, mark, name) in [
        (u16::to_le_bytes as fn(u16) -> [u8; 2], b"\xff\xfe", "utf-16le"),
        (u16::to_be_bytes, b"\xfe\xff", "utf-16be"),
    ] {
        let text = "<a href=x>日本\u{1f600}</a>";
        let expected = (text.to_owned(), name.to_owned());
        let bytes = utf_16(text, to_bytes);
        let marked = [&mark[..], &bytes].concat();
        assert_eq!(decode(&marked, None), expected);
        assert_eq!(decode(&marked, Some("utf-8")), expected);
        assert_eq!(decode(&bytes, Some(name)), expected);
        // The exception is a page that begins like XML.
        let xml = utf_16("<?xml version='1.0'?><a>", to_bytes);
        assert_eq!(decode(&xml, None).1, name);
    }
    assert_eq!(decode(b"a\0b\0", Some("utf-16")), ("ab".into(), "utf-16le".into()));
    assert_eq!(declared("<meta charset=utf-16>"), "utf-8");
    assert_eq!(declared("<meta charset=utf-16be>"), "utf-8");
}

#[test]
fn a_byte_order_mark_overrides_the_header_and_the_header_the_page() {
    let meta = "<meta charset=koi8-r>";
    let mark = "\u{feff}";
    for (page, label, name) in [
        (format!("{mark}{meta}"), Some("gbk"), "utf-8"),
        (format!("{mark}{meta}"), None, "utf-8"),
        (meta.to_owned(), Some("gbk"), "gbk"),
        (meta.to_owned(), Some("utf-8"), "utf-8"),
        (meta.to_owned(), Some("no such label"), "koi8-r"),
        (meta.to_owned(), Some(""), "koi8-r"),
        // Browsers refuse these encodings.
        (meta.to_owned(), Some("iso-2022-kr"), "koi8-r"),
        (meta.to_owned(), Some("replacement"), "koi8-r"),
        (meta.to_owned(), None, "koi8-r"),
        (String::new(), Some("gbk"), "gbk"),
        (String::new(), None, "utf-8"),
        (mark.to_owned(), None, "utf-8"),
        ("a".to_owned(), Some("x-user-defined"), "x-user-defined"),
    ] {
        let (text, encoding) = decode(page.as_bytes(), label);
        assert_eq!(encoding, name, "{page:?} {label:?}");
        assert_eq!(text, page.trim_start_matches(mark));
    }
}

/// The cases of the "prescan" of the HTML standard, section 13.2.3.2.
#[test]
fn the_prescan_follows_the_standard() {
    for (page, name) in [
        // Either form, in any case, quoted or not, in any order.
        ("<meta charset=gbk>", "gbk"),
        ("<META CHARSET=GBK>", "gbk"),
        ("<meta/charset=gbk/>", "utf-8"), // the value is "gbk/"
        ("<meta/charset='gbk'/>", "gbk"),
        ("<meta\n\t\x0c charset = \" gbk \" >", "gbk"),
        ("<meta http-equiv=content-type content='text/html; charset=gbk'>", "gbk"),
        ("<meta content='text/html; charset=gbk' http-equiv=Content-Type>", "gbk"),
        ("<meta name=x content='text/html; charset=gbk' http-equiv='content-type'/>", "gbk"),
        ("<meta content='text/html; charset=gbk'>", "utf-8"),
        ("<meta http-equiv=refresh content='1; charset=gbk'>", "utf-8"),
        ("<meta http-equiv=' content-type' content='charset=gbk'>", "utf-8"),
        ("<meta http-equiv=content-type>", "utf-8"),
        // A charset overrides a content, before or after it, known or not.
        ("<meta http-equiv=content-type content='charset=gbk' charset=big5>", "big5"),
        ("<meta charset=big5 http-equiv=content-type content='charset=gbk'>", "big5"),
        ("<meta http-equiv=content-type content='charset=gbk' charset=nonsense>", "utf-8"),
        // Of two attributes with the same name, the first counts.
        ("<meta charset=gbk CHARSET=big5>", "gbk"),
        ("<meta http-equiv=x http-equiv=content-type content='charset=gbk'>", "utf-8"),
        ("<meta http-equiv=content-type content=x content='charset=gbk'>", "utf-8"),
        // Of two elements, the first with a known encoding counts.
        ("<meta charset=gbk><meta charset=big5>", "gbk"),
        ("<meta charset=nonsense><meta charset=big5>", "big5"),
        ("<meta charset=iso-2022-kr><meta charset=big5>", "big5"),
        ("<meta charset=''><meta name=x><meta><meta charset=big5>", "big5"),
        // Labels within a content.
        ("<meta http-equiv=content-type content='charset gbk charset = gbk'>", "gbk"),
        ("<meta http-equiv=content-type content='charsetcharset=gbk'>", "gbk"),
        ("<meta http-equiv=content-type content='CHARSET=\"gbk\"x'>", "gbk"),
        ("<meta http-equiv=content-type content='charset=\"gbk'>", "utf-8"),
        ("<meta http-equiv=content-type content='charset=gbk;x'>", "gbk"),
        ("<meta http-equiv=content-type content='charset=gbk x'>", "gbk"),
        ("<meta http-equiv=content-type content='charset='>", "utf-8"),
        ("<meta http-equiv=content-type content='charset'>", "utf-8"),
        // Labels with another meaning, and elements that are no meta.
        ("<meta charset=x-user-defined>", "windows-1252"),
        ("<metadata charset=gbk>", "utf-8"),
        ("<meta>charset=gbk>", "utf-8"),
        ("< meta charset=gbk>", "utf-8"),
        ("</meta charset=gbk>", "utf-8"),
        // A meta in a comment, an attribute, other markup or an open tag is ignored.
        ("<!-- <meta charset=gbk> --><meta charset=big5>", "big5"),
        ("<!-- <meta charset=gbk>", "utf-8"),
        ("<!--><meta charset=gbk>-->", "gbk"),
        ("<!---><meta charset=gbk>-->", "gbk"),
        ("<!- <meta charset=big5>", "utf-8"),
        ("<!x <meta charset=gbk>", "utf-8"),
        ("<!doctype html><meta charset=gbk>", "gbk"),
        ("<?x <meta charset=gbk>", "utf-8"),
        ("</ <meta charset=gbk>", "utf-8"),
        ("<a title='<meta charset=gbk>'><meta charset=big5>", "big5"),
        ("<a title=<meta charset=gbk><meta charset=big5>", "big5"),
        ("<a title='<meta charset=gbk>", "utf-8"),
        ("<p =x title='>' <meta charset=gbk><meta charset=big5>", "big5"),
        ("<p/title='<meta charset=gbk>'/><meta charset=big5>", "big5"),
        ("<meta charset=gbk", "utf-8"),
        ("<meta charset='gbk'", "utf-8"),
        ("<1 <meta charset=gbk>", "gbk"),
        ("<<meta charset=gbk>", "gbk"),
        // The text of a script counts as markup.
        ("<script>'<meta charset=gbk>'</script>", "gbk"),
        // An XML declaration counts if there is no meta.
        ("<?xml version='1.0' encoding='gbk'?>", "gbk"),
        ("<?xml encoding = \"gbk\"", "utf-8"),
        ("<?xml encoding=\x01\"gbk\">", "gbk"),
        ("<?xml version='1.0' encoding='gbk'?><meta charset=big5>", "big5"),
        ("<?xml encoding='utf-16'?>", "utf-8"),
        ("<?xml encoding=' gbk'?>", "utf-8"),
        ("<?xml encoding=gbk?>", "utf-8"),
        ("<?xml encoding='gbk?>", "utf-8"),
        ("<?xml?> encoding='gbk'>", "utf-8"),
        (" <?xml encoding='gbk'?>", "utf-8"),
        ("<?XML encoding='gbk'?>", "utf-8"),
    ] {
        assert_eq!(declared(page), name, "{page}");
    }
}

#[test]
fn only_the_first_1024_bytes_are_searched() {
    let meta = "<meta charset=gbk>";
    let page = |length| format!("{}{meta}{}", " ".repeat(length), " ".repeat(3000));
    assert_eq!(declared(&page(1024 - meta.len())), "gbk");
    assert_eq!(declared(&page(1024 - meta.len() + 1)), "utf-8");
}

#[test]
fn an_undeclared_encoding_is_detected() {
    for (label, name, text, tld) in [
        ("windows-1251", "windows-1251", RUSSIAN, None),
        // KOI8-U differs from KOI8-R only in Ukrainian letters.
        ("koi8-r", "koi8-u", RUSSIAN, None),
        ("shift_jis", "shift_jis", JAPANESE, None),
        ("euc-jp", "euc-jp", JAPANESE, None),
        ("iso-2022-jp", "iso-2022-jp", JAPANESE, None),
        ("gbk", "gbk", CHINESE, Some("cn")),
        ("big5", "big5", TAIWANESE, Some("tw")),
        ("euc-kr", "euc-kr", KOREAN, Some("kr")),
        ("windows-1252", "windows-1252", GERMAN, None),
        ("utf-8", "utf-8", GERMAN, None),
        ("utf-8", "utf-8", RUSSIAN, Some("ru")),
    ] {
        // An unknown label is ignored.
        for header in [None, Some("unknown")] {
            let start = "<title>Page</title><p>".repeat(100);
            let page = [start.as_bytes(), &encoded(label, text)].concat();
            let expected = (format!("{start}{text}"), name.to_owned());
            assert_eq!(decode_from(&page, header, tld), expected, "{label}");
        }
    }
}

#[test]
fn the_top_level_domain_is_a_hint() {
    // Two bytes that are other letters in ISO-8859-2 than in ISO-8859-1.
    let page = b"<p>\xb1\xea";
    let names = ["pl", "de"].map(|tld| decode_from(page, None, Some(tld)).1);
    assert_ne!(names[0], names[1]);
}

#[test]
fn an_invalid_top_level_domain_is_ignored() {
    for tld in ["", "1]", "COM", "ex.com", "бг", "\0", "xn--90ais"] {
        assert_eq!(decode_from(b"caf\xe9", None, Some(tld)).0, "caf\u{e9}", "{tld:?}");
    }
}

#[test]
fn the_first_window_decides_finally() {
    let start = RUSSIAN.repeat(20 * 1024 / RUSSIAN.len());
    let page = [start.as_bytes(), b"caf\xe9"].concat();
    let (text, encoding) = decode(&page, None);
    assert_eq!((text, encoding), (format!("{start}caf\u{fffd}"), "utf-8".into()));
    // The window ends within a character.
    let page = "<p>\u{20ac}".replace("<p>", &"<p>".repeat(1000)) + &"\u{20ac}".repeat(10_000);
    assert_eq!(decode(page.as_bytes(), None), (page, "utf-8".into()));
}

#[test]
fn malformed_bytes_are_replaced() {
    for (page, label, text) in [
        (&b"a\xfcb"[..], "utf-8", "a\u{fffd}b"),
        (b"a\xe2\x82<b", "utf-8", "a\u{fffd}<b"),
        (b"a\xf0\x9f", "utf-8", "a\u{fffd}"),
        (b"a\x82", "shift_jis", "a\u{fffd}"),
        (b"a\xff<b", "shift_jis", "a\u{fffd}<b"),
        (b"a\0b", "utf-16le", "a\u{fffd}"),
        (b"\0\xdca\0", "utf-16le", "\u{fffd}a"),
    ] {
        assert_eq!(decode(page, Some(label)).0, text, "{page:?} {label}");
    }
}

#[test]
fn utf_8_is_passed_on_unchanged() {
    let page = [RUSSIAN.as_bytes(), b"\xff\xfe\xe2\x82"].concat();
    let mut decoder = TextDecoder::new(Some("utf-8"), None);
    for slice in page.chunks(100) {
        let mut passed = Vec::new();
        decoder.feed(slice, &mut |text| passed.push((text.as_ptr(), text.len())));
        assert_eq!(passed, [(slice.as_ptr(), slice.len())]);
    }
    let encoding = decoder.finish(&mut |_| panic!("nothing was held back"));
    assert_eq!(encoding_name(encoding), "utf-8");
}

#[test]
fn ascii_is_passed_on_before_the_rest_arrives() {
    let mut decoder = TextDecoder::new(None, None);
    let mut text = 0;
    decoder.feed(&[b'a'; 1023], &mut |_| panic!("it may still say what it is"));
    for _ in 0..10 {
        decoder.feed(&[b'a'; 1000], &mut |slice| text += slice.len());
    }
    assert_eq!(text, 11_023);
    decoder.feed(b"b\xfcb", &mut |slice| assert_eq!(slice, b"b"));
    decoder.feed(&[b'a'; 16 * 1024 - 3], &mut |_| panic!("that is for the detector"));
    decoder.feed(b"c", &mut |slice| text += slice.len());
    assert_eq!(text, 11_023 + 16 * 1024 + "\u{fc}".len() - 1);
}

#[test]
fn encoding_names_are_in_lower_case() {
    for label in ["utf-8", "shift_jis", "iso-8859-8-i", "x-mac-cyrillic", "gb18030", "big5"] {
        assert_eq!(encoding_name(Encoding::for_label(label.as_bytes()).unwrap()), label);
    }
}
