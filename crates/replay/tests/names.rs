//! From a name to a connection, through whatever addresses it has.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{Stage, failed, options, options_for, page, serve};
use crawl_core::ErrorClass;
use socket2::{Domain, Socket, Type};
use transport::LookUp;

/// Every name has these addresses, whatever the port.
fn always(addresses: Vec<SocketAddr>) -> Arc<LookUp> {
    Arc::new(move |_: &str, _| Ok(addresses.clone()))
}

/// An address at which every packet is swallowed: its list of connections to
/// accept is full, and nobody ever accepts one.
struct BlackHole {
    address: SocketAddr,
    _listener: Socket,
    _connected: Vec<TcpStream>,
}

impl BlackHole {
    fn new() -> Self {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        listener.listen(1).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(100)).ok();
        let connected: Vec<_> = std::iter::from_fn(connect).take(100).collect();
        assert!(connected.len() < 100, "it is not full");
        Self { address, _listener: listener, _connected: connected }
    }
}

/// An address at which nobody listens.
fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn the_next_address_when_one_refuses() {
    let (refuses, also_refuses) = (closed_port(), closed_port());
    for stage in Stage::ALL {
        let site = serve(|_, reply| reply.page(""));
        let look_up = always(vec![refuses, also_refuses, site.address()]);
        let crawled = stage.crawl_with(look_up, options("http://site.test/"));
        crawled.expect([("/", page("", 0))]);

        let mut options = options("http://site.test/");
        options.max_tries = 2;
        let crawled = stage.crawl_with(always(vec![refuses, also_refuses]), options);
        crawled.expect([("/", failed(ErrorClass::Connect).tries(2))]);
        let message = &crawled.row("/").error.as_ref().unwrap().message;
        let expected = format!("cannot connect to {also_refuses}: ");
        assert!(message.starts_with(&expected), "{stage:?}: {message}");
    }
}

/// The first address takes its share of the time for connecting, and no more.
fn a_black_hole_before(stage: Stage) {
    const CONNECT: Duration = Duration::from_millis(600);
    let hole = BlackHole::new();
    let site = serve(|_, reply| reply.page(""));
    let mut options = options("http://site.test/");
    options.connect_timeout = CONNECT;
    let look_up = always(vec![hole.address, site.address()]);
    let crawled = stage.crawl_with(look_up, options.clone());
    crawled.expect([("/", page("", 0))]);
    assert!(crawled.row("/").elapsed_ms >= 300, "{stage:?}");

    // The share of the last one is all that is left.
    let begun = Instant::now();
    let crawled = stage.crawl_with(always(vec![closed_port(), hole.address]), options.clone());
    assert!(begun.elapsed() >= CONNECT, "{stage:?}");
    crawled.expect([("/", failed(ErrorClass::Timeout))]);
    let message = &crawled.row("/").error.as_ref().unwrap().message;
    assert_eq!(message, "no connection within 600ms", "{stage:?}");

    // The whole bounds the shares.
    options.timeout = Duration::from_millis(200);
    let look_up = always(vec![hole.address, site.address()]);
    let crawled = stage.crawl_with(look_up, options);
    crawled.expect([("/", failed(ErrorClass::Timeout))]);
    let message = &crawled.row("/").error.as_ref().unwrap().message;
    assert_eq!(message, "no complete response within 200ms", "{stage:?}");
    assert_eq!(site.requests(), 1, "{stage:?}");
}

#[test]
fn a_black_hole_before_threads() {
    a_black_hole_before(Stage::Threads);
}

#[test]
fn a_black_hole_before_callbacks() {
    a_black_hole_before(Stage::Callbacks);
}

#[test]
fn a_black_hole_before_coroutines() {
    a_black_hole_before(Stage::Coroutines);
}

#[test]
fn a_black_hole_before_a_queue() {
    a_black_hole_before(Stage::Queue);
}

/// Nobody waits longer for an answer than for a connection.
#[test]
fn a_look_up_that_does_not_end() {
    let (release, held) = channel::<()>();
    let held = Arc::new(Mutex::new(held));
    for stage in Stage::ALL {
        let held = Arc::clone(&held);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let look_up = Arc::new(move |_: &str, _| {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = held.lock().unwrap().recv();
            Err(io::Error::other("too late anyway"))
        });
        let mut options = options("http://site.test/");
        options.connect_timeout = Duration::from_millis(100);
        options.max_tries = 2;
        let crawled = stage.crawl_with(look_up, options);
        crawled.expect([("/", failed(ErrorClass::Timeout).tries(2))]);
        let message = &crawled.row("/").error.as_ref().unwrap().message;
        assert_eq!(message, "no address for the host within 100ms", "{stage:?}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{stage:?}: the second try joins the first");
    }
    drop(release);
}

#[test]
fn one_question_for_everybody() {
    const PATHS: usize = 10;
    let urls: Vec<String> = (0..PATHS).map(|n| format!("http://site.test/{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    for stage in Stage::ALL {
        let site = serve(|_, reply| reply.page(""));
        let (asked, address) = (Arc::new(AtomicUsize::new(0)), site.address());
        let count = Arc::clone(&asked);
        let look_up = Arc::new(move |_: &str, _| {
            count.fetch_add(1, Ordering::SeqCst);
            // So that all want to know before anybody does.
            thread::sleep(Duration::from_millis(100));
            Ok(vec![address])
        });
        let crawled = stage.crawl_with(look_up, options_for(&urls));
        assert_eq!(crawled.rows().len(), PATHS);
        assert_eq!(site.requests(), PATHS as u64, "{stage:?}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{stage:?}");
        assert!(crawled.ending.peak_in_flight > 1, "{stage:?}");
    }
}
