//! A socket that blocks no longer than there is patience.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crawl_core::Patience;

use crate::connections::Place;
use crate::turns::Turn;

/// A connection whose every read and write ends, one way or the other, by the
/// deadline of its try. What lies between it and the request may well need
/// several of them for one of its own.
#[derive(Debug)]
pub(crate) struct Socket<'a> {
    pub(crate) stream: TcpStream,
    pub(crate) patience: &'a Patience,
    /// Until the server has let hear from itself.
    pub(crate) turn: Option<Turn<'a>>,
    /// Given up after the stream is closed: fields are dropped in their order.
    pub(crate) _place: Place<'a>,
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(left(self.patience)?))?;
        let read = self.stream.read(buffer);
        self.turn = None;
        read
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.patience)?))?;
        self.stream.write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(left(self.patience)?))?;
        self.stream.write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// How long a call may block now.
///
/// # Errors
/// `TimedOut` when it may not.
pub(crate) fn left(patience: &Patience) -> io::Result<Duration> {
    // A call that is given up is given up after the deadline, never just
    // before it, however the system rounds.
    const A_TICK: Duration = Duration::from_millis(1);
    let left = patience.deadline().saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left.saturating_add(A_TICK))
}
