//! Status lines and headers.

use crawl_core::ErrorClass::{Protocol, TooLarge};

use super::behaviour::{Behaviour, closes_after, html, ok, runs, sends};
use crate::common::{failed, http_error, other, page, redirect};

/// The number of pieces of an endless head, ten million bytes in all. The client
/// closes long before the last.
const PIECES: usize = 160;

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    let mut all = status_lines();
    all.extend(headers());
    all.extend(large_heads());
    all.extend(provisional());
    all.extend(without_body());
    all
}

fn status_lines() -> Vec<Behaviour> {
    const REST: &str = "\r\nContent-Length: 4\r\n\r\ntext";
    const VERSION: &str = "RFC 9112, section 2.3: HTTP-name \"/\" DIGIT \".\" DIGIT";
    const CODE: &str = "RFC 9112, section 4: a status code is three digits";
    const REASON: &str = "RFC 9112, section 4: a client should ignore the reason phrase";
    const RANGE: &str = "RFC 9110, section 15: a status outside 100 to 599 is read as a 5xx";
    let invalid = |path: &str, why, line: &str| {
        sends(&format!("/heads/{path}"), why, format!("{line}{REST}"), failed(Protocol))
    };
    let valid = |path: &str, why, line: &str| {
        sends(&format!("/heads/{path}"), why, format!("{line}{REST}"), other(4))
    };
    vec![
        invalid("http-2", VERSION, "HTTP/2 200"),
        invalid("http-2.0", "RFC 9110, section 2.5: another major version", "HTTP/2.0 200 OK"),
        invalid("http-0.9-version", "RFC 9110, section 2.5: another major version", "HTTP/0.9 200"),
        invalid("two-digits-of-version", VERSION, "HTTP/1.10 200 OK"),
        invalid("lower-case-name", "RFC 9112, section 2.3: case-sensitive", "http/1.1 200 OK"),
        invalid("another-name", VERSION, "ICY 200 OK"),
        invalid("a-request", VERSION, "GET / HTTP/1.1"),
        invalid("no-status", CODE, "HTTP/1.1"),
        invalid("letters", CODE, "HTTP/1.1 abc OK"),
        invalid("one-digit", CODE, "HTTP/1.1 2 OK"),
        invalid("two-digits", CODE, "HTTP/1.1 20 OK"),
        invalid("four-digits", CODE, "HTTP/1.1 2000 OK"),
        invalid("twenty-digits", CODE, "HTTP/1.1 20000000000000000000 OK"),
        invalid("negative", CODE, "HTTP/1.1 -200 OK"),
        invalid("signed", CODE, "HTTP/1.1 +20 OK"),
        invalid("hexadecimal", CODE, "HTTP/1.1 0xC8 OK"),
        invalid("other-digits", CODE, "HTTP/1.1 \u{662}\u{660}\u{660} OK"),
        invalid("control-in-status", CODE, "HTTP/1.1 2\x1b[31m"),
        invalid("control-after-status", CODE, "HTTP/1.1 200\x1b[31m"),
        valid("control-in-reason", REASON, "HTTP/1.1 200 \x1b[31m"),
        valid("title-in-reason", REASON, "HTTP/1.1 200 \x1b]0;owned\x07 \x08\x7f"),
        valid("nul-in-reason", REASON, "HTTP/1.1 200 O\0K"),
        valid("bare-cr-in-reason", REASON, "HTTP/1.1 200 O\rK: \r"),
        valid(
            "later-version",
            "RFC 9110, section 2.5: read as the last one known",
            "HTTP/1.9 200 OK",
        ),
        valid("no-reason", "RFC 9112, section 4: may be empty", "HTTP/1.1 200 "),
        valid("no-blank", "RFC 9112, section 4: read leniently", "HTTP/1.1 200"),
        valid("blanks", "RFC 9112, section 4: may be read as one", "HTTP/1.1   200   OK"),
        valid("8-bit-reason", "RFC 9112, section 4: obs-text", "HTTP/1.1 200 \u{fc}"),
        valid("long-reason", "RFC 9112, section 4: ignored", &format!("HTTP/1.1 200 {:9999}", "x")),
        valid("lines-before", "RFC 9112, section 2.2: read leniently", "\r\n\r\nHTTP/1.1 200 OK"),
        sends("/heads/zero", RANGE, format!("HTTP/1.1 000 No{REST}"), http_error(0, 4)),
        sends("/heads/below", RANGE, format!("HTTP/1.1 099 No{REST}"), http_error(99, 4)),
        sends("/heads/above", RANGE, format!("HTTP/1.1 600 No{REST}"), http_error(600, 4)),
        sends("/heads/last", RANGE, format!("HTTP/1.1 999 No{REST}"), http_error(999, 4)),
        sends(
            "/heads/unknown-2xx",
            "RFC 9110, section 15: as 200",
            format!("HTTP/1.1 299 Fine{REST}"),
            other(4).status(299),
        ),
        sends(
            "/heads/unknown-4xx",
            "RFC 9110, section 15: as 400",
            format!("HTTP/1.1 499 Gone fishing{REST}"),
            http_error(499, 4),
        ),
        closes_after(
            "/heads/http-0.9",
            "RFC 9112, section 2: a message begins with a line that says what it is",
            "<a href=/>home</a>",
            failed(Protocol),
        ),
        closes_after(
            "/heads/another-protocol",
            "RFC 9112, section 2: a message begins with a line that says what it is",
            "SSH-2.0-OpenSSH_9.9\r\n",
            failed(Protocol),
        ),
        sends(
            "/heads/http-2-settings",
            "RFC 9113, section 3.4: a SETTINGS frame, for whoever has begun with the preface",
            *b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64",
            failed(Protocol),
        ),
        sends(
            "/heads/http-2-preface",
            "RFC 9113, section 3.4: it is for clients to say",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            failed(Protocol),
        ),
        sends(
            "/heads/tls-alert",
            "RFC 8446, section 6: an alert, from who expected TLS",
            *b"\x15\x03\x01\0\x02\x02\x16",
            failed(Protocol),
        ),
    ]
}

