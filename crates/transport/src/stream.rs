//! Bytes over a connection, with or without TLS between.

use std::io::{self, Read, Write};

use crate::tls::Session;

/// A direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes from the peer.
    Read,
    /// Bytes to the peer.
    Write,
}

/// What lies between the bytes of one connection and its socket. From
/// [`Security::layer`](crate::Security::layer).
#[derive(Debug)]
pub struct Layer(pub(crate) Option<Box<Session>>);

impl Layer {
    /// Nothing: the bytes are those on the wire.
    pub fn plain() -> Self {
        Self(None)
    }
}

/// A byte stream over any `S` that reads and writes, blocking or not.
///
/// With TLS, the first write does the handshake. A call that ends with
/// `WouldBlock` is to be repeated, a write with the same bytes: they may have
/// been sealed already. `Interrupted` says that the peer has kept the call
/// busy for long enough; it is to be repeated as well, after the turn of others
/// if there are any.
#[derive(Debug)]
pub struct Stream<S: Read + Write> {
    socket: Watched<S>,
    session: Option<Box<Session>>,
}

impl<S: Read + Write> Stream<S> {
    /// A stream over a connected socket.
    pub fn new(socket: S, layer: Layer) -> Self {
        let socket = Watched { socket, blocked_on: Direction::Read, is_drained: false };
        Self { socket, session: layer.0 }
    }

    /// The socket below.
    pub fn socket(&self) -> &S {
        &self.socket.socket
    }

    // ANCHOR: blocked_on
    /// After `WouldBlock`: the direction of the socket to wait for before the
    /// call is repeated.
    pub fn blocked_on(&self) -> Direction {
        self.socket.blocked_on
    }
    // ANCHOR_END: blocked_on

    /// Whether the last read took all there was: whoever reads again now would
    /// meet `WouldBlock`, unless the peer has closed the connection.
    pub fn is_drained(&self) -> bool {
        self.socket.is_drained && self.session.as_ref().is_none_or(|session| session.is_empty())
    }
}

impl<S: Read + Write> Read for Stream<S> {
    /// # Errors
    /// Those of the socket; with TLS, those for which
    /// [`is_tls_error`](crate::is_tls_error) is true, and `UnexpectedEof` when
    /// the connection ends and the peer has not said that it would (RFC 8446,
    /// section 6.1): what was read may have been cut short.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // What an earlier call saw of the socket may no longer be true.
        self.socket.is_drained = false;
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
        match &mut self.session {
            None => self.socket.write(bytes),
            Some(session) => session.write(&mut self.socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        // A session keeps nothing back from the socket.
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

/// A socket, and what its last calls have told of it.
#[derive(Debug)]
pub(crate) struct Watched<S> {
    socket: S,
    pub(crate) blocked_on: Direction,
    /// Whether the last read got less than there was room for.
    is_drained: bool,
}

impl<S> Watched<S> {
    fn note<T>(&mut self, direction: Direction, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::WouldBlock
        {
            self.blocked_on = direction;
        }
        result
    }
}

impl<S: Read> Read for Watched<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.read(buffer);
        self.is_drained = matches!(result, Ok(read) if read < buffer.len());
        self.note(Direction::Read, result)
    }
}

impl<S: Write> Write for Watched<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.socket.write(bytes);
        self.note(Direction::Write, result)
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let result = self.socket.write_vectored(bytes);
        self.note(Direction::Write, result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.socket.flush();
        self.note(Direction::Write, result)
    }
}
