//! Bytes over a connection, with or without something between.

use std::io::{self, Read, Write};

/// Decides what lies between the bytes of a request and the wire.
#[derive(Debug, Default)]
pub struct Security;

/// What lies between the bytes of one connection and its socket.
#[derive(Debug)]
pub struct Layer(());

impl Security {
    /// What this build can do, which is plain text.
    pub fn new() -> Self {
        Self
    }

    /// Prepares the layer for one connection, before a packet is sent.
    ///
    /// # Errors
    /// `Unsupported` for a secure connection: this build has no TLS.
    pub fn layer(&self, secure: bool) -> io::Result<Layer> {
        if secure {
            let message = "this build has no TLS and cannot fetch https URLs";
            return Err(io::Error::new(io::ErrorKind::Unsupported, message));
        }
        Ok(Layer(()))
    }
}

/// A direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes from the peer.
    Read,
    /// Bytes to the peer.
    Write,
}

/// A byte stream over any `S` that reads and writes.
#[derive(Debug)]
pub struct Stream<S> {
    socket: S,
    blocked_on: Direction,
    is_drained: bool,
}

impl<S> Stream<S> {
    /// A stream over a connected socket.
    pub fn new(socket: S, layer: Layer) -> Self {
        let Layer(()) = layer;
        Self { socket, blocked_on: Direction::Read, is_drained: false }
    }

    /// The socket below.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// After `WouldBlock`: the direction of the socket to wait for before the
    /// call is repeated.
    pub fn blocked_on(&self) -> Direction {
        self.blocked_on
    }

    /// Whether the last read took all there was: whoever reads again now would
    /// meet `WouldBlock`, unless the peer has closed the connection.
    pub fn is_drained(&self) -> bool {
        self.is_drained
    }

    fn note<T>(&mut self, direction: Direction, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::WouldBlock
        {
            self.blocked_on = direction;
        }
        result
    }
}

impl<S: Read> Read for Stream<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.read(buffer);
        self.is_drained = matches!(result, Ok(read) if read < buffer.len());
        self.note(Direction::Read, result)
    }
}

impl<S: Write> Write for Stream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.socket.write(bytes);
        self.note(Direction::Write, result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.socket.flush();
        self.note(Direction::Write, result)
    }
}
