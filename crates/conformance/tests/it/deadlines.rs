//! Deadlines: each fetch has one, and one timer for it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawl_core::{ErrorClass, Options, Outcome, Row};
use demo_site::scripted::Server;
use stage2_coroutines::{Inspect, Task, sleep, system_runtime};

use crate::common::{Crawled, Stage, WATCHDOG, links, options, options_for, serve};

const TIMEOUT: Duration = Duration::from_millis(300);

/// Starts a server that is never silent for long: it sends `head`, and then
/// this byte again and again, every 10 ms.
fn dripping_server(head: &'static [u8], byte: u8) -> Server {
    let drip = move |stream: &mut TcpStream, _| {
        let _ = stream.read(&mut [0; 4096]);
        let begun = Instant::now();
        let mut sent = stream.write_all(head);
        while sent.is_ok() && begun.elapsed() < WATCHDOG {
            std::thread::sleep(Duration::from_millis(10));
            sent = stream.write_all(&[byte]);
        }
    };
    Server::start_raw(drip).unwrap()
}

/// Fails unless the row of the URL is a failure by the total timeout.
fn expect_timeout(crawled: &Crawled, url: &str) {
    let row = crawled.row(url);
    let error = row.error.as_ref().unwrap();
    assert_eq!((row.outcome, error.class), (Outcome::Failed, ErrorClass::Timeout), "{row:?}");
    assert_eq!(error.message, "no complete response within 300ms", "{:?}", crawled.stage);
    let elapsed = Duration::from_millis(row.elapsed_ms);
    // Not the timeout of thirty seconds that there is unless told.
    assert!(elapsed >= TIMEOUT && elapsed < WATCHDOG, "{row:?}");
}

fn with_short_timeout(mut options: Options) -> Options {
    options.settings.timeout = TIMEOUT;
    options
}

/// The endless bytes come before the status, within the head, in a body with
/// and without a length, in a chunk extension and in a trailer.
#[test]
fn an_endless_response_times_out() {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";
    let heads: [(&[u8], u8); 6] = [
        (b"", b'\n'),
        (OK, b'x'),
        (b"HTTP/1.1 200 OK\r\n\r\n", b'x'),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9999\r\n\r\n", b'<'),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b'x'),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: ", b'x'),
    ];
    let servers = heads.map(|(head, byte)| dripping_server(head, byte));
    let urls = servers.each_ref().map(|server| server.url("/"));
    for stage in Stage::ALL {
        let roots = urls.each_ref().map(String::as_str);
        let crawled = stage.crawl(with_short_timeout(options_for(&roots)));
        urls.iter().for_each(|url| expect_timeout(&crawled, url));
    }
}

/// A handshake record that announces a large length and comes byte by byte.
#[test]
fn an_endless_handshake_times_out() {
    let server = dripping_server(b"\x16\x03\x03\x3f\xff\x02\x00\x3f\xfb", 3);
    for stage in Stage::ALL {
        let root = format!("https://{}/", server.address());
        let crawled = stage.crawl(with_short_timeout(options(root)));
        expect_timeout(&crawled, "/");
    }
}

/// A fetch has no timer, or a single one through all its phases and tries.
#[test]
fn a_fetch_has_at_most_one_timer() {
    const PAGES: usize = 30;
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in [Stage::Coroutines, Stage::Queue] {
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            path if request.number % 2 == 0 => reply.drip(path, 1, Duration::from_millis(30)),
            _ => {
                reply.sleep(Duration::from_millis(20));
                reply.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
                reply.drip("0123456789", 1, Duration::from_millis(5));
            }
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(PAGES);
        options.settings.read_timeout = Duration::from_secs(1);
        options.settings.max_tries = 3;
        let rows = Arc::new(Mutex::new(Vec::<Row>::new()));
        let seen = Arc::clone(&rows);
        let sink = Box::new(move |row| seen.lock().unwrap().push(row));
        let max_timers = Arc::new(AtomicUsize::new(0));
        let (runtime, peak) = (system_runtime().unwrap(), Arc::clone(&max_timers));
        let observed = runtime.event_loop().clone();
        // The observer has a timer itself, but not while it counts.
        let _observer = Task::spawn(runtime.event_loop(), async move {
            loop {
                peak.fetch_max(observed.pending_timers(), Ordering::SeqCst);
                sleep(&observed, Duration::from_millis(1)).await;
            }
        });
        match stage {
            Stage::Coroutines => drop(stage2_coroutines::crawl_on(runtime, options, sink)),
            _ => drop(stage3_queue::crawl_on(runtime, options, sink)),
        }
        assert_eq!(rows.lock().unwrap().len(), 1 + PAGES, "{stage:?}");
        let peak = max_timers.load(Ordering::SeqCst);
        assert!((PAGES / 2..=PAGES).contains(&peak), "{stage:?}: {peak} timers");
    }
}
