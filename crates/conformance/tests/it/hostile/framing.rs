//! Message framing: body lengths and transfer codings, and their contradictions.

use crawl_core::ErrorClass::{Protocol, TooLarge, Truncated};

use super::behaviour::{Behaviour, closes_after, html, ok, sends};
use crate::common::{failed, other, page};

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    let mut all = lengths();
    all.extend(codings());
    all
}

fn lengths() -> Vec<Behaviour> {
    const DIGITS: &str = "RFC 9110, section 8.6: a length is one or more digits";
    const SAME: &str = "RFC 9110, section 8.6: the same length may be repeated";
    const INVALID: &str = "RFC 9112, section 6.3: lengths that contradict each other are an error";
    const OVERFLOW: &str = "RFC 9110, section 8.6: beware of overflow, for it is a length still";
    let length = |value: &str| ok("Content-Length: ") + value + "\r\n\r\ntext";
    let invalid = |path: &str, why, value: &str| {
        sends(&format!("/framing/{path}"), why, length(value), failed(Protocol))
    };
    let valid = |path: &str, why, value: &str| {
        sends(&format!("/framing/{path}"), why, length(value), other(4))
    };
    let large = |path: &str, value: &str| {
        sends(&format!("/framing/{path}"), OVERFLOW, length(value), failed(TooLarge).status(200))
    };
    vec![
        invalid("negative", DIGITS, "-4"),
        invalid("signed", DIGITS, "+4"),
        invalid("hexadecimal", DIGITS, "0x4"),
        invalid("fraction", DIGITS, "4.0"),
        invalid("exponent", DIGITS, "4e0"),
        invalid("two-numbers", DIGITS, "4 4"),
        invalid("empty", DIGITS, ""),
        invalid("comma", DIGITS, ","),
        invalid("with-parameter", DIGITS, "4;q=1"),
        invalid("with-unit", DIGITS, "4 bytes"),
        invalid("other-digits", DIGITS, "\u{664}"),
        invalid("list-of-two", INVALID, "4, 5"),
        invalid("list-with-rubbish", INVALID, "4, x"),
        invalid("two-lines", INVALID, "4\r\nContent-Length: 5"),
        invalid("second-is-rubbish", INVALID, "4\r\nContent-Length: x"),
        valid("repeated", SAME, "4\r\nContent-Length: 4"),
        valid("list-of-same", SAME, "4, 4,4"),
        valid("leading-zeros", DIGITS, "0000000000000000000000000000004"),
        valid("padded", "RFC 9110, section 5.5: blanks around a value are none of it", " \t 4 \t "),
        large("2-to-the-63", "9223372036854775808"),
        large("2-to-the-64", "18446744073709551616"),
        large("2-to-the-64-and-4", "18446744073709551620"),
        large("a-hundred-digits", &"9".repeat(100)),
        sends(
            "/framing/longer-than-announced",
            "RFC 9112, section 6.3: the length decides; nobody asked for the rest",
            ok("Content-Length: 4\r\n\r\ntext and more"),
            other(4),
        ),
        closes_after(
            "/framing/shorter-than-announced",
            "RFC 9112, section 8: incomplete",
            html("Content-Length: 5\r\n\r\ntext"),
            failed(Truncated).status(200).size(4),
        ),
    ]
}

fn codings() -> Vec<Behaviour> {
    const BOTH: &str = "RFC 9112, section 6.3: the transfer coding overrides the length";
    const UNKNOWN: &str = "RFC 9112, section 6.1: a coding that is not known cannot be undone";
    const CHUNKS: &str = "\r\n\r\n4\r\ntext\r\n0\r\n\r\n";
    let coded = |value: &str| ok("Transfer-Encoding: ") + value + CHUNKS;
    let invalid = |path: &str, why, value: &str| {
        closes_after(&format!("/framing/{path}"), why, coded(value), failed(Protocol))
    };
    let valid = |path: &str, why, value: &str| {
        sends(&format!("/framing/{path}"), why, coded(value), other(4))
    };
    vec![
        valid("coding-and-length", BOTH, "chunked\r\nContent-Length: 3"),
        valid("coding-and-two-lengths", BOTH, "chunked\r\nContent-Length: 3\r\nContent-Length: 5"),
        valid("coding-and-negative-length", BOTH, "chunked\r\nContent-Length: -1"),
        valid("coding-in-any-case", "RFC 9112, section 7: case-insensitive", "cHuNkEd"),
        valid("empty-elements", "RFC 9110, section 5.6.1: to be ignored", ", chunked ,"),
        invalid("unknown-coding", UNKNOWN, "magic"),
        invalid("unknown-coding-first", UNKNOWN, "magic, chunked"),
        invalid("gzip-first", "RFC 9110, section 10.1.4: not asked for with TE", "gzip, chunked"),
        invalid("chunked-not-last", UNKNOWN, "chunked, gzip"),
        invalid(
            "chunked-twice",
            "RFC 9112, section 7.1: to be applied only once",
            "chunked, chunked",
        ),
        invalid(
            "chunked-on-two-lines",
            "RFC 9112, section 7.1: to be applied only once",
            "chunked\r\nTransfer-Encoding: chunked",
        ),
        invalid("almost-chunked", UNKNOWN, "xchunked"),
        invalid("quoted", UNKNOWN, "\"chunked\""),
        invalid("chunked-with-parameter", "RFC 9112, section 7.1: an error", "chunked;q=1"),
        invalid("vertical-tab", UNKNOWN, "\u{b}chunked"),
        closes_after(
            "/framing/identity",
            "RFC 2616, section 3.6: identity is no coding at all; RFC 9112, section 6.3: to the end",
            ok("Transfer-Encoding: identity\r\n\r\ntext"),
            other(4),
        ),
        closes_after(
            "/framing/chunked-in-the-old-version",
            "RFC 9112, section 6.1: to be read, and the connection to be closed",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked".to_owned() + CHUNKS,
            other(4),
        ),
        closes_after(
            "/framing/old-version-with-keep-alive",
            "RFC 9112, section 9.3: may be closed at any time",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Type: text/html\r\n\
             Content-Length: 18\r\n\r\n<a href=/>home</a>",
            page("<a href=/>home</a>", 1),
        ),
    ]
}
