//! A socket that blocks no longer than there is patience.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crawl_core::{FetchError, Patience};

use crate::connections::Place;

/// A connection whose every read and write ends, one way or the other, by the
/// deadline of its try.
#[derive(Debug)]
pub(crate) struct Socket<'a> {
    // Closed before the place is given up: fields are dropped in this order.
    stream: TcpStream,
    _place: Place<'a>,
    patience: &'a Patience,
}

impl<'a> Socket<'a> {
    pub(crate) fn new(stream: TcpStream, place: Place<'a>, patience: &'a Patience) -> Self {
        Self {
            stream,
            _place: place,
            patience,
        }
    }

    fn patiently<T>(
        &mut self,
        set_timeout: fn(&TcpStream, Option<Duration>) -> io::Result<()>,
        mut call: impl FnMut(&mut TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            set_timeout(&self.stream, Some(left(self.patience)?))?;
            match call(&mut self.stream) {
                // The timeout. The system's clock has a coarse grain, so it may
                // be too early.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                result => return result,
            }
        }
    }
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.patiently(TcpStream::set_read_timeout, |stream| stream.read(buffer))
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.patiently(TcpStream::set_write_timeout, |stream| stream.write(bytes))
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
    let left = patience
        .deadline()
        .saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(ErrorKind::TimedOut.into());
    }
    Ok(left)
}

/// Why a call failed: because patience was lost, or else for another reason.
pub(crate) fn reason(patience: &Patience, other: impl FnOnce() -> FetchError) -> FetchError {
    if left(patience).is_err() {
        patience.lost()
    } else {
        other()
    }
}
