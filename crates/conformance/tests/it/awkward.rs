//! Awkward servers: unusual, invalid, cut, late and oversized responses, and the
//! rows of every stage for them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::{ErrorClass, Options, Outcome};
use demo_site::scripted::{Reply, Server};

use crate::common::{
    ExpectedRow, Stage, WATCHDOG, failed, http_error, links, options, other, page, redirect, serve,
};

type Script = fn(&mut Reply<'_>);

/// A path, the server's script for it, and the row that every stage has to
/// report.
type Case = (&'static str, Script, ExpectedRow);

/// Crawls a site of these cases with every stage, all stages at the same time. The root
/// links to all of them. Each URL has at most two tries; not every error is tried again.
fn check(cases: impl IntoIterator<Item = Case>, change: impl Fn(&mut Options) + Sync) {
    let (mut scripts, mut expected) = (BTreeMap::new(), BTreeMap::new());
    for (path, script, expected_row) in cases {
        scripts.insert(path, script);
        expected.insert(path, expected_row);
    }
    let html = links(scripts.keys());
    expected.insert("/", page(&html, scripts.len() as u32));
    let check_stage = |stage: Stage| {
        let (html, scripts) = (html.clone(), scripts.clone());
        let site = serve(move |request, reply| match scripts.get(request.path()) {
            Some(script) => script(reply),
            None => reply.page(&html),
        });
        let mut options = options(site.url("/"));
        options.settings.max_tries = 2;
        options.max_tasks = Some(expected.len());
        change(&mut options);
        let crawled = stage.crawl(options);
        crawled.expect(expected.clone());
        for (path, expected_row) in &expected {
            let (hits, tries) = (site.hits(path), expected_row.tries.into());
            // A request on a stale connection is sent again, in the same try.
            let is_one_per_try = hits == tries || stage == Stage::Queue && hits > tries;
            assert!(is_one_per_try, "{stage:?}: {path}: {hits}");
        }
    };
    in_every_stage(check_stage);
}

/// Checks all stages at the same time: most of these tests wait.
fn in_every_stage(check: impl Fn(Stage) + Sync) {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            let check = &check;
            scope.spawn(move || check(stage));
        }
    });
}

const LINK: &str = "<a href=/x>x</a>";

/// The page that [`LINK`] leads to, with a valid response.
fn linked_page() -> Case {
    ("/x", |reply| reply.page(""), page("", 0))
}

#[test]
fn every_valid_form_of_a_response_is_read() {
    let cases: [Case; 9] = [
        linked_page(),
        (
            "/chunked-with-extension-and-trailer",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n");
                reply.send("Transfer-Encoding: chunked\r\n\r\n");
                reply.send("5;name=\"a value\"\r\n<a hr\r\nB\r\nef=/x>x</a>\r\n");
                reply.send("0\r\nExpires: never\r\n\r\n");
            },
            page(LINK, 1),
        ),
        (
            "/until-the-end",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
                reply.send(LINK);
                reply.close();
            },
            page(LINK, 1),
        ),
        (
            "/of-the-old-version",
            |reply| {
                reply.send("HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n");
                reply.send(LINK);
                reply.close();
            },
            page(LINK, 1),
        ),
        (
            "/chunked-and-with-a-length",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n");
                reply.send("Transfer-Encoding: chunked\r\n\r\n");
                reply.send("10\r\n<a href=/x>x</a>\r\n0\r\n\r\n");
            },
            page(LINK, 1),
        ),
        (
            "/after-provisional-ones",
            |reply| {
                reply.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n");
                reply.sleep(Duration::from_millis(5));
                reply.send("HTTP/1.1 100 Continue\r\n\r\n");
                reply.page(LINK);
            },
            page(LINK, 1),
        ),
        (
            "/with-the-same-length-twice",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Length: 4, 4\r\n");
                reply.send("Content-Length: 4\r\n\r\ntext");
            },
            other(4),
        ),
        (
            "/with-bare-line-feeds",
            |reply| reply.send("HTTP/1.1 200 OK\nContent-Length: 4\n\ntext"),
            other(4),
        ),
        (
            "/without-a-body",
            |reply| reply.send("HTTP/1.1 204 No Content\r\n\r\n"),
            other(0).status(204),
        ),
    ];
    check(cases, |_| ());
}

