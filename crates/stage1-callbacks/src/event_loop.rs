//! The loop of callbacks.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selector_core::{Interest, Key, Os, Selector, Socket, TimerKey, Timers, World};
use transport::{Addresses, LookUp, NameError, Reply, Resolver, Stream, Ticket, system_look_up};

/// Where somebody goes on, with everything that is theirs.
pub type Method<S> = fn(Box<S>, &mut EventLoop<S>);

/// The same for somebody who asked for the addresses of a name.
pub type NameMethod<S> = fn(Box<S>, Result<Addresses, NameError>, &mut EventLoop<S>);

/// A method and whose it is: all that is left of a computation that waits.
#[derive(Debug)]
pub struct Callback<S> {
    this: Box<S>,
    method: Method<S>,
}

/// Calls back whoever the news concerns. `S` is the state of one computation,
/// here a fetch.
pub struct EventLoop<S> {
    selector: Selector<Callback<S>>,
    timers: Timers<Alarm<S>>,
    resolver: Resolver<Asker<S>>,
    /// Who wants to open a connection and has no descriptor for it.
    starved: VecDeque<Callback<S>>,
    scratch: Vec<u8>,
    stopped: bool,
    stats: Stats,
}

/// Somebody who waits for the addresses of a name, but not for ever.
struct Asker<S> {
    this: Box<S>,
    method: NameMethod<S>,
    timer: Option<TimerKey>,
}

/// What is to happen at a moment.
enum Alarm<S> {
    /// Somebody has slept long enough.
    Call(Callback<S>),
    /// Somebody has waited too long, and goes on with this method instead.
    Interrupt(Place, Method<S>),
    /// A descriptor may be free.
    FeedStarved,
}

