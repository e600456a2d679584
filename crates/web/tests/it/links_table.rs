//! Table of HTML snippets and their links.

use url::Url;
use web::ErrorClass;
use web::body::encoding_name;
use web::links::{MAX_NESTED, Tree};

use crate::common::{links_of, read};

const PAGE: &str = "http://example.com/dir/page?query#part";

fn search(html: &[u8], charset: Option<&str>) -> (Vec<Url>, String) {
    let page = read(PAGE, [html], charset, Default::default());
    (links_of(&page), encoding_name(page.encoding))
}

#[track_caller]
fn links(html: &str) -> Vec<String> {
    search(html.as_bytes(), None).0.into_iter().map(Into::into).collect()
}

/// Checks that `html` has exactly these links. Links to the page's own host are
/// given without the origin.
#[track_caller]
fn assert_links(html: &str, expected: &[&str]) {
    let links = links(html);
    let links: Vec<_> =
        links.iter().map(|link| link.strip_prefix("http://example.com").unwrap_or(link)).collect();
    assert_eq!(links, expected, "{html:?}");
}

#[test]
fn attributes_are_read_as_browsers_read_them() {
    for (html, link) in [
        ("<a href=\"/x\">x</a>", "/x"),
        ("<a href='/x'>x</a>", "/x"),
        ("<a href=/x>x</a>", "/x"),
        ("<A HREF=/X>x</A>", "/X"),
        ("<a\n\thref\n=\r\n'/x'\x0c>", "/x"),
        ("<a class=link href=/x id='1'>", "/x"),
        ("<a/href=/x>", "/x"),
        ("<a href=/x/>", "/x/"),
        ("<a href='/x'/>", "/x"),
        ("<a title='>' href=/x>", "/x"),
        ("<a title=\"<a href='/no'>\" href=/x>", "/x"),
        ("<a href=/x href=/y>", "/x"),
        ("<a \"' href=/x>", "/x"),
        ("<a = href=/x>", "/x"),
        ("<a =\"><a href=/x>", "/x"),
        ("<a href=/x?a=1&amp;b=2>", "/x?a=1&b=2"),
        ("<a href='/x?a=1&b=2'>", "/x?a=1&b=2"),
        ("<a href='/x?a&copy=1'>", "/x?a&copy=1"),
        ("<a href='/x&copy;'>", "/x%C2%A9"),
        ("<a href='/&#120;&#x79;'>", "/xy"),
        ("<a href='&#47;x'>", "/x"),
        ("<a href='  /x\n '>", "/x"),
        ("<a href='/x\n\t/\ry'>", "/x/y"),
        ("<a href='/x y'>", "/x%20y"),
        ("<a href='/\u{fc}'>", "/%C3%BC"),
        ("<a href='\\x\\y'>", "/x/y"),
        ("<a href=/a/../b/./c>", "/b/c"),
        ("<area href=/x>", "/x"),
        ("<AREA shape=rect href='/x'/>", "/x"),
        ("<map><area href=/x></map>", "/x"),
        ("<svg><a href=/x><text>x</text></a></svg>", "/x"),
    ] {
        assert_links(html, &[link]);
    }
}

