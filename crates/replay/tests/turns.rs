//! Ten thousand links are no reason to knock ten thousand times at once.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use common::{Meddler, Stage, failed, links, options, serve};
use crawl_core::ErrorClass;
use selector_core::{Key, ScriptedSocket, Socket};
use transport::ConnectQueue;

const PLACES: usize = ConnectQueue::<()>::PLACES;

/// Counts the connections that are neither made nor given up.
#[derive(Clone, Default)]
struct Porter {
    connecting: Arc<AtomicUsize>,
    peak: Arc<AtomicUsize>,
    /// Whether no connection is ever made, except for the first.
    is_asleep: bool,
    connections: usize,
}

impl Meddler for Porter {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let connecting = self.connecting.fetch_add(1, Ordering::SeqCst) + 1;
        self.peak.fetch_max(connecting, Ordering::SeqCst);
        self.connections += 1;
        let (is_made, count) = (AtomicBool::new(false), Arc::clone(&self.connecting));
        let is_stuck = self.is_asleep && self.connections > 1;
        Ok(Socket::scripted(Knock { socket, is_stuck, is_made, connecting: count }))
    }
}

#[derive(Debug)]
struct Knock {
    socket: Socket,
    is_stuck: bool,
    is_made: AtomicBool,
    connecting: Arc<AtomicUsize>,
}

impl Knock {
    fn end(&self) {
        if !self.is_made.swap(true, Ordering::SeqCst) {
            self.connecting.fetch_sub(1, Ordering::SeqCst);
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
        let is_connected = !self.is_stuck && self.socket.connected()?;
        if is_connected {
            self.end();
        }
        Ok(is_connected)
    }
}

impl Read for Knock {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
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

/// So many connect at a time, and yet there can be many more connections.
#[test]
fn so_many_at_a_time() {
    const PAGES: usize = 4 * PLACES;
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
        options.max_tasks = (stage == Stage::Queue).then_some(PAGES);
        let porter = Porter::default();
        let (crawled, _) = stage.crawl_in(porter.clone(), options);
        assert_eq!(crawled.rows().len(), 1 + PAGES, "{stage:?}");
        assert!(crawled.rows().values().all(|row| row.error.is_none()), "{stage:?}");
        assert_eq!(site.peak_in_flight(), PAGES, "{stage:?}");
        assert_eq!(porter.peak.load(Ordering::SeqCst), PLACES, "{stage:?}");
    }
}

/// Whoever gives up makes room for the next, whose time begins only then.
#[test]
fn a_crowd_before_a_closed_door() {
    const PAGES: usize = 3 * PLACES;
    const CONNECT: Duration = Duration::from_millis(200);
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let site = serve(move |_, reply| reply.page(links(paths())));
        let mut options = options(site.url("/"));
        options.max_tasks = (stage == Stage::Queue).then_some(PAGES);
        options.connect_timeout = CONNECT;
        // Less than it takes them all.
        options.timeout = 2 * CONNECT;
        let porter = Porter { is_asleep: true, ..Porter::default() };
        let (crawled, _) = stage.crawl_in(porter.clone(), options);
        let refused = crawled.rows().values().filter(|row| row.error.is_some());
        let mut times: Vec<u64> = refused
            .map(|row| {
                assert_eq!(crawled.told(row), failed(ErrorClass::Timeout), "{stage:?}");
                let message = &row.error.as_ref().unwrap().message;
                assert_eq!(message, "no connection within 200ms", "{stage:?}");
                row.elapsed_ms
            })
            .collect();
        times.sort_unstable();
        let is_kept = usize::from(stage == Stage::Queue);
        assert!(times.len() >= PAGES - is_kept, "{stage:?}: {}", times.len());
        assert!(times[0] >= 200 && times[PAGES - 1 - is_kept] >= 600, "{stage:?}: {times:?}");
        assert_eq!(porter.peak.load(Ordering::SeqCst), PLACES, "{stage:?}");
    }
}
