//! Helpers of the TLS tests.
#![allow(dead_code, unreachable_pub, unused_imports, clippy::unwrap_used, missing_docs)]

mod wire;

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::ServerConfig;
pub use test_support::authority::{Authority, Identity};
use transport::{Stream, TlsConnector};
pub use wire::{End, Server, Wire};

/// Both ends of a connection.
pub struct Pair {
    pub client: Stream<End>,
    pub end: End,
    pub server: Server,
}

impl Pair {
    pub fn new(tls_connector: &TlsConnector, host: &str, config: &Arc<ServerConfig>) -> Self {
        let end = End::new(usize::MAX);
        let client = Stream::new(end.clone(), tls_connector.layer(Some(host)).unwrap());
        Self { client, end, server: Server::new(config) }
    }

    /// Delivers all bytes in transit, in both directions.
    pub fn deliver(&mut self) {
        let mut wire = self.end.0.borrow_mut();
        // The server reports an error in an alert.
        let _ = self.server.read_from(&mut wire, usize::MAX);
        self.server.write_to(&mut wire, usize::MAX);
    }

    /// Sends bytes to the server, after the handshake if there was none yet.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        for _ in 0..10 {
            match self.client.write(bytes) {
                Ok(length) => {
                    assert_eq!(length, bytes.len());
                    self.deliver();
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.deliver(),
                Err(error) => return Err(error),
            }
        }
        panic!("the handshake goes on and on");
    }

    /// Reads all bytes that have arrived, up to the first error.
    pub fn read_all(&mut self) -> (Vec<u8>, Option<ErrorKind>) {
        let (mut received, mut buffer) = (Vec::new(), [0; 1000]);
        loop {
            match self.client.read(&mut buffer) {
                Ok(0) => return (received, None),
                Ok(length) => received.extend(&buffer[..length]),
                Err(error) => return (received, Some(error.kind())),
            }
        }
    }
}