#[test]
fn links_are_resolved_against_the_url_of_the_page() {
    for (href, url) in [
        ("x", "http://example.com/dir/x"),
        ("./x", "http://example.com/dir/x"),
        ("../x", "http://example.com/x"),
        ("", "http://example.com/dir/page?query"),
        ("#other", "http://example.com/dir/page?query"),
        ("?", "http://example.com/dir/page?"),
        ("?q", "http://example.com/dir/page?q"),
        ("//other.example/x", "http://other.example/x"),
        ("\\\\other.example\\x", "http://other.example/x"),
        ("https:x", "https://x/"),
        ("http:x", "http://example.com/dir/x"),
        ("HTTP://EXAMPLE.com:80/%7Ex", "http://example.com/%7Ex"),
        ("http://b\u{fc}cher.example", "http://xn--bcher-kva.example/"),
        ("http://user:pw@example.com/", "http://example.com/"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
    ] {
        assert_eq!(links(&format!("<a href='{href}'>")), [url], "{href:?}");
    }
}

#[test]
fn links_that_cannot_be_fetched_are_left_out() {
    for href in [
        "javascript:void(0)",
        "JavaScript:x",
        " java\nscript:x",
        "mailto:a@example.com",
        "tel:1",
        "data:text/html,<a href=/x>",
        "ftp://example.com/",
        "about:blank",
        "ws://example.com/",
        "http://",
        "http://[",
        "http://a b/",
        "http://example.com:99999/",
        "http://a%00b/",
        "//",
    ] {
        assert_links(&format!("<a href=\"{href}\">"), &[]);
    }
    for html in [
        "<a>",
        "<a name=x>",
        "<a xhref=/x>",
        "<a data-href=/x>",
        "<link href=/x>",
        "<b href=/x>",
        "<abbr href=/x>",
        "< a href=/x>",
        "</a href=/x>",
        "<img src=/x>",
    ] {
        assert_links(html, &[]);
    }
}

#[test]
fn links_are_distinct_and_in_order() {
    assert_links(
        "<a href=/b>1<a href=/a>2</a><area href=/c><a href=/a#x>3</a><a href=/b?>4</a><a href=/b>",
        &["/b", "/a", "/c", "/b?"],
    );
}

#[test]
fn the_first_base_with_an_address_is_the_base_of_all_links() {
    for (html, link) in [
        ("<base href=/other/><a href=x>", "/other/x"),
        ("<head><base href=other/></head><a href=x>", "/dir/other/x"),
        ("<base href='http://other.example/y/z'><a href=x>", "http://other.example/y/x"),
        ("<base href=//other.example><a href=x>", "http://other.example/x"),
        ("<base href=///other.example><a href=x>", "http://other.example/x"),
        ("<base href=/one/><base href=/two/><a href=x>", "/one/x"),
        ("<base target=_top><base href=/two/><a href=x>", "/two/x"),
        ("<a href=x><base href=/late/>", "/late/x"),
        ("<base href=/other/><a href=''>", "/other/"),
        ("<base href=/other/><a href=/x>", "/x"),
        ("<base href=/other/#part><a href=#x>", "/other/"),
        ("<base href='http://['><base href=/two/><a href=x>", "/dir/x"),
        ("<!-- <base href=/no/> --><a href=x>", "/dir/x"),
    ] {
        assert_links(html, &[link]);
    }
}

#[test]
fn text_that_looks_like_a_tag_is_no_tag() {
    for html in [
        "<!-- <a href=/no> --><a href=/x>",
        "<!--><a href=/x><!-- -->",
        "<!---><a href=/x>",
        "<!-- -- > <a href=/no> --!><a href=/x>",
        "<!--!> <a href=/no> --><a href=/x>",
        "<!-- <!-- --><a href=/x>",
        "<!doctype html><a href=/x>",
        "<? <a href=/no><a href=/x>",
        "<! <a href=/no><a href=/x>",
        "</ <a href=/no><a href=/x>",
        "</><a href=/x>",
        "<> < <3 <a href=/x>",
        "<script>'<a href=/no>'</script><a href=/x>",
        "<SCRIPT type='x'>'<a href=/no></scriptx>'</Script ><a href=/x>",
        "<script><!-- <a href=/no> </script><a href=/x>",
        "<script><!-- <script><a href=/no></script><a href=/no> --></script><a href=/x>",
        "<script><!-- <script> --></script><a href=/x>",
        "<script><!--><script></script><a href=/x>",
        "<style><a href=/no></style><a href=/x>",
        "<textarea><a href=/no></textarea><a href=/x>",
        "<title><a href=/no></title><a href=/x>",
        "<title></titlex><a href=/no></title><a href=/x>",
        "<iframe><a href=/no></iframe><a href=/x>",
        "<xmp><a href=/no></xmp><a href=/x>",
        "<noembed><a href=/no></noembed><a href=/x>",
        "<svg><title/><style/><![CDATA[ <a href=/no> > ]]></svg><a href=/x>",
        "<![CDATA[ <a href=/no> <a href=/x>",
        "<a href=/x><plaintext><a href=/no>",
        "<a href=/x><script><a href=/no>",
        "<a href=/x><!-- <a href=/no>",
        "<a href=/x><a href=/no",
        "<a href=/x><a href='/no>",
        "<a href=/x></a",
        "<a href=/x><",
        "<a href=/x></",
        "<a href=/x><!",
    ] {
        assert_links(html, &["/x"]);
    }
}

#[test]
fn broken_markup_loses_no_link() {
    for html in [
        "<a href=/a><a href=/b><b><i></b><a href=/c>",
        "<p><a href=/a><p><a href=/b></table><li><a href=/c></p></a></div>",
        "<table><a href=/a><tr><a href=/b><td><a href=/c></table>",
        "<select><option><a href=/a><option><a href=/b></select><a href=/c>",
        "</html><a href=/a></body><a href=/b></html><a href=/c>",
        "<template><a href=/no></template><a href=/a><noscript><a href=/b></noscript><a href=/c>",
        "<head><a href=/a><title>x</title><body><a href=/b><body><a href=/c>",
        "\0<a \0 href=/a>\0<a href=/b><\0><a href=/c>",
    ] {
        assert_links(html, &["/a", "/b", "/c"]);
    }
}

#[test]
fn a_page_is_read_in_its_encoding() {
    let (links, encoding) = search(b"<a href='/\xfc?\xfc'>", Some("iso-8859-1"));
    assert_eq!(encoding, "windows-1252");
    // A query is sent in the encoding of the page, a path in UTF-8.
    assert_eq!(links[0].as_str(), "http://example.com/%C3%BC?%FC");

    let (links, _) = search(b"<a href='/?\x93\xfa'>", Some("shift_jis"));
    assert_eq!(links[0].as_str(), "http://example.com/?%93%FA");

    let (links, encoding) = search("<a href='/\u{fc}?\u{fc}'>".as_bytes(), None);
    assert_eq!(encoding, "utf-8");
    assert_eq!(links[0].as_str(), "http://example.com/%C3%BC?%C3%BC");

    let utf_16: Vec<u8> = "<a href='/?\u{fc}'>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let (links, encoding) = search(&utf_16, Some("utf-16le"));
    assert_eq!(encoding, "utf-16le");
    assert_eq!(links[0].as_str(), "http://example.com/?%C3%BC");
}

#[test]
fn a_page_may_name_its_encoding_itself() {
    let link = b"<a href=/?q=\xe4>";
    let encoding = |head: &str, header: Option<&str>| {
        let page = [head.as_bytes(), link].concat();
        search(&page, header).1
    };
    for (head, expected) in [
        ("<meta charset=windows-1251>", "windows-1251"),
        ("<META CharSet='Shift_JIS'/>", "shift_jis"),
        ("<meta http-equiv=Content-Type content='text/html; charset=koi8-r'>", "koi8-r"),
        ("<meta name=x content=y><meta charset=gbk><meta charset=big5>", "gbk"),
        ("<meta content='text/html; charset=koi8-r'>", "windows-1252"),
        ("<meta charset=utf-16le>", "utf-8"),
        ("<meta charset=nobody-knows>", "windows-1252"),
        ("<!-- <meta charset=gbk> -->", "windows-1252"),
        ("\u{feff}<meta charset=gbk>", "utf-8"),
    ] {
        assert_eq!(encoding(head, None), expected, "{head}");
    }
    let header = Some("iso-8859-2");
    assert_eq!(encoding("<meta charset=gbk>", header), "iso-8859-2", "the header decides");
    let far = format!("<p>{}</p><meta charset=gbk>", "x".repeat(1024));
    assert_eq!(encoding(&far, None), "windows-1252", "nobody looks that far; it looks like it");
}

#[test]
fn a_link_with_very_many_attributes_is_found() {
    let attributes: String = (0..300).map(|i| format!(" a{i}")).collect();
    let html = format!("<a{attributes} href=/x>");
    assert_links(&html, &["/x"]);
    assert_eq!(Tree::of(&html).unwrap_err().class, ErrorClass::Nesting, "there is no tree of it");
}

#[test]
fn deep_nesting_hides_no_link_but_has_no_tree() {
    let deep = |open: &str, times: usize| Tree::of(&open.repeat(times));
    assert!(deep("<div>", MAX_NESTED).is_ok());
    let error = deep("<div>", MAX_NESTED + 1).unwrap_err();
    assert_eq!(error.class, ErrorClass::Nesting);
    assert_eq!(error.message, "elements are nested more than 2000 deep");
    for open in [
        "<span>",
        "<b>",
        "<x-y>",
        "<DIV class='a>b'>",
        "<div><p>",
        "<table><tr><td>",
        "<ul><li>",
        "<svg>",
        "<math><mi>",
        "<button><div>",
        "<object>",
        "<select><optgroup><option>",
        "<li><dd>",
        "<template>",
        "<font color=red><center>",
        // End tags that end none of these elements.
        "<div></span>",
        "<div></p>",
        "<div></td></table>",
        "<b><div></b>",
        "<div><object></ div>",
        "<div></div-x>",
        "<div><!-- </div> -->",
        "<div><script></div></script>",
        "<div><a title='</div>'>",
        "<div></>",
        "<div/>",
        "<i></b>",
        "<x-y></x-z>",
    ] {
        let error = deep(open, 100_000).map(|_| open).unwrap_err();
        assert_eq!(error.class, ErrorClass::Nesting, "{open}");
        assert_links(&format!("<a href=/x>{}", open.repeat(100_000)), &["/x"]);
    }
}

#[test]
fn many_elements_next_to_each_other_are_not_nested() {
    for (before, repeated, after) in [
        ("", "<p>text", ""),
        ("", "<p>text</p>", ""),
        ("", "<p>some <b>text", ""),
        ("", "<p><a name=x>text", ""),
        ("", "<a name=x>text", ""),
        ("", "<div><p>text</div>", ""),
        ("", "<div><p><font size=2>text</div>", ""),
        ("", "<p>text<ul><li>item</ul>", ""),
        ("<ul>", "<li>item", "</ul>"),
        ("<ul>", "<li><p>item", "</ul>"),
        ("<ul>", "<li><a href=/x>item", "</ul>"),
        ("<ul>", "<li>item<ol><li>a<li>b</ol>", "</ul>"),
        ("<dl>", "<dt>term<dd>text", "</dl>"),
        ("<table>", "<tr><td>a<td>b", "</table>"),
        ("<table>", "<tr><th>a<td><font size=1><b>b</tr>", "</table>"),
        ("<table>", "<tr><td><center>a</td><td><div>b</td></tr>", "</table>"),
        ("<table>", "<tbody><tr><td>a", "</table>"),
        ("<table><tr>", "<td>a<table><tr><td>b</table>", "</table>"),
        ("", "<table><thead><tr><th>a<tbody><tr><td>a</table>", ""),
        ("<select>", "<option>a", "</select>"),
        ("<select>", "<optgroup><option>a<option>b", "</select>"),
        ("", "<ruby>a<rp>(<rt>b<rp>)</ruby>", ""),
        ("", "<br>", ""),
        ("", "<img src=/x><hr><input><link rel=x><meta name=x>", ""),
        ("", "<script>'<div>'</script>", ""),
        ("<script>", "'<div>'", "</script>"),
        ("<style>", "<div>", "</style>"),
        ("<textarea>", "<div>", "</textarea>"),
        ("<!--", "<div>", "-->"),
        ("", "<svg><path d='x'/><g><rect/></g></svg>", ""),
        ("", "<div title='<div>'></div>", ""),
        ("", "<b><i>text</b></i>", ""),
        ("", "<x-long-name-of-an-element></x-long-name-of-an-element>", ""),
    ] {
        let html = format!("{before}{}{after}<a href=/last>", repeated.repeat(3_000));
        let tree = Tree::of(&html);
        let last = tree.as_ref().map(|tree| tree.links().last().unwrap());
        assert_eq!(last, Ok("/last"), "{repeated}");
        assert_eq!(links(&html).last().unwrap(), "http://example.com/last", "{repeated}");
    }
}

#[test]
fn very_many_links_are_all_found() {
    let html: String = (0..100_000).map(|i| format!("<li><a href='/{i}'>{i}</a>\n")).collect();
    assert_eq!(links(&html).len(), 100_000);
}
