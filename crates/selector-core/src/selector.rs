//! The selector: sockets, their readiness, kept until `WouldBlock` clears it, and
//! the waiter under each key.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use crate::backend::traced_stale;
use crate::{Backend, Endpoint, Event, Interest, Key, Notifier, Readiness, Slab, Socket, Timeout};

/// The sockets of a loop with their readiness, and under each key the data of
/// its waiter: a callback, a waker, anything.
///
/// ```
/// use selector_core::{Interest, Selector};
///
/// let server = std::net::TcpListener::bind("127.0.0.1:0")?;
/// let mut selector = Selector::new()?;
/// let (socket, key) = selector.connect(server.local_addr()?)?;
/// selector.register(key, Interest::Writable, "connected");
///
/// let mut keys = Vec::new();
/// selector.select(None, &mut keys)?;
/// assert_eq!(selector.take(keys[0]), Some("connected"));
/// assert!(socket.connected()?);
/// # Ok::<(), std::io::Error>(())
/// ```
// ANCHOR: selector
pub struct Selector<D> {
    backend: Box<dyn Backend>,
    sockets: Slab<Registration<D>>,
    /// Keys whose waiter was registered when the socket was ready already.
    ready_at_once: Vec<Key>,
    events: Vec<Event>,
}
// ANCHOR_END: selector

// ANCHOR: registration
struct Registration<D> {
    ready: Readiness,
    waiter: Option<D>,
    /// The direction that the waiter waits for.
    interest: Interest,
}
// ANCHOR_END: registration

impl<D> Selector<D> {
    /// Makes a selector of the operating system's sockets.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    #[cfg(feature = "os")]
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_backend(crate::OsBackend::new()?))
    }

    /// Makes a selector of the sockets of `backend`.
    pub fn with_backend(backend: impl Backend + 'static) -> Self {
        Self {
            backend: crate::backend::traced(backend),
            sockets: Slab::new(),
            ready_at_once: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Returns the present moment.
    pub fn now(&self) -> Instant {
        self.backend.now()
    }

    /// Returns a handle that ends [`Selector::select`] from any thread.
    pub fn notifier(&self) -> Notifier {
        self.backend.notifier()
    }

    /// Returns the number of open sockets.
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Returns true if no socket is open.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Begins to connect. The socket becomes writable when the attempt has
    /// succeeded or failed: see [`Socket::connected`].
    ///
    /// # Errors
    /// Those that the operating system reports at once, such as no free
    /// descriptor or no route.
    pub fn connect(&mut self, to: impl Into<Endpoint>) -> io::Result<(Socket, Key)> {
        let key = self.sockets.insert(Registration {
            ready: Readiness::NONE,
            waiter: None,
            interest: Interest::Writable,
        });
        let connected = self.backend.open(&to.into(), key).map(|socket| (socket, key));
        connected.inspect_err(|_| drop(self.sockets.remove(key)))
    }

    // ANCHOR: register
    /// Registers `data` as the waiter under this key and returns the waiter
    /// before it (or `data` itself when the key is stale). If the socket is
    /// ready already, the next [`Selector::select`] returns the key.
    pub fn register(&mut self, key: Key, interest: Interest, data: D) -> Option<D> {
        let Some(registration) = self.sockets.get_mut(key) else {
            return Some(data);
        };
        if registration.ready.satisfies(interest) {
            self.ready_at_once.push(key);
        }
        registration.interest = interest;
        registration.waiter.replace(data)
    }
    // ANCHOR_END: register

    /// Takes the waiter under this key; none if it is gone or the key is stale.
    pub fn take(&mut self, key: Key) -> Option<D> {
        self.sockets.get_mut(key).or_else(|| traced_stale(key))?.waiter.take()
    }

    /// Returns the operations known to be possible on this socket.
    pub fn readiness(&self, key: Key) -> Readiness {
        self.sockets.get(key).map_or(Readiness::NONE, |registration| registration.ready)
    }

    // ANCHOR: clear
    /// Clears the readiness of one direction until the next event. Call this
    /// after `WouldBlock` or a short read. A socket that the peer has closed stays
    /// readable.
    pub fn clear(&mut self, key: Key, interest: Interest) {
        if let Some(registration) = self.sockets.get_mut(key) {
            registration.ready = registration.ready.without(interest);
        }
    }
    // ANCHOR_END: clear

    /// Removes the key and returns its waiter. Drop the socket after this:
    /// closing it ends its registration with the operating system.
    pub fn unregister(&mut self, key: Key) -> Option<D> {
        self.sockets.remove(key)?.waiter
    }

    // ANCHOR: select
    /// Waits for events, at most `timeout` (`None`: without a limit), and replaces
    /// `keys` by those whose waiters can be called. By the time you handle a key, its
    /// socket may be closed or its waiter gone: then [`Selector::take`] returns `None`. Or
    /// another waiter has taken its place, whose direction is not ready: it finds
    /// `WouldBlock` and waits again.
    ///
    /// # Errors
    /// See [`Backend::wait`].
    pub fn select(&mut self, timeout: Timeout, keys: &mut Vec<Key>) -> io::Result<()> {
        keys.clear();
        keys.append(&mut self.ready_at_once);
        let timeout = if keys.is_empty() { timeout } else { Some(Duration::ZERO) };
        self.events.clear();
        self.backend.wait(timeout, &mut self.events)?;
        for Event { key, readiness } in self.events.drain(..) {
            let registration = self.sockets.get_mut(key).or_else(|| traced_stale(key));
            let Some(registration) = registration else { continue };
            registration.ready = registration.ready | readiness;
            let is_awaited = registration.waiter.is_some();
            if is_awaited && registration.ready.satisfies(registration.interest) {
                keys.push(key);
            }
        }
        Ok(())
    }
    // ANCHOR_END: select
}

impl<D> fmt::Debug for Selector<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selector").field("sockets", &self.sockets.len()).finish_non_exhaustive()
    }
}
