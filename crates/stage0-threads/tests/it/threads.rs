//! Properties of the thread pool and of blocking sockets.

use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::{CrawlSummary, ErrorClass, Options, Outcome, Row};
use demo_site::scripted::Server;

/// A time after which a test counts as hanging.
const WATCHDOG: Duration = Duration::from_secs(20);

fn options(url: &str) -> Options {
    let mut options = Options::new(vec![url.parse().unwrap()]);
    options.settings.max_tries = 1;
    options
}

fn crawl(options: Options) -> (CrawlSummary, Vec<Row>) {
    let (sender, rows) = channel();
    let (summary_sender, summary) = channel();
    thread::spawn(move || {
        let sink = Box::new(move |row| sender.send(row).unwrap());
        summary_sender.send(stage0_threads::crawl(options, sink).unwrap()).unwrap();
    });
    let summary = summary.recv_timeout(WATCHDOG).expect("the crawl ends");
    (summary, rows.iter().collect())
}

fn fan(width: usize) -> String {
    (0..width).map(|n| format!("<a href=/{n}>{n}</a> ")).collect()
}

/// A site of thirty pages that answers requests in batches of `batch`: only
/// when that many have arrived.
fn site_with_batches(batch: usize) -> Server {
    let all_there = Barrier::new(batch);
    Server::start(move |request, reply| match request.path() {
        "/" => reply.page(fan(30)),
        _ => {
            all_there.wait();
            reply.page("");
        }
    })
    .unwrap()
}

#[test]
fn all_threads_fetch_at_the_same_time() {
    let server = site_with_batches(30);
    let mut options = options(&server.url("/"));
    options.max_tasks = Some(30);
    let (summary, rows) = crawl(options);
    assert_eq!(rows.len(), 31);
    assert_eq!((summary.peak_in_flight, server.peak_in_flight()), (30, 30));
}

#[test]
fn the_default_is_ten_threads() {
    let server = site_with_batches(10);
    let (summary, _) = crawl(options(&server.url("/")));
    assert_eq!((summary.done, summary.max_tasks), (31, Some(10)));
    assert_eq!(server.peak_in_flight(), 10);
}

#[test]
fn every_fetch_has_its_own_connection() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page(fan(5)),
        _ => reply.page(""),
    })
    .unwrap();
    crawl(options(&server.url("/")));
    assert_eq!((server.requests(), server.connections()), (6, 6));
}

#[test]
fn a_blocking_read_ends_at_its_timeout() {
    // A byte every 40 ms: the read timeout never passes, the total timeout does.
    let server = Server::start(|request, reply| match request.path() {
        "/silent" => reply.sleep(WATCHDOG),
        _ => {
            reply.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            reply.drip([b'x'; 1000], 1, Duration::from_millis(40));
        }
    })
    .unwrap();
    const SHORT: Duration = Duration::from_millis(200);
    for (path, message, read_timeout, timeout) in [
        ("/silent", "silent for 200ms", SHORT, WATCHDOG),
        ("/drip", "within 200ms", WATCHDOG, SHORT),
    ] {
        let mut options = options(&server.url(path));
        (options.settings.read_timeout, options.settings.timeout) = (read_timeout, timeout);
        let (_, rows) = crawl(options);
        assert_eq!(rows[0].outcome, Outcome::Failed);
        let error = rows[0].error.as_ref().unwrap();
        assert_eq!(error.class, ErrorClass::Timeout, "{path}");
        assert!(error.message.contains(message), "{}", error.message);
    }
}

#[test]
fn a_thread_without_a_file_descriptor_waits_for_one() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page(fan(60)),
        _ => {
            reply.sleep(Duration::from_millis(20));
            reply.page("");
        }
    })
    .unwrap();
    // Twelve descriptors, standard streams included: fewer than threads.
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -n 12; exec \"$0\" \"$@\""])
        .args([env!("CARGO_BIN_EXE_stage0-threads"), "-j", "50", "--max-tries", "1"])
        .arg(server.url("/"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() < WATCHDOG => thread::sleep(Duration::from_millis(10)),
            None => {
                child.kill().unwrap();
                panic!("the crawl hangs");
            }
        }
    };
    assert_eq!(status.code(), Some(0));
    assert_eq!(server.requests(), 61);
    assert!(server.peak_in_flight() < 12);
}
