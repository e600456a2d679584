//! Spurious events: a loop that is woken for no reason crawls the same pages.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use crawl_core::ErrorClass;
use selector_core::{Backend, CustomSocket, Event, Key, OsBackend, Readiness, Socket};

use crate::common::{
    Interceptor, Stage, demo_site, expect_all_of, expect_requested_once, failed, options,
};

/// An interceptor that cuts each wait short and reports every connection ever
/// made as ready. Most of these events are spurious: the socket would block,
/// or is not connected yet, or was closed long ago.
struct SpuriousEvents {
    keys: Vec<Key>,
}

impl Interceptor for SpuriousEvents {
    fn connect(&mut self, socket: Socket, key: Key) -> io::Result<Socket> {
        self.keys.push(key);
        Ok(Socket::custom(ReluctantSocket { socket, calls: Cell::new(0) }))
    }

    fn wait(
        &mut self,
        os: &mut OsBackend,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let short = Duration::from_millis(1);
        os.wait(Some(timeout.unwrap_or(short).min(short)), events)?;
        let readiness = Readiness::READABLE | Readiness::WRITABLE;
        events.extend(self.keys.iter().map(|&key| Event { key, readiness }));
        Ok(())
    }
}

/// A socket that succeeds only at every third call, and then transfers only a
/// few bytes.
#[derive(Debug)]
struct ReluctantSocket {
    socket: Socket,
    calls: Cell<u32>,
}

impl ReluctantSocket {
    /// Returns `Ok` at every third call.
    fn delay(&self) -> io::Result<()> {
        self.calls.set(self.calls.get() + 1);
        match self.calls.get() % 3 {
            0 => Ok(()),
            1 => Err(ErrorKind::Interrupted.into()),
            _ => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl Read for ReluctantSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.delay()?;
        let length = buffer.len().min(300);
        self.socket.read(&mut buffer[..length])
    }
}

impl Write for ReluctantSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.delay()?;
        let length = bytes.len().min(100);
        self.socket.write(&bytes[..length])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl CustomSocket for ReluctantSocket {
    fn connected(&self) -> io::Result<bool> {
        Ok(self.delay().is_ok() && self.socket.connected()?)
    }
}

#[test]
fn spurious_events_do_no_harm() {
    for stage in Stage::ON_A_LOOP {
        let site = demo_site(50, |site| site.special_cases = true);
        let backend = SpuriousEvents { keys: Vec::new() };
        let (crawled, _) = stage.crawl_with_interceptor(backend, options(site.root()));
        expect_all_of(&site, &crawled);
        expect_requested_once(&site);
    }
}

/// An interceptor with which no connection is ever made and none is refused.
struct NeverConnected;

impl Interceptor for NeverConnected {
    fn connect(&mut self, _socket: Socket, _key: Key) -> io::Result<Socket> {
        Ok(Socket::custom(PendingSocket))
    }
}

#[derive(Debug)]
struct PendingSocket;

impl Read for PendingSocket {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::NotConnected.into())
    }
}

impl Write for PendingSocket {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::NotConnected.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl CustomSocket for PendingSocket {
    fn connected(&self) -> io::Result<bool> {
        Ok(false)
    }
}

#[test]
fn a_connection_that_is_never_made_times_out() {
    for stage in Stage::ON_A_LOOP {
        let mut options = options("http://127.0.0.1:1/");
        options.settings.connect_timeout = Duration::from_millis(100);
        options.settings.max_tries = 2;
        let (crawled, _) = stage.crawl_with_interceptor(NeverConnected, options);
        crawled.expect([("/", failed(ErrorClass::Timeout).tries(2))]);
        let error = crawled.row("/").error.as_ref().unwrap();
        assert_eq!(error.message, "no connection within 100ms");
        assert!(crawled.row("/").elapsed_ms >= 300, "{stage:?}");
    }
}
