//! Tasks: each drives one coroutine.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use selector_core::Key;

use super::Coroutine;
use super::event_loop::EventLoop;
use super::exception::Exception;
use super::future::Future;
use super::observer::{Origin, Wait};

/// A handle to a coroutine that the loop drives. A task can be awaited like the
/// [`Future`] of the value that its coroutine returns.
///
/// Dropping the handle does not end the task. The task ends when its coroutine
/// returns, panics or is [cancelled](Task::cancel), or when the loop is closed.
#[must_use = "a task runs without its handle, but its outcome is lost"]
pub struct Task<T> {
    future: Future<T>,
    key: Key,
}

impl<T: 'static> Task<T> {
    // ANCHOR: spawn
    /// Spawns a coroutine as a task, which takes its first step in the next batch.
    #[track_caller]
    pub fn spawn(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T> + 'static) -> Self {
        Self::spawn_with(event_loop, coroutine, Ok)
    }

    /// Spawns a coroutine as a task. `to_outcome` turns what the coroutine returns into the
    /// outcome of the task, which may be an exception.
    #[track_caller]
    pub fn spawn_with<C, F>(event_loop: &EventLoop, coroutine: C, to_outcome: F) -> Self
    where
        C: Coroutine + 'static,
        F: Fn(C::Output) -> Result<T, Exception> + Unpin + 'static,
    {
        let future = Future::new(event_loop);
        let root = Root { coroutine: Box::pin(coroutine), to_outcome, future: future.clone() };
        let scheduler = event_loop.scheduler();
        let key = scheduler.add(Box::pin(root), Origin::Task(Location::caller()));
        scheduler.wake(key);
        Self { future, key }
    }
    // ANCHOR_END: spawn
}

impl<T> Task<T> {
    /// Returns the future of the task. If somebody else resolves it, the task goes on, and
    /// its own result is dropped.
    pub fn future(&self) -> &Future<T> {
        &self.future
    }

    /// Returns the key of the task, valid as long as the task is not done.
    pub fn key(&self) -> Key {
        self.key
    }

    // ANCHOR: cancel
    /// Cancels the task: its coroutine is dropped where it is suspended. Returns false if the
    /// task was done already. A task that cancels itself finishes its step, and is dropped
    /// then.
    pub fn cancel(&self) -> bool {
        let is_cancelled = self.future.cancel();
        if is_cancelled {
            self.future.event_loop().scheduler().remove(self.key);
        }
        is_cancelled
    }
    // ANCHOR_END: cancel
}

// ANCHOR: root
/// The outermost coroutine of a task: polls the one that was spawned, and resolves the
/// future of the task when that returns or panics.
struct Root<C, F, T> {
    coroutine: Pin<Box<C>>,
    to_outcome: F,
    future: Future<T>,
}

impl<C, F, T> Coroutine for Root<C, F, T>
where
    C: Coroutine,
    F: Fn(C::Output) -> Result<T, Exception> + Unpin,
{
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { coroutine, to_outcome, future } = &mut *self;
        let poll = || coroutine.as_mut().poll(context);
        let outcome = match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(output)) => to_outcome(output),
            Err(panic) => {
                future.event_loop().scheduler().observer.panicked();
                Err(Exception::panicked(&*panic))
            }
        };
        // Refused if the task was cancelled during this very step.
        let _ = future.finish(outcome);
        Poll::Ready(())
    }
}
// ANCHOR_END: root

// ANCHOR: task_poll
/// Awaiting a task is awaiting its future, after a check for waits that would never end: a
/// task that awaits itself is found here, and tasks that await each other in a circle by the
/// observer.
impl<T> Coroutine for Task<T> {
    type Output = Result<T, Exception>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if !self.future.done() {
            self.future.event_loop().scheduler().may_await(self.key)?;
        }
        let poll = Pin::new(&mut self.future).poll(context);
        if poll.is_pending() {
            self.future.event_loop().waits(Wait::Task(self.key), None);
        }
        poll
    }
}
// ANCHOR_END: task_poll

impl<T> Clone for Task<T> {
    fn clone(&self) -> Self {
        Self { future: self.future.clone(), key: self.key }
    }
}

/// The same result, without the right to cancel the task.
impl<T> From<Task<T>> for Future<T> {
    fn from(task: Task<T>) -> Self {
        task.future
    }
}