/// A server that sends an invalid response will send it again, so one try is
/// enough.
#[test]
fn an_invalid_response_is_not_tried_again() {
    let protocol = || failed(ErrorClass::Protocol);
    let cases: [Case; 8] = [
        (
            "/two-lengths",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ntext")
            },
            protocol(),
        ),
        (
            "/negative-length",
            |reply| reply.send("HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\ntext"),
            protocol(),
        ),
        (
            "/unknown-transfer-coding",
            |reply| reply.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: magic\r\n\r\ntext"),
            protocol(),
        ),
        ("/not-http", |reply| reply.send("SSH-2.0-OpenSSH_9.9\r\n"), protocol()),
        ("/no-head", |reply| reply.send("<a href=/x>x</a>"), protocol()),
        (
            "/another-protocol",
            |reply| reply.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: tea\r\n\r\n"),
            protocol(),
        ),
        (
            "/no-chunk-size",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
                reply.send("4\r\ntext\r\nmore\r\nmore\r\n");
            },
            protocol().status(200).size(4),
        ),
        (
            "/compressed",
            |reply| {
                let headers = [("Content-Type", "text/html"), ("Content-Encoding", "br")];
                reply.status(200, "OK", &headers, "who knows");
            },
            failed(ErrorClass::Decode).status(200),
        ),
    ];
    check(cases, |_| ());
}

/// An incomplete response is a failure, however much of it was received.
#[test]
fn a_cut_response_is_a_failure() {
    let closed = || failed(ErrorClass::Closed).tries(2);
    let truncated = || failed(ErrorClass::Truncated).tries(2);
    let cases: [Case; 8] = [
        ("/closed-at-once", |reply| reply.close(), closed()),
        ("/reset-at-once", |reply| reply.reset(), closed()),
        (
            "/closed-in-the-head",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: te");
                reply.close();
            },
            truncated(),
        ),
        (
            "/closed-in-the-body",
            |reply| {
                reply.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 99\r\n\r\n",
                );
                reply.send("<a href=/closed-in-the-body>x</a>");
                reply.close();
            },
            truncated().status(200).size("<a href=/closed-in-the-body>x</a>".len()).num_urls(1),
        ),
        (
            "/closed-in-a-chunk",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nte");
                reply.close();
            },
            truncated().status(200).size(2),
        ),
        (
            "/closed-before-the-last-chunk",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n");
                reply.close();
            },
            truncated().status(200).size(4),
        ),
        (
            "/reset-in-the-body",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntext");
                // A reset may overtake what was sent before it.
                reply.sleep(Duration::from_millis(100));
                reply.reset();
            },
            truncated().status(200).size(4),
        ),
        (
            "/reset-instead-of-an-end",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\n\r\ntext");
                reply.sleep(Duration::from_millis(100));
                reply.reset();
            },
            truncated().status(200).size(4),
        ),
    ];
    check(cases, |_| ());
}

#[test]
fn a_head_beyond_its_limit_is_too_large_and_a_page_is_read_to_its_limit() {
    let too_large = || failed(ErrorClass::TooLarge);
    let cases: [Case; 6] = [
        ("/just-right", |reply| reply.page([b'x'; 1000]), page([b'x'; 1000], 0)),
        // A download is not read to be understood, and may have any length.
        ("/download", |reply| reply.status(200, "OK", &[], [b'x'; 1001]), other(1001)),
        (
            "/declared",
            |reply| {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1001";
                reply.send(format!("{head}\r\n\r\n{:1001}", ' '));
            },
            page("", 0).uncounted(),
        ),
        (
            "/chunk-by-chunk",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n");
                reply.send(format!("258\r\n{:600}\r\n258\r\n{:600}\r\n0\r\n\r\n", ' ', ' '));
            },
            page("", 0).uncounted(),
        ),
        (
            "/without-end",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
                reply.drip([b'x'; 100_000], 700, Duration::from_micros(100));
            },
            page("", 0).uncounted(),
        ),
        (
            "/head",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\n");
                reply.send("Cookie: crumb\r\n".repeat(10_000));
            },
            too_large(),
        ),
    ];
    check(cases, |options| options.settings.max_body_size = 1000);
}

