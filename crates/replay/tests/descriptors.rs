//! Having no file descriptor left is no error.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::env;
use std::io::{self, Read, Write};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use common::{Meddler, Stage, demo_site, links, options, serve};
use crawl_core::{ErrorClass, Outcome, Row};
use demo_site::Latency;
use selector_core::{Key, ScriptedSocket, Socket};

const PAGES: u32 = 300;
/// How many descriptors the crawling process may have, and how many tasks.
const DESCRIPTORS: usize = 64;
const MAX_TASKS: usize = 200;
/// Tells the child process what to crawl.
const ROOT: &str = "REPLAY_TEST_ROOT";

/// Two hundred tasks share what a process with few descriptors has. Nothing
/// fails for that, nothing is tried again, and nobody waits for ever.
#[test]
fn few_descriptors_are_enough() {
    let site = demo_site(PAGES, |site| {
        site.latency = Latency::Fixed(Duration::from_millis(20));
    });
    // The limit is one of a process, so there is another one.
    let output = Command::new("sh")
        .args(["-c", "ulimit -S -n \"$1\" && exec \"$0\" --exact --ignored crawl_with_few"])
        .arg(env::current_exe().unwrap())
        .arg(DESCRIPTORS.to_string())
        .env(ROOT, site.root())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("1 passed"), "{told}");
    let stages = Stage::ALL.len() as u64;
    assert_eq!(site.requests(), stages * u64::from(PAGES));
    let peak = site.peak_in_flight();
    assert!(peak < DESCRIPTORS, "{peak} connections");
    assert!(peak > DESCRIPTORS / 2, "only {peak} connections");
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn crawl_with_few() {
    // Not asked by the other one: it counts the requests.
    let Ok(root) = env::var(ROOT) else { return };
    for stage in Stage::ALL {
        let mut options = options(&root);
        options.max_tasks = Some(MAX_TASKS);
        let crawled = stage.crawl(options);
        assert_eq!(crawled.rows().len(), PAGES as usize, "{stage:?}");
        for row in crawled.rows().values() {
            assert_eq!((row.outcome, row.tries), (Outcome::Page, 1), "{row:?}");
        }
        // More wanted a descriptor than could have one.
        assert!(crawled.ending.peak_in_flight > DESCRIPTORS as u64, "{stage:?}");
    }
}

/// How often nobody at all has a descriptor.
const REFUSALS: usize = 5;

/// Lets a few connections be made. Then all descriptors are gone, and are not
/// back until that has been noticed when not even a connection of the crawl's
/// own holds one.
struct Thief {
    connections: usize,
    refusals: usize,
    open: Arc<()>,
}

impl Meddler for Thief {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        const FEW: usize = 4;
        const EMFILE: i32 = 24;
        if self.connections >= FEW && self.refusals < REFUSALS {
            let is_any_open = Arc::strong_count(&self.open) > 1;
            self.refusals += usize::from(!is_any_open);
            return Err(io::Error::from_raw_os_error(EMFILE));
        }
        self.connections += 1;
        let open = Arc::clone(&self.open);
        Ok(Socket::scripted(Holder { socket, _open: open }))
    }
}

#[derive(Debug)]
struct Holder {
    socket: Socket,
    _open: Arc<()>,
}

impl Read for Holder {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Holder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl ScriptedSocket for Holder {
    fn connected(&self) -> io::Result<bool> {
        self.socket.connected()
    }
}

/// When somebody else has taken all descriptors, there is nothing to wait for:
/// that fetch has failed, and has to say so to whoever waits behind it.
#[test]
fn descriptors_that_somebody_else_has_taken() {
    const PAGES: usize = 30;
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            _ => reply.page(""),
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(PAGES);
        let thief = Thief { connections: 0, refusals: 0, open: Arc::new(()) };
        let (crawled, _) = stage.crawl_in(thief, options);
        assert_eq!(crawled.rows().len(), 1 + PAGES, "{stage:?}");
        let (failed, fine): (Vec<_>, Vec<_>) =
            crawled.rows().values().partition(|row| row.outcome == Outcome::Failed);
        assert!(fine.iter().all(|row| row.outcome == Outcome::Page), "{fine:?}");
        let class = |row: &Row| row.error.as_ref().unwrap().class;
        assert!(failed.iter().all(|row| class(row) == ErrorClass::Connect), "{failed:?}");
        assert_eq!(failed.len(), REFUSALS, "{stage:?}");
    }
}
