//! The trace of this stage, in two decorators: one around the fetches, and one around
//! the stream. Without a tracer, each of their events is one branch.

use std::io::{self, IoSlice, Read, Write};
use std::net::{self, SocketAddr};
use std::os::fd::AsRawFd;
use std::time::Duration;

use crawl_core::Visit;
use trace::{Event, emit, outcome};

/// Decorates a fetch: each thread that calls it writes to the tracer of the thread that
/// called this function, on a lane of its own.
pub(crate) fn traced(fetch: impl Fn(&mut Visit) + Sync) -> impl Fn(&mut Visit) + Sync {
    let tracer = trace::current();
    move |visit| {
        if let Some(tracer) = &tracer {
            tracer.enter_thread("thread");
        }
        trace::fetch_begin(&*visit);
        fetch(visit);
    }
}

/// A stream of the standard library whose calls are in the trace.
pub(crate) struct TcpStream(net::TcpStream);

impl TcpStream {
    pub(crate) fn connect_timeout(address: &SocketAddr, timeout: Duration) -> io::Result<Self> {
        let stream = Self(net::TcpStream::connect_timeout(address, timeout)?);
        emit(|| Event::Connect { key: stream.key(), address: *address });
        Ok(stream)
    }

    pub(crate) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_read_timeout(timeout)
    }

    pub(crate) fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_write_timeout(timeout)
    }

    /// Returns the key of the stream in the trace: its file descriptor.
    fn key(&self) -> u64 {
        self.0.as_raw_fd() as u64
    }

    fn traced_write(&self, result: io::Result<usize>) -> io::Result<usize> {
        emit(|| Event::Write { key: self.key(), result: outcome(&result) });
        result
    }
}

impl Read for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.0.read(buffer);
        emit(|| Event::Read { key: self.key(), result: outcome(&result) });
        result
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.0.write(bytes);
        self.traced_write(result)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        let result = self.0.write_vectored(bytes);
        self.traced_write(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for TcpStream {
    fn drop(&mut self) {
        emit(|| Event::Close { key: self.key() });
    }
}
