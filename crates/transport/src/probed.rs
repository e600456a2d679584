//! A socket that records what its last calls have shown.

use std::io::{self, Read, Write};

/// A direction of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Bytes from the peer.
    Read,
    /// Bytes to the peer.
    Write,
}

/// A socket, and what its last calls have shown of its state.
#[derive(Debug)]
pub(crate) struct Probed<S> {
    pub(crate) socket: S,
    /// The direction of the last call, if it returned `WouldBlock`.
    pub(crate) blocked_on: Option<Direction>,
    /// Set when the last read was short: it did not fill the buffer.
    pub(crate) is_drained: bool,
}

impl<S> Probed<S> {
    pub(crate) fn new(socket: S) -> Self {
        Self { socket, blocked_on: None, is_drained: false }
    }

    /// Forgets what earlier calls have shown: it may be out of date.
    pub(crate) fn forget(&mut self) {
        (self.blocked_on, self.is_drained) = (None, false);
    }

    fn record<T>(&mut self, direction: Direction, result: io::Result<T>) -> io::Result<T> {
        let is_blocked = |error: &io::Error| error.kind() == io::ErrorKind::WouldBlock;
        self.blocked_on =
            result.as_ref().err().filter(|error| is_blocked(error)).map(|_| direction);
        result
    }
}

impl<S: Read> Read for Probed<S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.read(buffer);
        self.is_drained = matches!(result, Ok(read) if read < buffer.len());
        self.record(Direction::Read, result)
    }
}

impl<S: Write> Write for Probed<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.socket.write(bytes);
        self.record(Direction::Write, result)
    }

    fn write_vectored(&mut self, bytes: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let result = self.socket.write_vectored(bytes);
        self.record(Direction::Write, result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.socket.flush();
        self.record(Direction::Write, result)
    }
}
