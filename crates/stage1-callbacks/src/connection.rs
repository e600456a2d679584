//! A non-blocking connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;

use crawl_core::{ErrorClass, FetchError, Visit};
use selector_core::{Interest, Key, Socket};
use transport::{Direction, Stream, TlsConnector, is_tls_error};

use crate::EventLoop;

/// A connection, and the key under which it is registered.
pub(crate) struct Connection {
    pub(crate) stream: Stream<Socket>,
    pub(crate) key: Key,
}

impl Connection {
    /// Starts to connect to an address of the host of a visit.
    pub(crate) fn open(
        address: SocketAddr,
        tls_connector: &TlsConnector,
        visit: &Visit,
        event_loop: &mut EventLoop<impl Sized>,
    ) -> io::Result<Self> {
        let layer = tls_connector.layer(visit.secure_host())?;
        let (socket, key) = event_loop.selector.connect(address)?;
        Ok(Self { stream: Stream::new(socket, layer), key })
    }

    /// Sends as many bytes as the socket takes, and removes them from `bytes`.
    pub(crate) fn send(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => drop(bytes.drain(..length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    pub(crate) fn is_readable<S>(&self, event_loop: &EventLoop<S>) -> bool {
        event_loop.selector.readiness(self.key).satisfies(Interest::Readable)
    }

    /// Reads the bytes that have arrived, up to the size of the loop's buffer,
    /// and passes them to `sink`. `None` is the end of the stream.
    pub(crate) fn read<S, R>(
        &mut self,
        event_loop: &mut EventLoop<S>,
        sink: impl FnOnce(&[u8]) -> R,
    ) -> io::Result<Option<R>> {
        let length = self.stream.read(&mut event_loop.scratch)?;
        if length == 0 {
            return Ok(None);
        }
        if self.stream.is_drained() {
            event_loop.selector.clear(self.key, Interest::Readable);
        }
        Ok(Some(sink(&event_loop.scratch[..length])))
    }

    /// After `WouldBlock`: returns the interest to wait for, and clears its
    /// readiness.
    pub(crate) fn blocked_on<S>(&self, event_loop: &mut EventLoop<S>) -> Interest {
        let interest = match self.stream.blocked_on() {
            Direction::Read => Interest::Readable,
            Direction::Write => Interest::Writable,
        };
        event_loop.selector.clear(self.key, interest);
        interest
    }
}

/// Converts the error of a read or write into that of the fetch.
pub(crate) fn failure(visit: &Visit, error: &io::Error) -> FetchError {
    if is_tls_error(error) {
        return FetchError::new(ErrorClass::Tls, error.to_string());
    }
    visit.interrupted(error)
}
