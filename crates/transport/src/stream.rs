//! A byte stream over a socket, with or without TLS.

use std::io::{self, Read, Write};

use crate::probed::{Direction, Probed};
use crate::tape::Layer;

/// The layer between the bytes of one connection and its socket: TLS, or
/// nothing, which is the default. Created by
/// [`TlsConnector::layer`](crate::TlsConnector::layer).
#[derive(Debug, Default)]
pub struct TlsLayer(pub(crate) Option<Box<Layer>>);

impl TlsLayer {
    /// Returns the layer of a connection without TLS.
    pub fn plain() -> Self {
        Self(None)
    }
}

/// A byte stream over any `S` that reads and writes, blocking or not.
///
/// With TLS, the first call does the handshake, be it a write or a read. A call that
/// returns `WouldBlock` has to be repeated, a write with the same bytes: they may be
/// encrypted already. `Interrupted` means that the peer has kept the call busy for long
/// enough. It has to be repeated too: a read after other connections have had their
/// turn; a write at once if one likes, since only a handshake interrupts it, and that
/// has an end.
#[derive(Debug)]
pub struct Stream<S: Read + Write> {
    socket: Probed<S>,
    session: Option<Box<Layer>>,
}

impl<S: Read + Write> Stream<S> {
    /// Creates a stream over a connected socket.
    pub fn new(socket: S, layer: TlsLayer) -> Self {
        Self { socket: Probed::new(socket), session: layer.0 }
    }

    /// Starts TLS on a stream, as behind a proxy. If it has TLS already, that of the proxy,
    /// this is within. The next call does the handshake.
    pub fn start_tls(&mut self, layer: TlsLayer) {
        let Some(inner) = layer.0 else { return };
        self.session = Some(match self.session.take() {
            None => inner,
            Some(outer) => Box::new(inner.within(*outer)),
        });
    }

    /// Returns the socket below.
    pub fn socket(&self) -> &S {
        &self.socket.socket
    }

    // ANCHOR: blocked_on
    /// Returns the direction in which the last call has shown that the socket is not
    /// ready, if it has. After `WouldBlock` it is the one to wait for before the call
    /// is repeated. After a read that took everything that had arrived, and did not
    /// fill the buffer, it is [`Direction::Read`]: another read now would return
    /// `WouldBlock`, unless the peer has closed the connection.
    pub fn blocked_on(&self) -> Option<Direction> {
        let is_drained = self.socket.is_drained
            && self.session.as_ref().is_none_or(|session| session.is_drained());
        self.socket.blocked_on.or(is_drained.then_some(Direction::Read))
    }
    // ANCHOR_END: blocked_on
}

impl<S: Read + Write> Read for Stream<S> {
    /// # Errors
    /// Those of the socket. With TLS, also those for which
    /// [`is_tls_error`](crate::is_tls_error) is true; `ConnectionAborted` when a record
    /// was damaged on its way; and `UnexpectedEof` when the peer closes the connection
    /// without a `close_notify` (RFC 8446, section 6.1): the bytes read so far may have
    /// been cut short.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.forget();
        match &mut self.session {
            None => self.socket.read(buffer),
            Some(session) => session.read(&mut self.socket, buffer),
        }
    }
}

impl<S: Read + Write> Write for Stream<S> {
    /// # Errors
    /// As [`Stream::read`].
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.forget();
        match &mut self.session {
            None => self.socket.write(bytes),
            Some(session) => session.write(&mut self.socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // A session has nothing buffered after a successful write.
        self.socket.flush()
    }
}

impl<S: Read + Write> Drop for Stream<S> {
    fn drop(&mut self) {
        if let Some(session) = &mut self.session {
            session.close(&mut self.socket);
        }
    }
}
