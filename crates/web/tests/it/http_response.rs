//! Tests of the response parser: the rules of RFC 9112 and the limits, one response at
//! a time.

use web::http::{Head, Limits, Method, Progress, ResponseParser, Sink, printable};
use web::{ErrorClass, FetchError};

/// A sink that records the response.
#[derive(Debug, Default)]
struct Recorder {
    status: Option<u16>,
    body: Vec<u8>,
}

impl Sink for Recorder {
    fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError> {
        assert_eq!(self.status, None, "one head");
        self.status = Some(head.status);
        Ok(())
    }

    fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
        assert!(self.status.is_some() && !bytes.is_empty());
        self.body.extend_from_slice(bytes);
        Ok(())
    }
}

/// The result of a response: status, body, and whether the connection can be used
/// again.
type Parsed = Result<(u16, String, bool), FetchError>;

fn parse(method: Method, limits: Limits, response: impl AsRef<[u8]>) -> Parsed {
    let mut parser = ResponseParser::new(method, limits);
    let mut recorder = Recorder::default();
    if parser.feed(response.as_ref(), &mut recorder)? == Progress::NeedMore {
        parser.end()?;
    }
    let body = String::from_utf8_lossy(&recorder.body).into_owned();
    Ok((recorder.status.unwrap(), body, parser.keep_alive()))
}

fn get(response: impl AsRef<[u8]>) -> Parsed {
    parse(Method::Get, Limits::default(), response)
}

fn class(parsed: Parsed) -> ErrorClass {
    parsed.unwrap_err().class
}

#[track_caller]
fn assert_ok(response: &str, status: u16, body: &str, keep_alive: bool) {
    assert_eq!(get(response), Ok((status, body.into(), keep_alive)), "{response:?}");
}

#[track_caller]
fn assert_error(response: impl AsRef<[u8]>, class: ErrorClass, text: &str) {
    let error = get(&response).unwrap_err();
    let response = printable(response.as_ref());
    assert_eq!(error.class, class, "{response}: {error}");
    assert!(error.message.contains(text), "{response}: {error}");
}

