//! Name lookup that does not block the caller, unless it is immediate.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::dns_cache::DnsCache;
use crate::lookup::{
    Addresses, HostPort, LookupError, LookupFn, LookupResult, lookup_catching_panic,
};
use crate::lookup_queue::LookupQueue;

/// The id of a lookup that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookupId(u64);

/// The result of [`Resolver::lookup`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The addresses are known.
    Cached(Addresses),
    /// [`Resolver::answered`] will return the answer under this id.
    Pending(LookupId),
}

/// A resolver with a DNS cache, and threads that look names up.
///
/// Lookups of the same host and port share one call of the lookup function. At most
/// 128 names that are wanted are looked up at the same time; the others are queued,
/// and no zone can take all the places. A lookup that was cancelled goes on, since
/// the operating system offers no way to stop it, and takes no place any more, even if
/// its name is wanted again. In all there are at most 256 threads.
pub struct Resolver {
    lookup: Arc<LookupFn>,
    notify: Arc<dyn Fn() + Send + Sync>,
    /// The results that lookup threads have left here, until
    /// [`Resolver::answered`] takes them.
    results: Arc<Mutex<Vec<(HostPort, LookupResult)>>>,
    cache: DnsCache,
    /// The names that are queued or in flight.
    pending: HashMap<HostPort, Pending>,
    /// The pending names that have no thread yet, and the number of those in flight.
    queue: LookupQueue,
    threads: usize,
    /// The names of the lookups that are neither answered nor cancelled.
    wanted: HashMap<LookupId, HostPort>,
    next_id: u64,
}

/// A name that is queued or in flight.
#[derive(Default)]
struct Pending {
    /// The lookups that want it.
    lookup_ids: Vec<LookupId>,
    /// True if its thread counts as in flight: it runs, and was not abandoned.
    is_counted: bool,
}

impl Resolver {
    const MAX_THREADS: usize = 256;

    /// Creates a resolver that calls `lookup` on threads of its own. After each
    /// lookup its thread calls `notify`: then [`Resolver::answered`] has
    /// something to return. An [`Immediate`](crate::Immediate) lookup is made at once, on
    /// the caller's thread, and answered like the others.
    pub fn new(lookup: Arc<LookupFn>, notify: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            lookup,
            notify: Arc::new(notify),
            results: Arc::new(Mutex::new(Vec::new())),
            cache: DnsCache::default(),
            pending: HashMap::new(),
            queue: LookupQueue::default(),
            threads: 0,
            wanted: HashMap::new(),
            next_id: 0,
        }
    }

    /// Starts a lookup of `host`, which is a name, an IPv4 address, or an IPv6
    /// address with or without brackets. An IP address is answered at once, and
    /// so is a host that is in the cache at the time `now`.
    pub fn lookup(&mut self, host: &str, port: u16, now: Instant) -> Lookup {
        if let Some(addresses) = self.cache.get(host, port, now) {
            return Lookup::Cached(addresses);
        }
        let name: HostPort = (host.into(), port);
        let lookup_id = LookupId(self.next_id);
        self.next_id += 1;
        self.wanted.insert(lookup_id, name.clone());
        let is_new = !self.pending.contains_key(&name);
        self.pending.entry(name.clone()).or_default().lookup_ids.push(lookup_id);
        if is_new {
            self.queue.push(name);
            self.start_queued();
        }
        Lookup::Pending(lookup_id)
    }

    // ANCHOR: cancel
    /// Cancels a lookup: it will not be answered. What its thread finds out is
    /// still kept in the cache.
    pub fn cancel(&mut self, lookup_id: LookupId) {
        let Some(name) = self.wanted.remove(&lookup_id) else { return };
        let Some(pending) = self.pending.get_mut(&name) else { return };
        pending.lookup_ids.retain(|id| *id != lookup_id);
        if pending.lookup_ids.is_empty() && mem::take(&mut pending.is_counted) {
            self.queue.end(&name);
            self.start_queued();
        }
    }
    // ANCHOR_END: cancel

    /// Returns the lookups whose answer has arrived, with the answer. To be
    /// called after `notify` was called.
    pub fn answered(&mut self, now: Instant) -> Vec<(LookupId, LookupResult)> {
        let results = mem::take(&mut *lock(&self.results));
        if results.is_empty() {
            return Vec::new();
        }
        let mut answered = Vec::new();
        for (name, result) in results {
            self.threads -= 1;
            let pending = self.pending.remove(&name).unwrap_or_default();
            if pending.is_counted {
                self.queue.end(&name);
            }
            // A stale answer is better than none: the failure may be local.
            let result = match result {
                Ok(addresses) => Ok(self.cache.insert(name, addresses, now)),
                Err(error) => self.cache.stale(&name).ok_or(error),
            };
            for lookup_id in pending.lookup_ids {
                self.wanted.remove(&lookup_id);
                answered.push((lookup_id, result.clone()));
            }
        }
        self.start_queued();
        answered
    }

    /// Remembers that an address did not accept a connection: from now on it is the
    /// last in every answer. A host may have an address that swallows each attempt
    /// until its timeout, and one that is fine.
    pub fn address_failed(&mut self, address: SocketAddr) {
        self.cache.address_failed(address);
    }

    /// Starts queued lookups, as long as there may be more.
    fn start_queued(&mut self) {
        while self.threads < Self::MAX_THREADS
            && let Some(name) = self.queue.start_next()
        {
            let pending = self.pending.get_mut(&name);
            let Some(pending) = pending.filter(|pending| !pending.lookup_ids.is_empty()) else {
                // All its lookups have been cancelled.
                self.pending.remove(&name);
                self.queue.end(&name);
                continue;
            };
            pending.is_counted = true;
            match self.spawn_lookup(name.clone()) {
                Ok(()) => self.threads += 1,
                Err(error) if self.threads == 0 => {
                    // Not a single thread: there is nothing to wait for.
                    self.threads += 1;
                    let result = Err(LookupError::new(&name.0, &error));
                    lock(&self.results).push((name, result));
                    (self.notify)();
                }
                Err(_refused) => {
                    // Wait for the end of a thread, and continue with those there are.
                    self.queue.end(&name);
                    self.pending.entry(name.clone()).or_default().is_counted = false;
                    return self.queue.push(name);
                }
            }
        }
    }

    fn spawn_lookup(&self, name: HostPort) -> io::Result<()> {
        let lookup = Arc::clone(&self.lookup);
        let results = Arc::clone(&self.results);
        let notify = Arc::clone(&self.notify);
        let run = move || {
            let result = lookup_catching_panic(&*lookup, &name);
            lock(&results).push((name, result));
            notify();
        };
        if self.lookup.is_immediate() {
            run();
        } else {
            thread::Builder::new().name("look-up".into()).spawn(run)?;
        }
        Ok(())
    }
}

/// Locks the list, even after a panic: it is consistent at all times.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("pending", &self.wanted.len()).finish_non_exhaustive()
    }
}
