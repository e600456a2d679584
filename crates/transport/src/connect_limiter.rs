//! A limit on the connections that are pending at one address.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::mem;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use slab::Slab;

/// A limiter that lets [`MAX_PENDING`](ConnectLimiter::MAX_PENDING) connections
/// to one address be pending at a time, and queues the others, first come,
/// first served.
///
/// A connection is pending, and holds a permit, until the server's first byte
/// arrives: nothing before that shows that the server has accepted it. With TLS,
/// callbacks and coroutines see the first byte after the handshake only, and hold
/// the permit until then. A server's system keeps a list of connections that the
/// server has not accepted yet (the listen backlog), and drops new ones while it
/// is full. The client's system then waits a whole second before it tries again
/// (RFC 6298, section 2), so a thousand connections requested at once take longer
/// than the same thousand one after another.
///
/// A server may be quick to accept and slow to answer. So when no permit is
/// released for [`ConnectLimiter::GRACE_PERIOD`], another batch of
/// `MAX_PENDING` connections may start. As long as the server answers, its
/// answers set the pace. `W` is the waiter to resume: a callback, a future, a
/// channel.
pub struct ConnectLimiter<W> {
    addresses: Slab<AddressQueue<W>>,
    by_address: BTreeMap<SocketAddr, AddressId>,
}

/// The id of an address while connections to it are pending. Every fetch that
/// waits for its first byte holds one, so it is smaller than an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressId(NonZeroU32);

impl AddressId {
    fn of(index: usize) -> Self {
        Self(NonZeroU32::MIN.saturating_add(index as u32))
    }

    fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// The pending connections and the waiters of one address.
struct AddressQueue<W> {
    address: SocketAddr,
    /// The number of permits that are held.
    pending: usize,
    waiters: VecDeque<W>,
    /// The end of the current grace period.
    grace_ends: Instant,
    /// Set when a permit was released in the current grace period.
    is_moving: bool,
    /// True while a call of `grant_batch` is due.
    has_timer: bool,
}

/// The result of [`ConnectLimiter::acquire`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acquire {
    /// The permit is granted.
    Granted,
    /// The waiter is in the queue of its address, until
    /// [`ConnectLimiter::release`] or [`ConnectLimiter::grant_batch`] returns
    /// it with a permit.
    Queued {
        /// True if no call of `grant_batch` is due. Then the caller has to call it when
        /// a grace period is over.
        needs_timer: bool,
    },
}

impl<W> ConnectLimiter<W> {
    /// The number of connections that may be pending at one address: the
    /// longest listen backlog that Linux allowed by default before version 5.4.
    pub const MAX_PENDING: usize = 128;

    /// The time without an answer after which a server is taken for one that is
    /// slow to answer, rather than slow to accept.
    pub const GRACE_PERIOD: Duration = Duration::from_millis(5);

    /// Acquires a permit to connect to an address, or queues a waiter for one.
    /// `waiter` is called only in the second case.
    pub fn acquire(
        &mut self,
        address: SocketAddr,
        now: Instant,
        waiter: impl FnOnce(AddressId) -> W,
    ) -> (AddressId, Acquire) {
        let id = *self.by_address.entry(address).or_insert_with(|| {
            let waiters = VecDeque::new();
            let queue = AddressQueue {
                address,
                pending: 0,
                waiters,
                grace_ends: now,
                is_moving: false,
                has_timer: false,
            };
            AddressId::of(self.addresses.insert(queue))
        });
        let queue = &mut self.addresses[id.index()];
        if queue.pending < Self::MAX_PENDING {
            queue.pending += 1;
            return (id, Acquire::Granted);
        }
        if queue.waiters.is_empty() {
            (queue.grace_ends, queue.is_moving) = (now + Self::GRACE_PERIOD, false);
        }
        queue.waiters.push_back(waiter(id));
        let needs_timer = !mem::replace(&mut queue.has_timer, true);
        (id, Acquire::Queued { needs_timer })
    }

    /// Releases a permit: the server has sent its first byte, or the connection
    /// has ended. Returns the waiter that has waited longest, which now holds a
    /// permit, if one is free.
    pub fn release(&mut self, id: AddressId) -> Option<W> {
        let queue = self.addresses.get_mut(id.index())?;
        queue.pending -= 1;
        queue.is_moving = true;
        if queue.pending < Self::MAX_PENDING
            && let Some(next) = queue.waiters.pop_front()
        {
            queue.pending += 1;
            return Some(next);
        }
        if queue.pending == 0 {
            self.by_address.remove(&queue.address);
            self.addresses.remove(id.index());
        }
        None
    }

    /// Ends a grace period. If it is over and no permit was released in it,
    /// returns the next batch of waiters, which now hold permits. `None` means
    /// that no waiter is left; otherwise the caller has to call this again after
    /// another grace period. To call it more often does no harm.
    pub fn grant_batch(&mut self, id: AddressId, now: Instant) -> Option<Vec<W>> {
        let queue = self.addresses.get_mut(id.index())?;
        if queue.waiters.is_empty() {
            queue.has_timer = false;
            return None;
        }
        if now < queue.grace_ends {
            return Some(Vec::new());
        }
        queue.grace_ends = now + Self::GRACE_PERIOD;
        let was_moving = mem::take(&mut queue.is_moving);
        let batch = if was_moving { 0 } else { queue.waiters.len().min(Self::MAX_PENDING) };
        queue.pending += batch;
        let granted = queue.waiters.drain(..batch).collect();
        // Thousands may have waited; their memory is given back.
        queue.waiters.shrink_to(2 * queue.waiters.len());
        Some(granted)
    }
}

impl<W> Default for ConnectLimiter<W> {
    fn default() -> Self {
        Self { addresses: Slab::new(), by_address: BTreeMap::new() }
    }
}

impl<W> fmt::Debug for ConnectLimiter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectLimiter")
            .field("addresses", &self.addresses.len())
            .finish_non_exhaustive()
    }
}