#[test]
fn every_kind_of_redirect_gives_its_row() {
    let unusable = |status| http_error(status, 0).error(ErrorClass::RedirectTarget);
    let cases: [Case; 11] = [
        linked_page(),
        (
            "/permanently",
            |reply| reply.status(308, "Moved", &[("Location", "/x#part")], ""),
            redirect(308, "/x"),
        ),
        (
            "/to-itself",
            |reply| reply.status(303, "Elsewhere", &[("Location", "/to-itself")], ""),
            http_error(303, 0).error(ErrorClass::RedirectLoop).next_url("/to-itself"),
        ),
        // A row like any other, but the target is not requested.
        (
            "/out-of-scope",
            |reply| reply.status(301, "Moved", &[("Location", "http://elsewhere.test/")], ""),
            redirect(301, "http://elsewhere.test/"),
        ),
        ("/nowhere", |reply| reply.status(302, "Found", &[], ""), unusable(302)),
        ("/empty", |reply| reply.status(302, "Found", &[("Location", "")], ""), unusable(302)),
        (
            "/not-a-url",
            |reply| reply.status(307, "Elsewhere", &[("Location", "http://[")], ""),
            unusable(307),
        ),
        (
            "/not-http",
            |reply| reply.status(301, "Moved", &[("Location", "ftp://127.0.0.1/")], ""),
            unusable(301),
        ),
        (
            "/choice",
            |reply| reply.status(300, "Choose", &[("Content-Type", "text/html")], LINK),
            page(LINK, 1).status(300),
        ),
        (
            "/preferred-choice",
            |reply| reply.status(300, "Choose", &[("Location", "/x")], ""),
            redirect(300, "/x"),
        ),
        (
            "/not-a-redirect",
            |reply| reply.send("HTTP/1.1 304 Not Modified\r\nLocation: /x\r\n\r\n"),
            other(0).status(304),
        ),
    ];
    check(cases, |_| ());
}

#[test]
fn links_on_error_pages_are_not_followed() {
    const HTML: [(&str, &str); 1] = [("Content-Type", "text/html")];
    let cases: [Case; 3] = [
        (
            "/missing",
            |reply| reply.status(404, "Not Found", &HTML, LINK),
            http_error(404, LINK.len()),
        ),
        ("/broken", |reply| reply.status(501, "Broken", &HTML, LINK), http_error(501, LINK.len())),
        (
            "/unheard-of",
            |reply| reply.status(999, "Robot?", &HTML, LINK),
            http_error(999, LINK.len()),
        ),
    ];
    check(cases, |_| ());
}

/// Each of these responses would never end by itself.
#[test]
fn a_slow_server_times_out() {
    // Long beside what a busy machine makes a thread wait: the heads have to arrive.
    const READ: Duration = Duration::from_secs(1);
    const TOTAL: Duration = Duration::from_millis(2500);
    let timeout = || failed(ErrorClass::Timeout).tries(2);
    let cases: [Case; 4] = [
        ("/silent", |reply| reply.sleep(WATCHDOG), timeout()),
        (
            "/silent-in-the-body",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntext");
                reply.sleep(WATCHDOG);
            },
            timeout().status(200).size(4),
        ),
        (
            "/dripping-head",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nCookie: ");
                reply.drip([b'x'; 10_000], 1, Duration::from_millis(20));
            },
            timeout(),
        ),
        (
            "/dripping-extension",
            |reply| {
                reply.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;");
                reply.drip([b'x'; 10_000], 1, Duration::from_millis(20));
            },
            timeout().status(200),
        ),
    ];
    let begun = Instant::now();
    check(cases, |options| {
        options.settings.read_timeout = READ;
        options.settings.timeout = TOTAL;
    });
    // Two tries and the pause between them.
    assert!(begun.elapsed() > TOTAL + Duration::from_millis(100) + TOTAL);
    assert!(begun.elapsed() < WATCHDOG);
}