#[test]
fn content_length_delimits_the_body() {
    assert_ok("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true);
    assert_ok("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "", true);
    assert_ok("HTTP/1.1 404 No\r\ncontent-LENGTH:\t 02 \r\n\r\nhi", 404, "hi", true);
}

#[test]
fn content_length_may_be_repeated_but_not_contradicted() {
    for same in [
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2, 2\r\n",
        "Content-Length: 2\r\nX: y\r\ncontent-length: 2 ,2\r\n",
    ] {
        assert_ok(&format!("HTTP/1.1 200 OK\r\n{same}\r\nhi"), 200, "hi", true);
    }
    for different in ["Content-Length: 2\r\nContent-Length: 3\r\n", "Content-Length: 2, 3\r\n"] {
        let response = format!("HTTP/1.1 200 OK\r\n{different}\r\nhi");
        assert_error(response, ErrorClass::Protocol, "contradicts");
    }
}

#[test]
fn content_length_must_be_digits() {
    for value in ["", "-1", "+2", "2.0", "0x2", "two", "2 2", "2;", ",", "2,"] {
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\nhi");
        assert_error(response, ErrorClass::Protocol, "is not a length");
    }
}

/// A length may be a very large number and must not overflow (RFC 9110 section 8.6).
#[test]
fn a_huge_content_length_is_too_large() {
    for value in ["18446744073709551615", "18446744073709551616", "99999999999999999999999"] {
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\nhi");
        assert_error(response, ErrorClass::TooLarge, "the body is longer");
    }
}

#[test]
fn a_chunked_body_is_decoded() {
    let chunked =
        |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    for body in [
        "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "003\r\nabc\r\n0002\r\nde\r\n000\r\n\r\n",
        "3;name\r\nabc\r\n2 ; a=\"b;c\"\r\nde\r\n0;last\r\n\r\n",
        "3 \t\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "5\r\nabcde\r\n0\r\nExpires: never\r\nX:\r\n\r\n",
        "3\nabc\n2\nde\n0\n\n",
        "5;e\nabcde\r\n0\nExpires: never\n\n",
    ] {
        assert_ok(&chunked(body), 200, "abcde", true);
    }
    assert_ok(
        &chunked("A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n"),
        200,
        &"0123456789".repeat(2),
        true,
    );
    assert_ok(&chunked("0\r\n\r\n"), 200, "", true);
}

#[test]
fn broken_chunks_are_refused() {
    for (body, text) in [
        ("\r\nabc", "chunk size"),
        ("\nabc", "chunk size"),
        ("x\r\nabc", "'x' where a chunk size"),
        ("-3\r\nabc", "'-' where a chunk size"),
        (";3\r\nabc", "chunk size"),
        ("0x3\r\nabc", "'x' where a chunk size"),
        ("3\rabc", "'a' where the line"),
        ("3;a\rabc", "'a' where the line"),
        ("3\r\nabcd\r\n", "'d' where a chunk should end"),
        ("3\r\nabc\rX", "'X' where a chunk should end"),
        ("3\r\nabc3\r\n", "'3' where a chunk should end"),
        ("0\r\n\rX", "'X' where the trailer"),
    ] {
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        assert_error(response, ErrorClass::Protocol, text);
    }
}

/// A size may have any number of digits and must not overflow (RFC 9112 section 7.1).
#[test]
fn a_chunk_size_may_have_any_number_of_digits() {
    let chunked =
        |body: &str| format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
    assert_ok(&chunked("00000000000000003\r\nabc\r\n00000000000000000\r\n\r\n"), 200, "abc", true);
    for size in ["FFFFFFFFFFFFFFFF", "10000000000000000", "100000000000000003"] {
        assert_error(chunked(&format!("{size}\r\nabc")), ErrorClass::TooLarge, "longer than");
    }
    assert_error(chunked(&"0".repeat(20_000)), ErrorClass::TooLarge, "longer than");
}

#[test]
fn chunk_extensions_and_trailers_share_one_limit() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let one_long_extension = format!("{head}1;{}", "x".repeat(20_000));
    let many_extensions = format!("{head}{}", "1;0123456789\r\nx\r\n".repeat(2_000));
    let one_long_trailer = format!("{head}0\r\nX: {}", "x".repeat(20_000));
    let many_trailers = format!("{head}0\r\n{}", "X: y\r\n".repeat(4_000));
    for response in [one_long_extension, many_extensions, one_long_trailer, many_trailers] {
        assert_error(
            response,
            ErrorClass::TooLarge,
            "chunk extensions and trailers are longer than 16384 bytes",
        );
    }
    let small = format!("{head}{}0\r\nX: y\r\n\r\n", "1;0123456789\r\nx\r\n".repeat(1_000));
    assert_ok(&small, 200, &"x".repeat(1_000), true);
    let longest = |extra: usize| format!("{head}1;{}\r\nx\r\n0\r\n\r\n", "x".repeat(extra - 1));
    assert_ok(&longest(16_384), 200, "x", true);
    assert_error(longest(16_385), ErrorClass::TooLarge, "chunk extensions");
    // A size is not counted: a body may have any number of chunks.
    let sixteen = "x".repeat(16);
    let many_chunks = format!("{head}{}0\r\n\r\n", format!("10\r\n{sixteen}\r\n").repeat(20_000));
    assert_ok(&many_chunks, 200, &sixteen.repeat(20_000), true);
}

#[test]
fn transfer_encoding_overrides_content_length_and_ends_keep_alive() {
    for headers in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: Chunked\r\nContent-Length: 9999\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: nonsense\r\n",
    ] {
        let response = format!("HTTP/1.1 200 OK\r\n{headers}\r\n2\r\nhi\r\n0\r\n\r\n");
        assert_ok(&response, 200, "hi", false);
    }
    // HTTP/1.0 has no transfer codings.
    let old = "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
    assert_ok(old, 200, "hi", false);
}

