//! What drives one coroutine.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use selector_core::Key;

use crate::{Coroutine, EventLoop, Future};

/// A coroutine that runs by itself, and the future of what it returns.
///
/// Dropping the handle does not end the task. It ends when its coroutine
/// returns, panics or is [cancelled](Task::cancel), or with its loop.
#[must_use = "a task runs without its handle, but nobody learns how it ended"]
pub struct Task<T> {
    key: Key,
    event_loop: EventLoop,
    done: Future<Result<T, TaskError>>,
}

/// Why a task has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// Somebody called [`Task::cancel`].
    #[error("the task was cancelled")]
    Cancelled,
    /// The coroutine panicked, with this message. Nobody else is harmed.
    #[error("the task panicked: {0}")]
    Panicked(String),
}

impl<T: 'static> Task<T> {
    /// Hands a coroutine to the loop, which takes the first step with it as
    /// soon as it comes round to it.
    pub fn spawn(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T> + 'static) -> Self {
        let done = Future::new();
        let driver = Driver { coroutine: Box::pin(coroutine), done: done.clone() };
        let key = event_loop.add_task(Box::new(driver));
        Self { key, event_loop: event_loop.clone(), done }
    }

    /// Drops the coroutine where it is suspended, its local variables with it,
    /// in the order in which they would have gone out of scope. Has no effect
    /// on a task that is done. A task may cancel itself: its coroutine is
    /// dropped at its next suspension.
    pub fn cancel(&self) {
        // Refused if the task is done; then there is nothing to be dropped.
        let _ = self.done.set_result(Err(TaskError::Cancelled));
        drop(self.event_loop.remove_task(self.key));
    }

    /// Whether the task has ended.
    pub fn done(&self) -> bool {
        self.done.done()
    }

    /// Has `callback` called with the outcome when the task has ended. The
    /// outcome is then taken: the task cannot be awaited any more.
    pub fn on_done(&self, callback: impl FnOnce(Result<T, TaskError>) + 'static) {
        self.done.add_done_callback(move |done| {
            if let Some(outcome) = done.take_result() {
                callback(outcome);
            }
        });
    }
}

/// A task is a future: of what its coroutine returns.
impl<T> std::future::Future for Task<T> {
    type Output = Result<T, TaskError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.done).poll(context)
    }
}

/// What the loop keeps of a task: something that can take a step.
pub(crate) trait Step {
    /// Runs the coroutine until it waits for something or ends.
    fn step(&mut self, context: &mut Context<'_>) -> Poll<()>;
}

struct Driver<C: Coroutine> {
    coroutine: Pin<Box<C>>,
    done: Future<Result<C::Output, TaskError>>,
}

impl<C: Coroutine> Step for Driver<C> {
    fn step(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let step = AssertUnwindSafe(|| self.coroutine.as_mut().poll(context));
        let outcome = match catch_unwind(step) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(value)) => Ok(value),
            Err(panic) => Err(TaskError::Panicked(panic_message(&*panic))),
        };
        // Refused if the task was cancelled during this very step.
        let _ = self.done.set_result(outcome);
        Poll::Ready(())
    }
}

/// The text of a panic, as far as it had one.
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}
