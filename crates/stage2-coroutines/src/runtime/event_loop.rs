//! The event loop: a reactor that waits for events and wakes the tasks they belong
//! to, and a scheduler that lets those tasks take steps, in turn.

use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use selector_core::{Backend, Selector};

use super::Coroutine;
use super::observer::{Observer, Origin, Place, Wait};
use super::reactor::Reactor;
use super::scheduler::{Body, Scheduler};

/// A handle to an event loop: for code that spawns tasks, sets timers, or waits.
/// Handles are cheap to clone, and all of them stand for the same loop.
#[derive(Clone)]
pub struct EventLoop(Rc<LoopCore>);

/// The owner of an event loop: it runs the loop, and closes it when it is dropped.
///
/// Closing drops every pending task where it is suspended, and the observer hears of each.
/// Handles may outlive the owner: a task that is spawned on a closed loop is dropped at
/// once. (A task that held the owner of its own loop would keep both alive forever.)
pub struct Runtime(EventLoop);

struct LoopCore {
    scheduler: Rc<Scheduler>,
    reactor: Reactor,
    /// True if the run is to end with the current batch.
    is_stopping: Cell<bool>,
}

impl Runtime {
    /// Returns a loop that gets sockets and time from `backend`, and tells `observer` what it
    /// does.
    pub fn with(backend: impl Backend + 'static, observer: impl Observer) -> Self {
        let selector = Selector::with_backend(backend);
        let scheduler = Rc::new(Scheduler::new(selector.notifier(), Box::new(observer)));
        let reactor = Reactor::new(selector);
        Self(EventLoop(Rc::new(LoopCore { scheduler, reactor, is_stopping: Cell::new(false) })))
    }

    /// Returns the handle to the loop.
    pub fn event_loop(&self) -> &EventLoop {
        &self.0
    }

    // ANCHOR: run_until_complete
    /// Runs the main coroutine, and all tasks beside it, until the coroutine
    /// returns; that stops the loop. Tasks that are still pending stay
    /// suspended, and go on with the next run.
    ///
    /// # Errors
    /// When the selector fails, so that no task would ever be woken; when the observer finds
    /// that nothing can happen any more; when [`EventLoop::stop`] is called first; or when
    /// this thread runs a loop already.
    ///
    /// # Panics
    /// When the main coroutine does.
    pub fn run_until_complete<C: Coroutine>(&self, main: C) -> io::Result<C::Output> {
        let mut main = pin!(main);
        let mut outcome = None;
        let root = poll_fn(|context| {
            let poll = || main.as_mut().poll(context);
            outcome = match catch_unwind(AssertUnwindSafe(poll)) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(value)) => Some(Ok(value)),
                Err(panic) => Some(Err(panic)),
            };
            self.0.stop();
            Poll::Ready(())
        });
        self.run(Some(pin!(root)))?;
        match outcome {
            Some(Ok(value)) => Ok(value),
            Some(Err(panic)) => resume_unwind(panic),
            None => Err(io::Error::other("the loop was stopped before the coroutine was done")),
        }
    }
    // ANCHOR_END: run_until_complete

    /// Runs until [`EventLoop::stop`] is called.
    ///
    /// # Errors
    /// As for [`Runtime::run_until_complete`], except for a call of [`EventLoop::stop`].
    pub fn run_forever(&self) -> io::Result<()> {
        self.run(None)
    }

    // ANCHOR: run
    /// Runs ticks and batches in turn until `stop` is called. The main coroutine lives on the
    /// stack of the caller.
    fn run(&self, main: Option<Pin<&mut Body<'_>>>) -> io::Result<()> {
        let LoopCore { scheduler, reactor, is_stopping } = &*self.0.0;
        let _entered = scheduler.enter(main.is_some())?;
        let nothing = pin!(std::future::pending());
        let mut main = main.unwrap_or(nothing);
        let mut keys = Vec::new();
        loop {
            let mut may_sleep = !is_stopping.get() && scheduler.may_sleep();
            if may_sleep && reactor.timers.borrow().is_empty() {
                scheduler.observer.idle(&self.0)?;
                may_sleep = scheduler.may_sleep();
            }
            reactor.tick(may_sleep, &mut keys)?;
            scheduler.run_batch(main.as_mut());
            scheduler.observer.batch_ends(&self.0);
            if is_stopping.replace(false) {
                return Ok(());
            }
        }
    }
    // ANCHOR_END: run
}

// ANCHOR: close
impl Drop for Runtime {
    fn drop(&mut self) {
        let LoopCore { scheduler, reactor, .. } = &*self.0.0;
        scheduler.close(self.0.now());
        // A waker or a source may hold a handle to the loop. Here the circle is cut.
        drop(reactor.timers.take());
        drop(reactor.sources.take());
    }
}
// ANCHOR_END: close

impl EventLoop {
    /// Stops the loop at the end of the current batch. Tasks that were woken
    /// during the batch take their step when the loop runs again. If the loop does not run,
    /// the next run is a single tick and batch.
    pub fn stop(&self) {
        self.0.is_stopping.set(true);
    }

    /// Returns the current time of the loop's clock.
    pub fn now(&self) -> Instant {
        self.0.reactor.selector.borrow().now()
    }

    /// Returns true if the two handles stand for the same loop.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Spawns a task without a handle: nobody gets its result, and nobody can cancel it. If
    /// it panics, the observer hears of it.
    #[track_caller]
    pub fn spawn_detached(&self, coroutine: impl Coroutine<Output = ()> + 'static) {
        let key = self.0.scheduler.add(Box::pin(coroutine), Origin::Task(Location::caller()));
        self.0.scheduler.wake(key);
    }

    /// Returns the tasks of the loop, for code that is built on the runtime.
    pub fn scheduler(&self) -> &Scheduler {
        &self.0.scheduler
    }

    /// Returns the events of the loop, for code that is built on the runtime.
    pub fn reactor(&self) -> &Reactor {
        &self.0.reactor
    }

    /// Tells the observer what the current task waits for.
    pub(super) fn waits(&self, wait: Wait, at: Option<Place>) {
        self.0.scheduler.observer.waits(wait, at, self.0.reactor.tick_time());
    }

    /// Returns the observer of this type, if the loop has one.
    pub fn observer<O: Any>(&self) -> Option<&O> {
        let mut found = None;
        self.0.scheduler.observer.visit(&mut |observer| {
            found = found.or(observer.downcast_ref::<O>());
        });
        found
    }
}
