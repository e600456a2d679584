//! The event loop: a scheduler that resumes woken tasks, a reactor that waits
//! for events and wakes the tasks they belong to, and an inspector beside them.

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Deref;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use selector_core::{Backend, Key, Selector};
use transport::LookupFn;

use crate::Coroutine;
use crate::asyncio::inspector::{Inspector, LoopError};
use crate::runtime::inject_queue::Injected;
use crate::runtime::reactor::Reactor;
use crate::runtime::scheduler::{Scheduler, main_key};

/// A handle to the event loop of one thread. Handles are cheap to clone; all
/// clones stand for the same loop.
///
/// The first handle owns the loop; its clones are for the tasks. If it is dropped
/// while tasks are pending, and the loop does not run, the loop is closed: as by
/// [`EventLoop::close`], the exception handler hears of each task where it stood.
pub struct EventLoop(pub(crate) Rc<Link>);

/// The link from a handle to the loop. The first handle has one of its own; all
/// others share a second one.
pub(crate) struct Link {
    inner: Rc<Inner>,
    /// The second link, if this is the first.
    shared: Option<Rc<Self>>,
}

impl Clone for EventLoop {
    fn clone(&self) -> Self {
        Self(Rc::clone(self.0.shared.as_ref().unwrap_or(&self.0)))
    }
}

impl Deref for Link {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        let Some(shared) = self.shared.take() else { return };
        let has_tasks = !self.scheduler.tasks.borrow().is_empty();
        if has_tasks && !self.scheduler.is_current() {
            EventLoop(shared).close();
        }
    }
}

pub(crate) struct Inner {
    pub(crate) scheduler: Rc<Scheduler>,
    pub(crate) reactor: Reactor,
    pub(crate) inspector: Rc<Inspector>,
    pub(crate) next_callback_id: Cell<u64>,
    /// Describes what is no task, see [`EventLoop::also_describe`].
    pub(crate) also_describe: RefCell<Option<Rc<dyn Fn() -> String>>>,
    /// Held by each [`Remote`](crate::Remote) as well.
    pub(crate) remotes: Arc<()>,
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
        let inspector = Rc::new(Inspector::new(selector.now()));
        let inner = Rc::new(Inner {
            scheduler: Rc::new(Scheduler::new(selector.notifier(), Rc::clone(&inspector))),
            inspector,
            reactor: Reactor::new(selector, lookup),
            next_callback_id: Cell::new(0),
            also_describe: RefCell::default(),
            remotes: Arc::default(),
        });
        let shared = Rc::new(Link { inner: Rc::clone(&inner), shared: None });
        Self(Rc::new(Link { inner, shared: Some(shared) }))
    }

    // ANCHOR: run_until_complete
    /// Runs the main coroutine, and all tasks beside it, until the coroutine
    /// returns; that stops the loop. Tasks that are still pending stay
    /// suspended, and go on with the next run.
    ///
    /// # Errors
    /// When the selector fails, so that no task would ever be woken; when nothing
    /// can happen any more, since nothing is left that could wake a task, and no
    /// [`Remote`](crate::Remote) exists; when [`EventLoop::stop`] or
    /// [`EventLoop::close`] is called first; or when this thread runs a loop already.
    pub fn run_until_complete<C: Coroutine>(&self, main: C) -> io::Result<C::Output> {
        let mut main = pin!(main);
        let mut result = None;
        self.schedule_last(main_key());
        self.run(|context| {
            if result.is_none()
                && let Poll::Ready(value) = main.as_mut().poll(context)
            {
                result = Some(value);
                self.stop();
            }
            result.is_some()
        })?;
        let too_early = "the loop was stopped before the coroutine was done";
        result.ok_or_else(|| io::Error::other(too_early))
    }
    // ANCHOR_END: run_until_complete

    /// Runs until [`EventLoop::stop`] is called.
    ///
    /// # Errors
    /// As for [`EventLoop::run_until_complete`], but for a call of [`EventLoop::stop`].
    pub fn run_forever(&self) -> io::Result<()> {
        self.run(|_| false)
    }

    /// Stops the loop at the end of the current batch. Tasks that were woken
    /// during the batch take their step when the loop runs again. If it does not run, the
    /// next run is one tick and one batch.
    pub fn stop(&self) {
        self.0.scheduler.is_stopping.set(true);
    }

    // ANCHOR: run
    /// Runs batches and ticks in turn until `stop` is called. `main` is one step of the
    /// main coroutine, which stays on the caller's own stack: true when it is done.
    fn run(&self, mut main: impl FnMut(&mut Context<'_>) -> bool) -> io::Result<()> {
        let Inner { scheduler, reactor, .. } = &**self.0;
        let _entered = scheduler.enter()?;
        reactor.tick_start.set(self.now());
        let (mut batch, mut keys) = (scheduler.batch(), Vec::new());
        // A run that is to stop at once looks at sockets and timers, too.
        let is_one_round = scheduler.is_stopping.get();
        is_one_round.then(|| reactor.tick(false, &mut keys)).transpose()?;
        loop {
            // A task that is woken from here on takes its step after the next
            // tick: tasks that keep waking each other cannot hold up tasks that
            // wait for a socket or a timer.
            self.drain_inject_queue();
            batch.refill();
            for key in &mut batch {
                if key != main_key() {
                    scheduler.step(key);
                } else {
                    scheduler.polls.update(|polls| polls + 1);
                    let waker = scheduler.main_waker();
                    scheduler.trace_main(|| main(&mut Context::from_waker(&waker)));
                }
            }
            scheduler.break_circles();
            if scheduler.is_stopping.get() {
                return Ok(());
            }
            if scheduler.is_closed.get() {
                return Err(io::Error::other("the loop is closed"));
            }
            let may_sleep = scheduler.may_sleep();
            if may_sleep && self.0.is_deadlocked() {
                return Err(self.deadlock_error());
            }
            reactor.tick(may_sleep, &mut keys)?;
        }
    }
    // ANCHOR_END: run

    fn drain_inject_queue(&self) {
        for injected in self.0.scheduler.inject_queue.drain() {
            match injected {
                Injected::Wake(task) => self.0.scheduler.wake(&task),
                Injected::Call(call) => call(self),
            }
        }
    }

    /// Schedules a new task behind all tasks that were woken before.
    pub(crate) fn schedule_last(&self, key: Key) {
        // While the loop does not run, wake-ups go to the inject queue.
        if !self.0.scheduler.is_current() {
            self.drain_inject_queue();
        }
        self.0.scheduler.schedule(key);
    }

    /// Returns the current time of the loop's clock.
    pub fn now(&self) -> Instant {
        self.0.reactor.selector.borrow().now()
    }

    /// Returns true if the two handles stand for the same loop.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0.inner, &other.0.inner)
    }

    // ANCHOR: close
    /// Closes the loop: reports every pending task to the exception handler and
    /// drops it where it is suspended. Tasks hold handles to their loop, so a loop
    /// with pending tasks is never freed without this call, or the drop of its first
    /// handle. A task that is spawned on a closed loop is dropped at once.
    pub fn close(&self) {
        for task in self.all_tasks() {
            self.0.inspector.report(&LoopError::TaskDestroyed(task));
        }
        self.0.scheduler.close();
        drop(self.0.reactor.timers.take());
    }
    // ANCHOR_END: close
}
