//! The loop of callbacks.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use selector_core::{Interest, Key, Os, Selector, Timers, World};
use transport::{ConnectQueue, LookUp, Resolver, system_look_up};

use crate::alarm::Alarm;
use crate::names::Asker;
use crate::turns::InLine;

// ANCHOR: callback
/// Where somebody goes on, with everything that is theirs.
pub type Method<S> = fn(Box<S>, &mut EventLoop<S>);

/// A method and whose it is: all that is left of a computation that waits.
#[derive(Debug)]
pub struct Callback<S> {
    /// Whose it is.
    pub this: Box<S>,
    /// Where to go on.
    pub method: Method<S>,
}
// ANCHOR_END: callback

/// Calls back whoever the news concerns. `S` is the state of one computation,
/// here a fetch.
pub struct EventLoop<S> {
    /// Sockets, and who goes on when they are ready.
    pub selector: Selector<Callback<S>>,
    /// Moments, and what is to happen then.
    pub timers: Timers<Alarm<S>>,
    /// Names, and who goes on when their addresses are known.
    pub(crate) resolver: Resolver<Asker<S>>,
    /// Who wants to open a connection and has no descriptor for it.
    pub(crate) starved: VecDeque<Callback<S>>,
    /// Who wants to open a connection to an address to which many do.
    pub(crate) connecting: ConnectQueue<InLine<S>>,
    /// The one buffer that every read of this loop goes through.
    pub(crate) scratch: Vec<u8>,
    stopped: bool,
    stats: Stats,
}

/// What a loop has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often it asked the selector for news.
    pub ticks: u64,
    /// How many callbacks it called.
    pub callbacks: u64,
}

impl<S> EventLoop<S> {
    const SCRATCH: usize = 64 * 1024;

    /// A loop in the real world.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    pub fn new() -> io::Result<Self> {
        Ok(Self::in_world(Os::new()?, Arc::new(system_look_up)))
    }

    /// A loop that knows the world only through these two.
    pub fn in_world(world: impl World + 'static, look_up: Arc<LookUp>) -> Self {
        let selector = Selector::in_world(world);
        let notifier = selector.notifier();
        Self {
            selector,
            timers: Timers::new(),
            resolver: Resolver::new(look_up, move || notifier.notify()),
            starved: VecDeque::new(),
            connecting: ConnectQueue::new(),
            scratch: vec![0; Self::SCRATCH],
            stopped: false,
            stats: Stats::default(),
        }
    }

    // ANCHOR: event_loop_run
    /// The chapter's `loop()`: waits and calls back, until somebody calls
    /// [`EventLoop::stop`].
    ///
    /// # Errors
    /// When the selector fails: nobody would ever be called again.
    pub fn run(&mut self) -> io::Result<()> {
        let mut keys = Vec::new();
        while !std::mem::take(&mut self.stopped) {
            let next = self.timers.next_due();
            let timeout = next.map(|at| at.saturating_duration_since(self.now()));
            self.stats.ticks += 1;
            self.selector.select(timeout, &mut keys)?;
            // What arrives during the callbacks is not known to the loop yet, so
            // deadlines are judged by the time before them.
            let now = self.now();
            for key in keys.drain(..) {
                // Gone, if a callback before this one closed the connection.
                if let Some(callback) = self.selector.take(key) {
                    self.call(callback);
                }
            }
            while let Some(alarm) = self.timers.pop_due(now) {
                self.ring(alarm);
            }
            self.answer_look_ups(now);
        }
        Ok(())
    }
    // ANCHOR_END: event_loop_run

    /// Has [`EventLoop::run`] return, after the callbacks of this tick.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub(crate) fn call(&mut self, Callback { this, method }: Callback<S>) {
        self.stats.callbacks += 1;
        method(this, self);
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        self.selector.now()
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    // ANCHOR: register
    /// Has `this` go on with `method` when its socket is ready.
    pub fn register(&mut self, key: Key, interest: Interest, this: Box<S>, method: Method<S>) {
        drop(self.selector.register(key, interest, Callback { this, method }));
    }
    // ANCHOR_END: register
}