#[test]
fn only_the_chunked_transfer_coding_is_accepted() {
    for coding in [
        "gzip",
        "gzip, chunked",
        "chunked, gzip",
        "chunked, chunked",
        "chunked;q=1",
        "xchunked",
        "chunked\r\nTransfer-Encoding: chunked",
    ] {
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n0\r\n\r\n");
        assert_error(response, ErrorClass::Protocol, "did not accept");
    }
    assert_ok(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: , identity, chunked,\r\n\r\n1\r\nx\r\n0\r\n\r\n",
        200,
        "x",
        true,
    );
    assert_ok(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi",
        200,
        "hi",
        false,
    );
    assert_ok("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nhi", 200, "hi", false);
}

#[test]
fn without_a_length_the_body_ends_with_the_connection() {
    assert_ok("HTTP/1.1 200 OK\r\n\r\nall of it", 200, "all of it", false);
    assert_ok("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nx", 200, "x", false);
    assert_ok("HTTP/1.1 200 OK\r\n\r\n", 200, "", false);
}

#[test]
fn responses_to_head_and_204_and_304_have_no_body() {
    for status in ["204 No Content", "304 Not Modified"] {
        for framing in [
            "",
            "Content-Length: 10\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Content-Length: x\r\n",
        ] {
            let response = format!("HTTP/1.1 {status}\r\n{framing}\r\n");
            assert_eq!(get(&response).unwrap().1, "", "{response:?}");
            assert!(get(&response).unwrap().2, "{response:?}");
        }
    }
    let response = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n";
    let head = parse(Method::Head, Limits::default(), response);
    assert_eq!(head, Ok((200, String::new(), true)));
}

#[test]
fn provisional_responses_are_skipped() {
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    let hint = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nContent-Length: 7\r\n\r\n";
    assert_ok(&format!("HTTP/1.1 100 Continue\r\n\r\n{hint}{last}"), 200, "hi", true);
    assert_ok(&format!("{}{last}", hint.repeat(100)), 200, "hi", true);
    assert_error(
        format!("{}{last}", hint.repeat(101)),
        ErrorClass::Protocol,
        "more than 100 provisional",
    );
    assert_error("HTTP/1.1 101 Switching Protocols\r\n\r\n", ErrorClass::Protocol, "101");
    assert_error(hint, ErrorClass::Truncated, "of the head");
}

#[test]
fn keep_alive_depends_on_the_version_and_the_connection_header() {
    for (version, connection, keep_alive) in [
        ("1.1", "", true),
        ("1.1", "Connection: keep-alive\r\n", true),
        ("1.1", "Connection: close\r\n", false),
        ("1.1", "Connection: Upgrade, CLOSE\r\n", false),
        ("1.1", "Connection: upgrade\r\nConnection: close\r\n", false),
        ("1.1", "Connection: closed\r\n", true),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", true),
        ("1.0", "Connection: keep-alive, close\r\n", false),
    ] {
        let response = format!("HTTP/{version} 200 OK\r\n{connection}Content-Length: 0\r\n\r\n");
        assert_ok(&response, 200, "", keep_alive);
    }
}

#[test]
fn bytes_behind_the_response_end_keep_alive() {
    let mut parser = ResponseParser::new(Method::Get, Limits::default());
    let mut recorder = Recorder::default();
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1";
    assert_eq!(parser.feed(response, &mut recorder), Ok(Progress::Complete { unread: 8 }));
    assert!(!parser.keep_alive());
    assert_eq!(recorder.body, b"hi");

    let mut parser = ResponseParser::new(Method::Get, Limits::default());
    let mut recorder = Recorder::default();
    let response = b"HTTP/1.1 204 No Content\r\n\r\n";
    assert_eq!(parser.feed(response, &mut recorder), Ok(Progress::Complete { unread: 0 }));
    assert!(parser.keep_alive());
    assert_eq!(parser.feed(b"\r\n", &mut recorder), Ok(Progress::Complete { unread: 2 }));
    assert!(!parser.keep_alive());
}

