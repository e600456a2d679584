//! The event loop: an executor that resumes woken tasks, and a reactor that
//! waits for events and wakes the tasks they belong to.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::{Backend, Key, Selector, Slab, Timers};
use transport::{ConnectLimiter, LookupFn, Resolver};

use crate::net::connect_limit::Waiter;
use crate::runtime::current_loop::{Batch, EnterGuard, RunQueue};
use crate::runtime::inject_queue::InjectQueue;
use crate::asyncio::inspection::{ExceptionHandler, WaitInfo, increment};
use crate::net::lookup::LookupWaiter;
use crate::net::peers::Peers;
use crate::runtime::task_table::{TaskSlot, main_key};
use crate::{Coroutine, Future};

/// A handle to the event loop of one thread. Handles are cheap to clone; all
/// clones stand for the same loop.
#[derive(Clone)]
pub struct EventLoop(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) selector: RefCell<Selector<Waker>>,
    pub(crate) timers: RefCell<Timers<Waker>>,
    pub(crate) resolver: RefCell<Resolver<LookupWaiter>>,
    pub(crate) tasks: RefCell<Slab<TaskSlot>>,
    pub(crate) run_queue: RefCell<RunQueue>,
    /// The wake-ups and calls that come from other threads.
    pub(crate) inject_queue: Arc<InjectQueue>,
    is_stopping: Cell<bool>,
    pub(crate) is_closed: Cell<bool>,
    /// The task that is taking a step.
    pub(crate) current_task: Cell<Option<Key>>,
    /// The wait that the current task has begun in this step.
    pub(crate) current_wait: Cell<WaitInfo>,
    pub(crate) task_names: RefCell<HashMap<Key, Box<str>>>,
    pub(crate) exception_handler: RefCell<Option<Rc<ExceptionHandler>>>,
    pub(crate) started: Instant,
    /// The time of the last tick: a clock that is cheap to read, and behind by
    /// the time that the steps since then took.
    pub(crate) tick_start: Cell<Instant>,
    /// The tasks that wait until a connection is closed and its descriptor is
    /// free.
    pub(crate) fd_waiters: RefCell<VecDeque<Future<()>>>,
    pub(crate) connect_limiter: RefCell<ConnectLimiter<Waiter>>,
    pub(crate) peers: RefCell<Peers>,
    pub(crate) scratch: Cell<Vec<u8>>,
    pub(crate) ticks: Cell<u64>,
    pub(crate) polls: Cell<u64>,
    pub(crate) last_callback_id: Cell<u64>,
}

impl EventLoop {
    /// Returns a loop on the sockets and the clock of the operating system.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    #[cfg(feature = "os")]
    pub fn new() -> io::Result<Self> {
        let backend = selector_core::OsBackend::new()?;
        Ok(Self::with_backend(backend, Arc::new(transport::system_lookup)))
    }

    /// Returns a loop that gets sockets and time from `backend`, and addresses
    /// from `lookup`.
    pub fn with_backend(backend: impl Backend + 'static, lookup: Arc<LookupFn>) -> Self {
        let selector = Selector::with_backend(backend);
        let started = selector.now();
        let notifier = selector.notifier();
        let inject_queue = Arc::new(InjectQueue::new(notifier.clone()));
        let resolver = Resolver::new(lookup, move || notifier.notify());
        Self(Rc::new(Inner {
            selector: RefCell::new(selector),
            timers: RefCell::new(Timers::new()),
            resolver: RefCell::new(resolver),
            tasks: RefCell::new(Slab::new()),
            run_queue: RefCell::new(RunQueue::new()),
            inject_queue,
            is_stopping: Cell::new(false),
            is_closed: Cell::new(false),
            current_task: Cell::new(None),
            current_wait: Cell::new(WaitInfo::NONE),
            task_names: RefCell::new(HashMap::new()),
            exception_handler: RefCell::new(None),
            started,
            tick_start: Cell::new(started),
            fd_waiters: RefCell::new(VecDeque::new()),
            connect_limiter: RefCell::new(ConnectLimiter::new()),
            peers: RefCell::default(),
            scratch: Cell::new(Vec::new()),
            ticks: Cell::new(0),
            polls: Cell::new(0),
            last_callback_id: Cell::new(0),
        }))
    }

    // ANCHOR: run_until_complete
    /// Runs this coroutine, and all tasks beside it, until the coroutine
    /// returns; that stops the loop. Tasks that are still pending stay
    /// suspended, and go on with the next run.
    ///
    /// # Errors
    /// When the selector fails, so that no task would ever be woken; when
    /// [`EventLoop::stop`] or [`EventLoop::close`] is called first; or when
    /// this thread runs a loop already.
    pub fn run_until_complete<T>(&self, coroutine: impl Coroutine<Output = T>) -> io::Result<T> {
        let mut coroutine = pin!(coroutine);
        let mut result = None;
        self.schedule_last(main_key());
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

    /// Runs until [`EventLoop::stop`] is called.
    ///
    /// # Errors
    /// As for [`EventLoop::run_until_complete`].
    pub fn run_forever(&self) -> io::Result<()> {
        self.run(|_| ())
    }

    /// Stops the loop at the end of the current batch. Tasks that were woken
    /// during the batch take their step when the loop runs again.
    pub fn stop(&self) {
        self.0.is_stopping.set(true);
    }

    // ANCHOR: run
    /// Runs batches and ticks in turn until `stop` is called. `main` is one
    /// step of the main coroutine, which stays on the caller's own stack.
    fn run(&self, mut main: impl FnMut(&mut Context<'_>)) -> io::Result<()> {
        let _entered = EnterGuard::new(self)?;
        let mut batch = Batch::new(&self.0.run_queue);
        let mut waker = None;
        let mut keys = Vec::new();
        loop {
            // A task that is woken from here on takes its step after the next
            // tick: tasks that keep waking each other cannot hold up tasks that
            // wait for a socket or a timer.
            self.next_batch(&mut batch);
            for key in &mut batch {
                if key != main_key() {
                    self.step(key);
                } else {
                    increment(&self.0.polls);
                    main(&mut Context::from_waker(&self.waker_for_step(key, &mut waker)));
                    self.clear_wait();
                }
            }
            if self.0.is_stopping.replace(false) {
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
    /// One tick of the reactor: waits for events and for the next timer, and
    /// wakes the tasks that they belong to.
    fn tick(&self, keys: &mut Vec<Key>) -> io::Result<()> {
        let inner = &*self.0;
        let timeout = if inner.run_queue.borrow().is_empty() && inner.inject_queue.may_sleep() {
            let next = inner.timers.borrow().next_due();
            next.map(|at| at.saturating_duration_since(self.now()))
        } else {
            Some(Duration::ZERO)
        };
        increment(&inner.ticks);
        inner.selector.borrow_mut().select(timeout, keys)?;
        // Each borrow ends before the waker is called: a waker may be foreign
        // code.
        for key in keys.drain(..) {
            let waiter = inner.selector.borrow_mut().take(key);
            if let Some(waker) = waiter {
                waker.wake();
            }
        }
        let now = self.now();
        inner.tick_start.set(now);
        loop {
            let due = inner.timers.borrow_mut().pop_due(now);
            let Some(waker) = due else { break };
            waker.wake();
        }
        let answered = inner.resolver.borrow_mut().answered(now);
        for (future, answer) in answered {
            // Refused only if the future is done already.
            let _ = future.map(|future| future.set_result(answer));
        }
        Ok(())
    }
    // ANCHOR_END: tick

    /// Returns the current time of the loop's clock.
    pub fn now(&self) -> Instant {
        self.0.selector.borrow().now()
    }
}