#[test]
fn the_error_names_the_timeout_that_was_reached() {
    let check_stage = |stage: Stage| {
        let site = serve(|request, reply| match request.path() {
            "/" => reply.page(links(["/silent", "/dripping"])),
            "/silent" => reply.sleep(WATCHDOG),
            _ => reply.drip([b'\n'; 10_000], 1, Duration::from_millis(20)),
        });
        let mut options = options(site.url("/"));
        options.settings.read_timeout = Duration::from_secs(1);
        options.settings.timeout = Duration::from_secs(2);
        let crawled = stage.crawl(options);
        for (path, message, milliseconds) in [
            ("/silent", "the server was silent for 1s", 1000),
            ("/dripping", "no complete response within 2s", 2000),
        ] {
            let row = crawled.row(path);
            let error = row.error.as_ref().unwrap();
            assert_eq!(error.class, ErrorClass::Timeout, "{stage:?}");
            assert_eq!(error.message, message, "{stage:?}");
            assert!(row.elapsed_ms >= milliseconds, "{stage:?}: {row:?}");
        }
    };
    in_every_stage(check_stage);
}

#[test]
fn a_closed_port_is_tried_again() {
    // A port that was free a moment ago may be that of another test by now.
    let port = 1;
    for stage in Stage::ALL {
        for host in ["127.0.0.1", "localhost"] {
            let mut options = options(format!("http://{host}:{port}/"));
            options.settings.max_tries = 3;
            let crawled = stage.crawl(options);
            crawled.expect([("/", failed(ErrorClass::Connect).tries(3))]);
            // 100 ms and 200 ms between the tries.
            assert!(crawled.row("/").elapsed_ms >= 300, "{stage:?}");
        }
    }
}

/// The first try is cut, and at the second the server is gone. The row contains
/// nothing of the first try.
#[test]
fn a_failed_try_leaves_nothing_in_the_row() {
    for stage in Stage::ALL {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let root = format!("http://{}/", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            drop(listener);
            read_request(&mut stream);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntext").unwrap();
        });
        let mut options = options(root);
        options.settings.max_tries = 2;
        let crawled = stage.crawl(options);
        crawled.expect([("/", failed(ErrorClass::Connect).tries(2))]);
        assert_eq!(crawled.row("/").content_type, None);
        server.join().unwrap();
    }
}

/// Three million bytes are 46 times the size of a read.
#[test]
fn large_pages_are_read_whole() {
    const SIZE: usize = 3_000_000;
    let html = || [links(["/x"]), " ".repeat(300_000), links(["/y"])].concat();
    for stage in Stage::ALL {
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(["/at-once", "/dripped", "/chunked", "/html"])),
            "/at-once" => reply.page(vec![b'x'; SIZE]),
            "/dripped" => {
                reply.send(format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {SIZE}\r\n\r\n"
                ));
                reply.drip(vec![b'x'; SIZE], 70_000, Duration::from_millis(1));
            }
            "/chunked" => {
                reply.send("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n");
                for _ in 0..SIZE / 50_000 {
                    reply.send(format!("{:x}\r\n{:50000}\r\n", 50_000, ' '));
                }
                reply.send("0\r\n\r\n");
            }
            "/html" => reply.page(html()),
            _ => reply.page(""),
        });
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([
            ("/", page(links(["/at-once", "/dripped", "/chunked", "/html"]), 4)),
            ("/at-once", page(vec![b' '; SIZE], 0)),
            ("/dripped", page(vec![b' '; SIZE], 0)),
            ("/chunked", page(vec![b' '; SIZE], 0)),
            ("/html", page(html(), 2)),
            ("/x", page("", 0)),
            ("/y", page("", 0)),
        ]);
    }
}

/// A page in one chunk, with a provisional response before it.
const RESPONSE: &str = "HTTP/1.1 100 Continue\r\n\r\n\
    HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n\
    10\r\n<a href=/x>x</a>\r\n0\r\n\r\n";

#[test]
fn a_response_may_come_one_byte_at_a_time() {
    for stage in Stage::ALL {
        let site = serve(|request, reply| match request.path() {
            "/" => reply.drip(RESPONSE, 1, Duration::from_micros(100)),
            _ => reply.page(""),
        });
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([("/", page(LINK, 1)), ("/x", page("", 0))]);
    }
}

