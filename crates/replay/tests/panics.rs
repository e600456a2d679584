//! A bug in one fetch is a row, not the end of the crawl.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{self, Read, Write};
use std::panic;

use common::{Meddler, Stage, failed, links, options, page, serve};
use crawl_core::ErrorClass;
use selector_core::{Key, ScriptedSocket, Socket};

const BUG: &str = "a bug in whoever reads this";
const BUGS: usize = 10;
const FINE: usize = 20;

/// Every answer under `/bug/` makes whoever reads it panic.
struct Bugs;

impl Meddler for Bugs {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let is_bug = false;
        Ok(Socket::scripted(Trap { socket, is_bug }))
    }
}

#[derive(Debug)]
struct Trap {
    socket: Socket,
    is_bug: bool,
}

impl Read for Trap {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.socket.read(buffer)?;
        assert!(!self.is_bug, "{BUG}");
        Ok(length)
    }
}

impl Write for Trap {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_bug |= bytes.starts_with(b"GET /bug/");
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl ScriptedSocket for Trap {
    fn connected(&self) -> io::Result<bool> {
        self.socket.connected()
    }
}

/// Ten in a row, before all the others: with one worker they all happen to the
/// same one, with three there are more of them than workers. Each ends as a
/// row, and the workers go on.
#[test]
fn ten_panics_are_ten_rows() {
    keep_bugs_off_stderr();
    let bugs = || (0..BUGS).map(|n| format!("/bug/{n}"));
    let fine = || (0..FINE).map(|n| format!("/fine/{n}"));
    for stage in [Stage::Coroutines, Stage::Queue] {
        for max_tasks in [1, 3] {
            let site = serve(move |request, reply| match request.path() {
                "/" => reply.page(links(bugs().chain(fine()))),
                _ => reply.page("text"),
            });
            let mut options = options(site.url("/"));
            options.max_tasks = Some(max_tasks);
            let (crawled, _) = stage.crawl_in(Bugs, options);

            let html = links(bugs().chain(fine()));
            let root = ("/".to_owned(), page(html, (BUGS + FINE) as u32));
            // Where the fetch was lost, its tries were as well.
            let bug = failed(ErrorClass::Panic).tries(0);
            let bug_rows = bugs().map(|path| (path, bug.clone()));
            let fine_rows = fine().map(|path| (path, page("text", 0)));
            crawled.expect(bug_rows.chain(fine_rows).chain([root]));
            for path in bugs() {
                let row = crawled.row(&path);
                let message = &row.error.as_ref().unwrap().message;
                assert!(message.contains(BUG), "{message}");
                assert_eq!(row.referrer, Some(site.url("/")));
            }
            assert_eq!(site.requests(), (1 + BUGS + FINE) as u64, "{stage:?}");
            assert_eq!(crawled.ending.peak_in_flight, max_tasks as u64);
        }
    }
}

/// Ours are expected; all others are told as usual.
fn keep_bugs_off_stderr() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str();
        if message != Some(BUG) {
            tell(panic);
        }
    }));
}
