//! Ten thousand links are no reason to knock ten thousand times at once.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use common::{Meddler, Stage, failed, links, options, serve};
use crawl_core::ErrorClass;
use selector_core::{Key, ScriptedSocket, Socket};
use transport::ConnectQueue;

type Queue = ConnectQueue<()>;

const PLACES: usize = Queue::PLACES;

/// Counts the connections on which the server has not let hear from itself.
/// There are so many at first, and so many more each time that the first have
/// waited long enough.
#[derive(Clone)]
struct Porter {
    knocking: Arc<AtomicUsize>,
    begun: Instant,
    /// Whether no connection is ever made, except for the first.
    is_asleep: bool,
    connections: usize,
}

impl Porter {
    fn new(is_asleep: bool) -> Self {
        Self { knocking: Arc::default(), begun: Instant::now(), is_asleep, connections: 0 }
    }
}

impl Meddler for Porter {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let knocking = self.knocking.fetch_add(1, Ordering::SeqCst) + 1;
        let times = self.begun.elapsed().as_millis() / Queue::PATIENCE.as_millis();
        let most = PLACES * (1 + times as usize);
        assert!(knocking <= most, "{knocking} knock");
        self.connections += 1;
        let (is_made, count) = (AtomicBool::new(false), Arc::clone(&self.knocking));
        let is_stuck = self.is_asleep && self.connections > 1;
        Ok(Socket::scripted(Knock { socket, is_stuck, is_made, knocking: count }))
    }
}

#[derive(Debug)]
struct Knock {
    socket: Socket,
    is_stuck: bool,
    is_made: AtomicBool,
    knocking: Arc<AtomicUsize>,
}

impl Knock {
    fn end(&self) {
        if !self.is_made.swap(true, Ordering::SeqCst) {
            self.knocking.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Knock {
    fn drop(&mut self) {
        self.end();
    }
}

impl ScriptedSocket for Knock {
    fn connected(&self) -> io::Result<bool> {
        Ok(!self.is_stuck && self.socket.connected()?)
    }
}

impl Read for Knock {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.socket.read(buffer);
        if read.is_ok() {
            self.end();
        }
        read
    }
}

impl Write for Knock {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

fn tasks(stage: Stage, pages: usize) -> Option<usize> {
    (stage == Stage::Queue).then_some(pages)
}

/// So many knock at a time, and yet there can be many more connections.
#[test]
fn so_many_at_a_time() {
    const PAGES: usize = 3 * PLACES;
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let all_there = Barrier::new(PAGES);
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            _ => {
                all_there.wait();
                reply.page("");
            }
        });
        let mut options = options(site.url("/"));
        options.max_tasks = tasks(stage, PAGES);
        let (crawled, _) = stage.crawl_in(Porter::new(false), options);
        assert_eq!(crawled.rows().len(), 1 + PAGES, "{stage:?}");
        assert!(crawled.rows().values().all(|row| row.error.is_none()), "{stage:?}");
        assert_eq!(site.peak_in_flight(), PAGES, "{stage:?}");
    }
}

/// Nobody is held back longer than he has to be, and nobody's time for
/// connecting begins before his turn.
#[test]
fn a_crowd_before_a_closed_door() {
    const PAGES: usize = 3 * PLACES;
    const CONNECT: Duration = Duration::from_millis(200);
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let site = serve(move |_, reply| {
            // Said beforehand, or somebody tries whether it is still open, and has
            // less time for his own.
            let headers = [("Content-Type", "text/html"), ("Connection", "close")];
            reply.status(200, "OK", &headers, links(paths()));
            reply.close();
        });
        let mut options = options(site.url("/"));
        options.max_tasks = tasks(stage, PAGES);
        options.connect_timeout = CONNECT;
        // Less than the last of them takes, with the wait for its turn.
        options.timeout = CONNECT + Queue::PATIENCE;
        let (crawled, _) = stage.crawl_in(Porter::new(true), options);
        let doomed = crawled.rows().values().filter(|row| row.error.is_some());
        let mut times: Vec<u64> = doomed
            .map(|row| {
                assert_eq!(crawled.told(row), failed(ErrorClass::Timeout), "{stage:?}");
                let message = &row.error.as_ref().unwrap().message;
                assert_eq!(message, "no connection within 200ms", "{stage:?}");
                row.elapsed_ms
            })
            .collect();
        times.sort_unstable();
        assert_eq!(times.len(), PAGES, "{stage:?}");
        let last = (CONNECT + 2 * Queue::PATIENCE).as_millis() as u64;
        assert!(times[0] >= 200 && times[PAGES - 1] >= last, "{stage:?}: {times:?}");
    }
}
