//! A backend whose waits, connections, reads and writes are in the trace.

use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Instant;

use trace::{emit, outcome};

use super::{Backend, CustomSocket, Event, Notifier, Socket, Timeout};
use crate::{Key, Readiness};

/// Boxes a backend, which is traced if this thread has a tracer now. Otherwise
/// tracing costs nothing here.
pub(crate) fn traced(backend: impl Backend + 'static) -> Box<dyn Backend> {
    if trace::is_on() { Box::new(Traced { backend, ticks: 0 }) } else { Box::new(backend) }
}

/// A tick lasts from one wait to the next.
struct Traced<B> {
    backend: B,
    ticks: u64,
}

impl<B> Drop for Traced<B> {
    fn drop(&mut self) {
        emit(|| trace::Event::TickEnd);
    }
}

impl<B: Backend> Backend for Traced<B> {
    fn now(&self) -> Instant {
        self.backend.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let socket = self.backend.connect(address, key)?;
        Ok(traced_socket(socket, key, address))
    }

    fn connect_unix(&mut self, path: &Path, key: Key) -> io::Result<Socket> {
        let socket = self.backend.connect_unix(path, key)?;
        // The address of no peer: a path has none.
        Ok(traced_socket(socket, key, SocketAddr::from(([0, 0, 0, 0], 0))))
    }

    fn wait(&mut self, timeout: Timeout, events: &mut Vec<Event>) -> io::Result<()> {
        if self.ticks > 0 {
            emit(|| trace::Event::TickEnd);
        }
        self.ticks += 1;
        emit(|| trace::Event::TickBegin { number: self.ticks });
        emit(|| trace::Event::SelectBegin { timeout });
        let result = self.backend.wait(timeout, events);
        emit(|| trace::Event::SelectEnd { ready: events.len() });
        events.iter().for_each(|event| emit(|| ready(event.key, event.readiness, false)));
        result
    }

    fn notifier(&self) -> Notifier {
        self.backend.notifier()
    }
}

/// Writes that a connection is being made, and traces its socket.
fn traced_socket(socket: Socket, key: Key, address: SocketAddr) -> Socket {
    let key = key.to_bits();
    emit(|| trace::Event::Connect { key, address });
    Socket::custom(TracedSocket { socket, key })
}

/// A socket whose calls are in the trace, one event for each.
#[derive(Debug)]
struct TracedSocket {
    socket: Socket,
    key: u64,
}

impl TracedSocket {
    fn traced_write(&self, result: io::Result<usize>) -> io::Result<usize> {
        emit(|| trace::Event::Write { key: self.key, result: outcome(&result) });
        result
    }
}

impl Read for TracedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let result = self.socket.read(buffer);
        emit(|| trace::Event::Read { key: self.key, result: outcome(&result) });
        result
    }
}

impl Write for TracedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.socket.write(bytes);
        self.traced_write(result)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        let result = self.socket.write_vectored(bytes);
        self.traced_write(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl CustomSocket for TracedSocket {
    fn connected(&self) -> io::Result<bool> {
        self.socket.connected()
    }
}

impl Drop for TracedSocket {
    fn drop(&mut self) {
        emit(|| trace::Event::Close { key: self.key });
    }
}

fn ready(key: Key, readiness: Readiness, stale: bool) -> trace::Event {
    let bits = [Readiness::READABLE, Readiness::WRITABLE];
    let [readable, writable] = bits.map(|bit| readiness.contains(bit));
    trace::Event::Ready { key: key.to_bits(), readable, writable, stale }
}

/// Writes that an event came too late: its socket is gone. Returns `None`.
pub(crate) fn traced_stale<T>(key: Key) -> Option<T> {
    emit(|| ready(key, Readiness::NONE, true));
    None
}
