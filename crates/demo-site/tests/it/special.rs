//! Tests of the special cases, down to the bytes.

use demo_site::{DemoSite, SiteOptions};

use crate::common::{Client, get, request};

fn site() -> DemoSite {
    DemoSite::start(SiteOptions::default()).unwrap()
}

#[test]
fn redirects_have_a_status_and_a_location() {
    let site = site();
    for (path, status, location) in [
        ("/foo", 302, "/baz"),
        ("/bar", 302, "/baz"),
        ("/cycle/one", 302, "/cycle/two"),
        ("/cycle/two", 302, "/cycle/one"),
        ("/redirect/301", 301, "/landed"),
        ("/redirect/302", 302, "/landed"),
        ("/redirect/303", 303, "/landed"),
        ("/redirect/307", 307, "/landed"),
        ("/redirect/308", 308, "/landed"),
        ("/redirect/relative", 302, "deeper/landed"),
    ] {
        let response = get(site.address(), path);
        assert_eq!(response.status, status, "{path}");
        assert_eq!(response.field("location"), Some(location), "{path}");
    }
}

#[test]
fn the_chain_has_15_redirects_and_no_link_to_it() {
    let site = site();
    let mut client = Client::connect(site.address());
    let mut path = "/chain/0".to_owned();
    let mut redirects = 0;
    let end = loop {
        let response = client.get(&path);
        match response.field("location") {
            Some(location) => path = location.to_owned(),
            None => break response,
        }
        redirects += 1;
        assert_eq!(response.status, 302);
    };
    assert_eq!((redirects, end.status), (15, 200));
    let expected = site.expected();
    assert!(expected.iter().all(|url| !url.path.contains("chain")));
}

#[test]
fn error_pages_have_an_error_status() {
    let site = site();
    assert_eq!(get(site.address(), "/missing").status, 404);
    assert_eq!(get(site.address(), "/broken").status, 500);
    let unknown = get(site.address(), "/no/such/page");
    assert_eq!(unknown.status, 404);
    assert!(unknown.body.len() < 100);
}

#[test]
fn other_types_have_their_content_type() {
    let site = site();
    for (path, content_type, start) in [
        ("/picture.png", "image/png", &b"\x89PNG\r\n\x1a\n"[..]),
        ("/paper.pdf", "application/pdf", b"%PDF-"),
        ("/notes.txt", "text/plain; charset=utf-8", b"To link"),
        ("/feed.xml", "application/xml", b"<?xml"),
        ("/strict.xhtml", "application/xhtml+xml; charset=utf-8", b"<?xml"),
    ] {
        let response = get(site.address(), path);
        assert_eq!(response.field("content-type"), Some(content_type));
        assert!(response.body.starts_with(start), "{path}");
    }
}

#[test]
fn charsets_are_declared_in_every_way() {
    let site = site();
    for (path, content_type, bytes) in [
        ("/charset/iso-8859-1", "text/html; charset=ISO-8859-1", &b"\"/menu/caf\xe9\""[..]),
        ("/charset/windows-1252", "text/html; charset=\"windows-1252\"", b"\"/menu/5\x80\""),
        (
            "/charset/shift_jis",
            "text/html; charset=Shift_JIS",
            b"\"/menu/\x83\x81\x83\x6a\x83\x85\x81\x5b\"",
        ),
        ("/charset/utf-16", "text/html", b"n\0a\0\xef\0v\0e\0"),
        ("/charset/meta", "text/html", b"<meta charset=\"windows-1251\">"),
    ] {
        let response = get(site.address(), path);
        assert_eq!(response.field("content-type"), Some(content_type));
        let mut windows = response.body.windows(bytes.len());
        assert!(windows.any(|window| window == bytes), "{path}");
    }
    let utf_16 = get(site.address(), "/charset/utf-16").body;
    assert!(utf_16.starts_with(&[0xff, 0xfe, b'<', 0]));
}

#[test]
fn chunks_have_an_extension_and_a_trailer() {
    let site = site();
    let mut client = Client::connect(site.address());
    client.send(request("/chunked"));
    let head = client.head();
    assert_eq!(head.field("transfer-encoding"), Some("chunked"));
    assert_eq!(head.field("content-length"), None);
    assert_eq!(client.line(), "1f;number=0\r\n");
    // After the trailer, the connection is used again.
    let mut client = Client::connect(site.address());
    assert!(client.get("/chunked").text().ends_with("</html>\n"));
    assert_eq!(client.get("/baz").status, 200);
    // The trailer is there.
    client.send("GET /chunked HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    let all = String::from_utf8(client.rest()).unwrap();
    let (_, trailer) = all.split_once("\r\n0\r\n").unwrap();
    assert!(trailer.starts_with("X-Chunks: "), "{trailer}");
    assert!(trailer.ends_with("\r\n\r\n"), "{trailer}");
}

#[test]
fn an_http_1_0_client_gets_no_chunks() {
    let site = site();
    let mut client = Client::connect(site.address());
    client.send("GET /chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let response = client.response();
    assert_eq!(response.field("transfer-encoding"), None);
    assert_eq!(response.field("connection"), Some("close"));
    assert!(response.text().ends_with("</html>\n"));
}

#[test]
fn one_page_ends_with_the_end_of_the_connection() {
    let site = site();
    let mut client = Client::connect(site.address());
    let response = client.get("/until-close");
    assert_eq!(response.field("content-length"), None);
    assert_eq!(response.field("transfer-encoding"), None);
    assert_eq!(response.field("connection"), Some("close"));
    assert!(response.text().contains("/from-until-close"));
    assert!(client.is_at_end());
}

#[test]
fn the_empty_page_has_no_body() {
    let site = site();
    let response = get(site.address(), "/empty");
    assert_eq!(response.status, 200);
    assert_eq!(response.field("content-length"), Some("0"));
    assert_eq!(response.field("content-type"), Some("text/html; charset=utf-8"));
}

#[test]
fn links_are_written_in_every_form() {
    let site = site();
    for (path, link) in [
        ("/outside", "\"http://elsewhere.invalid/\""),
        ("/outside", "\"mailto:somebody@elsewhere.invalid\""),
        ("/outside", "\"javascript:void(0)\""),
        ("/outside", "\"ftp://elsewhere.invalid/file\""),
        ("/entities", "\"/search?q=cats&amp;page=2\""),
        ("/entities", "HREF=/search?q=birds>"),
        ("/relative/dir/page", "\"../above\""),
        ("/base/page", "<base href=\"/base/other/\">"),
    ] {
        assert!(get(site.address(), path).text().contains(link), "{link}");
    }
    for path in ["/search?q=cats&page=2", "/base/other/leaf"] {
        assert_eq!(get(site.address(), path).status, 200);
    }
    assert_eq!(get(site.address(), "/search?q=cats&amp;page=2").status, 404);
}

#[test]
fn special_cases_can_be_left_out() {
    let site =
        DemoSite::start(SiteOptions { special_cases: false, ..SiteOptions::default() }).unwrap();
    for path in ["/special/", "/foo", "/chain/0"] {
        assert_eq!(get(site.address(), path).status, 404);
    }
    assert!(!get(site.address(), "/").text().contains("/special/"));
}
