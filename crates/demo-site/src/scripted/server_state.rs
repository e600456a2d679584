//! The state that the threads of a scripted server share: open connections,
//! counters, and whether the server has stopped.

use std::collections::{BTreeMap, HashMap};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The shared state of a scripted server: a mutex and a condition variable.
#[derive(Debug)]
pub(super) struct ServerState {
    max_connections: usize,
    inner: Mutex<Inner>,
    /// Notified when a connection has ended or the server stops.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inner {
    is_stopped: bool,
    /// The open connections, by number: a second handle to each, so that
    /// [`ServerState::stop`] interrupts a script that waits for its client.
    connections: HashMap<u64, TcpStream>,
    in_flight: usize,
    counts: Counts,
}

/// The counters that a test can read.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) connections: u64,
    pub(super) hits: BTreeMap<String, u64>,
    pub(super) peak_in_flight: usize,
    pub(super) panicked: bool,
}

impl ServerState {
    /// Makes the state of a server with at most `max_connections` at once.
    pub(super) fn new(max_connections: usize) -> Self {
        Self { max_connections, inner: Mutex::default(), changed: Condvar::new() }
    }

    /// Calls `read` with the counters.
    pub(super) fn counts<T>(&self, read: impl FnOnce(&Counts) -> T) -> T {
        read(&self.lock().counts)
    }

    /// Registers and counts a connection; `None` when the server has stopped.
    pub(super) fn register(self: &Arc<Self>, stream: &TcpStream) -> Option<ConnectionGuard> {
        let handle = stream.try_clone().ok()?;
        let mut state = self.lock();
        if state.is_stopped {
            return None;
        }
        state.counts.connections += 1;
        let number = state.counts.connections;
        state.connections.insert(number, handle);
        Some(ConnectionGuard { server: Arc::clone(self), number })
    }

    /// Waits until another connection is allowed; false when the server has
    /// stopped.
    pub(super) fn wait_for_room(&self) -> bool {
        let is_full = |state: &mut Inner| {
            !state.is_stopped && state.connections.len() >= self.max_connections
        };
        let state = self.changed.wait_while(self.lock(), is_full);
        !state.unwrap_or_else(PoisonError::into_inner).is_stopped
    }

    /// Sleeps; false when the server has stopped, which ends the sleep at once.
    pub(super) fn sleep(&self, duration: Duration) -> bool {
        let is_running = |state: &mut Inner| !state.is_stopped;
        let slept = self.changed.wait_timeout_while(self.lock(), duration, is_running);
        !slept.unwrap_or_else(PoisonError::into_inner).0.is_stopped
    }

    /// Stops the server: interrupts all sleeps and shuts down all connections.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_stopped = true;
        for stream in state.connections.values() {
            // It fails when the client has closed the connection already.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    /// Waits until the last connection has ended, until `timeout` at most.
    pub(super) fn wait_until_empty(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        while !state.connections.is_empty() {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, remaining);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that keeps a connection registered until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionGuard {
    server: Arc<ServerState>,
    number: u64,
}

impl ConnectionGuard {
    pub(super) fn server(&self) -> &Arc<ServerState> {
        &self.server
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut state = self.server.lock();
        state.connections.remove(&self.number);
        state.counts.panicked |= thread::panicking();
        self.server.changed.notify_all();
    }
}

/// A guard that counts a request as in flight until it is dropped.
#[derive(Debug)]
pub(super) struct InFlight(Arc<ServerState>);

impl InFlight {
    pub(super) fn begin(server: &Arc<ServerState>, target: &str) -> Self {
        let mut state = server.lock();
        if let Some(count) = state.counts.hits.get_mut(target) {
            *count += 1;
        } else {
            state.counts.hits.insert(target.to_owned(), 1);
        }
        state.in_flight += 1;
        state.counts.peak_in_flight = state.counts.peak_in_flight.max(state.in_flight);
        drop(state);
        Self(Arc::clone(server))
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.lock().in_flight -= 1;
    }
}
