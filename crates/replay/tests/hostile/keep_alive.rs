//! What servers promise of a connection, and what they do with it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crawl_core::ErrorClass::Closed;
use demo_site::scripted::{Reply, Request, Server};
use selector_core::{Event, Os, World};

use crate::common::{
    Crawled, Meddler, Stage, Told, failed, http_error, links, options, other, page, serve,
};

const PAGES: usize = 10;

/// Another answer than any of those that are meant.
const FORGED: &str = "HTTP/1.1 404 Forged\r\nContent-Length: 6\r\n\r\nforged";

fn pages() -> impl Iterator<Item = String> {
    (1..=PAGES).map(|n| format!("/{n}"))
}

/// No two of them have the same length.
fn text(request: &Request) -> String {
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

/// What a server does beyond sending each page, and nobody is to notice.
const LIES: [(&str, Script); 8] = [
    (
        "says keep-alive and closes (RFC 9112, section 9.5: anybody may, at any time)",
        |request, reply| {
            reply.send(response("keep-alive", &text(request)));
            reply.close();
        },
    ),
    ("says keep-alive and resets later", |request, reply| {
        reply.send(response("keep-alive", &text(request)));
        reply.sleep(Duration::from_millis(20));
        reply.reset();
    }),
    ("says close and stays (section 9.6: whoever hears it is to close)", |request, reply| {
        assert_eq!(request.number, 1, "asked once more");
        reply.send(response("close", &text(request)));
    }),
    ("says both (section 9.3: close it is)", |request, reply| {
        assert_eq!(request.number, 1, "asked once more");
        reply.send(response("keep-alive, close", &text(request)));
    }),
    ("closes after three requests without saying so", |request, reply| {
        reply.send(response("keep-alive", &text(request)));
        if request.number == 3 {
            reply.close();
        }
    }),
    ("closes when it is asked again", |request, reply| match request.number {
        1 => reply.send(response("keep-alive", &text(request))),
        _ => reply.close(),
    }),
    ("sends more than was asked for", |request, reply| {
        assert_eq!(request.number, 1, "asked once more");
        reply.send(response("keep-alive", &text(request)) + FORGED);
    }),
    ("sends a line end too many", |request, reply| {
        reply.send(response("keep-alive", &text(request)) + "\r\n");
    }),
];

#[test]
fn lies_about_connections() {
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

/// The root, and the pages it links to.
fn expected() -> impl Iterator<Item = (String, Told)> {
    let root = ("/".to_owned(), page(links(pages()), PAGES as u32));
    pages().enumerate().map(|(n, path)| (path, page("x".repeat(n + 1), 0))).chain([root])
}

/// Kept for another request, a connection ends in the middle of the answer to
/// it: that was a try.
#[test]
fn a_kept_connection_that_breaks_an_answer_off() {
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

/// Somebody who hangs up on every request gets each of them twice at most: on a
/// kept connection and on one of its own.
#[test]
fn a_server_that_hangs_up_on_everybody() {
    let site = serve(|request, reply| match request.path() {
        "/" => reply.page(links(["/x"])),
        _ => reply.close(),
    });
    let crawled = Stage::Queue.crawl(options(site.url("/")));
    crawled.expect([("/", page(links(["/x"]), 1)), ("/x", failed(Closed))]);
    assert_eq!(site.hits("/x"), 2);
}

/// What a server sends on a connection that waits to be used again.
fn while_it_waits(bytes: &'static str) -> (Crawled, Server) {
    let site = serve(move |request, reply| match request.path() {
        "/" => reply.page(links(["/quick", "/slow"])),
        "/quick" => {
            reply.page("");
            reply.sleep(Duration::from_millis(50));
            reply.send(bytes);
        }
        "/slow" => {
            reply.sleep(Duration::from_millis(250));
            // This one is not to be kept.
            reply.send(response("close", &links(["/last"])));
            reply.close();
        }
        _ => reply.status(200, "OK", &[], "last"),
    });
    let mut options = options(site.url("/"));
    options.max_tasks = Some(2);
    (Stage::Queue.crawl(options), site)
}

/// A response that came before anybody asked answers nobody.
#[test]
fn a_forged_answer_on_a_waiting_connection() {
    const TIMEOUT: &str = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n";
    for bytes in [FORGED, TIMEOUT, "H", "\r\n", "\0"] {
        let (crawled, site) = while_it_waits(bytes);
        crawled.expect([
            ("/", page(links(["/quick", "/slow"]), 2)),
            ("/quick", page("", 0)),
            ("/slow", page(links(["/last"]), 1)),
            ("/last", other(4)),
        ]);
        assert_eq!(site.hits("/last"), 1);
        // For the root and the quick one, the slow one, and the last one.
        assert_eq!(site.connections(), 3, "{bytes:?}");
    }
}

/// Has the forged answer sent while the loop is about to hear of another one.
struct Forger {
    is_time: Arc<AtomicBool>,
    kept: Arc<Mutex<Option<TcpStream>>>,
    forged: Sender<()>,
}

impl Meddler for Forger {
    fn wait(
        &mut self,
        os: &mut Os,
        timeout: Option<Duration>,
        news: &mut Vec<Event>,
    ) -> std::io::Result<()> {
        let result = os.wait(timeout, news);
        if self.is_time.load(Ordering::SeqCst)
            && let Some(mut kept) = self.kept.lock().unwrap().take()
        {
            kept.write_all(FORGED.as_bytes()).unwrap();
            thread::sleep(Duration::from_millis(50));
            self.forged.send(()).unwrap();
        }
        result
    }
}

/// It lies in the socket, and the loop has not heard of it, when the connection
/// is taken up again.
#[test]
fn a_forged_answer_that_is_no_news_yet() {
    let (is_time, kept) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
    // It keeps one of two workers busy, so that the other takes up what is next
    // without waiting for it.
    let elsewhere = serve(|request, reply| {
        if request.path() == "/wait" {
            reply.sleep(Duration::from_millis(400));
        }
        reply.page("");
    });
    let html = links(["/quick", "/slow", &elsewhere.url("/wait"), "/last"]);
    let site = {
        let (is_time, kept, html) = (Arc::clone(&is_time), Arc::clone(&kept), html.clone());
        Server::start_raw(move |stream, _| {
            while let Some(path) = next_path(stream) {
                let (connection, body) = match &*path {
                    "/" => ("keep-alive", &*html),
                    "/quick" => {
                        *kept.lock().unwrap() = Some(stream.try_clone().unwrap());
                        ("keep-alive", "")
                    }
                    "/slow" => {
                        thread::sleep(Duration::from_millis(200));
                        is_time.store(true, Ordering::SeqCst);
                        ("close", "slow")
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
    options.roots.push(elsewhere.url("/").parse().unwrap());
    options.max_tasks = Some(2);
    let (crawled, _) = Stage::Queue.crawl_in(Forger { is_time, kept, forged: sender }, options);
    forged.try_recv().expect("nothing was forged");
    crawled.expect([
        ("/", page(html, 4)),
        ("/quick", page("", 0)),
        ("/slow", page("slow", 0)),
        ("/last", page("last one", 0)),
        (&*elsewhere.url("/"), page("", 0)),
        (&*elsewhere.url("/wait"), page("", 0)),
    ]);
}

/// The path of the next request, if there is one.
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

/// Errors do not cost a connection that is in good order.
#[test]
fn a_connection_survives_an_error_page() {
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
