//! A blocking socket with a deadline.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crawl_core::Deadline;

use crate::connect_limit::ConnectPermit;
use crate::fd_limit::ConnectionGuard;

/// A connection on which every read and write ends by the deadline of the
/// attempt. (TLS may need several of them for one of its own, so the timeout of
/// the socket is set before each.)
#[derive(Debug)]
pub(crate) struct Socket<'a> {
    pub(crate) stream: TcpStream,
    pub(crate) deadline: &'a Deadline,
    /// Held until the server's first byte has arrived.
    pub(crate) permit: Option<ConnectPermit<'a>>,
    /// Dropped after `stream`, because fields are dropped in their order.
    pub(crate) _guard: ConnectionGuard<'a>,
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(remaining(self.deadline)?))?;
        let read = self.stream.read(buffer);
        self.permit = None;
        read
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(remaining(self.deadline)?))?;
        self.stream.write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(remaining(self.deadline)?))?;
        self.stream.write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Returns the time for which a call may block now.
///
/// # Errors
/// `TimedOut` after the deadline.
pub(crate) fn remaining(deadline: &Deadline) -> io::Result<Duration> {
    // Makes sure that a call times out after the deadline and never just before
    // it, however the system rounds.
    const MARGIN: Duration = Duration::from_millis(1);
    let remaining = deadline.at().saturating_duration_since(Instant::now());
    if remaining.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(remaining.saturating_add(MARGIN))
}
