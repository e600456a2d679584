//! DNS: the addresses of a name are tried in order, and concurrent fetches
//! share a lookup.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::ErrorClass;
use socket2::{Domain, Socket, Type};
use transport::LookupFn;

use crate::common::{Stage, failed, links, options, options_for, page, serve};

/// Returns a lookup that resolves every name to these addresses, with any port.
fn resolves_to(addresses: Vec<SocketAddr>) -> Arc<LookupFn> {
    Arc::new(move |_: &str, _| Ok(addresses.clone()))
}

/// An address that never answers: its accept backlog is full, and no connection
/// is ever accepted.
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
        // Longer than a thread may have to wait for a core: it is full, and not only slow.
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(500)).ok();
        let connected: Vec<_> = std::iter::from_fn(connect).take(100).collect();
        assert!(connected.len() < 100, "it is not full");
        Self { address, _listener: listener, _connected: connected }
    }
}

/// Returns an address on whose port, 1 or 2, no server listens. A port that was free
/// a moment ago may be that of another test by now.
fn closed_port(port: u16) -> SocketAddr {
    ([127, 0, 0, 1], port).into()
}

#[test]
fn the_next_address_is_tried_when_one_refuses() {
    let (refusing, also_refusing) = (closed_port(1), closed_port(2));
    for stage in Stage::ALL {
        let site = serve(|_, reply| reply.page(""));
        let lookup = resolves_to(vec![refusing, also_refusing, site.address()]);
        let crawled = stage.crawl_with_lookup(lookup, options("http://site.test/"));
        crawled.expect([("/", page("", 0))]);

        let mut options = options("http://site.test/");
        options.settings.max_tries = 2;
        let crawled = stage.crawl_with_lookup(resolves_to(vec![refusing, also_refusing]), options);
        crawled.expect([("/", failed(ErrorClass::Connect).tries(2))]);
        let message = &crawled.row("/").error.as_ref().unwrap().message;
        let expected = format!("cannot connect to {also_refusing}: ");
        assert!(message.starts_with(&expected), "{stage:?}: {message}");
    }
}

/// Checks that an address that never answers takes only its share of the
/// connect timeout.
fn check_black_hole(stage: Stage) {
    const CONNECT: Duration = Duration::from_secs(2);
    let black_hole = BlackHole::new();
    let site = serve(|_, reply| reply.page(""));
    let mut options = options("http://site.test/");
    options.settings.connect_timeout = CONNECT;
    let lookup = resolves_to(vec![black_hole.address, site.address()]);
    let crawled = stage.crawl_with_lookup(lookup, options.clone());
    crawled.expect([("/", page("", 0))]);
    assert!(crawled.row("/").elapsed_ms >= 1000, "{stage:?}");

    // The last address has all the remaining time.
    let begun = Instant::now();
    let crawled = stage
        .crawl_with_lookup(resolves_to(vec![closed_port(1), black_hole.address]), options.clone());
    assert!(begun.elapsed() >= CONNECT, "{stage:?}");
    crawled.expect([("/", failed(ErrorClass::Timeout))]);
    let message = &crawled.row("/").error.as_ref().unwrap().message;
    assert_eq!(message, "no connection within 2s", "{stage:?}");

    // The total timeout bounds the shares.
    options.settings.timeout = Duration::from_millis(200);
    let lookup = resolves_to(vec![black_hole.address, site.address()]);
    let crawled = stage.crawl_with_lookup(lookup, options);
    crawled.expect([("/", failed(ErrorClass::Timeout))]);
    let message = &crawled.row("/").error.as_ref().unwrap().message;
    assert_eq!(message, "no complete response within 200ms", "{stage:?}");
    assert_eq!(site.requests(), 1, "{stage:?}");
}

#[test]
fn threads_skip_an_address_that_never_answers() {
    check_black_hole(Stage::Threads);
}

#[test]
fn callbacks_skip_an_address_that_never_answers() {
    check_black_hole(Stage::Callbacks);
}

#[test]
fn coroutines_skip_an_address_that_never_answers() {
    check_black_hole(Stage::Coroutines);
}

#[test]
fn the_queue_skips_an_address_that_never_answers() {
    check_black_hole(Stage::Queue);
}

/// An address that swallows connections costs its share of the connect timeout once,
/// and not for each page.
fn check_last_from_then_on(stage: Stage) {
    const PAGES: usize = 20;
    let black_hole = BlackHole::new();
    let site = serve(|request, reply| {
        let n: usize = request.path()[1..].parse().unwrap_or(0);
        let html = if n < PAGES { links([format!("/{}", n + 1)]) } else { String::new() };
        reply.status(200, "OK", &[("Content-Type", "text/html"), ("Connection", "close")], html);
        reply.close();
    });
    let mut options = options("http://site.test/");
    options.settings.connect_timeout = Duration::from_secs(1);
    let lookup = resolves_to(vec![black_hole.address, site.address()]);
    let begun = Instant::now();
    let crawled = stage.crawl_with_lookup(lookup, options);
    let elapsed = begun.elapsed();
    assert_eq!(crawled.rows().len(), 1 + PAGES, "{stage:?}");
    assert!(crawled.rows().values().all(|row| row.status == Some(200)), "{stage:?}");
    // Half of the timeout, once. Each page would wait so long otherwise: ten seconds in all.
    assert!(elapsed < Duration::from_secs(6), "{stage:?}: {elapsed:?}");
}

