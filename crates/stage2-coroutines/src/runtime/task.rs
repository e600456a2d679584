//! Tasks: each drives one coroutine.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use selector_core::Key;

use crate::runtime::inject_queue::TaskWaker;
use crate::runtime::scheduler::{AfterStep, Runnable, Scheduler};
use crate::{Coroutine, EventLoop, Exception, Future};

/// A handle to a coroutine that the loop drives. A task is a [`Future`] of the
/// value that its coroutine returns.
///
/// Dropping the handle does not end the task. The task ends when its coroutine
/// returns, panics or is [cancelled](Future::cancel), or when the loop is
/// closed.
#[must_use = "a task runs without its handle, but its outcome is lost"]
pub struct Task<T> {
    pub(crate) future: Future<T>,
}

impl<T: 'static> Task<T> {
    // ANCHOR: spawn
    /// Spawns a coroutine as a task. The scheduler puts it at the end of the run
    /// queue for its first step.
    #[track_caller]
    pub fn spawn<C>(event_loop: &EventLoop, coroutine: C) -> Self
    where
        C: Coroutine<Output = T> + 'static,
    {
        let future = Future::new(event_loop);
        let awaited = future.clone();
        // Refused if the task was cancelled during this very step.
        let end = move |outcome| awaited.finish(outcome).err().and(None);
        Self::start(event_loop, future, Driver { coroutine, end, waker: None })
    }

    /// Starts a driver that resolves `future` at its end.
    #[track_caller]
    pub(crate) fn start(
        event_loop: &EventLoop,
        future: Future<T>,
        driver: impl Runnable + 'static,
    ) -> Self {
        let key = event_loop.0.scheduler.add_task(driver, Some(Location::caller()));
        future.set_task(key);
        event_loop.schedule_last(key);
        Self { future }
    }
    // ANCHOR_END: spawn

    /// Returns the key of the task, valid as long as the task is not done.
    pub fn key(&self) -> Key {
        self.future.task().expect("spawn has told its future")
    }
}

impl<T> Deref for Task<T> {
    type Target = Future<T>;

    fn deref(&self) -> &Future<T> {
        &self.future
    }
}

impl<T: 'static> std::future::Future for Task<T> {
    type Output = Result<T, Exception>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.future).poll(context)
    }
}

// ANCHOR: driver_fields
pin_project! {
    // The driver of a task: its coroutine, and what to do at the end.
    pub(crate) struct Driver<C, E> {
        #[pin]
        pub(crate) coroutine: C,
        // Called with the outcome. Returns the exception if no future takes
        // it.
        pub(crate) end: E,
        pub(crate) waker: Option<Arc<TaskWaker>>,
    }
}
// ANCHOR_END: driver_fields

impl<C: Coroutine, E> Runnable for Driver<C, E>
where
    E: Fn(Result<C::Output, Exception>) -> Option<Exception>,
{
    // ANCHOR: driver_step
    fn step(self: Pin<&mut Self>, scheduler: &Scheduler, key: Key) -> AfterStep {
        let this = self.project();
        let waker = scheduler.waker(key, this.waker);
        let poll = || this.coroutine.poll(&mut Context::from_waker(&waker));
        let outcome = match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(scheduler.inspector.caught(panic)),
        };
        if scheduler.is_self_cancelled.replace(false) {
            let _ = (this.end)(Err(Exception::Cancelled));
        }
        // A result that is refused is dropped, and its destructor may panic.
        let unretrieved = scheduler.inspector.catch(|| (this.end)(outcome));
        Poll::Ready(unretrieved.unwrap_or_else(Some))
    }
    // ANCHOR_END: driver_step

    fn cancel(self: Pin<&mut Self>) {
        let _ = (self.project().end)(Err(Exception::Cancelled));
    }

    fn kept_waker(&self) -> Option<&Arc<TaskWaker>> {
        self.waker.as_ref()
    }
}
