//! Tests of the request writer: the bytes of a request.

use url::Url;
use web::Address;
use web::http::{self, BadHeader, Header, Method, is_header_value};

fn get<'a>(
    url: &Url,
    user_agent: &str,
    headers: impl Iterator<Item = &'a Header> + Clone,
    keep_alive: bool,
) -> Vec<u8> {
    http::request(Method::Get, Address::of(url).unwrap(), user_agent, headers, keep_alive)
}

fn request(url: &str) -> String {
    String::from_utf8(get(&Url::parse(url).unwrap(), "crawl/1.0", [].iter(), true)).unwrap()
}

#[test]
fn a_request_has_all_its_headers() {
    assert_eq!(
        request("http://example.com/a/b?c=d"),
        "GET /a/b?c=d HTTP/1.1\r\n\
         Host: example.com\r\n\
         User-Agent: crawl/1.0\r\n\
         Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n\
         Accept-Language: *\r\n\
         Accept-Encoding: gzip, deflate, br, zstd\r\n\
         Connection: keep-alive\r\n\r\n"
    );
}

#[test]
fn a_head_request_differs_only_in_its_method() {
    let url = Url::parse("http://example.com/a").unwrap();
    let url = Address::of(&url).unwrap();
    let head =
        String::from_utf8(http::request(Method::Head, url, "crawl/1.0", [].iter(), true)).unwrap();
    assert_eq!(head, request("http://example.com/a").replacen("GET", "HEAD", 1));
}

#[test]
fn the_connection_header_follows_keep_alive() {
    let url = Url::parse("http://example.com/").unwrap();
    let closing = String::from_utf8(get(&url, "crawl/1.0", [].iter(), false)).unwrap();
    assert!(closing.ends_with("\r\nConnection: close\r\n\r\n"));
}

#[test]
fn target_and_host_are_those_of_the_url() {
    for (url, target, host) in [
        ("http://example.com", "/", "example.com"),
        ("http://example.com/#part", "/", "example.com"),
        ("http://example.com/?q#part", "/?q", "example.com"),
        ("http://example.com?", "/?", "example.com"),
        ("http://example.com:80/", "/", "example.com"),
        ("http://example.com:8080/", "/", "example.com:8080"),
        ("https://example.com:443/", "/", "example.com"),
        ("https://example.com:80/", "/", "example.com:80"),
        ("http://127.0.0.1:81/", "/", "127.0.0.1:81"),
        ("http://[::1]/x", "/x", "[::1]"),
        ("http://[::1]:81/x", "/x", "[::1]:81"),
        ("http://user:secret@example.com/x", "/x", "example.com"),
        ("http://user@example.com:81/x", "/x", "example.com:81"),
        ("http://b\u{fc}cher.example/\u{fc}", "/%C3%BC", "xn--bcher-kva.example"),
        ("http://example.com/a b\r\nX: y", "/a%20bX:%20y", "example.com"),
    ] {
        let request = request(url);
        let mut lines = request.split("\r\n");
        assert_eq!(lines.next(), Some(&*format!("GET {target} HTTP/1.1")), "{url}");
        assert_eq!(lines.next(), Some(&*format!("Host: {host}")), "{url}");
    }
}

#[test]
fn a_user_agent_cannot_add_a_header() {
    let url = Url::parse("http://example.com/").unwrap();
    let request = get(&url, "crawl\r\nX-Evil: 1\r\n\r\nGET /admin\0\u{85}\u{fc}", [].iter(), true);
    let request = String::from_utf8(request).unwrap();
    assert!(request.contains("\r\nUser-Agent: crawlX-Evil: 1GET /admin\r\n"));
    assert_eq!(request.matches("\r\n\r\n").count(), 1);
}

#[test]
fn valid_header_values_are_accepted_and_others_refused() {
    for value in ["a", "crawl/1.0 (+http://example.com/)", "a\tb"] {
        assert!(is_header_value(value), "{value:?}");
    }
    for value in
        ["", " ", " a", "a ", "a\r\nb", "a\nb", "a\rb", "a\0b", "a\x7f", "\u{fc}", "a\u{85}"]
    {
        assert!(!is_header_value(value), "{value:?}");
    }
}

fn header(line: &str) -> Header {
    Header::parse(line).unwrap()
}

#[test]
fn user_headers_are_added_or_replace_the_defaults() {
    let url = Url::parse("http://example.com/").unwrap();
    let headers = ["accept-language: de", "X-Token:  a b ", "Cookie: a=b"].map(header);
    let request = String::from_utf8(get(&url, "crawl/1.0", headers.iter(), true)).unwrap();
    assert!(
        request.contains("\r\naccept-language: de\r\nX-Token: a b\r\nCookie: a=b\r\n"),
        "{request}"
    );
    assert!(!request.contains("Accept-Language") && request.contains("\r\nAccept: text/html"));
    assert_eq!(format!("{:?}", headers[2]), "Cookie: ...", "it may be a secret");
}

#[test]
fn a_header_tells_its_name_and_its_line() {
    let header = header("X-Token:  a b ");
    assert_eq!((header.name(), &*header.line()), ("X-Token", "X-Token: a b"));
    assert!(header.is("x-token") && !header.is("x-toke"));
}

#[test]
fn headers_that_cannot_be_sent_are_refused() {
    let refused = |line| Header::parse(line).unwrap_err();
    assert_eq!(refused("no colon"), BadHeader::NoColon);
    for line in [": x", "a b: c", "a\r\nb: c", "\u{e9}: x", "(x): y"] {
        assert!(matches!(refused(line), BadHeader::Name(_)), "{line:?}");
    }
    for line in ["x:", "x: ", "x: a\r\nHost: b", "x: \u{7}", "x: \u{e9}"] {
        assert_eq!(refused(line), BadHeader::Value("x".into()), "{line:?}");
    }
    for line in ["Host: b", "content-length: 1", "USER-AGENT: me", "Connection: close"] {
        assert!(matches!(refused(line), BadHeader::Reserved(_)), "{line}");
    }
}
