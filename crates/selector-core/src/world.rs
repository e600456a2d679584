//! The one seam between a loop and everything it cannot compute: readiness,
//! the clock, and what reads, writes and connects give.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::{Key, Readiness};

/// Where a [`crate::Selector`] gets its news from. [`Os`] is the real one.
pub trait World {
    /// The present moment.
    fn now(&self) -> Instant;

    /// Opens a connection to `address` and has its news reported under `key`,
    /// in both directions, until the socket is dropped. Returns at once; the
    /// connection is not made yet.
    ///
    /// # Errors
    /// What the operating system says to a socket or a connect.
    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket>;

    /// Waits until there is news, a [`Notifier`] calls, or `timeout` has
    /// passed (`None`: as long as it takes), and appends the news.
    ///
    /// # Errors
    /// What makes further waiting pointless. An interrupted wait is no error.
    fn wait(&mut self, timeout: Option<Duration>, news: &mut Vec<Event>) -> io::Result<()>;

    /// A bell that ends [`World::wait`] from any thread.
    fn notifier(&self) -> Notifier;
}

/// One piece of news.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// Whose.
    pub key: Key,
    /// What became possible.
    pub readiness: Readiness,
}

/// Ends a loop's wait from another thread. Rung twice before the loop looks,
/// it ends one wait; rung before the wait begins, it ends the next one.
#[derive(Clone)]
pub struct Notifier(Arc<dyn Fn() + Send + Sync>);

impl Notifier {
    /// A notifier that does this.
    pub fn new(ring: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(ring))
    }

    /// Ends the present wait, or the next one.
    pub fn notify(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Notifier")
    }
}

/// A non-blocking byte stream: a TCP connection, or what a [`World`] of your
/// own says is one.
#[derive(Debug)]
pub struct Socket(Kind);

#[derive(Debug)]
enum Kind {
    Os(TcpStream),
    /// Boxed twice, or a real one would be as large as this.
    Scripted(Box<Box<dyn ScriptedSocket>>),
}

/// What a connection of a [`World`] other than [`Os`] has to answer.
pub trait ScriptedSocket: Read + Write + fmt::Debug {
    /// See [`Socket::connected`].
    ///
    /// # Errors
    /// Why the connection could not be made.
    fn connected(&self) -> io::Result<bool>;
}

impl Socket {
    /// A socket whose every result comes from `script`.
    pub fn scripted(script: impl ScriptedSocket + 'static) -> Self {
        Self(Kind::Scripted(Box::new(Box::new(script))))
    }

    // ANCHOR: connected
    /// Whether the connection is made. To be asked when the socket becomes
    /// writable, in this order: a pending error first, because a refused
    /// connection is writable too; then the peer's address, because
    /// writability may be reported without cause.
    ///
    /// # Errors
    /// Why the connection could not be made.
    pub fn connected(&self) -> io::Result<bool> {
        let stream = match &self.0 {
            Kind::Os(stream) => stream,
            Kind::Scripted(script) => return script.connected(),
        };
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
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Os(stream) => stream.read(buffer),
            Kind::Scripted(script) => script.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Os(stream) => stream.write(bytes),
            Kind::Scripted(script) => script.write(bytes),
        }
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Os(stream) => stream.write_vectored(bytes),
            Kind::Scripted(script) => script.write_vectored(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Os(stream) => stream.flush(),
            Kind::Scripted(script) => script.flush(),
        }
    }
}

/// The real world: epoll or kqueue through mio, and the monotonic clock.
#[derive(Debug)]
pub struct Os {
    poll: mio::Poll,
    events: mio::Events,
    waker: Arc<mio::Waker>,
}

/// No key looks like this: it would take 2^32 slots to have it.
const NOTIFIED: mio::Token = mio::Token(usize::MAX);

/// A token carries a whole key, so that news for the socket that had the slot
/// before is told from news for the one that has it now.
const _: () = assert!(usize::BITS >= 64, "a token has room for a Key");

impl Os {
    /// At most this many pieces of news a wait; more come with the next one.
    const NEWS_PER_WAIT: usize = 1024;

    /// A new event queue of the operating system's.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    pub fn new() -> io::Result<Self> {
        let poll = mio::Poll::new()?;
        let waker = Arc::new(mio::Waker::new(poll.registry(), NOTIFIED)?);
        Ok(Self { poll, events: mio::Events::with_capacity(Self::NEWS_PER_WAIT), waker })
    }
}

impl World for Os {
    fn now(&self) -> Instant {
        Instant::now()
    }

    // ANCHOR: os_connect
    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let mut stream = TcpStream::connect(address)?;
        let token = mio::Token(key.to_bits() as usize);
        let both = mio::Interest::READABLE | mio::Interest::WRITABLE;
        self.poll.registry().register(&mut stream, token, both)?;
        Ok(Socket(Kind::Os(stream)))
    }
    // ANCHOR_END: os_connect

    fn wait(&mut self, timeout: Option<Duration>, news: &mut Vec<Event>) -> io::Result<()> {
        match self.poll.poll(&mut self.events, timeout) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            result => result?,
        }
        let happened = self.events.iter().filter(|event| event.token() != NOTIFIED);
        news.extend(happened.map(|event| Event {
            key: Key::from_bits(event.token().0 as u64),
            readiness: readiness(event),
        }));
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        let waker = Arc::clone(&self.waker);
        // The one way for this to fail is a queue so full of notifications
        // that the wait ends anyway.
        Notifier::new(move || drop(waker.wake()))
    }
}

fn readiness(event: &mio::event::Event) -> Readiness {
    let mut ready = Readiness::NONE;
    // An error is found by whoever tries next, in either direction.
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