#[test]
fn threads_try_an_address_that_has_swallowed_last() {
    check_last_from_then_on(Stage::Threads);
}

#[test]
fn callbacks_try_an_address_that_has_swallowed_last() {
    check_last_from_then_on(Stage::Callbacks);
}

#[test]
fn coroutines_try_an_address_that_has_swallowed_last() {
    check_last_from_then_on(Stage::Coroutines);
}

#[test]
fn the_queue_tries_an_address_that_has_swallowed_last() {
    check_last_from_then_on(Stage::Queue);
}

/// Name servers that do not answer, of one zone or of one for each name, take no time
/// from healthy names.
#[test]
fn slow_zones_do_not_starve_healthy_names() {
    // Longer than a thread may have to wait for a core.
    const CONNECT: Duration = Duration::from_millis(1500);
    let slow_names: [fn(usize) -> String; 3] = [
        |n| format!("{n}.slow.test"),
        |n| format!("www.slow{n}.test"),
        |n| format!("www.slow{}.co.uk", n % 5 * 100 + n),
    ];
    let (release, blocked) = channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    let check = |slow_name: fn(usize) -> String, stage: Stage| {
        let site = serve(|_, reply| reply.page(""));
        let (address, blocked) = (site.address(), Arc::clone(&blocked));
        let lookup = Arc::new(move |name: &str, _| {
            if name.contains("slow") {
                let _ = blocked.lock().unwrap().recv();
                return Err(io::Error::other("too late anyway"));
            }
            Ok(vec![address])
        });
        let slow: Vec<String> = (0..40).map(|n| format!("http://{}/", slow_name(n))).collect();
        let healthy: Vec<String> = (0..20).map(|n| format!("http://healthy{n}.co.uk/")).collect();
        let roots: Vec<&str> = slow.iter().chain(&healthy).map(String::as_str).collect();
        let mut options = options_for(&roots);
        options.max_tasks = Some(roots.len());
        options.settings.connect_timeout = CONNECT;
        let begun = Instant::now();
        let crawled = stage.crawl_with_lookup(lookup, options);
        let elapsed = begun.elapsed();
        crawled.expect(
            slow.iter()
                .map(|url| (url, failed(ErrorClass::Timeout)))
                .chain(healthy.iter().map(|url| (url, page("", 0)))),
        );
        assert!(elapsed < 4 * CONNECT, "{stage:?}: {elapsed:?}");
    };
    thread::scope(|scope| {
        for (slow_name, stage) in
            slow_names.into_iter().flat_map(|name| Stage::ALL.map(|stage| (name, stage)))
        {
            let check = &check;
            scope.spawn(move || check(slow_name, stage));
        }
    });
    drop(release);
}

/// A fetch waits for a lookup no longer than the connect timeout.
#[test]
fn a_lookup_that_does_not_end_times_out() {
    let (release, blocked) = channel::<()>();
    let blocked = Arc::new(Mutex::new(blocked));
    for stage in Stage::ALL {
        let blocked = Arc::clone(&blocked);
        let lookups = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&lookups);
        let lookup = Arc::new(move |_: &str, _| {
            count.fetch_add(1, Ordering::SeqCst);
            let _ = blocked.lock().unwrap().recv();
            Err(io::Error::other("too late anyway"))
        });
        let mut options = options("http://site.test/");
        options.settings.connect_timeout = Duration::from_millis(100);
        options.settings.max_tries = 2;
        let crawled = stage.crawl_with_lookup(lookup, options);
        crawled.expect([("/", failed(ErrorClass::Timeout).tries(2))]);
        let message = &crawled.row("/").error.as_ref().unwrap().message;
        assert_eq!(message, "no answer from DNS within 100ms", "{stage:?}");
        assert_eq!(lookups.load(Ordering::SeqCst), 1, "{stage:?}: the second try joins the first");
    }
    drop(release);
}

#[test]
fn concurrent_fetches_share_one_lookup() {
    const PATHS: usize = 10;
    let urls: Vec<String> = (0..PATHS).map(|n| format!("http://site.test/{n}")).collect();
    let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
    for stage in Stage::ALL {
        let site = serve(|_, reply| reply.page(""));
        let (lookups, address) = (Arc::new(AtomicUsize::new(0)), site.address());
        let count = Arc::clone(&lookups);
        let lookup = Arc::new(move |_: &str, _| {
            count.fetch_add(1, Ordering::SeqCst);
            // So that all fetches ask before the first lookup ends.
            thread::sleep(Duration::from_millis(100));
            Ok(vec![address])
        });
        let crawled = stage.crawl_with_lookup(lookup, options_for(&urls));
        assert_eq!(crawled.rows().len(), PATHS);
        assert_eq!(site.requests(), PATHS as u64, "{stage:?}");
        assert_eq!(lookups.load(Ordering::SeqCst), 1, "{stage:?}");
        assert!(crawled.summary.peak_in_flight > 1, "{stage:?}");
    }
}
