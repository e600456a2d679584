//! The connect limiter: only a limited number of connections to one address
//! are pending at a time.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use crawl_core::ErrorClass;
use selector_core::{CustomSocket, Key, Socket};
use transport::ConnectLimiter;

use crate::common::{Interceptor, Stage, failed, links, options, serve};

type Limiter = ConnectLimiter<()>;

const MAX_PENDING: usize = Limiter::MAX_PENDING;

/// An interceptor that counts pending connections: those on which the server
/// has not sent anything yet. There may be [`MAX_PENDING`] of them at first,
/// and that many more after each grace period.
#[derive(Clone)]
struct PendingCounter {
    pending: Arc<AtomicUsize>,
    begun: Instant,
    /// True if no connection but the first is ever made.
    never_connects: bool,
    connections: usize,
}

impl PendingCounter {
    fn new(never_connects: bool) -> Self {
        Self { pending: Arc::default(), begun: Instant::now(), never_connects, connections: 0 }
    }
}

impl Interceptor for PendingCounter {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let pending = self.pending.fetch_add(1, Ordering::SeqCst) + 1;
        let times = self.begun.elapsed().as_millis() / Limiter::GRACE_PERIOD.as_millis();
        let max = MAX_PENDING * (1 + times as usize);
        assert!(pending <= max, "{pending} pending");
        self.connections += 1;
        let (is_pending, count) = (AtomicBool::new(true), Arc::clone(&self.pending));
        let is_stuck = self.never_connects && self.connections > 1;
        Ok(Socket::custom(CountedSocket { socket, is_stuck, is_pending, pending: count }))
    }
}

#[derive(Debug)]
struct CountedSocket {
    socket: Socket,
    is_stuck: bool,
    is_pending: AtomicBool,
    pending: Arc<AtomicUsize>,
}

impl CountedSocket {
    /// Takes the socket out of the count, once.
    fn end_pending(&self) {
        if self.is_pending.swap(false, Ordering::SeqCst) {
            self.pending.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for CountedSocket {
    fn drop(&mut self) {
        self.end_pending();
    }
}

impl CustomSocket for CountedSocket {
    fn connected(&self) -> io::Result<bool> {
        Ok(!self.is_stuck && self.socket.connected()?)
    }
}

impl Read for CountedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.socket.read(buffer);
        if read.is_ok() {
            self.end_pending();
        }
        read
    }
}

impl Write for CountedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn max_tasks(stage: Stage, pages: usize) -> Option<usize> {
    (stage == Stage::Queue).then_some(pages)
}

/// Pending connections are limited, but three times as many can be open.
#[test]
fn pending_connections_are_limited_and_open_ones_are_not() {
    const PAGES: usize = 3 * MAX_PENDING;
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let all_arrived = Barrier::new(PAGES);
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            _ => {
                all_arrived.wait();
                reply.page("");
            }
        });
        let mut options = options(site.url("/"));
        options.max_tasks = max_tasks(stage, PAGES);
        let (crawled, _) = stage.crawl_with_interceptor(PendingCounter::new(false), options);
        assert_eq!(crawled.rows().len(), 1 + PAGES, "{stage:?}");
        assert!(crawled.rows().values().all(|row| row.error.is_none()), "{stage:?}");
        assert_eq!(site.peak_in_flight(), PAGES, "{stage:?}");
    }
}

/// A connect permit is granted as soon as possible, and the connect timeout
/// does not begin before the permit is granted.
#[test]
fn the_connect_timeout_begins_when_the_connection_does() {
    const PAGES: usize = 3 * MAX_PENDING;
    const CONNECT: Duration = Duration::from_millis(200);
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let site = serve(move |_, reply| {
            // Without `close`, another fetch would first try to use this
            // connection again, and have less time for its own.
            let headers = [("Content-Type", "text/html"), ("Connection", "close")];
            reply.status(200, "OK", &headers, links(paths()));
            reply.close();
        });
        let mut options = options(site.url("/"));
        options.max_tasks = max_tasks(stage, PAGES);
        options.settings.connect_timeout = CONNECT;
        // Less than the last fetch takes, including the wait for its permit.
        options.settings.timeout = CONNECT + Limiter::GRACE_PERIOD;
        let (crawled, _) = stage.crawl_with_interceptor(PendingCounter::new(true), options);
        let failed_rows = crawled.rows().values().filter(|row| row.error.is_some());
        let mut times: Vec<u64> = failed_rows
            .map(|row| {
                assert_eq!(crawled.comparable(row), failed(ErrorClass::Timeout), "{stage:?}");
                row.elapsed_ms
            })
            .collect();
        times.sort_unstable();
        assert_eq!(times.len(), PAGES, "{stage:?}");
        let last = (CONNECT + 2 * Limiter::GRACE_PERIOD).as_millis() as u64;
        assert!(times[0] >= 200 && times[PAGES - 1] >= last, "{stage:?}: {times:?}");
    }
}
