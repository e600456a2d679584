//! Name lookup that never blocks the caller.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crate::dns_cache::DnsCache;
use crate::lookup::{
    Addresses, HostPort, LookupError, LookupFn, LookupResult, lookup_catching_panic,
};

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

/// A resolver with a DNS cache and a pool of at most eight lookup threads.
///
/// Lookups of the same host and port share one call of the lookup function.
/// Those for which there is no thread are queued.
pub struct Resolver {
    lookup: Arc<LookupFn>,
    /// True if lookups block the caller, because there are no other threads.
    is_blocking: bool,
    notify: Arc<dyn Fn() + Send + Sync>,
    /// The results that lookup threads have left here, until
    /// [`Resolver::answered`] takes them.
    results: Arc<Mutex<Vec<(HostPort, LookupResult)>>>,
    cache: DnsCache,
    /// The names that are queued or in flight, with the ids of their lookups.
    pending: HashMap<HostPort, Vec<LookupId>>,
    /// The pending names that have no thread yet.
    queued: VecDeque<HostPort>,
    threads: usize,
    /// The ids that are neither answered nor cancelled.
    wanted: HashSet<LookupId>,
    next_id: u64,
}

impl Resolver {
    const MAX_THREADS: usize = 8;

    /// Creates a resolver that calls `lookup` on threads of its own. After each
    /// lookup its thread calls `notify`: then [`Resolver::answered`] has
    /// something to return. If the resolver `is_blocking`, there are no such threads:
    /// the lookup is made at once, and answered like the others.
    pub fn new(
        lookup: Arc<LookupFn>,
        is_blocking: bool,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        Self {
            lookup,
            is_blocking,
            notify: Arc::new(notify),
            results: Arc::new(Mutex::new(Vec::new())),
            cache: DnsCache::default(),
            pending: HashMap::new(),
            queued: VecDeque::new(),
            threads: 0,
            wanted: HashSet::new(),
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
        self.wanted.insert(lookup_id);
        let ids = self.pending.entry(name.clone()).or_default();
        ids.push(lookup_id);
        if ids.len() == 1 {
            self.queued.push_back(name);
            self.start_queued();
        }
        Lookup::Pending(lookup_id)
    }

    // ANCHOR: cancel
    /// Cancels a lookup: it will not be answered. What its thread finds out is
    /// still kept in the cache.
    pub fn cancel(&mut self, lookup_id: LookupId) {
        self.wanted.remove(&lookup_id);
    }
    // ANCHOR_END: cancel

    /// Returns the lookups whose answer has arrived, with the answer. To be
    /// called after `notify` was called.
    pub fn answered(&mut self, now: Instant) -> Vec<(LookupId, LookupResult)> {
        let results = std::mem::take(&mut *lock(&self.results));
        let mut answered = Vec::new();
        for (name, result) in results {
            self.threads -= 1;
            // A stale answer is better than none: the failure may be local.
            let result = result.or_else(|error| self.cache.stale(&name).ok_or(error));
            let ids = self.pending.remove(&name).unwrap_or_default();
            let wanted = ids.into_iter().filter(|id| self.wanted.remove(id));
            answered.extend(wanted.map(|id| (id, result.clone())));
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
            let is_wanted = |lookup_id: &LookupId| self.wanted.contains(lookup_id);
            if !self.pending.get(&name).is_some_and(|ids| ids.iter().any(is_wanted)) {
                // All its lookups have been cancelled.
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
        let run = move || {
            let result = lookup_catching_panic(&*lookup, &looked_up);
            lock(&results).push((looked_up, result));
            notify();
        };
        if self.is_blocking {
            return run();
        }
        let thread = thread::Builder::new().name("look-up".into()).spawn(run);
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

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver").field("pending", &self.wanted.len()).finish_non_exhaustive()
    }
}
