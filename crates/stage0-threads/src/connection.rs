//! A blocking connection with a deadline.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crawl_core::Deadline;
use transport::{Stream, TlsLayer};

use crate::limits::ConnectionGuard;
use crate::traced::TcpStream;

/// An open connection, with or without TLS.
pub(crate) struct Connection<'a>(Stream<Socket<'a>>);

/// A socket on which every read and write ends by the deadline of the attempt.
/// (TLS may need several of them for one of its own, so the timeout of the socket
/// is set before each.)
struct Socket<'a> {
    stream: TcpStream,
    deadline: &'a Deadline,
    /// Dropped after `stream`, because fields are dropped in their order.
    guard: ConnectionGuard<'a>,
}

impl<'a> Connection<'a> {
    pub(crate) fn new(
        stream: TcpStream,
        layer: TlsLayer,
        guard: ConnectionGuard<'a>,
        deadline: &'a Deadline,
    ) -> Self {
        Self(Stream::new(Socket { stream, deadline, guard }, layer))
    }
}

/// Sends all bytes.
pub(crate) fn write_all(connection: &mut Connection<'_>, bytes: &[u8]) -> io::Result<()> {
    connection.0.write_all(bytes)?;
    connection.0.flush()
}

// ANCHOR: read
/// Waits for bytes and passes them to `sink`. Returns the value of `sink`, or
/// `None` when the server has closed the connection.
fn read<R>(
    connection: &mut Connection<'_>,
    sink: impl FnOnce(&[u8]) -> R,
) -> io::Result<Option<R>> {
    let mut buffer = [0; 16 * 1024];
    loop {
        match connection.0.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(length) => return Ok(Some(sink(&buffer[..length]))),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
// ANCHOR_END: read

// ANCHOR: read_all
/// Reads until `sink` returns `Break`, and returns its value; or until the server
/// closes the connection, and returns `None`.
pub(crate) fn read_all<B>(
    connection: &mut Connection<'_>,
    mut sink: impl FnMut(&[u8]) -> ControlFlow<B>,
) -> io::Result<Option<B>> {
    while let Some(flow) = read(connection, &mut sink)? {
        if let ControlFlow::Break(value) = flow {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
// ANCHOR_END: read_all

// ANCHOR: socket
impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(remaining(self.deadline)?))?;
        let read = self.stream.read(buffer);
        self.guard.answered();
        read
    }
}
// ANCHOR_END: socket

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
    // Makes sure that a call times out after the deadline and never just before it,
    // however the system rounds: its clock for this may tick only every 10 ms.
    const MARGIN: Duration = Duration::from_millis(10);
    let remaining = deadline.at().saturating_duration_since(Instant::now());
    if remaining.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(remaining.saturating_add(MARGIN))
}
