//! Keep-alive: servers that break their promises about a connection, and data on
//! idle connections.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crawl_core::ErrorClass::Closed;
use crawl_core::Outcome;
use demo_site::scripted::{Reply, Request, Server};
use selector_core::{Backend, Event, OsBackend};

use crate::common::{
    Crawled, ExpectedRow, Interceptor, Stage, failed, http_error, links, options, other, page,
    serve,
};

const PAGES: usize = 10;

/// A forged response, unlike any that the server means to send.
const FORGED: &str = "HTTP/1.1 404 Forged\r\nContent-Length: 6\r\n\r\nforged";

fn pages() -> impl Iterator<Item = String> {
    (1..=PAGES).map(|n| format!("/{n}"))
}

/// Returns the body of a page. Each page has another length.
fn body_for(request: &Request) -> String {
    "x".repeat(request.target[1..].parse().unwrap_or_default())
}

fn response(connection: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: {connection}\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

type Script = fn(&Request, &mut Reply<'_>);

/// The ways in which a server breaks a promise after it has sent a page. The
/// rows have to be the same as without.
const LIES: [(&str, Script); 8] = [
    (
        "says keep-alive and closes (RFC 9112, section 9.5: anybody may, at any time)",
        |request, reply| {
            reply.send(response("keep-alive", &body_for(request)));
            reply.close();
        },
    ),
    ("says keep-alive and resets later", |request, reply| {
        reply.send(response("keep-alive", &body_for(request)));
        reply.sleep(Duration::from_millis(20));
        reply.reset();
    }),
    ("says close and stays (section 9.6: whoever hears it is to close)", |request, reply| {
        assert_eq!(request.number, 1, "asked once more");
        reply.send(response("close", &body_for(request)));
    }),
    ("says both (section 9.3: close it is)", |request, reply| {
        assert_eq!(request.number, 1, "asked once more");
        reply.send(response("keep-alive, close", &body_for(request)));
    }),
    ("closes after three requests without saying so", |request, reply| {
        reply.send(response("keep-alive", &body_for(request)));
        if request.number == 3 {
            reply.close();
        }
    }),
    ("closes when it is asked again", |request, reply| match request.number {
        1 => reply.send(response("keep-alive", &body_for(request))),
        _ => reply.close(),
    }),
    ("sends more than was asked for", |request, reply| {
        assert_eq!(request.number, 1, "asked once more");
        reply.send(response("keep-alive", &body_for(request)) + FORGED);
    }),
    ("sends a line end too many", |request, reply| {
        reply.send(response("keep-alive", &body_for(request)) + "\r\n");
    }),
];

#[test]
fn a_server_may_break_its_promise_about_a_connection() {
    for (what, script) in LIES {
        for stage in Stage::ALL {
            let site = serve(move |request, reply| match request.path() {
                "/" => {
                    reply.send(response("close", &links(pages())));
                    reply.close();
                }
                _ => script(request, reply),
            });
            let mut options = options(site.url("/"));
            options.max_tasks = Some(2);
            println!("{stage:?}: {what}");
            stage.crawl(options).expect(expected());
        }
    }
}

/// Returns the rows of the root and of the pages it links to.
fn expected() -> impl Iterator<Item = (String, ExpectedRow)> {
    let root = ("/".to_owned(), page(links(pages()), PAGES as u32));
    pages().enumerate().map(|(n, path)| (path, page("x".repeat(n + 1), 0))).chain([root])
}

/// A kept connection that ends in the middle of a response counts as a try: the
/// request is not sent again.
#[test]
fn a_response_cut_on_a_kept_connection_is_a_try() {
    let site = serve(|request, reply| match request.path() {
        "/" => reply.page(links(["/cut"])),
        _ => {
            reply.send("HTTP/1.1 200 OK\r\nContent-Le");
            reply.close();
        }
    });
    let crawled = Stage::Queue.crawl(options(site.url("/")));
    assert_eq!(crawled.row("/cut").tries, 1);
    assert_eq!(site.hits("/cut"), 1);
}

/// The rest of an earlier response is not taken for the next one: it comes when the
/// connection is used again.
#[test]
fn a_late_body_after_head_is_no_answer_to_get() {
    for rest in ["gone", "0\r\n\r\n"] {
        let other_host = serve(move |request, reply| match &*request.method {
            "HEAD" => {
                reply.send("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n");
                reply.sleep(Duration::from_millis(50));
                reply.send(rest);
            }
            _ => reply.status(200, "OK", &[("Content-Type", "text/plain")], "here"),
        });
        let url = other_host.url("/x");
        let site = serve({
            let url = url.clone();
            move |_, reply| reply.page(links([&*url]))
        });
        let mut options = options(site.url("/"));
        options.settings.external = true;
        let crawled = Stage::Queue.crawl(options);
        let row = crawled.row(&url);
        assert_eq!((row.outcome, row.status), (Outcome::Other, Some(200)), "{row:?}");
        // On the connection of `HEAD`, and on a new one.
        assert_eq!(other_host.connections(), 2, "{rest:?}");
    }
}

/// With its cookie, the redirect is another one.
#[test]
fn a_robots_txt_that_wants_a_cookie_is_obeyed() {
    let site = serve(|request, reply| match request.path() {
        "/robots.txt" if request.header("cookie") == Some("a=1") => {
            let rules = "User-agent: *\nDisallow: /private";
            reply.status(200, "OK", &[("Content-Type", "text/plain")], rules);
        }
        "/robots.txt" => {
            let headers = [("Location", "/robots.txt"), ("Set-Cookie", "a=1")];
            reply.status(302, "Found", &headers, "");
        }
        "/" => reply.page(links(["/private"])),
        _ => reply.page(""),
    });
    let mut options = options(site.url("/"));
    options.settings.robots = true;
    Stage::Queue.crawl(options);
    assert_eq!((site.hits("/"), site.hits("/private")), (1, 0));
}

/// With a 408 a server ends an idle connection, and a request may be under way then.
#[test]
fn a_408_on_a_kept_connection_is_asked_again() {
    let site = serve(|request, reply| match (request.path(), request.number) {
        ("/", _) => reply.page(links(["/x"])),
        (_, 2) => {
            reply.status(408, "Request Timeout", &[("Connection", "close")], "");
            reply.close();
        }
        _ => reply.page(""),
    });
    let mut options = options(site.url("/"));
    options.max_tasks = Some(1);
    let crawled = Stage::Queue.crawl(options);
    crawled.expect([("/", page(links(["/x"]), 1)), ("/x", page("", 0))]);
    assert_eq!(crawled.row("/x").tries, 1);
    // On a new connection, it is the answer.
    let site = serve(|request, reply| match request.path() {
        "/" => reply.page(links(["/x"])),
        _ => reply.status(408, "Request Timeout", &[], ""),
    });
    let crawled = Stage::Queue.crawl(self::options(site.url("/")));
    crawled.expect([("/", page(links(["/x"]), 1)), ("/x", http_error(408, 0))]);
    assert_eq!(site.hits("/x"), 2);
}

/// A server that closes on every request gets the same request at most twice:
/// on a kept connection and on a new one.
#[test]
fn a_request_is_sent_at_most_twice() {
    let site = serve(|request, reply| match request.path() {
        "/" => reply.page(links(["/x"])),
        _ => reply.close(),
    });
    let crawled = Stage::Queue.crawl(options(site.url("/")));
    crawled.expect([("/", page(links(["/x"]), 1)), ("/x", failed(Closed))]);
    assert_eq!(site.hits("/x"), 2);
}

/// Crawls a server that sends these bytes on an idle connection of the pool.
fn crawl_with_idle(bytes: &'static str) -> (Crawled, Server) {
    let are_sent = AtomicBool::new(false);
    let site = serve(move |request, reply| match request.path() {
        "/" => reply.page(links(["/quick", "/slow"])),
        "/quick" => {
            reply.page("");
            reply.sleep(Duration::from_millis(50));
            reply.send(bytes);
            are_sent.store(true, Ordering::SeqCst);
        }
        "/slow" => {
            while !are_sent.load(Ordering::SeqCst) && !reply.is_over() {
                reply.sleep(Duration::from_millis(1));
            }
            reply.sleep(Duration::from_millis(200));
            // This connection is not kept, so `/last` needs another one.
            reply.send(response("close", &links(["/last"])));
            reply.close();
        }
        _ => reply.status(200, "OK", &[], "last"),
    });
    let mut options = options(site.url("/"));
    options.max_tasks = Some(2);
    (Stage::Queue.crawl(options), site)
}

/// A response that came before the request is not taken for its response.
#[test]
fn data_on_an_idle_connection_is_no_response() {
    const TIMEOUT: &str = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    for bytes in [FORGED, TIMEOUT, "H", "\r\n", "\0"] {
        let (crawled, site) = crawl_with_idle(bytes);
        crawled.expect([
            ("/", page(links(["/quick", "/slow"]), 2)),
            ("/quick", page("", 0)),
            ("/slow", page(links(["/last"]), 1)),
            ("/last", other(4)),
        ]);
        assert_eq!(site.hits("/last"), 1);
        // One for the root and `/quick`, one for `/slow`, and one for `/last`.
        assert_eq!(site.connections(), 3, "{bytes:?}");
    }
}

/// An interceptor that sends the forged response right after the loop has
/// collected other events.
struct Forger {
    may_forge: Arc<AtomicBool>,
    idle_stream: Arc<Mutex<Option<TcpStream>>>,
    forged: Sender<()>,
}

impl Interceptor for Forger {
    fn wait(
        &mut self,
        os: &mut OsBackend,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> std::io::Result<()> {
        let result = os.wait(timeout, events);
        if self.may_forge.load(Ordering::SeqCst)
            && let Some(mut idle_stream) = self.idle_stream.lock().unwrap().take()
        {
            idle_stream.write_all(FORGED.as_bytes()).unwrap();
            thread::sleep(Duration::from_millis(50));
            self.forged.send(()).unwrap();
        }
        result
    }
}

/// The forged response is in the socket when the connection is used again, but
/// the loop has had no event for it yet.
#[test]
fn data_on_an_idle_connection_is_no_response_before_its_event() {
    let (may_forge, idle_stream) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    // The worker that has fetched `/quick` is kept busy by this host. So the other one
    // takes `/last` as soon as it has read `/slow`, without a wait in between.
    let other_host = serve(|request, reply| {
        if request.path() == "/wait" {
            reply.sleep(Duration::from_millis(400));
        }
        reply.page("");
    });
    let root = links(["/quick", "/slow"]);
    let (quick, slow) = (links([&*other_host.url("/wait")]), links(["/last"]));
    let site = {
        let (may_forge, idle_stream) = (Arc::clone(&may_forge), Arc::clone(&idle_stream));
        let (root, quick, slow) = (root.clone(), quick.clone(), slow.clone());
        Server::start_raw(move |stream, _| {
            while let Some(path) = next_path(stream) {
                let (connection, body) = match &*path {
                    "/" => {
                        // The root of the other host is done first: no worker is
                        // busy with it when there are two pages to fetch here.
                        thread::sleep(Duration::from_millis(100));
                        ("keep-alive", &*root)
                    }
                    "/quick" => {
                        *idle_stream.lock().unwrap() = Some(stream.try_clone().unwrap());
                        ("keep-alive", &*quick)
                    }
                    "/slow" => {
                        thread::sleep(Duration::from_millis(200));
                        may_forge.store(true, Ordering::SeqCst);
                        ("close", &*slow)
                    }
                    _ => ("close", "last one"),
                };
                let sent = stream.write_all(response(connection, body).as_bytes());
                if sent.is_err() || connection == "close" {
                    return;
                }
            }
        })
        .unwrap()
    };
    let (sender, forged) = channel();
    let mut options = options(site.url("/"));
    options.settings.roots =
        [&site, &other_host].map(|server| server.url("/").parse().unwrap()).into();
    options.max_tasks = Some(2);
    let (crawled, _) = Stage::Queue
        .crawl_with_interceptor(Forger { may_forge, idle_stream, forged: sender }, options);
    forged.try_recv().expect("nothing was forged");
    crawled.expect([
        ("/", page(root, 2)),
        ("/quick", page(quick, 1)),
        ("/slow", page(slow, 1)),
        ("/last", page("last one", 0)),
        (&*other_host.url("/"), page("", 0)),
        (&*other_host.url("/wait"), page("", 0)),
    ]);
}

/// Reads the next request and returns its path, or `None` at the end.
fn next_path(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1..) => head.extend(byte),
            Ok(0) | Err(_) => return None,
        }
    }
    let head = String::from_utf8(head).unwrap();
    head.split(' ').nth(1).map(str::to_owned)
}

#[test]
fn an_error_page_keeps_the_connection() {
    let site = serve(|request, reply| match request.path() {
        "/" => reply.page(links(pages())),
        _ => reply.status(404, "Not Found", &[], "gone"),
    });
    let mut options = options(site.url("/"));
    options.max_tasks = Some(1);
    let crawled = Stage::Queue.crawl(options);
    let root = ("/".to_owned(), page(links(pages()), PAGES as u32));
    crawled.expect(pages().map(|path| (path, http_error(404, 4))).chain([root]));
    assert_eq!(site.connections(), 1);
}
