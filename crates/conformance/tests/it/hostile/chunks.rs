//! The chunked transfer coding, valid and invalid (RFC 9112, section 7.1).

use crawl_core::ErrorClass::{Protocol, TooLarge, Truncated};

use super::behaviour::{Behaviour, closes_after, html, ok, runs, sends};
use crate::common::{failed, other, page};

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    const SIZE: &str = "a chunk size is one or more hexadecimal digits";
    const END: &str = "the data of a chunk end with CRLF";
    const BOUNDED: &str = "section 7.1.1: extensions and trailers are to be limited";
    const OVERFLOW: &str = "beware of overflow, for it is a size still";
    const LENIENT: &str = "section 2.2: a bare LF may be read as the end of a line";
    let chunks = |rest: &str| ok("Transfer-Encoding: chunked\r\n\r\n") + rest;
    let invalid = |path: &str, why, body: &str, size| {
        let expected_row = failed(Protocol).status(200).size(size);
        sends(&format!("/chunks/{path}"), why, chunks(body), expected_row)
    };
    let valid = |path: &str, why, body: &str, size| {
        sends(&format!("/chunks/{path}"), why, chunks(body), other(size))
    };
    let large = |path: &str, why, body: &str, size| {
        let expected_row = failed(TooLarge).status(200).size(size);
        sends(&format!("/chunks/{path}"), why, chunks(body), expected_row)
    };
    vec![
        invalid("no-hex", SIZE, "xyz\r\n", 0),
        invalid("negative", SIZE, "-4\r\ntext\r\n0\r\n\r\n", 0),
        invalid("signed", SIZE, "+4\r\ntext\r\n0\r\n\r\n", 0),
        invalid("prefixed", SIZE, "0x4\r\ntext\r\n0\r\n\r\n", 0),
        invalid("empty-size", SIZE, "\r\ntext\r\n0\r\n\r\n", 0),
        invalid("only-an-extension", SIZE, ";a=b\r\ntext\r\n0\r\n\r\n", 0),
        invalid("blank-before-size", SIZE, " 4\r\ntext\r\n0\r\n\r\n", 0),
        invalid("comma", SIZE, "1,0\r\ntext\r\n0\r\n\r\n", 0),
        invalid("nul", SIZE, "4\0\r\ntext\r\n0\r\n\r\n", 0),
        invalid("no-chunks", SIZE, "<a href=/>home</a>", 0),
        invalid("bare-cr-after-size", SIZE, "4\rtext\r\n0\r\n\r\n", 0),
        invalid("bare-cr-in-extension", SIZE, "4;a\rb\r\ntext\r\n0\r\n\r\n", 0),
        invalid("no-end", END, "4\r\ntext4\r\nmore\r\n0\r\n\r\n", 4),
        invalid("longer-than-announced", END, "4\r\ntext and more\r\n0\r\n\r\n", 4),
        invalid("shorter-than-announced", END, "8\r\ntext\r\n0\r\n\r\n", 8),
        invalid("bare-cr-after-data", END, "4\r\ntext\r0\r\n\r\n", 4),
        invalid("second-is-bad", SIZE, "4\r\ntext\r\nZ\r\n", 4),
        invalid("bare-cr-in-trailers", SIZE, "4\r\ntext\r\n0\r\n\rX", 4),
        large("16-digits", OVERFLOW, "FFFFFFFFFFFFFFFF\r\ntext", 0),
        large("17-digits", OVERFLOW, "10000000000000004\r\ntext\r\n0\r\n\r\n", 0),
        large("a-hundred-digits", OVERFLOW, &("F".repeat(100) + "\r\ntext\r\n0\r\n\r\n"), 0),
        large("endless-zeros", BOUNDED, &"0".repeat(100_000), 0),
        large(
            "long-extension",
            BOUNDED,
            &format!("4;{}\r\ntext\r\n0\r\n\r\n", "x".repeat(1 << 20)),
            0,
        ),
        large("many-extensions", BOUNDED, &"1;abcdefgh\r\nx\r\n".repeat(10_000), 1820),
        large(
            "long-trailer",
            BOUNDED,
            &format!("4\r\ntext\r\n0\r\nX: {}\r\n\r\n", "x".repeat(1 << 20)),
            4,
        ),
        large(
            "many-trailers",
            BOUNDED,
            &("4\r\ntext\r\n0\r\n".to_owned() + &"A: b\r\n".repeat(90_000)),
            4,
        ),
        valid("leading-zeros", SIZE, "00000000000000000000004\r\ntext\r\n0\r\n\r\n", 4),
        valid("many-zeros-at-the-end", SIZE, "4\r\ntext\r\n00000000000000000000000\r\n\r\n", 4),
        valid("any-case", SIZE, "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n", 20),
        valid("blank-after-size", "section 7.1.1: BWS", "4 \t\r\ntext\r\n0 \r\n\r\n", 4),
        valid(
            "extension",
            "section 7.1.1: to be ignored",
            "4;a=\"b;c\";d\r\ntext\r\n0;e\r\n\r\n",
            4,
        ),
        valid(
            "trailers",
            "section 7.1.2",
            "4\r\ntext\r\n0\r\nA: b\r\nContent-Length: 9\r\n\r\n",
            4,
        ),
        valid("bare-line-feeds", LENIENT, "4\ntext\n0\n\n", 4),
        valid(
            "an-end-in-the-data",
            "a chunk is as long as it is",
            "7\r\n\r\n0\r\n\r\n\r\n0\r\n\r\n",
            7,
        ),
        valid(
            "many-small",
            "there may be any number",
            &("1\r\nx\r\n".repeat(10_000) + "0\r\n\r\n"),
            10_000,
        ),
        valid("nothing", "the last chunk may be the first", "0\r\n\r\n", 0),
        valid(
            "more-after-the-end",
            "what nobody asked for",
            "4\r\ntext\r\n0\r\n\r\n4\r\nmore\r\n",
            4,
        ),
        closes_after(
            "/chunks/no-last",
            "section 8: incomplete",
            html("Transfer-Encoding: chunked\r\n\r\n12\r\n<a href=/>home</a>\r\n"),
            failed(Truncated).status(200).size(18).num_urls(1),
        ),
        runs(
            "/chunks/one-byte-at-a-time",
            "how it was cut means nothing",
            |_, reply| {
                let body =
                    html("Transfer-Encoding: chunked\r\n\r\n12\r\n<a href=/>home</a>\r\n0\r\n\r\n");
                body.bytes().for_each(|byte| reply.send([byte]));
            },
            page("<a href=/>home</a>", 1),
        ),
    ]
}
