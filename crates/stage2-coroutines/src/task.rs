//! What drives one coroutine.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use selector_core::Key;

use crate::task_table::Step;
use crate::waker::TaskWaker;
use crate::{Coroutine, EventLoop, Exception, Future};

/// A coroutine that runs by itself. A task is a [`Future`]: of what its
/// coroutine returns.
///
/// Dropping the handle does not end the task. It ends when its coroutine
/// returns, panics or is [cancelled](Future::cancel), or with its loop.
#[must_use = "a task runs without its handle, but nobody learns how it ended"]
pub struct Task<T> {
    pub(crate) future: Future<T>,
}

impl<T: 'static> Task<T> {
    // ANCHOR: spawn
    /// Hands a coroutine to the loop, which takes its first step when its turn
    /// comes.
    #[track_caller]
    pub fn spawn(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T> + 'static) -> Self {
        let future = Future::new(event_loop);
        let awaited = future.clone();
        // Refused if the task was cancelled during this very step.
        let end = move |outcome| awaited.finish(outcome).err().and(None);
        let driver = Driver { coroutine, end, waker: None };
        let key = event_loop.add_task(Box::pin(driver), Some(Location::caller()));
        future.set_task(key);
        event_loop.enqueue(key);
        Self { future }
    }
    // ANCHOR_END: spawn

    /// Which task this is, for as long as it is not done.
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

// ANCHOR: driver
pin_project! {
    pub(crate) struct Driver<C, E> {
        #[pin]
        pub(crate) coroutine: C,
        // Called with the outcome. Gives an exception back if nobody will
        // hear of it there.
        pub(crate) end: E,
        pub(crate) waker: Option<Arc<TaskWaker>>,
    }
}

impl<C, E> Step for Driver<C, E>
where
    C: Coroutine,
    E: Fn(Result<C::Output, Exception>) -> Option<Exception>,
{
    fn step(self: Pin<&mut Self>, event_loop: &EventLoop, key: Key) -> Poll<Option<Exception>> {
        let this = self.project();
        let waker = event_loop.waker_for_step(key, this.waker);
        let step = AssertUnwindSafe(|| this.coroutine.poll(&mut Context::from_waker(&waker)));
        let outcome = match catch_unwind(step) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(Exception::panicked(&*panic)),
        };
        // A result that is refused is dropped, by code that may panic.
        let end = AssertUnwindSafe(|| (this.end)(outcome));
        let unheard = catch_unwind(end);
        Poll::Ready(unheard.unwrap_or_else(|panic| Some(Exception::panicked(&*panic))))
    }
}
// ANCHOR_END: driver
