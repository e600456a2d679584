//! The same crawl where everything happens that may happen.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::time::Duration;

use common::{Meddler, Stage, demo_site, expect_all_of, expect_asked_once, failed, options};
use crawl_core::ErrorClass;
use selector_core::{Event, Key, Os, Readiness, ScriptedSocket, Socket, World};

/// Each wait is short, and brings news for everybody who ever had a connection.
/// The news is false as a rule: nothing can be read or written, or the
/// connection is not made yet, or it is long gone.
struct FalseNews {
    keys: Vec<Key>,
}

impl Meddler for FalseNews {
    fn connect(&mut self, socket: Socket, key: Key) -> io::Result<Socket> {
        self.keys.push(key);
        Ok(Socket::scripted(Moody { socket, calls: Cell::new(0) }))
    }

    fn wait(
        &mut self,
        os: &mut Os,
        timeout: Option<Duration>,
        news: &mut Vec<Event>,
    ) -> io::Result<()> {
        let short = Duration::from_millis(1);
        os.wait(Some(timeout.unwrap_or(short).min(short)), news)?;
        let readiness = Readiness::READABLE | Readiness::WRITABLE;
        news.extend(self.keys.iter().map(|&key| Event { key, readiness }));
        Ok(())
    }
}

/// Wants to be asked three times for everything, and then does little.
#[derive(Debug)]
struct Moody {
    socket: Socket,
    calls: Cell<u32>,
}

impl Moody {
    fn refuse(&self) -> io::Result<()> {
        self.calls.set(self.calls.get() + 1);
        match self.calls.get() % 3 {
            0 => Ok(()),
            1 => Err(ErrorKind::Interrupted.into()),
            _ => Err(ErrorKind::WouldBlock.into()),
        }
    }
}

impl Read for Moody {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.refuse()?;
        let little = buffer.len().min(300);
        self.socket.read(&mut buffer[..little])
    }
}

impl Write for Moody {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.refuse()?;
        let little = bytes.len().min(100);
        self.socket.write(&bytes[..little])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl ScriptedSocket for Moody {
    fn connected(&self) -> io::Result<bool> {
        Ok(self.refuse().is_ok() && self.socket.connected()?)
    }
}

#[test]
fn false_news_does_no_harm() {
    for stage in Stage::ON_A_LOOP {
        let site = demo_site(50, |site| site.special_cases = true);
        let world = FalseNews { keys: Vec::new() };
        let (crawled, _) = stage.crawl_in(world, options(site.root()));
        expect_all_of(&site, &crawled);
        expect_asked_once(&site);
    }
}

/// No connection is ever made, and none refused.
struct Deafness;

impl Meddler for Deafness {
    fn connect(&mut self, _socket: Socket, _key: Key) -> io::Result<Socket> {
        Ok(Socket::scripted(Deaf))
    }
}

#[derive(Debug)]
struct Deaf;

impl Read for Deaf {
    fn read(&mut self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(ErrorKind::NotConnected.into())
    }
}

impl Write for Deaf {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(ErrorKind::NotConnected.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ScriptedSocket for Deaf {
    fn connected(&self) -> io::Result<bool> {
        Ok(false)
    }
}

#[test]
fn knocking_in_vain_ends() {
    for stage in Stage::ON_A_LOOP {
        let mut options = options("http://127.0.0.1:1/");
        options.connect_timeout = Duration::from_millis(100);
        options.max_tries = 2;
        let (crawled, _) = stage.crawl_in(Deafness, options);
        crawled.expect([("/", failed(ErrorClass::Timeout).tries(2))]);
        let error = crawled.row("/").error.as_ref().unwrap();
        assert_eq!(error.message, "no connection within 100ms");
        assert!(crawled.row("/").elapsed_ms >= 300, "{stage:?}");
    }
}
