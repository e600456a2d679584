//! How many connections a crawl holds, those included that wait for use.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{Meddler, Stage, links, options_for, serve};
use selector_core::{Key, ScriptedSocket, Socket};

/// Counts sockets until they are dropped.
#[derive(Clone, Default)]
struct Census {
    alive: Arc<()>,
    peak: Arc<AtomicUsize>,
}

impl Meddler for Census {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let counted = Counted { socket, _alive: Arc::clone(&self.alive) };
        // But for the one in here, and the one of the test.
        let alive = Arc::strong_count(&self.alive) - 2;
        self.peak.fetch_max(alive, Ordering::SeqCst);
        Ok(Socket::scripted(counted))
    }
}

#[derive(Debug)]
struct Counted {
    socket: Socket,
    _alive: Arc<()>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl ScriptedSocket for Counted {
    fn connected(&self) -> io::Result<bool> {
        self.socket.connected()
    }
}

/// Each worker uses one connection, and at most as many are kept: to a single
/// host never more than there are workers, and to all hosts twice as many.
#[test]
fn kept_connections_are_bounded() {
    const TASKS: usize = 3;
    const HOSTS: usize = 12;
    for (hosts, most) in [(1, TASKS), (HOSTS, 2 * TASKS)] {
        let paths = || (0..20).map(|n| format!("/{n}"));
        let site = || serve(move |_, reply| reply.page(links(paths())));
        let sites: Vec<_> = (0..hosts).map(|_| site()).collect();
        let roots: Vec<String> = sites.iter().map(|site| site.url("/")).collect();
        let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
        let mut options = options_for(&roots);
        options.max_tasks = Some(TASKS);
        let census = Census::default();
        let (crawled, _) = Stage::Queue.crawl_in(census.clone(), options);
        assert_eq!(crawled.rows().len(), hosts * 21);
        let peak = census.peak.load(Ordering::SeqCst);
        assert!(peak > most / 2 && peak <= most, "{peak} connections to {hosts} hosts");
        // Many a page came over a kept one.
        let connections: u64 = sites.iter().map(|site| site.connections()).sum();
        assert!(connections < crawled.rows().len() as u64, "{connections}");
    }
}
