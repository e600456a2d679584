//! The operating system as a backend: epoll or kqueue through mio, and the
//! monotonic clock.

use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use mio::event::Source;
use mio::net::{TcpStream, UnixStream};

use super::{Backend, CustomSocket, Event, Kind, Notifier, Socket, Timeout};
use crate::{Key, Readiness};

/// The backend of real sockets and real time.
#[derive(Debug)]
pub struct OsBackend {
    poll: mio::Poll,
    events: mio::Events,
    waker: Arc<mio::Waker>,
}

/// The token of the notifier. No key has these bits: it would take 2^32 slots.
const NOTIFIED: mio::Token = mio::Token(usize::MAX);

/// A token carries a whole key with its generation, so that an event for a
/// slot's former socket is told from one for its present socket.
const _: () = assert!(usize::BITS >= 64, "a token has room for a Key");

impl OsBackend {
    /// The most events of one wait; the next wait returns the rest.
    const EVENTS_PER_WAIT: usize = 1024;

    /// Opens an event queue of the operating system.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    pub fn new() -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let waker = Arc::new(mio::Waker::new(poll.registry(), NOTIFIED)?);
        Ok(Self { poll, events: mio::Events::with_capacity(Self::EVENTS_PER_WAIT), waker })
    }

    // ANCHOR: os_register
    /// Registers a socket for both directions under its key.
    fn register(&self, source: &mut impl Source, key: Key) -> io::Result<()> {
        let token = mio::Token(key.to_bits() as usize);
        let both = mio::Interest::READABLE | mio::Interest::WRITABLE;
        self.poll.registry().register(source, token, both)
    }
    // ANCHOR_END: os_register
}

impl Backend for OsBackend {
    fn now(&self) -> Instant {
        Instant::now()
    }

    // ANCHOR: os_connect
    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let mut stream = TcpStream::connect(address)?;
        self.register(&mut stream, key)?;
        Ok(Socket(Kind::Os(stream)))
    }
    // ANCHOR_END: os_connect

    fn connect_unix(&mut self, path: &Path, key: Key) -> io::Result<Socket> {
        let mut stream = UnixStream::connect(path)?;
        self.register(&mut stream, key)?;
        Ok(Socket::custom(UnixSocket(stream)))
    }

    fn wait(&mut self, mut timeout: Timeout, events: &mut Vec<Event>) -> io::Result<()> {
        let deadline = timeout.and_then(|timeout| self.now().checked_add(timeout));
        while let Err(error) = self.poll.poll(&mut self.events, timeout) {
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
            timeout = deadline.map(|deadline| deadline.saturating_duration_since(self.now()));
        }
        let of_sockets = self.events.iter().filter(|event| event.token() != NOTIFIED);
        events.extend(of_sockets.map(|event| Event {
            key: Key::from_bits(event.token().0 as u64),
            readiness: readiness(event),
        }));
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        let waker = Arc::clone(&self.waker);
        // This fails only when the queue is so full of notifications that the
        // wait ends anyway.
        Notifier::new(move || drop(waker.wake()))
    }
}

// ANCHOR: connected
/// Returns true once the connection is established. Asks in this order: first
/// for a pending error, because a refused connection is writable too; then for
/// the peer's address, because writability may be reported without cause.
pub(super) fn connected(stream: &TcpStream) -> io::Result<bool> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(false),
        Err(error) => Err(error),
    }
}
// ANCHOR_END: connected

/// A Unix socket. A crawl has one, and thousands over TCP.
#[derive(Debug)]
struct UnixSocket(UnixStream);

impl CustomSocket for UnixSocket {
    fn connected(&self) -> io::Result<bool> {
        self.0.take_error()?.map_or(Ok(true), Err)
    }
}

impl Read for UnixSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for UnixSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

fn readiness(event: &mio::event::Event) -> Readiness {
    let mut ready = Readiness::NONE;
    // The next operation in either direction finds an error.
    let error = event.is_error();
    if event.is_readable() || event.is_read_closed() || error {
        ready = ready | Readiness::READABLE;
    }
    if event.is_writable() || event.is_write_closed() || error {
        ready = ready | Readiness::WRITABLE;
    }
    if event.is_read_closed() || error {
        ready = ready | Readiness::READ_CLOSED;
    }
    ready
}