fn headers() -> Vec<Behaviour> {
    const FOLD: &str = "RFC 9112, section 5.2: a folded line is one, with blanks";
    const INVALID: &str = "RFC 9110, section 5.5: with CR or NUL to be rejected";
    const LENIENT: &str = "what is no header is passed over, as browsers do";
    const TYPE: &str = "RFC 9110, section 8.3: type \"/\" subtype";
    let text = |rest: &str| ok("Content-Length: 4\r\n") + rest + "\r\n\r\ntext";
    vec![
        sends("/heads/nul", INVALID, text("X: a\0b"), failed(Protocol)),
        sends("/heads/bare-cr", INVALID, text("X: a\rb"), failed(Protocol)),
        sends(
            "/heads/nul-in-length",
            INVALID,
            ok("Content-Length: 4\0\r\n\r\ntext"),
            failed(Protocol),
        ),
        sends("/heads/8-bit", "RFC 9110, section 5.5: obs-text", text("X: \u{fc}\u{9b}"), other(4)),
        sends("/heads/8-bit-name", LENIENT, text("\u{fc}: a"), other(4)),
        sends("/heads/no-colon", LENIENT, text("no header at all"), other(4)),
        sends("/heads/no-name", LENIENT, text(": nothing"), other(4)),
        sends("/heads/blank-in-name", LENIENT, text("Two words: a"), other(4)),
        sends(
            "/heads/blank-before-colon",
            "RFC 9112, section 5.1: it is to be removed",
            ok("Content-Length : 4\r\n\r\ntext"),
            other(4),
        ),
        sends(
            "/heads/blank-before-first",
            "RFC 9112, section 2.2: to be passed over",
            ok(" X: a\r\nContent-Length: 4\r\n\r\ntext"),
            other(4),
        ),
        sends(
            "/heads/any-case",
            "RFC 9110, section 5.1",
            ok("cOnTeNt-LeNgTh:4\r\n\r\ntext"),
            other(4),
        ),
        sends("/heads/fold", FOLD, text("X: a\r\n b\r\n\tc"), other(4)),
        sends("/heads/fold-in-length", FOLD, ok("Content-Length:\r\n 4\r\n\r\ntext"), other(4)),
        sends(
            "/heads/fold-in-coding",
            FOLD,
            ok("Transfer-Encoding:\r\n\tchunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n"),
            other(4),
        ),
        sends(
            "/heads/fold-in-type",
            FOLD,
            html("").trim_end().to_owned()
                + ";\r\n charset=koi8-r\r\nContent-Length: 4\r\n\r\ntext",
            page("text", 0),
        )
        .content_type("text/html")
        .encoding("koi8-r"),
        sends(
            "/heads/fold-in-location",
            FOLD,
            "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation:\r\n  /beside/heads/fold\r\n\r\n",
            redirect(302, "/beside/heads/fold"),
        ),
        sends("/heads/no-type", "RFC 9110, section 8.3: unknown", text("X: a"), other(4))
            .content_type(""),
        sends("/heads/garbage-type", TYPE, text("Content-Type: \x1b]0;title\x07"), other(4))
            .content_type(""),
        sends("/heads/bidi-type", TYPE, text("Content-Type: text/\u{202e}lmth"), other(4))
            .content_type(""),
        sends("/heads/half-a-type", TYPE, text("Content-Type: html"), other(4)).content_type(""),
        sends(
            "/heads/c1-charset",
            TYPE,
            text("Content-Type: text/html; charset=\u{9b}31m"),
            page("text", 0),
        )
        .content_type("text/html"),
        sends(
            "/heads/two-types",
            "the first counts",
            text("Content-Type: text/html\r\nContent-Type: image/png"),
            page("text", 0),
        )
        .content_type("text/html"),
        sends("/heads/upper-case-type", TYPE, text("Content-Type: TEXT/HTML"), page("text", 0))
            .content_type("text/html"),
        sends(
            "/heads/bare-line-feeds",
            "RFC 9112, section 2.2: may be read as line ends",
            "HTTP/1.1 200 OK\nContent-Length: 4\n\ntext",
            other(4),
        ),
    ]
}

