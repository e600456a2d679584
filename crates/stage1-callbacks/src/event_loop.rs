//! The event loop: it waits for events and calls callbacks.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Instant;

use selector_core::{Backend, Interest, Key, Selector, TimerKey, Timers};
use transport::{AddressId, ConnectLimiter, LookupFn, LookupId, LookupResult, Resolver};

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

/// A closure that continues a computation with a value. It is for the waits that
/// few fetches need, because it takes an allocation.
pub(crate) type Waiter<S, T> = Box<dyn FnOnce(T, &mut EventLoop<S>)>;

/// The event that happens when a timer fires.
pub enum TimerEvent<S> {
    /// The timeout of a socket. If a callback is still registered under this key,
    /// its state goes to this method instead.
    Timeout(Key, Method<S>),
    /// The call of a closure. It is boxed twice, because otherwise the timer of
    /// every connection would be larger by half.
    Call(Box<Waiter<S, ()>>),
}

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
    pub(crate) resolver: Resolver,
    /// The waiters for the answer of a lookup, each with its timeout. One that is
    /// too late gets `None`.
    pub(crate) lookups: HashMap<LookupId, (Waiter<S, Option<LookupResult>>, TimerKey)>,
    /// The waiters for a permit to connect.
    pub(crate) connect_limiter: ConnectLimiter<Waiter<S, AddressId>>,
    /// The waiters for a file descriptor.
    pub(crate) fd_waiters: VecDeque<Waiter<S, ()>>,
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
    /// The number of callbacks and timers that were called. Answers to lookups do not
    /// count.
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
        let backend = selector_core::OsBackend::new()?;
        Ok(Self::with_backend(backend, Arc::new(transport::system_lookup)))
    }

    /// Creates a loop whose only links to the outside are this backend and this
    /// lookup function.
    pub fn with_backend(backend: impl Backend + 'static, lookup: Arc<LookupFn>) -> Self {
        let selector = Selector::with_backend(backend);
        let notifier = selector.notifier();
        Self {
            selector,
            timers: Timers::new(),
            resolver: Resolver::new(lookup, notifier.has_no_threads(), move || notifier.notify()),
            lookups: HashMap::new(),
            connect_limiter: ConnectLimiter::default(),
            fd_waiters: VecDeque::new(),
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
                    self.stats.callbacks += 1;
                    trace::callback(&*this, method as usize, || key.to_bits());
                    method(this, self);
                }
            }
            while let Some(timer_event) = self.timers.pop_due(now) {
                self.fire(timer_event);
            }
            for (lookup_id, answer) in self.resolver.answered(now) {
                self.answer_lookup(lookup_id, Some(answer));
            }
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
        self.stats.callbacks += 1;
        match timer_event {
            TimerEvent::Timeout(key, method) => {
                if let Some(Callback { this, .. }) = self.selector.take(key) {
                    trace::callback(&*this, method as usize, || key.to_bits());
                    method(this, self);
                }
            }
            TimerEvent::Call(waiter) => trace::closure(waiter)((), self),
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
        trace::callback_stored(&*this, on == Interest::Readable, || key.to_bits());
        drop(self.selector.register(key, on, Callback { this, method: then }));
    }
    // ANCHOR_END: register

    /// Calls `then` with `this` at this moment.
    pub fn call_at(&mut self, at: Instant, this: Box<S>, then: Method<S>) {
        self.set_timer(at, Box::new(move |(), event_loop| then(this, event_loop)));
    }

    /// Calls a closure at this moment.
    pub(crate) fn set_timer(&mut self, at: Instant, call: Waiter<S, ()>) -> TimerKey {
        self.timers.set(at, TimerEvent::Call(Box::new(call)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size matters because every connection has one.
    #[test]
    fn a_timer_event_is_two_words() {
        assert_eq!(size_of::<TimerEvent<()>>(), 16);
    }
}
