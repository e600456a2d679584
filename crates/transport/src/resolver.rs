//! Name lookup that never blocks the caller.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::dns_cache::DnsCache;
use crate::lookup::{
    Addresses, HostPort, LookupError, LookupFn, LookupResult, lookup_catching_panic,
};

/// The id of a waiter of a [`Resolver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LookupId(u64);

/// The result of [`Resolver::lookup`].
#[derive(Debug)]
pub enum Lookup<W> {
    /// The addresses are known. The waiter is given back: it need not wait.
    Cached(Addresses, W),
    /// The resolver keeps the waiter under this id until the answer is there.
    Pending(LookupId),
}

/// A resolver with a DNS cache and a pool of at most eight lookup threads.
///
/// `W` is the waiter to resume: a callback, a waker, anything. All waiters for
/// the same host and port share one lookup. Lookups for which there is no
/// thread are queued.
pub struct Resolver<W> {
    lookup: Arc<LookupFn>,
    notify: Arc<dyn Fn() + Send + Sync>,
    /// The results that lookup threads have left here, until
    /// [`Resolver::answered`] takes them.
    results: Arc<Mutex<Vec<(HostPort, LookupResult)>>>,
    cache: DnsCache,
    /// The lookups that are queued or in flight, with the ids of their waiters.
    pending: HashMap<HostPort, Vec<LookupId>>,
    /// The pending lookups that have no thread yet.
    queued: VecDeque<HostPort>,
    threads: usize,
    waiters: BTreeMap<LookupId, W>,
    next_id: u64,
}

impl<W> Resolver<W> {
    const MAX_THREADS: usize = 8;

    /// Creates a resolver that calls `lookup` on threads of its own. After each
    /// lookup its thread calls `notify`: then [`Resolver::answered`] has
    /// something to return.
    pub fn new(lookup: Arc<LookupFn>, notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            lookup,
            notify: Arc::new(notify),
            results: Arc::new(Mutex::new(Vec::new())),
            cache: DnsCache::default(),
            pending: HashMap::new(),
            queued: VecDeque::new(),
            threads: 0,
            waiters: BTreeMap::new(),
            next_id: 0,
        }
    }

    /// Starts a lookup of `host`, which is a name, an IPv4 address, or an IPv6
    /// address with or without brackets. An IP address is answered at once, and
    /// so is a host that is in the cache at the time `now`.
    pub fn lookup(&mut self, host: &str, port: u16, now: Instant, waiter: W) -> Lookup<W> {
        if let Some(addresses) = self.cache.get(host, port, now) {
            return Lookup::Cached(addresses, waiter);
        }
        let name: HostPort = (host.into(), port);
        let lookup_id = LookupId(self.next_id);
        self.next_id += 1;
        self.waiters.insert(lookup_id, waiter);
        let ids = self.pending.entry(name.clone()).or_default();
        ids.push(lookup_id);
        if ids.len() == 1 {
            self.queued.push_back(name);
            self.start_queued();
        }
        Lookup::Pending(lookup_id)
    }

    /// Returns the addresses with which [`Resolver::lookup`] would answer at
    /// once.
    pub fn cached(&mut self, host: &str, port: u16, now: Instant) -> Option<Addresses> {
        self.cache.get(host, port, now)
    }

    /// Returns the waiter with this id, unless it has been answered.
    pub fn waiter_mut(&mut self, lookup_id: LookupId) -> Option<&mut W> {
        self.waiters.get_mut(&lookup_id)
    }

    // ANCHOR: cancel
    /// Cancels a wait and returns the waiter, unless it has been answered. The
    /// lookup itself continues, for the other waiters and the cache.
    pub fn cancel(&mut self, lookup_id: LookupId) -> Option<W> {
        self.waiters.remove(&lookup_id)
    }
    // ANCHOR_END: cancel

    /// Returns the number of waiters.
    pub fn waiting(&self) -> usize {
        self.waiters.len()
    }

    /// Returns the waiters whose answer has arrived, with the answer. To be
    /// called after `notify` was called.
    pub fn answered(&mut self, now: Instant) -> Vec<(W, LookupResult)> {
        let results = std::mem::take(&mut *lock(&self.results));
        let mut answered = Vec::new();
        for (name, result) in results {
            self.threads -= 1;
            // A stale answer is better than none: the failure may be local.
            let result = result.or_else(|error| self.cache.stale(&name).ok_or(error));
            let ids = self.pending.remove(&name).unwrap_or_default();
            let waiters = ids.iter().filter_map(|id| self.waiters.remove(id));
            answered.extend(waiters.map(|waiter| (waiter, result.clone())));
            if let Ok(addresses) = result {
                self.cache.insert(name, addresses, now);
            }
        }
        self.start_queued();
        answered
    }

    /// Starts queued lookups, as long as there may be more threads.
    fn start_queued(&mut self) {
        while self.threads < Self::MAX_THREADS {
            let Some(name) = self.queued.pop_front() else {
                return;
            };
            let is_waiting = |lookup_id: &LookupId| self.waiters.contains_key(lookup_id);
            if !self.pending.get(&name).is_some_and(|ids| ids.iter().any(is_waiting)) {
                // All its waiters have been cancelled.
                self.pending.remove(&name);
                continue;
            }
            self.threads += 1;
            self.spawn_lookup(name);
        }
    }

    fn spawn_lookup(&self, name: HostPort) {
        let lookup = Arc::clone(&self.lookup);
        let results = Arc::clone(&self.results);
        let notify = Arc::clone(&self.notify);
        let looked_up = name.clone();
        let thread = thread::Builder::new().name("look-up".into()).spawn(move || {
            let result = lookup_catching_panic(&*lookup, &looked_up);
            lock(&results).push((looked_up, result));
            notify();
        });
        if let Err(error) = thread {
            let result = Err(LookupError::new(&name.0, error.to_string()));
            lock(&self.results).push((name, result));
            (self.notify)();
        }
    }
}

/// Locks the list, even after a panic: it is consistent at all times.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W> fmt::Debug for Resolver<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("waiting", &self.waiters.len()).finish_non_exhaustive()
    }
}
