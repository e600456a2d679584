//! The event loop: it waits for events and calls callbacks.

use std::io;
use std::mem;
use std::rc::Rc;
use std::time::Instant;

use selector_core::{Backend, Interest, Key, Selector, TimerKey, Timers};

use crate::observer::{Moment, Observer};

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

/// A function that a timer calls once.
pub type Closure<S> = Box<dyn FnOnce(&mut EventLoop<S>)>;

/// The event that happens when a timer fires.
pub enum TimerEvent<S> {
    /// The timeout of a socket. If a callback is still registered under this key,
    /// its state goes to this method instead.
    Timeout(Key, Method<S>),
    /// A callback that waits for this moment.
    Call(Callback<S>),
    /// A closure that continues no computation.
    Run(Closure<S>),
}

/// A function that the loop calls at the end of each tick: it continues what another
/// thread has something for.
pub type Source<S> = Rc<dyn Fn(&mut EventLoop<S>)>;

/// An event loop (a reactor) of callbacks: it waits for an event and calls the
/// callback that is registered for it. `S` is the state of one computation, here
/// a fetch.
///
/// One loop has one kind of state. The compiler refuses a method of another kind:
///
/// ```compile_fail,E0308
/// use stage1_callbacks::{EventLoop, Method};
///
/// struct Countdown;
/// struct Download;
///
/// fn downloaded(_this: Box<Download>, _event_loop: &mut EventLoop<Download>) {}
///
/// let method: Method<Countdown> = downloaded;
/// ```
pub struct EventLoop<S> {
    /// The sockets, with the callbacks for their events.
    pub selector: Selector<Callback<S>>,
    /// The timers, with their events.
    pub timers: Timers<TimerEvent<S>>,
    sources: Vec<Source<S>>,
    observer: Option<Observer<S>>,
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
    /// The number of callbacks that were called.
    pub callbacks: u64,
}

impl<S: 'static> EventLoop<S> {
    const SCRATCH: usize = 64 * 1024;

    /// Creates a loop on the operating system.
    ///
    /// # Errors
    /// When the process may not open another file descriptor.
    #[cfg(feature = "os")]
    pub fn new() -> io::Result<Self> {
        Ok(Self::with_backend(selector_core::OsBackend::new()?))
    }

    /// Creates a loop whose only link to the outside is this backend.
    pub fn with_backend(backend: impl Backend + 'static) -> Self {
        Self {
            selector: Selector::with_backend(backend),
            timers: Timers::new(),
            sources: Vec::new(),
            observer: None,
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
        while !mem::take(&mut self.stopped) {
            let next_due = self.timers.next_due();
            let timeout = next_due.map(|at| at.saturating_duration_since(self.now()));
            self.stats.ticks += 1;
            self.selector.select(timeout, &mut keys)?;
            // The loop does not know yet what arrives during the callbacks, so
            // timers are compared with the time before them.
            let now = self.now();
            for key in keys.drain(..) {
                // `None` if an earlier callback has closed the connection.
                if let Some(Callback { this, method }) = self.selector.take(key) {
                    self.count_call(&this, method, Some(key));
                    method(this, self);
                }
            }
            while let Some(timer_event) = self.timers.pop_due(now) {
                self.fire(timer_event);
            }
            self.call_sources();
        }
        Ok(())
    }

    // ANCHOR_END: event_loop_run

    /// Makes [`EventLoop::run`] return, after the callbacks of this tick.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Runs the event of a timer that is due.
    fn fire(&mut self, timer_event: TimerEvent<S>) {
        match timer_event {
            TimerEvent::Timeout(key, method) => {
                if let Some(Callback { this, .. }) = self.selector.take(key) {
                    self.count_call(&this, method, Some(key));
                    method(this, self);
                }
            }
            TimerEvent::Call(callback) => self.call(callback),
            TimerEvent::Run(closure) => closure(self),
        }
    }

    /// Adds a source, which lives as long as the loop.
    pub fn add_source(&mut self, source: Source<S>) {
        self.sources.push(source);
    }

    /// Calls the sources, which may add others.
    fn call_sources(&mut self) {
        let sources = mem::take(&mut self.sources);
        sources.iter().for_each(|source| source(self));
        self.sources.splice(0..0, sources);
    }

    /// Has `observer` see what the loop does from now on.
    pub fn set_observer(&mut self, observer: Observer<S>) {
        self.observer = Some(observer);
    }

    /// Calls a callback now.
    pub(crate) fn call(&mut self, callback: Callback<S>) {
        let Callback { this, method } = callback;
        self.count_call(&this, method, None);
        method(this, self);
    }

    /// Counts a call of a callback, and shows it to the observer. `key` is that of its socket.
    fn count_call(&mut self, this: &S, method: Method<S>, key: Option<Key>) {
        self.stats.callbacks += 1;
        self.observe(Moment::Calls { this, method, key });
    }

    fn observe(&mut self, moment: Moment<'_, S>) {
        if let Some(observer) = &mut self.observer {
            observer(moment);
        }
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
    /// Calls `then` with `this` when its socket is ready.
    pub fn register(&mut self, key: Key, on: Interest, this: Box<S>, then: Method<S>) {
        self.observe(Moment::Waits { this: &this, key, on });
        drop(self.selector.register(key, on, Callback { this, method: then }));
    }
    // ANCHOR_END: register

    /// Starts a computation: calls its first method now.
    pub fn start(&mut self, this: Box<S>, first: Method<S>) {
        self.observe(Moment::Starts { this: &this });
        first(this, self);
        self.observe(Moment::Started);
    }

    /// Calls `then` with `this` at this moment.
    pub fn call_at(&mut self, at: Instant, this: Box<S>, then: Method<S>) -> TimerKey {
        self.timers.set(at, TimerEvent::Call(Callback { this, method: then }))
    }

    /// Cancels a call, and returns its state, unless it was called already.
    pub fn cancel_call(&mut self, timer: TimerKey) -> Option<Box<S>> {
        match self.timers.cancel(timer)? {
            TimerEvent::Call(Callback { this, .. }) => Some(this),
            TimerEvent::Timeout(..) | TimerEvent::Run(_) => None,
        }
    }
}
