//! Cut responses: a FIN or RST in every phase of a response.

use std::time::Duration;

use crawl_core::ErrorClass::{Closed, Truncated};
use demo_site::scripted::{Reply, Request};

use super::behaviour::{Behaviour, closes_after, html, ok, runs};
use crate::common::{ExpectedRow, failed, other, page};

/// The time between the last bytes and a reset, which might overtake them.
const HEAD_START: Duration = Duration::from_millis(100);

const CUT: &str = "RFC 9112, section 8: what is not whole is incomplete";

/// Returns the phases in which a response is cut, each with the bytes sent by
/// then and the expected row.
fn phases() -> Vec<(&'static str, String, ExpectedRow)> {
    let chunked = |rest: &str| ok("Transfer-Encoding: chunked\r\n\r\n") + rest;
    let head = || failed(Truncated);
    let body = |size| failed(Truncated).status(200).size(size);
    vec![
        ("nothing", String::new(), failed(Closed)),
        ("one-byte", "H".into(), head()),
        ("status-line", "HTTP/1.1 20".into(), head()),
        ("status-line-end", "HTTP/1.1 200 OK\r".into(), head()),
        ("header-name", ok("Content-Le"), head()),
        ("header-value", ok("Content-Type: text/ht"), head()),
        ("head-end", ok("Content-Length: 4\r\n\r"), head()),
        ("provisional", "HTTP/1.1 103 Early Hints\r\n\r\n".into(), head()),
        ("after-head", ok("Content-Length: 4\r\n\r\n"), body(0)),
        ("body", ok("Content-Length: 5\r\n\r\ntext"), body(4)),
        ("page", html("Content-Length: 99\r\n\r\n<a href=/>home</a>"), body(18).num_urls(1)),
        ("before-chunks", chunked(""), body(0)),
        ("chunk-size", chunked("4"), body(0)),
        ("chunk-size-end", chunked("4\r"), body(0)),
        ("chunk-extension", chunked("4;a=\"b"), body(0)),
        ("chunk", chunked("4\r\nte"), body(2)),
        ("chunk-end", chunked("4\r\ntext"), body(4)),
        ("between-chunks", chunked("4\r\ntext\r\n"), body(4)),
        ("last-chunk", chunked("4\r\ntext\r\n0"), body(4)),
        // Section 7.1: the empty line belongs to the coding.
        ("before-trailers", chunked("4\r\ntext\r\n0\r\n"), body(4)),
        ("trailer", chunked("4\r\ntext\r\n0\r\nExpires: ne"), body(4)),
        ("trailers-end", chunked("4\r\ntext\r\n0\r\nA: b\r\n\r"), body(4)),
    ]
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    let mut behaviours = Vec::new();
    for (phase, bytes, expected_row) in phases() {
        behaviours.push(closes_after(
            &format!("/cut/fin/{phase}"),
            CUT,
            &*bytes,
            expected_row.clone(),
        ));
        let reset = move |_: &Request, reply: &mut Reply<'_>| {
            reply.send(&bytes);
            reply.sleep(HEAD_START);
            reply.reset();
        };
        behaviours.push(runs(format!("/cut/rst/{phase}"), CUT, reset, expected_row));
    }
    behaviours.extend([
        closes_after(
            "/cut/fin/until-end",
            "RFC 9112, section 6.3: the end of the connection is the end of the body",
            html("\r\n<a href=/>home</a>"),
            page("<a href=/>home</a>", 1),
        ),
        closes_after(
            "/cut/fin/until-end-without-body",
            "RFC 9112, section 6.3: an empty body is one",
            ok("\r\n"),
            other(0),
        ),
        runs(
            "/cut/rst/until-end",
            "RFC 9112, section 8: an end that is no end of good order is none",
            |_, reply| {
                reply.send(html("\r\n<a href=/>home</a>"));
                reply.sleep(HEAD_START);
                reply.reset();
            },
            failed(Truncated).status(200).size(18).num_urls(1),
        ),
    ]);
    behaviours
}
