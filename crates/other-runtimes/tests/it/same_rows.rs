//! The rows on every runtime: they are those of stage 3.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use crawl_core::{CrawlSummary, ErrorClass, Options, Outcome, Row, Sink};
use demo_site::scripted::Server;
use demo_site::{DemoSite, Latency, SiteOptions};

type CrawlFn = fn(Options, Sink) -> io::Result<CrawlSummary>;

const OTHER_RUNTIMES: [(&str, CrawlFn); 2] =
    [("tokio", other_runtimes::on_tokio::crawl), ("smol", other_runtimes::on_smol::crawl)];

/// The time after which a crawl counts as hanging. No crawl here takes longer.
const WATCHDOG: Duration = Duration::from_secs(20);

/// Crawls on a thread of its own, so that a crawl which hangs fails the test.
fn rows(name: &str, crawl: CrawlFn, options: Options) -> (CrawlSummary, BTreeMap<String, Row>) {
    let (sender, received) = channel();
    let sink: Sink = Box::new(move |row| sender.send(row).unwrap());
    let (result_sender, result) = channel();
    thread::spawn(move || result_sender.send(crawl(options, sink)).unwrap());
    let result = result.recv_timeout(WATCHDOG).unwrap_or_else(|error| panic!("{name}: {error}"));
    let summary = result.unwrap();
    let mut rows = BTreeMap::new();
    for row in received.iter() {
        let previous = rows.insert(row.url.to_string(), row);
        assert!(previous.is_none(), "{name}: a second row: {previous:?}");
    }
    assert_eq!(summary.done, rows.len() as u64, "{name}");
    (summary, rows)
}

/// Returns the fields of a row that do not depend on the time, the port or the
/// order of fetches.
fn comparable(site: &DemoSite, row: &Row) -> impl PartialEq + std::fmt::Debug + use<> {
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
    options.settings.max_tries = 1;
    options
}

#[test]
fn the_demo_site_gives_the_same_rows_on_every_runtime() {
    let rows_of = |name, crawl| {
        let options_of_site = SiteOptions { pages: 200, page_size: 1000, ..SiteOptions::default() };
        let site = DemoSite::start(options_of_site).unwrap();
        let (summary, rows) = rows(name, crawl, options(&site.root()));
        assert_eq!(rows.len(), site.expected().len(), "{name}");
        assert!(site.all_hits().values().all(|&hits| hits == 1), "{name}: asked twice");
        assert_eq!((summary.todo, summary.max_tasks), (0, Some(10)), "{name}");
        rows.values().map(|row| comparable(&site, row)).collect::<Vec<_>>()
    };
    let expected = rows_of("stage 3", stage3_queue::crawl);
    for (name, crawl) in OTHER_RUNTIMES {
        assert_eq!(rows_of(name, crawl), expected, "{name}");
    }
}

#[test]
fn max_tasks_limits_the_fetches_in_flight() {
    for (name, crawl) in OTHER_RUNTIMES {
        let site = DemoSite::start(SiteOptions {
            pages: 60,
            latency: Latency::Fixed(Duration::from_millis(20)),
            special_cases: false,
            ..SiteOptions::default()
        });
        let site = site.unwrap();
        let mut options = options(&site.root());
        options.max_tasks = Some(7);
        let (summary, _) = rows(name, crawl, options);
        assert_eq!((summary.peak_in_flight, site.peak_in_flight()), (7, 7), "{name}");
    }
}

#[test]
fn pages_beyond_max_pages_remain_to_do() {
    for (name, crawl) in OTHER_RUNTIMES {
        let site = DemoSite::start(SiteOptions { pages: 100, ..SiteOptions::default() }).unwrap();
        let mut options = options(&site.root());
        options.max_pages = Some(20);
        let (summary, rows) = rows(name, crawl, options);
        assert_eq!(rows.len(), 20, "{name}");
        assert_eq!(summary.admission.seen() as u64, 20 + summary.todo, "{name}");
    }
}

#[test]
fn a_failed_fetch_is_a_row_with_its_error_class() {
    for (name, crawl) in OTHER_RUNTIMES {
        let tried_again = AtomicBool::new(false);
        let server = Server::start(move |request, reply| match request.target.as_str() {
            "/" => reply.page("<a href=/silent>1</a><a href=/closed>2</a><a href=/again>3</a>"),
            "/silent" => reply.sleep(Duration::from_secs(60)),
            "/again" if tried_again.swap(true, Relaxed) => reply.page("at last"),
            _ => reply.reset(),
        });
        let server = server.unwrap();
        let mut options = options(&server.url("/"));
        options.settings.max_tries = 2;
        options.settings.read_timeout = Duration::from_secs(1);
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
fn a_closed_port_is_a_row_and_the_crawl_ends() {
    // Bound and not listening: no other test can get the port.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let gone = format!("http://{}/", socket.local_addr().unwrap());
    for (name, crawl) in OTHER_RUNTIMES {
        let (_, rows) = rows(name, crawl, options(&gone));
        let class = rows[&gone].error.as_ref().map(|error| error.class);
        assert_eq!(class, Some(ErrorClass::Connect), "{name}");
    }
}

#[test]
fn a_crawl_without_a_root_ends_at_once() {
    for (name, crawl) in OTHER_RUNTIMES {
        let (summary, _) = rows(name, crawl, Options::new(Vec::new()));
        assert_eq!((summary.done, summary.todo), (0, 0), "{name}");
    }
}

/// The crawl does not wait for the worker in which the sink panicked.
#[test]
fn a_panic_in_the_sink_ends_the_crawl() {
    for (name, crawl) in OTHER_RUNTIMES {
        let site = DemoSite::start(SiteOptions { pages: 30, ..SiteOptions::default() }).unwrap();
        let options = options(&site.root());
        let (result_sender, result) = channel();
        thread::spawn(move || {
            let mut rows = 0;
            let sink: Sink = Box::new(move |_| {
                rows += 1;
                assert_ne!(rows, 7, "no more");
            });
            let crawl = AssertUnwindSafe(|| crawl(options, sink).is_ok());
            result_sender.send(catch_unwind(crawl).is_err()).unwrap();
        });
        let panicked = result.recv_timeout(WATCHDOG);
        assert_eq!(panicked, Ok(true), "{name}");
    }
}

#[test]
fn a_plain_server_at_an_https_url_is_a_tls_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let root = format!("https://{}/", listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            connection.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").unwrap();
            connection.shutdown(Shutdown::Write).unwrap();
            // Reads to the end: closing with unread bytes would reset the
            // connection, and the response could be lost.
            let _ = io::copy(&mut connection, &mut io::sink());
        }
    });
    for (name, crawl) in OTHER_RUNTIMES {
        let (_, rows) = rows(name, crawl, options(&root));
        let class = rows[&root].error.as_ref().map(|error| error.class);
        assert_eq!(class, Some(ErrorClass::Tls), "{name}");
    }
}
