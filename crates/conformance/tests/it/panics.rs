//! A panic in a fetch ends as a row and does not end the crawl.

use std::io::{self, Read, Write};
use std::panic;

use crawl_core::ErrorClass;
use selector_core::{CustomSocket, Key, Socket};

use crate::common::{Interceptor, Stage, failed, links, options, page, serve};

const BUG: &str = "a bug in whoever reads this";
const BUGS: usize = 10;
const FINE: usize = 20;

/// An interceptor that makes the read of every response under `/bug/` panic.
struct PanicInjector;

impl Interceptor for PanicInjector {
    fn connect(&mut self, socket: Socket, _key: Key) -> io::Result<Socket> {
        let panics_on_read = false;
        Ok(Socket::custom(PanickingSocket { socket, panics_on_read }))
    }
}

#[derive(Debug)]
struct PanickingSocket {
    socket: Socket,
    panics_on_read: bool,
}

impl Read for PanickingSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.socket.read(buffer)?;
        assert!(!self.panics_on_read, "{BUG}");
        Ok(length)
    }
}

impl Write for PanickingSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.panics_on_read |= bytes.starts_with(b"GET /bug/");
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl CustomSocket for PanickingSocket {
    fn connected(&self) -> io::Result<bool> {
        self.socket.connected()
    }
}

/// Ten panics, before all other fetches. With one worker all of them happen in
/// the same worker; with three there are more panics than workers. Each panic
/// ends as a row, and the workers continue.
#[test]
fn ten_panics_are_ten_rows() {
    silence_injected_panics();
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
            let (crawled, _) = stage.crawl_with_interceptor(PanicInjector, options);

            let html = links(bugs().chain(fine()));
            let root = ("/".to_owned(), page(html, (BUGS + FINE) as u32));
            // The number of tries is lost together with the fetch.
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
            assert_eq!(crawled.summary.peak_in_flight, max_tasks as u64);
        }
    }
}

/// Keeps the injected panics off stderr. Other panics are printed as usual.
fn silence_injected_panics() {
    let default_hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str();
        if message != Some(BUG) {
            default_hook(panic);
        }
    }));
}
