//! The loop: waits for the world, then resumes whoever the news concerns.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::{Key, Os, Selector, Slots, Timers, World};
use transport::{ConnectQueue, LookUp, Resolver, system_look_up};

use crate::diagnose::{ExceptionHandler, Note, count};
use crate::mailbox::Mailbox;
use crate::names::Answer;
use crate::running::{Batch, RunQueue, Running};
use crate::task_table::{TaskSlot, main_key};
use crate::turns::Waiter;
use crate::{Coroutine, Future};

/// One thread's loop. Handles are cheap to clone and stand for the same loop.
#[derive(Clone)]
pub struct EventLoop(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) selector: RefCell<Selector<Waker>>,
    pub(crate) timers: RefCell<Timers<Waker>>,
    pub(crate) resolver: RefCell<Resolver<Answer>>,
    pub(crate) tasks: RefCell<Slots<TaskSlot>>,
    pub(crate) run_queue: RefCell<RunQueue>,
    /// What comes from other threads.
    pub(crate) mailbox: Arc<Mailbox>,
    stopping: Cell<bool>,
    pub(crate) is_closed: Cell<bool>,
    /// Whose turn it is.
    pub(crate) current: Cell<Option<Key>>,
    /// What the one whose turn it is has begun to wait for.
    pub(crate) note: Cell<Note>,
    pub(crate) names: RefCell<HashMap<Key, Box<str>>>,
    pub(crate) exception_handler: RefCell<Option<Rc<ExceptionHandler>>>,
    pub(crate) started: Instant,
    /// When the present round has begun: a clock for whoever does not care what
    /// happened since.
    pub(crate) round: Cell<Instant>,
    /// Whom a closed connection leaves its descriptor to.
    pub(crate) starved: RefCell<VecDeque<Future<()>>>,
    pub(crate) connecting: RefCell<ConnectQueue<Waiter>>,
    pub(crate) scratch: Cell<Vec<u8>>,
    pub(crate) ticks: Cell<u64>,
    pub(crate) polls: Cell<u64>,
    pub(crate) callbacks_so_far: Cell<u64>,
}

impl EventLoop {
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
        let started = selector.now();
        let notifier = selector.notifier();
        let mailbox = Arc::new(Mailbox::new(notifier.clone()));
        let resolver = Resolver::new(look_up, move || notifier.notify());
        Self(Rc::new(Inner {
            selector: RefCell::new(selector),
            timers: RefCell::new(Timers::new()),
            resolver: RefCell::new(resolver),
            tasks: RefCell::new(Slots::new()),
            run_queue: RefCell::new(RunQueue::new()),
            mailbox,
            stopping: Cell::new(false),
            is_closed: Cell::new(false),
            current: Cell::new(None),
            note: Cell::new(Note::NONE),
            names: RefCell::new(HashMap::new()),
            exception_handler: RefCell::new(None),
            started,
            round: Cell::new(started),
            starved: RefCell::new(VecDeque::new()),
            connecting: RefCell::new(ConnectQueue::new()),
            scratch: Cell::new(Vec::new()),
            ticks: Cell::new(0),
            polls: Cell::new(0),
            callbacks_so_far: Cell::new(0),
        }))
    }

    // ANCHOR: run_until_complete
    /// Runs this coroutine, and all tasks beside it, until it has returned,
    /// which stops the loop. Tasks that are not done by then stay where they
    /// are, to go on with the next call.
    ///
    /// # Errors
    /// When the selector fails, so that nobody would ever be woken; when
    /// somebody calls [`EventLoop::stop`] or [`EventLoop::close`] first; or
    /// when this thread runs a loop already.
    pub fn run_until_complete<T>(&self, coroutine: impl Coroutine<Output = T>) -> io::Result<T> {
        let mut coroutine = pin!(coroutine);
        let mut result = None;
        self.enqueue(main_key());
        self.run(|context| {
            if result.is_none()
                && let Poll::Ready(value) = coroutine.as_mut().poll(context)
            {
                result = Some(value);
                self.stop();
            }
        })?;
        result.ok_or_else(|| io::Error::other("the loop was stopped before the coroutine was done"))
    }
    // ANCHOR_END: run_until_complete

    /// Runs until somebody calls [`EventLoop::stop`].
    ///
    /// # Errors
    /// As for [`EventLoop::run_until_complete`].
    pub fn run_forever(&self) -> io::Result<()> {
        self.run(|_| ())
    }

    /// Has the loop return at the end of the present round. Who was woken during
    /// it has a turn when the loop runs again.
    pub fn stop(&self) {
        self.0.stopping.set(true);
    }

    // ANCHOR: run
    /// Takes turns until somebody calls `stop`. `main` is what runs on the
    /// caller's own stack.
    fn run(&self, mut main: impl FnMut(&mut Context<'_>)) -> io::Result<()> {
        let _running = Running::new(self)?;
        let mut batch = Batch::new(&self.0.run_queue);
        let mut waker = None;
        let mut keys = Vec::new();
        loop {
            // Whoever is woken from here on has a turn after the next tick:
            // tasks that keep waking each other cannot hold up those who wait
            // for a socket or for a time.
            self.take_turns(&mut batch);
            for key in &mut batch {
                if key != main_key() {
                    self.step(key);
                } else {
                    count(&self.0.polls);
                    main(&mut Context::from_waker(&self.waker_for_step(key, &mut waker)));
                    self.unnote();
                }
            }
            if self.0.stopping.replace(false) {
                return Ok(());
            }
            if self.0.is_closed.get() {
                return Err(io::Error::other("the loop is closed"));
            }
            self.tick(&mut keys)?;
        }
    }
    // ANCHOR_END: run

    // ANCHOR: tick
    /// Waits until there is something to do, and wakes whom it concerns.
    fn tick(&self, keys: &mut Vec<Key>) -> io::Result<()> {
        let inner = &*self.0;
        let timeout = if inner.run_queue.borrow().is_empty() && inner.mailbox.may_sleep() {
            let next = inner.timers.borrow().next_due();
            next.map(|at| at.saturating_duration_since(self.now()))
        } else {
            Some(Duration::ZERO)
        };
        count(&inner.ticks);
        inner.selector.borrow_mut().select(timeout, keys)?;
        // Each borrow ends before the waker runs: it may belong to anybody.
        for key in keys.drain(..) {
            let waiter = inner.selector.borrow_mut().take(key);
            if let Some(waker) = waiter {
                waker.wake();
            }
        }
        let now = self.now();
        inner.round.set(now);
        loop {
            let due = inner.timers.borrow_mut().pop_due(now);
            let Some(waker) = due else { break };
            waker.wake();
        }
        let answered = inner.resolver.borrow_mut().answered(now);
        for (future, answer) in answered {
            // Refused only if the future had an answer before.
            let _ = future.map(|future| future.set_result(answer));
        }
        Ok(())
    }
    // ANCHOR_END: tick

    /// The present moment.
    pub fn now(&self) -> Instant {
        self.0.selector.borrow().now()
    }
}
