//! Who waits for what.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::peer::Peer;
use crate::{Event, Interest, Key, Notifier, Os, Readiness, Slots, Socket, World};

/// Sockets, what is known of their readiness, and under each key the data of
/// whoever waits for it: a callback, a waker, anything.
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
    world: Box<dyn World>,
    sockets: Slots<Registration<D>>,
    /// Keys whose waiter came when the socket was ready already.
    ready_at_once: Vec<Key>,
    news: Vec<Event>,
}
// ANCHOR_END: selector

// ANCHOR: registration
struct Registration<D> {
    peer: Peer,
    ready: Readiness,
    waiter: Option<D>,
    /// What it waits for, if it is there.
    interest: Interest,
}
// ANCHOR_END: registration

impl<D> Selector<D> {
    /// A selector of the operating system's sockets.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    pub fn new() -> io::Result<Self> {
        Ok(Self::in_world(Os::new()?))
    }

    /// A selector of what this world reports.
    pub fn in_world(world: impl World + 'static) -> Self {
        Self {
            world: Box::new(world),
            sockets: Slots::new(),
            ready_at_once: Vec::new(),
            news: Vec::new(),
        }
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// A bell that ends [`Selector::select`] from any thread.
    pub fn notifier(&self) -> Notifier {
        self.world.notifier()
    }

    /// How many sockets are open here.
    pub fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Whether no socket is open here.
    pub fn is_empty(&self) -> bool {
        self.sockets.is_empty()
    }

    /// Begins to connect. The socket will be writable when the attempt has
    /// ended, one way or the other: see [`Socket::connected`].
    ///
    /// # Errors
    /// What the operating system says at once, such as having no descriptor
    /// left or no route.
    pub fn connect(&mut self, address: SocketAddr) -> io::Result<(Socket, Key)> {
        let key = self.sockets.insert(Registration {
            peer: Peer::new(address),
            ready: Readiness::NONE,
            waiter: None,
            interest: Interest::Writable,
        });
        match self.world.connect(address, key) {
            Ok(socket) => Ok((socket, key)),
            Err(error) => {
                self.sockets.remove(key);
                Err(error)
            }
        }
    }

    /// Whom a socket was to be connected with, for somebody to read.
    pub fn peer(&self, key: Key) -> Option<SocketAddr> {
        Some(self.sockets.get(key)?.peer.address())
    }

    // ANCHOR: register
    /// From now on `data` waits under this key, instead of what did before,
    /// which is returned (as is `data` itself when the key is stale). If the
    /// socket is ready already, the next [`Selector::select`] says so.
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

    /// Takes the data that waits under this key, if it still does.
    pub fn take(&mut self, key: Key) -> Option<D> {
        self.sockets.get_mut(key)?.waiter.take()
    }

    /// What is known to be possible on this socket.
    pub fn readiness(&self, key: Key) -> Readiness {
        self.sockets.get(key).map_or(Readiness::NONE, |registration| registration.ready)
    }

    // ANCHOR: clear
    /// To be called by whoever found nothing left, by `WouldBlock` or by a short
    /// read: this readiness is used up, until there is news.
    pub fn clear(&mut self, key: Key, interest: Interest) {
        if let Some(registration) = self.sockets.get_mut(key) {
            registration.ready = registration.ready.without(interest);
        }
    }
    // ANCHOR_END: clear

    /// Forgets the key and returns who waited. The socket is to be dropped:
    /// closing it is what ends its registration with the operating system.
    pub fn unregister(&mut self, key: Key) -> Option<D> {
        self.sockets.remove(key)?.waiter
    }

    // ANCHOR: select
    /// Waits for news, at most `timeout` (`None`: as long as it takes), and
    /// replaces `keys` by those whose waiters have something to do. A key may
    /// be stale by the time its turn comes, or its waiter gone: ask with
    /// [`Selector::take`].
    ///
    /// # Errors
    /// See [`World::wait`].
    pub fn select(&mut self, timeout: Option<Duration>, keys: &mut Vec<Key>) -> io::Result<()> {
        keys.clear();
        keys.append(&mut self.ready_at_once);
        let timeout = if keys.is_empty() { timeout } else { Some(Duration::ZERO) };
        self.news.clear();
        self.world.wait(timeout, &mut self.news)?;
        for Event { key, readiness } in self.news.drain(..) {
            let Some(registration) = self.sockets.get_mut(key) else {
                continue;
            };
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
