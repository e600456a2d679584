//! A limit on the connections that are pending at one address.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use slab::Slab;

/// A limiter that lets [`MAX_PENDING`](ConnectLimiter::MAX_PENDING) connections
/// to one address be pending at a time, and queues the others, first come,
/// first served.
///
/// A connection is pending, and holds a permit, until the server's first byte
/// arrives: nothing before that shows that the server has accepted it. A
/// server's system keeps a list of connections that the server has not accepted
/// yet (the listen backlog), and drops new ones while it is full. The client's
/// system then waits a whole second before it tries again (RFC 6298, section
/// 2), so a thousand connections requested at once take longer than the same
/// thousand one after another.
///
/// A server may be quick to accept and slow to answer. So when no permit is
/// released for [`ConnectLimiter::GRACE_PERIOD`], another batch of
/// `MAX_PENDING` connections may start. As long as the server answers, its
/// answers set the pace. `W` is the waiter to resume: a callback, a waker, a
/// channel.
pub struct ConnectLimiter<W> {
    addresses: Slab<AddressQueue<W>>,
    by_address: BTreeMap<SocketAddr, AddressId>,
    next_sequence: u64,
}

/// The id of an address while connections to it are pending. Every fetch that
/// waits for its first byte holds one, so it is smaller than an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressId(u32);

/// The pending connections and the waiters of one address.
struct AddressQueue<W> {
    address: SocketAddr,
    /// The number of permits that are held.
    pending: usize,
    /// By sequence number, so that the first is the one that came first.
    waiters: BTreeMap<u64, Waiter<W>>,
    /// The number of permits released so far. It wraps around.
    released: u32,
}

struct Waiter<W> {
    waiter: W,
    /// The number of [grace periods](ConnectLimiter::GRACE_PERIOD) to wait: its
    /// batch, counted from 1.
    batches: u32,
    /// The value of [`AddressQueue::released`] when its wait last began.
    released: u32,
}

/// The id of a waiter of a [`ConnectLimiter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaiterId {
    address_id: AddressId,
    sequence: u64,
}

/// The result of [`ConnectLimiter::acquire`].
#[derive(Debug, PartialEq, Eq)]
pub enum Acquire<W> {
    /// The permit is granted. The waiter is given back: it need not wait.
    Granted(W),
    /// The limiter keeps the waiter under this id until
    /// [`ConnectLimiter::release`] returns it. After this time the caller has
    /// to call [`ConnectLimiter::retry`].
    Queued(WaiterId, Duration),
}

/// The result of [`ConnectLimiter::retry`].
#[derive(Debug, PartialEq, Eq)]
pub enum Retry<W> {
    /// The permit is granted.
    Granted(W),
    /// The server is answering: retry again after this time.
    Queued(Duration),
    /// The waiter is not queued any more: it got its permit earlier.
    Gone,
}

impl<W> ConnectLimiter<W> {
    /// The number of connections that may be pending at one address: the
    /// longest listen backlog that Linux allowed by default before version 5.4.
    pub const MAX_PENDING: usize = 128;

    /// The time without an answer after which a server is taken for one that is
    /// slow to answer, rather than slow to accept.
    pub const GRACE_PERIOD: Duration = Duration::from_millis(5);

    /// Creates a limiter without any pending connection.
    pub fn new() -> Self {
        Self { addresses: Slab::new(), by_address: BTreeMap::new(), next_sequence: 0 }
    }

    /// Returns the id of `address`, to be passed to [`ConnectLimiter::acquire`]
    /// at once: it is valid as long as a permit is held.
    pub fn address_id(&mut self, address: SocketAddr) -> AddressId {
        *self.by_address.entry(address).or_insert_with(|| {
            let queue = AddressQueue { address, pending: 0, waiters: BTreeMap::new(), released: 0 };
            AddressId(self.addresses.insert(queue) as u32)
        })
    }

    /// Acquires a permit to connect to an address, or queues `waiter` for one.
    ///
    /// # Panics
    /// When the id is not valid any more.
    pub fn acquire(&mut self, address_id: AddressId, waiter: W) -> Acquire<W> {
        let queue = &mut self.addresses[address_id.0 as usize];
        if queue.pending < Self::MAX_PENDING {
            queue.pending += 1;
            return Acquire::Granted(waiter);
        }
        let sequence = self.next_sequence;
        self.next_sequence += 1;
        let batches = 1 + queue.waiters.len() / Self::MAX_PENDING;
        let batches = u32::try_from(batches).unwrap_or(u32::MAX);
        queue.waiters.insert(sequence, Waiter { waiter, batches, released: queue.released });
        Acquire::Queued(
            WaiterId { address_id, sequence },
            Self::GRACE_PERIOD.saturating_mul(batches),
        )
    }

    /// Returns the waiter with this id, if it is still queued.
    pub fn waiter_mut(&mut self, WaiterId { address_id, sequence }: WaiterId) -> Option<&mut W> {
        let waiter = self.addresses.get_mut(address_id.0 as usize)?.waiters.get_mut(&sequence)?;
        Some(&mut waiter.waiter)
    }

    /// Grants a permit to a waiter that has waited for the time it was told. If
    /// a permit was released in the meantime, the queue moves, and the waiter
    /// has to wait again.
    pub fn retry(&mut self, WaiterId { address_id, sequence }: WaiterId) -> Retry<W> {
        let Some(queue) = self.addresses.get_mut(address_id.0 as usize) else {
            return Retry::Gone;
        };
        match queue.waiters.entry(sequence) {
            Vacant(_) => Retry::Gone,
            Occupied(mut entry) if entry.get().released != queue.released => {
                entry.get_mut().released = queue.released;
                Retry::Queued(Self::GRACE_PERIOD.saturating_mul(entry.get().batches))
            }
            Occupied(entry) => {
                queue.pending += 1;
                Retry::Granted(entry.remove().waiter)
            }
        }
    }

    /// Releases a permit: the server has sent its first byte, or the connection
    /// has ended. Returns the waiter that has waited longest, which now holds a
    /// permit, if one is free.
    pub fn release(&mut self, address_id: AddressId) -> Option<W> {
        let queue = self.addresses.get_mut(address_id.0 as usize)?;
        queue.pending -= 1;
        queue.released = queue.released.wrapping_add(1);
        if queue.pending < Self::MAX_PENDING
            && let Some((_, next)) = queue.waiters.pop_first()
        {
            queue.pending += 1;
            return Some(next.waiter);
        }
        if queue.pending == 0 {
            self.by_address.remove(&queue.address);
            self.addresses.remove(address_id.0 as usize);
        }
        None
    }
}

impl<W> Default for ConnectLimiter<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W> fmt::Debug for ConnectLimiter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectQueue")
            .field("addresses", &self.addresses.len())
            .finish_non_exhaustive()
    }
}
