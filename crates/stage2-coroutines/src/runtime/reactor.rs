//! The reactor: waits for events and timers, and wakes the tasks that they
//! belong to.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io;
use std::iter::from_fn;
use std::rc::Rc;
use std::task::Waker;
use std::time::{Duration, Instant};

use selector_core::{Key, Selector, TimerKey, Timers};

/// Something beside sockets and timers that wakes tasks, such as a resolver with threads
/// of its own. Such a thread notifies the selector, which ends its sleep.
pub trait Source: Any {
    /// Wakes the tasks whose event has come. The loop calls this once in every tick.
    fn wake_ready(&self, now: Instant);

    /// Returns true if an event may still come.
    fn is_waiting(&self) -> bool;
}

/// The events that the tasks of a loop wait for.
pub struct Reactor {
    pub(crate) selector: RefCell<Selector<Waker>>,
    pub(super) timers: RefCell<Timers<Waker>>,
    pub(super) sources: RefCell<Vec<Rc<dyn Source>>>,
    ticks: Cell<u64>,
    tick_time: Cell<Instant>,
}

impl Reactor {
    pub(super) fn new(selector: Selector<Waker>) -> Self {
        Self {
            timers: RefCell::new(Timers::new()),
            sources: RefCell::default(),
            ticks: Cell::new(0),
            tick_time: Cell::new(selector.now()),
            selector: RefCell::new(selector),
        }
    }

    // ANCHOR: tick
    /// One tick: waits for events and for the next timer, and wakes the tasks
    /// that they belong to. If it may not sleep, it looks for events and returns at once.
    pub(super) fn tick(&self, may_sleep: bool, keys: &mut Vec<Key>) -> io::Result<()> {
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
        for key in keys.drain(..) {
            let waker = self.selector.borrow_mut().take(key);
            waker.into_iter().for_each(Waker::wake);
        }
        let now = self.selector.borrow().now();
        self.tick_time.set(now);
        from_fn(|| self.timers.borrow_mut().pop_due(now)).for_each(Waker::wake);
        let sources = self.sources.borrow().clone();
        sources.iter().for_each(|source| source.wake_ready(now));
        Ok(())
    }
    // ANCHOR_END: tick

    /// Sets a timer, which calls `waker` at this time.
    pub fn set_timer(&self, at: Instant, waker: Waker) -> TimerKey {
        self.timers.borrow_mut().set(at, waker)
    }

    /// Cancels a timer, unless it has fired.
    pub fn cancel_timer(&self, timer: TimerKey) {
        let waker = self.timers.borrow_mut().cancel(timer);
        drop(waker);
    }

    /// Returns the number of timers that are set.
    pub fn num_timers(&self) -> usize {
        self.timers.borrow().len()
    }

    /// Returns the number of connections, those that are being opened included.
    pub fn num_connections(&self) -> usize {
        self.selector.borrow().len()
    }

    /// Adds a source, which is called after those that were added before.
    pub fn add_source(&self, source: Rc<dyn Source>) {
        self.sources.borrow_mut().push(source);
    }

    /// Returns the source of this type, if there is one.
    pub fn source<S: Source>(&self) -> Option<Rc<S>> {
        let sources = self.sources.borrow();
        sources.iter().find_map(|source| {
            let any: Rc<dyn Any> = Rc::clone(source) as Rc<dyn Any>;
            any.downcast().ok()
        })
    }

    /// Returns true if a timer, a socket or a source may still wake a task.
    pub fn is_waiting(&self) -> bool {
        let is_waiting = |source: &Rc<dyn Source>| source.is_waiting();
        self.num_timers() > 0
            || self.num_connections() > 0
            || self.sources.borrow().iter().any(is_waiting)
    }

    /// Returns the number of ticks.
    pub fn ticks(&self) -> u64 {
        self.ticks.get()
    }

    /// Returns the time of the last tick: a clock that is cheap to read, and late by the
    /// duration of the steps since then.
    pub fn tick_time(&self) -> Instant {
        self.tick_time.get()
    }
}
