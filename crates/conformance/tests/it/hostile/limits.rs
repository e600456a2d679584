//! Bodies beyond the size limit: endless ones and decompression bombs; and bodies
//! that are not needed, which may have any length.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crawl_core::Outcome;

use demo_site::scripted::{Reply, Request};

use super::behaviour::{Behaviour, closes_after, html, ok, runs, sends};
use crate::common::{
    ExpectedRow, Stage, WATCHDOG, http_error, links, options, other, page, redirect, serve,
};
use test_support::encoders::{brotli, gzip, zlib};

/// The limit on bodies in the test of this theme.
pub(crate) const MAX: u64 = 100_000;

/// The size in MiB of what is sent or unpacked: more than the default limit.
const MIBS: usize = 11;
const MIB: usize = 1 << 20;

/// The decompression bombs: eleven MiB, packed with each coding.
static BOMBS: LazyLock<[(&str, Vec<u8>); 5]> = LazyLock::new(|| {
    let zeros = vec![0; MIBS * MIB];
    let packed = gzip(&zeros);
    let twice = gzip(&packed);
    [
        ("gzip", packed),
        ("deflate", zlib(&zeros)),
        ("br", brotli(&zeros)),
        ("zstd", zstd_bomb()),
        ("gzip, gzip", twice),
    ]
});

/// Returns a frame of RLE blocks: one byte each, to be repeated 128 Ki times
/// (RFC 8878, section 3.1.1.2).
fn zstd_bomb() -> Vec<u8> {
    const WINDOW_OF_128_KIB: u8 = 7 << 3;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0, WINDOW_OF_128_KIB];
    let blocks = 8 * MIBS;
    for n in 1..=blocks {
        let is_last = u32::from(n == blocks);
        let header = is_last | 1 << 1 | (128 << 10) << 3;
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(b' ');
    }
    frame
}

pub(crate) fn behaviours(_: &str) -> Vec<Behaviour> {
    const BOUNDED: &str = "a page is read to a limit, and the rest is not";
    let cut_at_limit = || page("", 0).uncounted();
    let flood = |path, head: String, piece: Vec<u8>, expected_row: ExpectedRow| {
        runs(
            path,
            BOUNDED,
            move |_, reply| {
                reply.send(&head);
                (0..MIBS).for_each(|_| reply.send(&piece));
                reply.close();
            },
            expected_row,
        )
    };
    let chunk = [&b"100000\r\n"[..], &[b' '; MIB], b"\r\n"].concat();
    let chunks = [&b"400\r\n"[..], &[b' '; 1024], b"\r\n"].concat().repeat(1024);
    let mut all = vec![
        flood(
            "/limits/announced-page",
            html("Content-Length: 99999999\r\n\r\n"),
            vec![b' '; MIB],
            cut_at_limit(),
        ),
        flood(
            "/limits/page-with-links",
            html("\r\n"),
            b"<a href=/>home</a> ".repeat(MIB / 19),
            page("", 1).uncounted(),
        ),
        sends(
            "/limits/at-the-limit",
            BOUNDED,
            ok("Content-Length: 100000\r\n\r\n") + &" ".repeat(100_000),
            other(100_000).uncounted(),
        ),
        sends(
            "/limits/at-the-limit-page",
            BOUNDED,
            html("Content-Length: 100000\r\n\r\n") + &" ".repeat(100_000),
            page(" ".repeat(100_000), 0),
        ),
        flood("/limits/endless-page", html("\r\n"), vec![b' '; MIB], cut_at_limit()),
        flood(
            "/limits/large-chunks",
            html("Transfer-Encoding: chunked\r\n\r\n"),
            chunk.clone(),
            cut_at_limit(),
        ),
        flood(
            "/limits/endless-chunks",
            html("Transfer-Encoding: chunked\r\n\r\n"),
            chunks.clone(),
            cut_at_limit(),
        ),
    ];
    // Blocks without content (RFC 1951, section 3.2.4): they decode to nothing.
    let empty_blocks = b"\0\0\0\xff\xff".repeat(MIB / 5);
    let gzip_header = b"\x1f\x8b\x08\0\0\0\0\0\0\x03";
    let first = [html("Content-Encoding: gzip\r\n\r\n").as_bytes(), gzip_header].concat();
    let script = move |_: &Request, reply: &mut Reply<'_>| {
        reply.send(&first);
        (0..MIBS).for_each(|_| reply.send(&empty_blocks));
        reply.close();
    };
    all.push(runs("/limits/empty-blocks", BOUNDED, script, cut_at_limit()));
    all.extend(unneeded(chunk, chunks));
    for (n, (codings, _)) in BOMBS.iter().enumerate() {
        let head = format!("Content-Encoding: {codings}\r\nContent-Length: ");
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            let bomb = &BOMBS[n].1;
            reply.send(html(&format!("{head}{}\r\n\r\n", bomb.len())));
            reply.send(bomb);
        };
        let path = format!("/limits/bomb-of-{}", codings.replace(", ", "-in-"));
        all.push(runs(path, BOUNDED, script, cut_at_limit()));
    }
    all
}