/// Where somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Under the key of a socket.
    Socket(Key),
    /// For the addresses of a name.
    Name(Ticket),
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
    /// The size of the one buffer that every read of this loop goes through.
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
            scratch: vec![0; Self::SCRATCH],
            stopped: false,
            stats: Stats::default(),
        }
    }

    /// The chapter's `loop()`: waits and calls back, until somebody calls
    /// [`EventLoop::stop`].
    ///
    /// # Errors
    /// When the selector fails: nobody would ever be called again.
    pub fn run(&mut self) -> io::Result<()> {
        let mut keys = Vec::new();
        while !self.stopped {
            let next = self.timers.next_due();
            let timeout = next.map(|at| at.saturating_duration_since(self.now()));
            self.stats.ticks += 1;
            self.selector.select(timeout, &mut keys)?;
            for key in keys.drain(..) {
                // Gone, if a callback before this one closed the connection.
                if let Some(callback) = self.selector.take(key) {
                    self.call(callback);
                }
            }
            let now = self.now();
            while let Some(alarm) = self.timers.pop_due(now) {
                self.ring(alarm);
            }
            for (asker, answer) in self.resolver.answered(now) {
                if let Some(timer) = asker.timer {
                    self.cancel(timer);
                }
                self.stats.callbacks += 1;
                (asker.method)(asker.this, answer, self);
            }
        }
        Ok(())
    }

    /// Has [`EventLoop::run`] return, after the callbacks of this tick.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    fn call(&mut self, Callback { this, method }: Callback<S>) {
        self.stats.callbacks += 1;
        method(this, self);
    }

    fn ring(&mut self, alarm: Alarm<S>) {
        let (interrupted, method) = match alarm {
            Alarm::Call(callback) => return self.call(callback),
            Alarm::FeedStarved => {
                if let Some(callback) = self.starved.pop_front() {
                    self.call(callback);
                }
                return;
            }
            Alarm::Interrupt(Place::Socket(key), method) => {
                (self.selector.take(key).map(|waiter| waiter.this), method)
            }
            Alarm::Interrupt(Place::Name(ticket), method) => (
                self.resolver.take_back(ticket).map(|asker| asker.this),
                method,
            ),
        };
        if let Some(this) = interrupted {
            self.call(Callback { this, method });
        }
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        self.selector.now()
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Asks for the addresses of a host. `this` goes on with `method` when they
    /// are known, which may be at once, or with `too_late` at the deadline.
    pub fn look_up(
        &mut self,
        (host, port): (&str, u16),
        this: Box<S>,
        method: NameMethod<S>,
        deadline: Instant,
        too_late: Method<S>,
    ) {
        let timer = None;
        let asker = Asker {
            this,
            method,
            timer,
        };
        match self.resolver.look_up(host, port, self.now(), asker) {
            Reply::Known(addresses, asker) => method(asker.this, Ok(addresses), self),
            Reply::Pending(ticket) => {
                let timer = self.interrupt_at(deadline, Place::Name(ticket), too_late);
                if let Some(asker) = self.resolver.waiter_mut(ticket) {
                    asker.timer = Some(timer);
                }
            }
        }
    }

    /// Begins to connect; see [`Selector::connect`].
    ///
    /// # Errors
    /// Those of [`Selector::connect`].
    pub fn connect(&mut self, address: SocketAddr) -> io::Result<(Socket, Key)> {
        self.selector.connect(address)
    }

    /// Has `this` go on with `method` when its socket is ready.
    pub fn register(&mut self, key: Key, interest: Interest, this: Box<S>, method: Method<S>) {
        drop(
            self.selector
                .register(key, interest, Callback { this, method }),
        );
    }

    /// Whether a connection is known to be ready.
    pub fn is_ready(&self, key: Key, interest: Interest) -> bool {
        self.selector.readiness(key).satisfies(interest)
    }

    /// What was known of a connection's readiness is used up.
    pub fn used_up(&mut self, key: Key, interest: Interest) {
        self.selector.clear(key, interest);
    }

    /// Forgets a connection that is about to be closed, and has somebody else
    /// try for its descriptor.
    pub fn unregister(&mut self, key: Key) {
        drop(self.selector.unregister(key));
        if !self.starved.is_empty() {
            self.timers.set(self.selector.now(), Alarm::FeedStarved);
        }
    }

    /// Reads what there is, up to the size of the loop's buffer, and hands it
    /// to `sink`; `None` is the end of the stream.
    ///
    /// # Errors
    /// Those of the connection, `WouldBlock` among them.
    pub fn read<R>(
        &mut self,
        key: Key,
        stream: &mut Stream<Socket>,
        sink: impl FnOnce(&[u8]) -> R,
    ) -> io::Result<Option<R>> {
        let length = stream.read(&mut self.scratch)?;
        if length == 0 {
            return Ok(None);
        }
        if stream.is_drained() {
            self.selector.clear(key, Interest::Readable);
        }
        Ok(Some(sink(&self.scratch[..length])))
    }

    /// Has `this` go on with `method` after a pause.
    pub fn call_later(&mut self, pause: Duration, this: Box<S>, method: Method<S>) {
        let at = self.now() + pause;
        self.timers.set(at, Alarm::Call(Callback { this, method }));
    }

    /// Has `this` go on with `method` when there may be a descriptor for it: a
    /// connection of this loop was closed or, if there is none, after a while.
    pub fn call_when_descriptor_freed(&mut self, this: Box<S>, method: Method<S>) {
        const ELSEWHERE: Duration = Duration::from_millis(50);
        self.starved.push_back(Callback { this, method });
        if self.selector.is_empty() {
            let at = self.now() + ELSEWHERE;
            self.timers.set(at, Alarm::FeedStarved);
        }
    }

    /// If somebody still waits at this place at `at`, they go on with `method`.
    pub fn interrupt_at(&mut self, at: Instant, place: Place, method: Method<S>) -> TimerKey {
        self.timers.set(at, Alarm::Interrupt(place, method))
    }

    /// Moves what [`EventLoop::interrupt_at`] has set.
    pub fn postpone(&mut self, timer: TimerKey, at: Instant) -> Option<TimerKey> {
        self.timers.move_to(timer, at)
    }

    /// Takes back what [`EventLoop::interrupt_at`] has set.
    pub fn cancel(&mut self, timer: TimerKey) {
        drop(self.timers.cancel(timer));
    }
}

impl<S> fmt::Debug for EventLoop<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop")
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}
