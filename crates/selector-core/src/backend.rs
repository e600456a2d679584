//! The seam between an event loop and everything it cannot compute: readiness,
//! the clock, and the results of connecting, reading and writing.

#[cfg(feature = "os")]
mod os;
mod traced;
mod virtual_clock;

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[cfg(feature = "os")]
pub use self::os::OsBackend;
pub(crate) use self::traced::{traced, traced_stale};
pub use self::virtual_clock::VirtualClock;
use crate::{Key, Readiness};

/// The longest time to wait for events; `None` is without a limit.
pub type Timeout = Option<Duration>;

/// The source of a [`Selector`](crate::Selector)'s events and of its clock.
pub trait Backend {
    /// Returns the present moment.
    fn now(&self) -> Instant;

    /// Opens a connection to `address` and registers it for both directions
    /// under `key`, until the socket is dropped. Returns at once; the
    /// connection is not established yet.
    ///
    /// # Errors
    /// Those of the operating system for opening a socket or connecting it.
    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket>;

    /// Opens a connection to the Unix socket at `path`, as [`Backend::connect`]
    /// does to an address.
    ///
    /// # Errors
    /// As for [`Backend::connect`]; `Unsupported` unless the backend has such
    /// sockets.
    fn connect_unix(&mut self, _path: &Path, _key: Key) -> io::Result<Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Opens a connection to one end or the other.
    ///
    /// # Errors
    /// Those of [`Backend::connect`] or [`Backend::connect_unix`].
    fn open(&mut self, to: &Endpoint, key: Key) -> io::Result<Socket> {
        match to {
            Endpoint::Tcp(address) => self.connect(*address, key),
            Endpoint::Unix(path) => self.connect_unix(path, key),
        }
    }

    /// Waits until there are events, a [`Notifier`] is called, or `timeout` has
    /// passed (`None`: without a limit), and appends the events.
    ///
    /// # Errors
    /// Those that make further waiting pointless. A wait that a signal interrupts
    /// goes on, as in Python (PEP 475).
    fn wait(&mut self, timeout: Timeout, events: &mut Vec<Event>) -> io::Result<()>;

    /// Returns a handle that ends [`Backend::wait`] from any thread.
    fn notifier(&self) -> Notifier;
}

/// The other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// The address of a server.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl From<&Path> for Endpoint {
    fn from(path: &Path) -> Self {
        Self::Unix(path.to_owned())
    }
}

/// One change of readiness.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// The key of the socket.
    pub key: Key,
    /// The operations that became possible.
    pub readiness: Readiness,
}

/// A handle that ends a loop's wait from another thread. Called twice before
/// the loop looks, it ends one wait; called before the wait begins, it ends the
/// next one.
#[derive(Clone)]
pub struct Notifier(Arc<dyn Fn() + Send + Sync>);

impl Notifier {
    /// Makes a notifier that calls `notify`.
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(notify))
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

/// A non-blocking byte stream: a connection over TCP, or a [`CustomSocket`].
#[derive(Debug)]
pub struct Socket(Kind);

#[derive(Debug)]
enum Kind {
    #[cfg(feature = "os")]
    Os(mio::net::TcpStream),
    /// Boxed twice, so that a socket is as small as one over TCP.
    Custom(Box<Box<dyn CustomSocket>>),
}

/// The behaviour of a connection that is not simply a TCP socket of the operating system:
/// a simulated one, a Unix socket, or a socket that is traced or recorded.
pub trait CustomSocket: Read + Write + fmt::Debug {
    /// Returns true once the connection is established: see
    /// [`Socket::connected`].
    ///
    /// # Errors
    /// The reason why the connection could not be established.
    fn connected(&self) -> io::Result<bool>;
}

impl Socket {
    /// Makes a socket whose every result comes from `socket`.
    pub fn custom(socket: impl CustomSocket + 'static) -> Self {
        Self(Kind::Custom(Box::new(Box::new(socket))))
    }

    /// Returns true once the connection is established. Call this when the
    /// socket has become writable.
    ///
    /// # Errors
    /// The reason why the connection could not be established.
    pub fn connected(&self) -> io::Result<bool> {
        match &self.0 {
            #[cfg(feature = "os")]
            Kind::Os(stream) => os::connected(stream),
            Kind::Custom(socket) => socket.connected(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            #[cfg(feature = "os")]
            Kind::Os(stream) => stream.read(buffer),
            Kind::Custom(socket) => socket.read(buffer),
        }
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            #[cfg(feature = "os")]
            Kind::Os(stream) => stream.write(bytes),
            Kind::Custom(socket) => socket.write(bytes),
        }
    }

    fn write_vectored(&mut self, bytes: &[IoSlice<'_>]) -> io::Result<usize> {
        match &mut self.0 {
            #[cfg(feature = "os")]
            Kind::Os(stream) => stream.write_vectored(bytes),
            Kind::Custom(socket) => socket.write_vectored(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            #[cfg(feature = "os")]
            Kind::Os(stream) => stream.flush(),
            Kind::Custom(socket) => socket.flush(),
        }
    }
}