/// Returns responses whose body is not needed: the head says it all.
fn unneeded(chunk: Vec<u8>, chunks: Vec<u8>) -> Vec<Behaviour> {
    const UNNEEDED: &str = "what is not read to be understood is cut off, and its head counts";
    let flood = |path: &str, head: &str, piece: Vec<u8>, expected_row: ExpectedRow| {
        let head = format!("HTTP/1.1 {head}\r\n");
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            reply.send(&head);
            // The client closes long before the last.
            (0..1_000).for_each(|_| reply.send(&piece));
        };
        runs(format!("/limits/unneeded/{path}"), UNNEEDED, script, expected_row.uncounted())
    };
    // After the head, and perhaps a part of the body, the server goes silent.
    let silent = |path: &str, first: &str, expected_row: ExpectedRow| {
        let first = format!("HTTP/1.1 {first}");
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            reply.send(&first);
            reply.sleep(WATCHDOG);
        };
        runs(format!("/limits/unneeded/{path}"), UNNEEDED, script, expected_row.uncounted())
    };
    let dripping = |path: &str, head: &str, expected_row: ExpectedRow| {
        let head = format!("HTTP/1.1 {head}\r\n");
        let script = move |_: &Request, reply: &mut Reply<'_>| {
            reply.send(&head);
            reply.drip("x".repeat(10_000), 1, Duration::from_millis(20));
        };
        runs(format!("/limits/unneeded/{path}"), UNNEEDED, script, expected_row.uncounted())
    };
    let cut = |path: &str, first: &str, expected_row: ExpectedRow| {
        let path = format!("/limits/unneeded/{path}");
        closes_after(&path, UNNEEDED, format!("HTTP/1.1 {first}"), expected_row.uncounted())
    };
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
    const HTML: &str = "Content-Type: text/html\r\n";
    const HOME: &str = "Location: /\r\n";
    let mib = || vec![b' '; MIB];
    let found = || redirect(302, "/");
    let gone = || http_error(404, 0);
    vec![
        sends(
            "/limits/unneeded/announced",
            UNNEEDED,
            ok("Content-Length: 99999999\r\n\r\n") + &" ".repeat(70_000),
            other(0).uncounted(),
        ),
        sends(
            "/limits/unneeded/longest",
            UNNEEDED,
            ok("Content-Length: 65536\r\n\r\n") + &" ".repeat(65_536),
            other(65_536),
        ),
        flood("download", "200 OK\r\n", mib(), other(0)),
        flood("download-in-chunks", &format!("200 OK\r\n{CHUNKED}"), chunks.clone(), other(0)),
        flood("download-in-large-chunks", &format!("200 OK\r\n{CHUNKED}"), chunk, other(0)),
        flood(
            "download-of-unknown-coding",
            "200 OK\r\nContent-Encoding: rot13\r\n",
            mib(),
            other(0),
        ),
        flood("404", "404 Not Found\r\n", mib(), gone()),
        flood(
            "404-page",
            &format!("404 Not Found\r\n{HTML}"),
            b"<a href=/x>".repeat(99_999),
            gone(),
        ),
        flood("404-in-chunks", &format!("404 Not Found\r\n{CHUNKED}"), chunks.clone(), gone()),
        flood("404-gzip", "404 Not Found\r\nContent-Encoding: gzip\r\n", mib(), gone()),
        flood(
            "410-announced",
            "410 Gone\r\nContent-Length: 9223372036854775807\r\n",
            mib(),
            http_error(410, 0),
        ),
        flood("500", "500 Oh No\r\n", mib(), http_error(500, 0)),
        flood("302", &format!("302 Found\r\n{HOME}"), mib(), found()),
        flood("302-in-chunks", &format!("302 Found\r\n{HOME}{CHUNKED}"), chunks, found()),
        flood("301-page", &format!("301 Moved\r\n{HOME}{HTML}"), mib(), redirect(301, "/")),
        silent("silent-404", "404 Not Found\r\nContent-Length: 9\r\n\r\n", gone()),
        silent("silent-404-page", &format!("404 No\r\n{HTML}\r\n<a href=/>home"), gone()),
        silent("silent-404-chunk", &format!("404 No\r\n{CHUNKED}\r\n5\r\nab"), gone()),
        silent("silent-302", &format!("302 Found\r\n{HOME}Content-Length: 9\r\n\r\n"), found()),
        silent("silent-302-until-end", &format!("302 Found\r\n{HOME}\r\nmoved"), found()),
        cut("cut-404", "404 Not Found\r\nContent-Length: 9\r\n\r\n", gone()),
        cut("cut-404-chunk", &format!("404 No\r\n{CHUNKED}\r\n5\r\nab"), gone()),
        cut("cut-302", &format!("302 Found\r\n{HOME}Content-Length: 9\r\n\r\n"), found()),
        dripping("dripping-404", "404 Not Found\r\n", gone()),
        dripping("dripping-500", "500 Oh No\r\nContent-Length: 99999\r\n", http_error(500, 0)),
        dripping("dripping-302", &format!("302 Found\r\n{HOME}"), found()),
    ]
}

