//! Name lookup that blocks the calling thread.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::dns_cache::DnsCache;
use crate::lookup::{
    Addresses, HostPort, LookupError, LookupFn, LookupResult, lookup_catching_panic,
};

/// A resolver with a DNS cache that blocks the caller until the answer is
/// there. It can be shared by any number of threads; threads that ask for the
/// same host at the same time share one lookup.
pub struct BlockingResolver {
    lookup: Arc<LookupFn>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    cache: DnsCache,
    /// The lookups under way, each with the cell for its answer.
    in_flight: HashMap<HostPort, Arc<OnceLock<LookupResult>>>,
}

impl BlockingResolver {
    /// Creates a resolver that calls `lookup`.
    pub fn new(lookup: Arc<LookupFn>) -> Self {
        Self { lookup, shared: Arc::default() }
    }

    /// Returns the addresses of `host`, which is a name, an IPv4 address, or an
    /// IPv6 address with or without brackets; or `None` if there is no answer
    /// within `timeout`.
    ///
    /// The operating system's lookup cannot be interrupted. It runs on a thread
    /// of its own, which continues after the timeout; a later call gets its
    /// answer.
    ///
    /// # Errors
    /// When the host has no address.
    pub fn lookup(
        &self,
        host: &str,
        port: u16,
        timeout: Duration,
    ) -> Result<Option<Addresses>, LookupError> {
        let mut state = self.shared.lock();
        if let Some(addresses) = state.cache.get(host, port, Instant::now()) {
            return Ok(Some(addresses));
        }
        let name: HostPort = (host.into(), port);
        let answer = match state.in_flight.get(&name) {
            Some(answer) => Arc::clone(answer),
            None => {
                let answer = Arc::new(OnceLock::new());
                state.in_flight.insert(name.clone(), Arc::clone(&answer));
                self.spawn_lookup(name, &mut state);
                answer
            }
        };
        let is_unanswered = |_: &mut State| answer.get().is_none();
        let waited = self.shared.answered.wait_timeout_while(state, timeout, is_unanswered);
        drop(waited);
        answer.get().cloned().transpose()
    }

    fn spawn_lookup(&self, name: HostPort, state: &mut State) {
        let (lookup, shared) = (Arc::clone(&self.lookup), Arc::clone(&self.shared));
        let looked_up = name.clone();
        let thread = thread::Builder::new().name("look-up".into()).spawn(move || {
            let result = lookup_catching_panic(&*lookup, &looked_up);
            shared.lock().complete(looked_up, result);
            shared.answered.notify_all();
        });
        if let Err(error) = thread {
            let error = LookupError::new(&name.0, error.to_string());
            state.complete(name, Err(error));
        }
    }
}

impl State {
    /// Ends a lookup: gives its result to the waiting threads and the cache.
    fn complete(&mut self, name: HostPort, result: LookupResult) {
        // A stale answer is better than none: the failure may be local.
        let result = result.or_else(|error| self.cache.stale(&name).ok_or(error));
        if let Some(answer) = self.in_flight.remove(&name) {
            // It cannot be set already: every lookup completes once.
            let _ = answer.set(result.clone());
        }
        if let Ok(addresses) = result {
            self.cache.insert(name, addresses, Instant::now());
        }
    }
}

impl Shared {
    /// Locks the state, even after a panic: it is consistent at all times.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BlockingResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BlockingResolver")
    }
}