fn large_heads() -> Vec<Behaviour> {
    const BOUNDED: &str = "a head has a limit, of 64 KiB and 128 headers";
    vec![
        runs(
            "/heads/endless-status-line",
            BOUNDED,
            |_, reply| {
                reply.send("HTTP/1.1 200 ");
                (0..PIECES).for_each(|_| reply.send([b'x'; 65_536]));
            },
            failed(TooLarge),
        ),
        runs(
            "/heads/endless-header",
            BOUNDED,
            |_, reply| {
                reply.send("HTTP/1.1 200 OK\r\nX: ");
                (0..PIECES).for_each(|_| reply.send([b'x'; 65_536]));
                reply.send("\r\nContent-Length: 0\r\n\r\n");
            },
            failed(TooLarge),
        ),
        runs(
            "/heads/endless-headers",
            BOUNDED,
            |_, reply| {
                reply.send("HTTP/1.1 200 OK\r\n");
                (0..PIECES).for_each(|_| reply.send("Set-Cookie: crumb=1\r\n".repeat(3000)));
            },
            failed(TooLarge),
        ),
        runs(
            "/heads/endless-blank-lines",
            BOUNDED,
            |_, reply| (0..PIECES).for_each(|_| reply.send("\r\n".repeat(30_000))),
            failed(TooLarge),
        ),
        sends(
            "/heads/five-thousand-headers",
            BOUNDED,
            ok("") + &"A: b\r\n".repeat(5_000) + "\r\n",
            failed(TooLarge),
        ),
        sends(
            "/heads/129-headers",
            BOUNDED,
            ok("Content-Length: 0\r\n") + &"A: b\r\n".repeat(128) + "\r\n",
            failed(TooLarge),
        ),
        sends(
            "/heads/128-headers",
            BOUNDED,
            ok("Content-Length: 0\r\n") + &"A: b\r\n".repeat(127) + "\r\n",
            other(0),
        ),
        sends(
            "/heads/60-kilobytes",
            BOUNDED,
            ok("Content-Length: 4\r\nX: ") + &"x".repeat(60_000) + "\r\n\r\ntext",
            other(4),
        ),
    ]
}

fn provisional() -> Vec<Behaviour> {
    const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    const INTERIM: &str = "RFC 9110, section 15.2: before the final response, and without a body";
    vec![
        sends(
            "/heads/provisional",
            INTERIM,
            CONTINUE.repeat(3)
                + "HTTP/1.1 199 Soon\r\nA: b\r\n\r\n"
                + &ok("Content-Length: 4\r\n\r\ntext"),
            other(4),
        ),
        sends(
            "/heads/twenty-provisional",
            "RFC 9110, section 15.2 has no limit on how many",
            "HTTP/1.1 102 Processing\r\n\r\n".repeat(20) + &ok("Content-Length: 4\r\n\r\ntext"),
            other(4),
        ),
        sends(
            "/heads/provisional-with-length",
            INTERIM,
            "HTTP/1.1 103 Early Hints\r\nContent-Length: 99\r\n\r\n".to_owned()
                + &ok("Content-Length: 4\r\n\r\ntext"),
            other(4),
        ),
        runs(
            "/heads/endless-provisional",
            "RFC 9110, section 15.2 has no limit on how many; we have",
            |_, reply| (0..PIECES).for_each(|_| reply.send(CONTINUE.repeat(2000))),
            failed(Protocol),
        ),
        sends(
            "/heads/switching-protocols",
            "RFC 9110, section 15.2.2: only for who has asked to upgrade",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
            failed(Protocol),
        ),
    ]
}

fn without_body() -> Vec<Behaviour> {
    const NONE: &str = "RFC 9112, section 6.3: 204 and 304 end with the head, whatever it says";
    vec![
        sends(
            "/heads/204-with-body",
            NONE,
            "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\ntext",
            other(0).status(204),
        ),
        sends(
            "/heads/204-with-chunks",
            NONE,
            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
            other(0).status(204),
        ),
        sends(
            "/heads/304-with-length",
            NONE,
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n",
            other(0).status(304),
        ),
        sends(
            "/heads/304-with-body",
            NONE,
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\ntext",
            other(0).status(304),
        ),
        sends(
            "/heads/205-with-body",
            "RFC 9110, section 15.3.6: none may be sent, but it is framed like any",
            "HTTP/1.1 205 Reset Content\r\nContent-Length: 4\r\n\r\ntext",
            other(4).status(205),
        ),
        sends(
            "/heads/206-unasked",
            "RFC 9110, section 15.3.7: a part, for the status says so",
            "HTTP/1.1 206 Part\r\nContent-Range: bytes 0-3/99\r\nContent-Length: 4\r\n\r\ntext",
            other(4).status(206),
        ),
    ]
}
