//! The reactor: waits for events and timers, and wakes the tasks that they
//! belong to.

use std::cell::{Cell, RefCell};
use std::io;
use std::iter::from_fn;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use selector_core::{Key, Selector, Timers};
use transport::LookupFn;

use crate::net::lookups::Lookups;
use crate::net::peers::Peers;

/// The events that the tasks of a loop wait for.
pub(crate) struct Reactor {
    pub(crate) selector: RefCell<Selector<Waker>>,
    pub(crate) timers: RefCell<Timers<Waker>>,
    pub(crate) lookups: Lookups,
    pub(crate) peers: RefCell<Peers>,
    scratch: Cell<Vec<u8>>,
    pub(crate) ticks: Cell<u64>,
    /// The time of the last tick: a clock that is cheap to read, and behind by
    /// the time that the steps since then took.
    pub(crate) tick_start: Cell<Instant>,
}

impl Reactor {
    /// The size in bytes of the scratch buffer.
    const SCRATCH: usize = 64 * 1024;

    pub(crate) fn new(selector: Selector<Waker>, lookup: Arc<LookupFn>) -> Self {
        Self {
            timers: RefCell::new(Timers::new()),
            lookups: Lookups::new(lookup, selector.notifier()),
            peers: RefCell::default(),
            scratch: Cell::default(),
            ticks: Cell::new(0),
            tick_start: Cell::new(selector.now()),
            selector: RefCell::new(selector),
        }
    }

    // ANCHOR: tick
    /// One tick: waits for events and for the next timer, and wakes the tasks
    /// that they belong to. Unless it may sleep, it only looks.
    pub(crate) fn tick(&self, may_sleep: bool, keys: &mut Vec<Key>) -> io::Result<()> {
        let timeout = if may_sleep {
            let next = self.timers.borrow().next_due();
            next.map(|at| at.saturating_duration_since(self.selector.borrow().now()))
        } else {
            Some(Duration::ZERO)
        };
        self.ticks.update(|ticks| ticks + 1);
        self.selector.borrow_mut().select(timeout, keys)?;
        // Each borrow ends before the waker is called: a waker may be foreign
        // code.
        let take = |key| self.selector.borrow_mut().take(key);
        keys.drain(..).filter_map(take).for_each(Waker::wake);
        let now = self.selector.borrow().now();
        self.tick_start.set(now);
        from_fn(|| self.timers.borrow_mut().pop_due(now)).for_each(Waker::wake);
        self.lookups.wake_answered(now);
        Ok(())
    }
    // ANCHOR_END: tick

    /// Calls `f` with the scratch buffer that all reads of this loop share, so
    /// that a waiting connection owns no buffer. `f` cannot suspend.
    pub(crate) fn with_scratch<R>(&self, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut scratch = self.scratch.take();
        scratch.resize(Self::SCRATCH, 0);
        let result = f(&mut scratch);
        self.scratch.set(scratch);
        result
    }
}