/// Page number n comes in two pieces, the first of n bytes.
#[test]
fn a_response_may_be_split_at_any_place() {
    let paths = || (1..RESPONSE.len()).map(|place| format!("/{place}"));
    for stage in Stage::ALL {
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            "/x" => reply.page(""),
            number => {
                let (first, second) = RESPONSE.split_at(number[1..].parse().unwrap());
                reply.send(first);
                reply.sleep(Duration::from_millis(1));
                reply.send(second);
            }
        });
        let crawled = stage.crawl(options(site.url("/")));
        let root = page(links(paths()), RESPONSE.len() as u32 - 1);
        let pages = paths().map(|path| (path, page(LINK, 1)));
        let rest = [("/".to_owned(), root), ("/x".to_owned(), page("", 0))];
        crawled.expect(pages.chain(rest));
    }
}

/// A response may come before the request was read, or even before it was sent.
#[test]
fn a_response_may_come_before_the_request() {
    for stage in Stage::ALL {
        for read_first in [0, 1] {
            let server = Server::start_raw(move |stream, _| {
                stream.read_exact(&mut [0; 1][..read_first]).unwrap();
                stream.write_all(RESPONSE.as_bytes()).unwrap();
                // A client that has the response may have closed by now.
                let _ = stream.shutdown(Shutdown::Write);
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let server = server.unwrap();
            let crawled = stage.crawl(options(server.url("/")));
            crawled.expect([("/", page(LINK, 1)), ("/x", page(LINK, 1))]);
        }
    }
}

/// A server may close a connection that it has promised to keep. The next
/// request on that connection fails and is sent again on another one. This does
/// not count as a try.
#[test]
fn a_request_on_a_stale_connection_is_sent_again() {
    let paths = || (0..20).map(|n| format!("/{n}"));
    let hang_up: [Script; 2] = [|reply| reply.close(), |reply| reply.reset()];
    for stage in Stage::ALL {
        for (max_tasks, hang_up) in [(1, hang_up[0]), (1, hang_up[1]), (3, hang_up[0])] {
            let site = serve(move |request, reply| match request.path() {
                _ if request.number == 3 => hang_up(reply),
                "/" => reply.page(links(paths())),
                _ => reply.page(""),
            });
            let mut options = options(site.url("/"));
            options.max_tasks = Some(max_tasks);
            let crawled = stage.crawl(options);
            let pages = paths().map(|path| (path, page("", 0)));
            let root = ("/".to_owned(), page(links(paths()), 20));
            crawled.expect(pages.chain([root]));
            let sent_again = site.requests() > 21;
            assert_eq!(sent_again, stage == Stage::Queue, "{stage:?}");
        }
    }
}

/// Bytes after a response belong to no request. Their connection is not used
/// again.
#[test]
fn bytes_after_a_response_are_ignored() {
    let paths = || (0..10).map(|n| format!("/{n}"));
    for stage in Stage::ALL {
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            _ => reply.send(
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext\
                 HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
            ),
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(1);
        let crawled = stage.crawl(options);
        let rest = paths().map(|path| (path, other(4)));
        let root = ("/".to_owned(), page(links(paths()), 10));
        crawled.expect(rest.chain([root]));
    }
}

fn read_request(stream: &mut impl Read) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        request.extend(byte);
    }
}

/// A content coding that was not asked for matters only where the text is
/// needed.
#[test]
fn a_body_that_is_no_page_is_not_decoded() {
    let server = serve(|request, reply| {
        let gzip = ("Content-Encoding", "x-gzip");
        match request.path() {
            "/" => reply.page(links(["/archive", "/moved", "/missing"])),
            "/archive" => {
                reply.status(200, "OK", &[("Content-Type", "application/x-tar"), gzip], "packed")
            }
            "/moved" => reply.status(301, "Moved", &[("Location", "/archive"), gzip], ""),
            _ => reply.status(404, "Not Found", &[("Content-Type", "text/html"), gzip], "packed"),
        }
    });
    for stage in Stage::ALL {
        let crawled = stage.crawl(options(server.url("/")));
        let outcome = |path: &str| crawled.row(path).outcome;
        assert_eq!(outcome("/archive"), Outcome::Other, "{stage:?}");
        assert_eq!(outcome("/moved"), Outcome::Redirect, "{stage:?}");
        assert_eq!(outcome("/missing"), Outcome::HttpError, "{stage:?}");
    }
}