#[test]
fn heads_are_parsed_as_leniently_as_browsers_do() {
    assert_ok("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200, "hi", true);
    assert_ok("HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true);
    assert_ok("HTTP/1.1  200  OK\r\nContent-Length : 2\r\n\r\nhi", 200, "hi", true);
    assert_ok("\r\n\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true);
    assert_ok(
        "HTTP/1.1 200 \u{fc}\r\nno header at all\r\n folded\r\nX(): y\r\nContent-Length: 2\r\n\r\nhi",
        200,
        "hi",
        true,
    );
    assert_ok("HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\nhi", 999, "hi", true);
    assert_ok("HTTP/1.1 099 What\r\nContent-Length: 2\r\n\r\nhi", 99, "hi", true);
    // RFC 9112, section 2.2.
    assert_ok("HTTP/1.1 200 a\x07\rb\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true);
    assert_ok("HTTP/1.1 200 a\x07\rb\nContent-Length: 2\n\nhi", 200, "hi", true);
    // RFC 9110, section 2.5.
    assert_ok("HTTP/1.9 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true);
    // RFC 9112, section 5.2.
    assert_ok("HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\nX: a\r\n\tb\r\n\r\nhi", 200, "hi", true);
    // Names that only begin like those of the framing headers.
    assert_ok(
        "HTTP/1.1 200 OK\r\nno header\r\nContent-Length-X: 3\r\nContent-Length: 2\r\n\r\nhi",
        200,
        "hi",
        true,
    );
}

#[test]
fn header_names_are_case_insensitive() {
    struct Look;
    impl Sink for Look {
        fn head(&mut self, head: &Head<'_>) -> Result<(), FetchError> {
            assert_eq!(head.get("LOCATION"), Some(&b"/a b"[..]));
            assert_eq!(head.get("x-bytes"), Some(&b"\xff\xfe"[..]));
            assert_eq!(head.get("x-empty"), Some(&b""[..]));
            assert_eq!(head.get("locatio"), None);
            let cookies: Vec<_> = head.get_all("set-cookie").collect();
            assert_eq!(cookies, [b"a=1", b"b=2"]);
            Ok(())
        }

        fn body(&mut self, _: &[u8]) -> Result<(), FetchError> {
            Ok(())
        }
    }
    let response = b"HTTP/1.1 302 Found\r\nSet-Cookie: a=1\r\nlocation: \t/a b \r\n\
        X-Bytes: \xff\xfe\r\nset-cookie:b=2\r\nX-Empty:\r\nContent-Length: 0\r\n\r\n";
    let progress = ResponseParser::new(Method::Get, Limits::default()).feed(response, &mut Look);
    assert_eq!(progress, Ok(Progress::Complete { unread: 0 }));
}

#[test]
fn another_protocol_is_refused_at_its_first_byte() {
    for greeting in [
        "<html>",
        "SSH-2.0-OpenSSH",
        "ICY 200 OK",
        "http/1.1 200 OK",
        "HTTP/2 200",
        "HTTP 200",
        "220 ",
        "\x15\x03\x01",
        " HTTP/1.1",
    ] {
        let mut parser = ResponseParser::new(Method::Get, Limits::default());
        let error = parser.feed(greeting.as_bytes(), &mut Recorder::default()).unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol, "{greeting}");
        assert!(error.message.contains("not with HTTP/1"), "{error}");
    }
    // In slices: at the first byte that differs.
    let mut parser = ResponseParser::new(Method::Get, Limits::default());
    for byte in b"HTTP/" {
        assert_eq!(parser.feed(&[*byte], &mut Recorder::default()), Ok(Progress::NeedMore));
    }
    assert!(parser.feed(b"2", &mut Recorder::default()).is_err());
}

#[test]
fn broken_heads_are_refused() {
    for (response, text) in [
        ("HTTP/1.x 200 OK\r\n\r\n", "'HTTP/1.x 200 OK'"),
        ("HTTP/1.10 200 OK\r\n\r\n", "'HTTP/1.10 200 OK'"),
        ("HTTP/1.1 20 OK\r\n\r\n", "'HTTP/1.1 20 OK'"),
        ("HTTP/1.1 2000 OK\r\n\r\n", "status line"),
        ("HTTP/1.1 -20 OK\r\n\r\n", "status line"),
        ("HTTP/1.1 \x1b[2J\r\n\r\n", r"'HTTP/1.1 \x1b[2J'"),
        ("HTTP/1.1\r\n\r\n", "status line"),
        ("HTTP/1.1 200 OK\r\nX: \0\r\n\r\n", "header value"),
        ("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n", "header value"),
        ("HTTP/1.1 200 OK\r\nContent-Length: \x0b2\r\n\r\nhi", "the length of the body"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding\x0b: chunked\r\n\r\n0\r\n\r\n",
            "the length of the body",
        ),
        ("HTTP/1.1 200 OK\r\ncontent-length\r\n\r\nhi", "the length of the body"),
        (
            "HTTP/1.1 200 OK\r\nA: b\r\nC: d\r\nE: f\r\ncontent-length\r\n\r\nhi",
            "the length of the body",
        ),
    ] {
        assert_error(response, ErrorClass::Protocol, text);
    }
}

#[test]
fn a_truncated_response_says_how_much_arrived() {
    assert_error("", ErrorClass::Closed, "before a response began");
    assert_error("H", ErrorClass::Truncated, "after 1 bytes of the head");
    assert_error("\r\n", ErrorClass::Truncated, "after 2 bytes of the head");
    assert_error(
        "HTTP/1.1 200 OK\r\nContent-Le",
        ErrorClass::Truncated,
        "after 27 bytes of the head",
    );
    assert_error(
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhi",
        ErrorClass::Truncated,
        "after 2 of 10 bytes",
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";
    assert_error(chunked, ErrorClass::Truncated, "after 3 bytes of a chunked body");
    assert_error(
        format!("{chunked}0\r\n"),
        ErrorClass::Truncated,
        "after 3 bytes of a chunked body",
    );
}

#[test]
fn has_begun_is_true_after_the_first_byte() {
    let mut parser = ResponseParser::new(Method::Get, Limits::default());
    assert_eq!(parser.feed(b"", &mut Recorder::default()), Ok(Progress::NeedMore));
    assert!(!parser.has_begun());
    assert_eq!(parser.feed(b"H", &mut Recorder::default()), Ok(Progress::NeedMore));
    assert!(parser.has_begun());
}

#[test]
fn all_heads_of_a_response_share_one_limit() {
    let limits = Limits { head: 100, ..Limits::default() };
    let head = |length: usize| {
        let start = "HTTP/1.1 204 OK\r\nX: ";
        format!("{start}{}\r\n\r\n", "x".repeat(length - start.len() - 4))
    };
    assert!(parse(Method::Get, limits, head(100)).is_ok());
    let error = parse(Method::Get, limits, head(101)).unwrap_err();
    assert_eq!(error.class, ErrorClass::TooLarge);
    assert_eq!(error.message, "the head is longer than 100 bytes");

    let hint = "HTTP/1.1 103 Hint\r\n\r\n";
    assert!(parse(Method::Get, limits, hint.to_owned() + &head(100 - hint.len())).is_ok());
    let together = parse(Method::Get, limits, hint.to_owned() + &head(101 - hint.len()));
    assert_eq!(class(together), ErrorClass::TooLarge);
    assert_eq!(class(parse(Method::Get, limits, "\r\n".repeat(51))), ErrorClass::TooLarge);
    // The parser does not wait for the end of a head that is too long already.
    let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(100));
    assert_eq!(class(parse(Method::Get, limits, endless)), ErrorClass::TooLarge);
}

#[test]
fn the_number_of_headers_is_limited() {
    let response = |count: usize| format!("HTTP/1.1 204 OK\r\n{}\r\n", "X: y\r\n".repeat(count));
    let limited = |headers, count| {
        let limits = Limits { headers, ..Limits::default() };
        parse(Method::Get, limits, response(count))
    };
    assert!(limited(128, 128).is_ok());
    let error = limited(128, 129).unwrap_err();
    assert_eq!(error.class, ErrorClass::TooLarge);
    assert_eq!(error.message, "the response has more than 128 headers");
    assert!(limited(1_000, 256).is_ok());
    assert_eq!(class(limited(1_000, 257)), ErrorClass::TooLarge);
}

#[test]
fn a_body_is_limited_in_every_framing() {
    let limits = Limits { body: 5, ..Limits::default() };
    for (framing, five, six) in [
        ("Content-Length: 5\r\n", "abcde", None),
        ("Content-Length: 6\r\n", "", Some("")),
        (
            "Transfer-Encoding: chunked\r\n",
            "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
            Some("3\r\nabc\r\n3\r\n"),
        ),
        ("Transfer-Encoding: chunked\r\n", "5\r\nabcde\r\n0\r\n\r\n", Some("ffffffffffffffff\r\n")),
        (
            "Transfer-Encoding: chunked\r\n",
            "5\r\nabcde\r\n0\r\n\r\n",
            Some("1\r\na\r\nffffffffffffffff\r\n"),
        ),
        ("", "abcde", Some("abcdef")),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\n{framing}\r\n");
        if !five.is_empty() {
            let parsed = parse(Method::Get, limits, format!("{head}{five}"));
            assert_eq!(parsed.unwrap().1, "abcde", "{framing}");
        }
        if let Some(six) = six {
            let error = parse(Method::Get, limits, format!("{head}{six}")).unwrap_err();
            assert_eq!(error.class, ErrorClass::TooLarge, "{framing}{six:?}");
            assert_eq!(error.message, "the body is longer than 5 bytes");
        }
    }
}

/// A sink that ends the body itself gets one of any length.
#[test]
fn a_sink_may_have_no_limit() {
    #[derive(Default)]
    struct Endless(u64);
    impl Sink for Endless {
        fn head(&mut self, _: &Head<'_>) -> Result<(), FetchError> {
            Ok(())
        }

        fn has_body_limit(&self) -> bool {
            false
        }

        fn body(&mut self, bytes: &[u8]) -> Result<(), FetchError> {
            self.0 += bytes.len() as u64;
            Ok(())
        }
    }
    let limits = Limits { body: 5, ..Limits::default() };
    for response in [
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabcdef",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nabcdef",
    ] {
        let (mut parser, mut sink) = (ResponseParser::new(Method::Get, limits), Endless::default());
        parser.feed(response.as_bytes(), &mut sink).unwrap();
        assert_eq!((parser.end(), sink.0), (Ok(()), 6), "{response:?}");
    }
}

#[test]
fn a_sink_can_end_the_response() {
    struct Refuse {
        head: bool,
    }
    impl Sink for Refuse {
        fn head(&mut self, _: &Head<'_>) -> Result<(), FetchError> {
            if self.head {
                return Err(FetchError::new(ErrorClass::Decode, "no"));
            }
            Ok(())
        }

        fn body(&mut self, _: &[u8]) -> Result<(), FetchError> {
            Err(FetchError::new(ErrorClass::Decode, "no"))
        }
    }
    for head in [true, false] {
        let mut parser = ResponseParser::new(Method::Get, Limits::default());
        let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
        let error = parser.feed(response, &mut Refuse { head }).unwrap_err();
        assert_eq!(error.class, ErrorClass::Decode);
        assert!(!parser.keep_alive());
        // The error is final: later bytes do not change it.
        assert!(parser.feed(b"x", &mut Refuse { head }).is_err());
        assert!(parser.end().is_err());
    }
}

#[test]
fn text_from_a_server_is_escaped_and_shortened() {
    assert_eq!(printable(b"plain 'text' \"with\" \\ quotes"), "plain 'text' \"with\" \\ quotes");
    assert_eq!(printable(b"\x1b[2J\r\n\0\x7f\xff"), r"\x1b[2J\r\n\x00\x7f\xff");
    assert_eq!(printable("\u{fc}".as_bytes()), r"\xc3\xbc");
    assert_eq!(printable(&[b'x'; 80]), "x".repeat(80));
    assert_eq!(printable(&[b'x'; 81]), "x".repeat(80) + "...");
}
