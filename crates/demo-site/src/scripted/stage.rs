//! What the threads of a scripted server share: who is on, what was counted,
//! and whether the play is over.

use std::collections::{BTreeMap, HashMap};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct Stage {
    room: usize,
    state: Mutex<State>,
    /// Somebody left, or everybody should.
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    /// The connections being served, by number. (A second handle each, so
    /// that the end can reach a script that waits for its client.)
    connections: HashMap<u64, TcpStream>,
    in_flight: usize,
    counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) connections: u64,
    pub(super) hits: BTreeMap<String, u64>,
    pub(super) peak_in_flight: usize,
    pub(super) panicked: bool,
}

impl Stage {
    /// With room for so many connections at once.
    pub(super) fn new(room: usize) -> Self {
        Self { room, state: Mutex::default(), changed: Condvar::new() }
    }

    pub(super) fn look<T>(&self, look: impl FnOnce(&Counts) -> T) -> T {
        look(&self.lock().counts)
    }

    /// Lets a connection in, unless it is over.
    pub(super) fn enter(self: &Arc<Self>, stream: &TcpStream) -> Option<Entrance> {
        let handle = stream.try_clone().ok()?;
        let mut state = self.lock();
        if state.is_over {
            return None;
        }
        state.counts.connections += 1;
        let connection = state.counts.connections;
        state.connections.insert(connection, handle);
        Some(Entrance { stage: Arc::clone(self), connection })
    }

    /// Waits until there is room for another connection; false when it is
    /// over.
    pub(super) fn wait_for_room(&self) -> bool {
        let is_full = |state: &mut State| !state.is_over && state.connections.len() >= self.room;
        let state = self.changed.wait_while(self.lock(), is_full);
        !state.unwrap_or_else(PoisonError::into_inner).is_over
    }

    /// Sleeps; false when it is over, which ends the sleep at once.
    pub(super) fn sleep(&self, duration: Duration) -> bool {
        let goes_on = |state: &mut State| !state.is_over;
        let slept = self.changed.wait_timeout_while(self.lock(), duration, goes_on);
        !slept.unwrap_or_else(PoisonError::into_inner).0.is_over
    }

    /// Ends all sleeps and all connections.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_over = true;
        for stream in state.connections.values() {
            // Already closed by the client, perhaps.
            let _ = stream.shutdown(Shutdown::Both);
        }
        self.changed.notify_all();
    }

    /// Waits until the last connection is gone, but not for ever.
    pub(super) fn wait_until_empty(&self, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        while !state.connections.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is being served, until this is dropped.
#[derive(Debug)]
pub(super) struct Entrance {
    stage: Arc<Stage>,
    connection: u64,
}

impl Entrance {
    pub(super) fn stage(&self) -> &Arc<Stage> {
        &self.stage
    }

    pub(super) fn connection(&self) -> u64 {
        self.connection
    }
}

impl Drop for Entrance {
    fn drop(&mut self) {
        let mut state = self.stage.lock();
        state.connections.remove(&self.connection);
        state.counts.panicked |= thread::panicking();
        self.stage.changed.notify_all();
    }
}

/// A request whose reply has not begun, until this is dropped.
#[derive(Debug)]
pub(super) struct Waiting(Arc<Stage>);

impl Waiting {
    pub(super) fn begin(stage: &Arc<Stage>, target: &str) -> Self {
        let mut state = stage.lock();
        if let Some(count) = state.counts.hits.get_mut(target) {
            *count += 1;
        } else {
            state.counts.hits.insert(target.to_owned(), 1);
        }
        state.in_flight += 1;
        state.counts.peak_in_flight = state.counts.peak_in_flight.max(state.in_flight);
        drop(state);
        Self(Arc::clone(stage))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.lock().in_flight -= 1;
    }
}
