//! The event loop: it waits for events and calls callbacks.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use selector_core::{Backend, Interest, Key, OsBackend, Selector, Timers};
use transport::{ConnectLimiter, LookupFn, Resolver, system_lookup};

use crate::connect_limit::ConnectWaiter;
use crate::lookup::LookupWaiter;
use crate::timer_event::TimerEvent;

// ANCHOR: callback
/// A function that continues a computation. It owns the computation's state.
pub type Method<S> = fn(Box<S>, &mut EventLoop<S>);

/// A bound method: all that remains of a computation while it waits.
#[derive(Debug)]
pub struct Callback<S> {
    /// The state of the computation.
    pub this: Box<S>,
    /// The function to call.
    pub method: Method<S>,
}
// ANCHOR_END: callback

/// An event loop (a reactor) of callbacks: it waits for an event and calls the
/// callback that is registered for it. `S` is the state of one computation, here
/// a fetch.
pub struct EventLoop<S> {
    /// The sockets, with the callbacks for their events.
    pub selector: Selector<Callback<S>>,
    /// The timers, with their events.
    pub timers: Timers<TimerEvent<S>>,
    /// The resolver, with the callbacks that wait for a lookup.
    pub(crate) resolver: Resolver<LookupWaiter<S>>,
    /// The callbacks that wait for a file descriptor.
    pub(crate) fd_waiters: VecDeque<Callback<S>>,
    /// The connect limiter, with the callbacks that wait for a permit.
    pub(crate) connect_limiter: ConnectLimiter<ConnectWaiter<S>>,
    /// The scratch buffer of all reads of this loop.
    pub(crate) scratch: Vec<u8>,
    stopped: bool,
    stats: Stats,
}

/// Statistics of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of calls of [`Selector::select`].
    pub ticks: u64,
    /// The number of callbacks called.
    pub callbacks: u64,
}

impl<S> EventLoop<S> {
    const SCRATCH: usize = 64 * 1024;

    /// Creates a loop on the operating system.
    ///
    /// # Errors
    /// When the process may not open another file descriptor.
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_backend(OsBackend::new()?, Arc::new(system_lookup)))
    }

    /// Creates a loop whose only links to the outside are this backend and this
    /// lookup function.
    pub fn with_backend(backend: impl Backend + 'static, lookup: Arc<LookupFn>) -> Self {
        let selector = Selector::with_backend(backend);
        let notifier = selector.notifier();
        Self {
            selector,
            timers: Timers::new(),
            resolver: Resolver::new(lookup, move || notifier.notify()),
            fd_waiters: VecDeque::new(),
            connect_limiter: ConnectLimiter::new(),
            scratch: vec![0; Self::SCRATCH],
            stopped: false,
            stats: Stats::default(),
        }
    }

    // ANCHOR: event_loop_run
    /// Runs the chapter's `loop()`: waits for events and calls callbacks, until a
    /// callback calls [`EventLoop::stop`].
    ///
    /// # Errors
    /// When the selector fails: no callback could ever be called again.
    pub fn run(&mut self) -> io::Result<()> {
        let mut keys = Vec::new();
        while !std::mem::take(&mut self.stopped) {
            let next = self.timers.next_due();
            let timeout = next.map(|at| at.saturating_duration_since(self.now()));
            self.stats.ticks += 1;
            self.selector.select(timeout, &mut keys)?;
            // The loop does not know yet what arrives during the callbacks, so
            // timers are compared with the time before them.
            let now = self.now();
            for key in keys.drain(..) {
                // `None` if an earlier callback has closed the connection.
                if let Some(callback) = self.selector.take(key) {
                    self.call(callback);
                }
            }
            while let Some(timer_event) = self.timers.pop_due(now) {
                self.fire(timer_event);
            }
            self.call_lookup_waiters(now);
        }
        Ok(())
    }
    // ANCHOR_END: event_loop_run

    /// Makes [`EventLoop::run`] return, after the callbacks of this tick.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub(crate) fn call(&mut self, Callback { this, method }: Callback<S>) {
        self.stats.callbacks += 1;
        method(this, self);
    }

    /// Returns the current time.
    pub fn now(&self) -> Instant {
        self.selector.now()
    }

    /// Returns the statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    // ANCHOR: register
    /// Calls `method` with `this` when its socket is ready.
    pub fn register(&mut self, key: Key, interest: Interest, this: Box<S>, method: Method<S>) {
        drop(self.selector.register(key, interest, Callback { this, method }));
    }
    // ANCHOR_END: register
}