/// HTML that a page loads is a page with a page's limits, and any other resource may
/// have any length.
#[test]
fn what_a_page_loads_has_limits() {
    const PATHS: [&str; 6] =
        ["/endless.html", "/announced.html", "/gzip.html", "/chunks.html", "/endless.png", "/404"];
    let root: String = PATHS
        .iter()
        .map(|path| format!("<img src={path}><script src={path}?x></script>"))
        .collect();
    for stage in Stage::ALL {
        let root = root.clone();
        let site = serve(move |request, reply| {
            let head = match request.path() {
                "/" => return reply.page(&root),
                "/endless.html" => html("\r\n"),
                "/announced.html" => html("Content-Length: 56000000\r\n\r\n"),
                "/gzip.html" => html("Content-Encoding: gzip\r\n\r\n"),
                "/chunks.html" => html("Transfer-Encoding: chunked\r\n\r\n"),
                "/endless.png" => ok("Content-Type: image/png\r\n\r\n"),
                _ => "HTTP/1.1 404 Not Found\r\n\r\n".into(),
            };
            reply.send(&head);
            let mut n = 0;
            let begun = Instant::now();
            while !reply.is_over() && begun.elapsed() < WATCHDOG {
                n += 1;
                reply.send(match request.path() {
                    "/gzip.html" => BOMBS[0].1.clone(),
                    "/chunks.html" => [&b"400\r\n"[..], &[b' '; 1024], b"\r\n"].concat().repeat(99),
                    _ => links((0..1_000).map(|m| format!("/{n}/{m}"))).into_bytes(),
                });
            }
        });
        let mut options = options(site.url("/"));
        options.settings.max_body_size = MAX;
        // The links in the beginning of a page are not followed.
        options.settings.max_depth = Some(0);
        options.settings.check.images = true;
        options.settings.check.scripts = true;
        let crawled = stage.crawl(options);
        for path in PATHS.iter().flat_map(|path| [(*path).to_owned(), format!("{path}?x")]) {
            let row = crawled.row(&path);
            let found = (row.outcome, row.error.as_ref().map(|error| error.class));
            let expected = match path.split('?').next() {
                Some("/404") => (Outcome::HttpError, None),
                Some("/endless.png") => (Outcome::Other, None),
                _ => (Outcome::Page, None),
            };
            assert_eq!(found, expected, "{stage:?}: {path}: {row:?}");
            assert!(row.size.is_none_or(|size| size <= MAX), "{stage:?}: {path}: {row:?}");
        }
    }
}
