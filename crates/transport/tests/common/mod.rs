//! What the tests of TLS share.
#![allow(dead_code, unreachable_pub, unused_imports, clippy::unwrap_used, missing_docs)]

mod authority;
mod wire;

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

pub use authority::{Authority, Identity};
use rustls::ServerConfig;
use transport::{Security, Stream};
pub use wire::{End, Server, Wire};

/// Both ends of a connection between which everything arrives at once.
pub struct Pair {
    pub client: Stream<End>,
    pub end: End,
    pub server: Server,
}

impl Pair {
    pub fn new(security: &Security, host: &str, config: &Arc<ServerConfig>) -> Self {
        let end = End::new(usize::MAX);
        let client = Stream::new(end.clone(), security.layer(Some(host)).unwrap());
        Self { client, end, server: Server::new(config) }
    }

    /// Has everything arrive that is under way, in both directions.
    pub fn pass(&mut self) {
        let mut wire = self.end.0.borrow_mut();
        // What the server does not like of it, it says in an alert.
        let _ = self.server.take(&mut wire, usize::MAX);
        self.server.give(&mut wire, usize::MAX);
    }

    /// Says something to the server, handshake included.
    pub fn ask(&mut self, bytes: &[u8]) -> io::Result<()> {
        for _ in 0..10 {
            match self.client.write(bytes) {
                Ok(length) => {
                    assert_eq!(length, bytes.len());
                    self.pass();
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.pass(),
                Err(error) => return Err(error),
            }
        }
        panic!("the handshake goes on and on");
    }

    /// What has arrived, up to the first error.
    pub fn hear(&mut self) -> (Vec<u8>, Option<ErrorKind>) {
        let (mut heard, mut buffer) = (Vec::new(), [0; 1000]);
        loop {
            match self.client.read(&mut buffer) {
                Ok(0) => return (heard, None),
                Ok(length) => heard.extend(&buffer[..length]),
                Err(error) => return (heard, Some(error.kind())),
            }
        }
    }
}
