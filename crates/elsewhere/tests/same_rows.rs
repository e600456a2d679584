//! On every runtime the crawl finds the same.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crawl_core::{Ending, ErrorClass, Options, Outcome, Row, Sink};
use demo_site::scripted::Server;
use demo_site::{DemoSite, Latency, SiteOptions};

type CrawlFn = fn(Options, Sink) -> io::Result<Ending>;

const ELSEWHERE: [(&str, CrawlFn); 2] =
    [("tokio", elsewhere::on_tokio::crawl), ("smol", elsewhere::on_smol::crawl)];

/// Longer than any crawl here takes, unless it takes for ever.
const WATCHDOG: Duration = Duration::from_secs(20);

/// Crawls on a thread of its own, so that a crawl which hangs is an error.
fn rows(name: &str, crawl: CrawlFn, options: Options) -> (Ending, BTreeMap<String, Row>) {
    let (sender, received) = channel();
    let sink: Sink = Box::new(move |row| sender.send(row).unwrap());
    let (ended, ending) = channel();
    thread::spawn(move || ended.send(crawl(options, sink)).unwrap());
    let ending = ending.recv_timeout(WATCHDOG).unwrap_or_else(|error| panic!("{name}: {error}"));
    let ending = ending.unwrap();
    let mut rows = BTreeMap::new();
    for row in received.iter() {
        let before = rows.insert(row.url.to_string(), row);
        assert!(before.is_none(), "{name}: a second row: {before:?}");
    }
    assert_eq!(ending.done, rows.len() as u64, "{name}");
    (ending, rows)
}

/// What does not depend on the time, the port or the order.
fn told(site: &DemoSite, row: &Row) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        (row.url.replace(&site.url(""), ""), row.outcome, row.status),
        row.next_url.as_ref().map(|url| url.replace(&site.url(""), "")),
        row.error.as_ref().map(|error| error.class),
        (row.content_type.clone(), row.encoding.clone()),
        (row.size, row.num_urls, row.tries),
    )
}

fn options(root: &str) -> Options {
    let mut options = Options::new(vec![root.parse().unwrap()]);
    options.max_tries = 1;
    options
}

#[test]
fn a_site_with_every_oddity_gives_the_same_rows() {
    let crawled = |name, crawl| {
        let options_of_site = SiteOptions { pages: 200, page_size: 1000, ..SiteOptions::default() };
        let site = DemoSite::start(options_of_site).unwrap();
        let (ending, rows) = rows(name, crawl, options(&site.root()));
        assert_eq!(rows.len(), site.expected().len(), "{name}");
        assert!(site.all_hits().values().all(|&hits| hits == 1), "{name}: asked twice");
        assert_eq!((ending.todo, ending.max_tasks), (0, Some(10)), "{name}");
        rows.values().map(|row| told(&site, row)).collect::<Vec<_>>()
    };
    let ours = crawled("stage 3", stage3_queue::crawl);
    for (name, crawl) in ELSEWHERE {
        assert_eq!(crawled(name, crawl), ours, "{name}");
    }
}

#[test]
fn as_many_at_a_time_as_are_allowed() {
    for (name, crawl) in ELSEWHERE {
        let site = DemoSite::start(SiteOptions {
            pages: 60,
            latency: Latency::Fixed(Duration::from_millis(20)),
            special_cases: false,
            ..SiteOptions::default()
        });
        let site = site.unwrap();
        let mut options = options(&site.root());
        options.max_tasks = Some(7);
        let (ending, _) = rows(name, crawl, options);
        assert_eq!((ending.peak_in_flight, site.peak_in_flight()), (7, 7), "{name}");
    }
}

#[test]
fn what_is_beyond_the_limit_is_left_to_do() {
    for (name, crawl) in ELSEWHERE {
        let site = DemoSite::start(SiteOptions { pages: 100, ..SiteOptions::default() }).unwrap();
        let mut options = options(&site.root());
        options.max_pages = Some(20);
        let (ending, rows) = rows(name, crawl, options);
        assert_eq!(rows.len(), 20, "{name}");
        assert_eq!(ending.admission.seen() as u64, 20 + ending.todo, "{name}");
    }
}

#[test]
fn what_fails_is_a_row_with_the_same_reason() {
    for (name, crawl) in ELSEWHERE {
        let tried_again = AtomicBool::new(false);
        let server = Server::start(move |request, reply| match request.target.as_str() {
            "/" => reply.page("<a href=/silent>1</a><a href=/closed>2</a><a href=/again>3</a>"),
            "/silent" => reply.sleep(Duration::from_secs(60)),
            "/again" if tried_again.swap(true, Relaxed) => reply.page("at last"),
            _ => reply.reset(),
        });
        let server = server.unwrap();
        let mut options = options(&server.url("/"));
        options.max_tries = 2;
        options.read_timeout = Duration::from_millis(200);
        let (_, rows) = rows(name, crawl, options);
        let row = |path: &str| {
            let row = &rows[&server.url(path)];
            (row.outcome, row.error.as_ref().map(|error| error.class), row.tries)
        };
        assert_eq!(row("/silent"), (Outcome::Failed, Some(ErrorClass::Timeout), 2), "{name}");
        assert_eq!(row("/closed"), (Outcome::Failed, Some(ErrorClass::Closed), 2), "{name}");
        assert_eq!(row("/again"), (Outcome::Page, None, 2), "{name}");
    }
}

#[test]
fn nobody_there_ends_the_crawl() {
    let gone = Server::start(|_, reply| reply.reset()).unwrap().url("/");
    for (name, crawl) in ELSEWHERE {
        let (_, rows) = rows(name, crawl, options(&gone));
        let class = rows[&gone].error.as_ref().map(|error| error.class);
        assert_eq!(class, Some(ErrorClass::Connect), "{name}");
    }
}

#[test]
fn a_crawl_without_a_root_ends_at_once() {
    for (name, crawl) in ELSEWHERE {
        let (ending, _) = rows(name, crawl, Options::new(Vec::new()));
        assert_eq!((ending.done, ending.todo), (0, 0), "{name}");
    }
}

/// Nobody waits for a worker that has gone.
#[test]
fn a_sink_that_panics_ends_the_crawl() {
    for (name, crawl) in ELSEWHERE {
        let site = DemoSite::start(SiteOptions { pages: 30, ..SiteOptions::default() }).unwrap();
        let options = options(&site.root());
        let (ended, ending) = channel();
        thread::spawn(move || {
            let mut rows = 0;
            let sink: Sink = Box::new(move |_| {
                rows += 1;
                assert_ne!(rows, 7, "no more");
            });
            let crawl = AssertUnwindSafe(|| crawl(options, sink).is_ok());
            ended.send(catch_unwind(crawl).is_err()).unwrap();
        });
        let panicked = ending.recv_timeout(WATCHDOG);
        assert_eq!(panicked, Ok(true), "{name}");
    }
}

/// Who answers here knows nothing of TLS, and that is what is told.
#[test]
fn tls_lies_between_where_it_is_asked_for() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let root = format!("https://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            connection.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").unwrap();
            connection.shutdown(Shutdown::Write).unwrap();
            // All of it, lest the answer be lost with what was not read.
            let _ = io::copy(&mut connection, &mut io::sink());
        }
    });
    for (name, crawl) in ELSEWHERE {
        let (_, rows) = rows(name, crawl, options(&root));
        let class = rows[&root].error.as_ref().map(|error| error.class);
        assert_eq!(class, Some(ErrorClass::Tls), "{name}");
    }
}
