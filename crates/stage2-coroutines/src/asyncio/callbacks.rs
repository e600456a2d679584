//! Callbacks: functions that the loop calls soon, later, or on behalf of
//! another thread.

use std::any::Any;
use std::io;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use selector_core::{Key, TimerKey, VirtualClock};

use crate::runtime::inject_queue::{InjectQueue, Injected, TaskWaker};
use crate::runtime::scheduler::{AfterStep, Runnable, Scheduler};
use crate::runtime::task::Driver;
use crate::{Coroutine, Elapsed, EventLoop, Task, timeout_at};

/// A handle that cancels a callback.
#[derive(Clone)]
pub struct Handle {
    event_loop: EventLoop,
    key: Key,
    timer: Option<TimerKey>,
}

impl Handle {
    /// Cancels the callback, unless it has been called.
    pub fn cancel(&self) {
        if let Some(timer) = self.timer {
            let waker = self.event_loop.0.reactor.timers.borrow_mut().cancel(timer);
            drop(waker);
        }
        drop(self.event_loop.0.scheduler.remove_task(self.key));
    }
}

/// A callback as a task of one step, scheduled like any other task.
struct CallOnce<F>(Option<F>);

/// The function is called by value, so nothing needs to be pinned.
impl<F> Unpin for CallOnce<F> {}

impl<F: FnOnce()> Runnable for CallOnce<F> {
    fn step(mut self: Pin<&mut Self>, scheduler: &Scheduler, _key: Key) -> AfterStep {
        let call = self.0.take();
        Poll::Ready(call.and_then(|call| scheduler.inspector.catch(call).err()))
    }
}

impl EventLoop {
    /// Returns a loop without sockets, whose clock jumps to the next timer instead
    /// of waiting for it. Names cannot be looked up in it.
    pub fn in_virtual_time() -> Self {
        Self::with_backend(VirtualClock::new(), Arc::new(transport::system_lookup))
    }

    /// Spawns a coroutine as a task: [`Task::spawn`] by its name in asyncio.
    #[track_caller]
    pub fn create_task<T: 'static>(
        &self,
        coroutine: impl Coroutine<Output = T> + 'static,
    ) -> Task<T> {
        Task::spawn(self, coroutine)
    }

    /// Cancels a task by its key, which [`EventLoop::current_task`] and
    /// [`EventLoop::all_tasks`] tell: as [`Future::cancel`](crate::Future::cancel)
    /// does with its handle. A task that cancels itself in this way is dropped at the
    /// end of its step, and is cancelled even if it returns. Returns false if the
    /// task is done.
    pub fn cancel(&self, key: Key) -> bool {
        let Some(slot) = self.0.scheduler.remove_task(key) else { return false };
        match slot.step {
            Some(mut step) => {
                step.as_mut().cancel();
                self.0.scheduler.drop_step(step);
            }
            // It is taking a step, and finds the flag when it ends.
            None => self.0.scheduler.is_self_cancelled.set(true),
        }
        true
    }

    /// Sets whether a panic of a task or a callback goes through the loop, to the
    /// caller of `run_until_complete`, after it has been recorded: as in asyncio an
    /// exit or a Ctrl-C does, which are no `Exception` but a `BaseException`. By
    /// default it stays with its task. Afterwards the loop can be run again.
    pub fn raise_panics(&self, raises_panics: bool) {
        self.0.inspector.raises_panics.set(raises_panics);
    }

    // ANCHOR: spawn_detached
    /// Spawns a task without a handle. It cannot be awaited, and can be cancelled by its
    /// key only. If it panics, the exception handler is called.
    #[track_caller]
    pub fn spawn_detached(&self, coroutine: impl Coroutine<Output = ()> + 'static) {
        let driver = Driver { coroutine, end: Result::err, waker: None };
        let key = self.0.scheduler.add_task(driver, Some(Location::caller()));
        self.schedule_last(key);
    }
    // ANCHOR_END: spawn_detached

    /// Calls `callback` in the next batch, after all tasks that were woken
    /// before. If it panics, the exception handler is called.
    pub fn call_soon(&self, callback: impl FnOnce() + 'static) -> Handle {
        let key = self.0.scheduler.add_task(CallOnce(Some(callback)), None);
        self.schedule_last(key);
        Handle { event_loop: self.clone(), key, timer: None }
    }

    /// Calls `callback` after a delay.
    pub fn call_later(&self, delay: Duration, callback: impl FnOnce() + 'static) -> Handle {
        let at = self.now().checked_add(delay);
        self.call_when(at, callback)
    }

    /// Calls `callback` at a point in time, or as soon as possible if that is
    /// past.
    pub fn call_at(&self, at: Instant, callback: impl FnOnce() + 'static) -> Handle {
        self.call_when(Some(at), callback)
    }

    /// Calls `callback` at a point in time; never at `None`, which is beyond
    /// the end of the clock.
    fn call_when(&self, at: Option<Instant>, callback: impl FnOnce() + 'static) -> Handle {
        let key = self.0.scheduler.add_task(CallOnce(Some(callback)), None);
        let waker = TaskWaker::new(key, &self.0.scheduler).into();
        let timer = at.map(|at| self.0.reactor.timers.borrow_mut().set(at, waker));
        Handle { event_loop: self.clone(), key, timer }
    }

    /// Returns a handle to the loop for other threads.
    pub fn remote(&self) -> Remote {
        let inject_queue = Arc::clone(&self.0.scheduler.inject_queue);
        Remote { inject_queue, _counted: Arc::clone(&self.0.remotes) }
    }

    /// Runs a coroutine, no longer than `timeout`: Tornado's `run_sync`.
    ///
    /// # Errors
    /// `TimedOut`, and the errors of [`EventLoop::run_until_complete`].
    pub fn run_sync<T>(
        &self,
        coroutine: impl Coroutine<Output = T>,
        timeout: Duration,
    ) -> io::Result<T> {
        let Some(deadline) = self.now().checked_add(timeout) else {
            return self.run_until_complete(coroutine);
        };
        let result = self.run_until_complete(timeout_at(self, || deadline, coroutine))?;
        result.map_err(|Elapsed| {
            let message = format!("the coroutine was not done within {timeout:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })
    }
}

/// A handle to a loop for other threads.
#[derive(Clone)]
pub struct Remote {
    inject_queue: Arc<InjectQueue>,
    /// As long as it exists, the loop may be called.
    _counted: Arc<()>,
}

impl Remote {
    /// Has the loop call `callback`, on the thread of the loop and with a handle
    /// to it: asyncio's `call_soon_threadsafe`. If the loop is closed, the
    /// callback is dropped.
    pub fn call_soon(&self, callback: impl FnOnce(&EventLoop) + Send + 'static) {
        let call = move |event_loop: &dyn Any| {
            let event_loop =
                event_loop.downcast_ref::<EventLoop>().expect("the loop calls").clone();
            // Through the run queue, since panics are caught there.
            event_loop.clone().call_soon(move || callback(&event_loop));
        };
        self.inject_queue.push(Injected::Call(Box::new(call)));
    }
}
