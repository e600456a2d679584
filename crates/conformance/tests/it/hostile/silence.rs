//! Silent and slow servers, and the two timeouts that end their fetches.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crawl_core::ErrorClass::{Protocol, Timeout};
use crawl_core::{Options, Outcome, Sink};

use demo_site::scripted::{Reply, Request};

use super::behaviour::{Behaviour, html, ok, runs};
use crate::common::{ExpectedRow, WATCHDOG, failed, links, options, serve};

/// The pause between two pieces of a dripping response.
const PAUSE: Duration = Duration::from_millis(20);

/// Sets timeouts that are short, but long enough for a server that answers, on a machine
/// that is busy with other tests.
pub(crate) fn short_timeouts(options: &mut Options) {
    options.settings.read_timeout = Duration::from_secs(2);
    options.settings.timeout = Duration::from_secs(4);
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    let chunked = |rest: &str| ok("Transfer-Encoding: chunked\r\n\r\n") + rest;
    let head = || failed(Timeout);
    let body = |size| failed(Timeout).status(200).size(size);
    let silent = |path: &str, first: String, expected_row: ExpectedRow| {
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            reply.send(&first);
            reply.sleep(WATCHDOG);
        };
        runs(
            format!("/silence/{path}"),
            "whoever waits for nothing has a limit",
            script,
            expected_row,
        )
    };
    let dripping = |path: &str, first: String, piece: &'static str, expected_row: ExpectedRow| {
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            reply.send(&first);
            reply.drip(piece.repeat(10_000), piece.len(), PAUSE);
        };
        runs(
            format!("/silence/dripping-{path}"),
            "and so has the whole of a try",
            script,
            expected_row,
        )
        .with_any_size()
    };
    vec![
        silent("at-once", String::new(), head()),
        silent("status-line", "HTTP/1.1 2".into(), head()),
        silent("head", ok("Content-Type: text/html\r\nContent-"), head()),
        silent("after-provisional", "HTTP/1.1 100 Continue\r\n\r\n".into(), head()),
        silent("before-the-body", html("Content-Length: 4\r\n\r\n"), body(0)),
        silent("body", ok("Content-Length: 5\r\n\r\ntext"), body(4)),
        silent("page", html("Content-Length: 99\r\n\r\n<a href=/>home</a>"), body(18).num_urls(1)),
        silent("until-the-end", html("\r\n<a href=/>home</a>"), body(18).num_urls(1)),
        silent("before-chunks", chunked(""), body(0)),
        silent("chunk-size", chunked("4"), body(0)),
        silent("chunk-extension", chunked("4;a"), body(0)),
        silent("chunk", chunked("4\r\nte"), body(2)),
        silent("between-chunks", chunked("4\r\ntext\r\n"), body(4)),
        silent("trailers", chunked("4\r\ntext\r\n0\r\nA: b"), body(4)),
        dripping("blank-lines", String::new(), "\r\n", head()),
        dripping("status-line", "HTTP/1.1 200 ".into(), "x", head()),
        dripping("header", ok("X: "), "x", head()),
        dripping("headers", ok(""), "A: b\r\n", head()),
        dripping("body", ok("Content-Length: 99999\r\n\r\n"), "x", body(0)),
        dripping("page", html("Content-Length: 99999\r\n\r\n"), "<", body(0)),
        dripping("until-the-end", ok("\r\n"), "x", body(0)),
        dripping("chunk-size", chunked(""), "0", body(0)),
        dripping("chunk-extension", chunked("4;"), "x", body(0)),
        dripping("chunk", chunked("ffff\r\n"), "x", body(0)),
        dripping("chunks", chunked(""), "1\r\nx\r\n", body(0)),
        dripping("trailer", chunked("0\r\nA: "), "x", body(0)),
        dripping("trailers", chunked("0\r\n"), "A: b\r\n", body(0)),
        // At most a hundred provisional responses are accepted.
        dripping("provisional", String::new(), "HTTP/1.1 102 Wait\r\n\r\n", failed(Protocol)),
    ]
}

/// A response that arrived in time while the loop was busy is not a timeout.
#[test]
fn time_spent_in_the_sink_does_not_count_as_silence() {
    for (name, crawl) in [
        ("callbacks", stage1_callbacks::crawl as fn(_, _) -> _),
        ("coroutines", stage2_coroutines::crawl),
        ("queue", stage3_queue::crawl),
    ] {
        let site = serve(|request, reply| match request.path() {
            "/" => reply.page(links(["/quick", "/slow"])),
            "/quick" => reply.page(""),
            _ => {
                reply.sleep(Duration::from_millis(100));
                reply.page("");
            }
        });
        let (sender, rows) = channel();
        let sink: Sink = Box::new(move |row| {
            if row.url.ends_with("/quick") {
                thread::sleep(Duration::from_millis(1500));
            }
            sender.send(row).unwrap();
        });
        let mut options = options(site.url("/"));
        options.settings.read_timeout = Duration::from_secs(1);
        crawl(options, sink).unwrap();
        for row in rows {
            assert_eq!(row.outcome, Outcome::Page, "{name}: {row:?}");
        }
    }
}
