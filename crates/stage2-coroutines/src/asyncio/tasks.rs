//! Tasks by asyncio's rules: their coroutines can raise, and a combinator takes
//! a future as it is but makes a coroutine a task.

use std::any::Any;
use std::error::Error;

use crate::runtime::task::Driver;
use crate::{Coroutine, EventLoop, Exception, Future, Task};

impl<T: 'static> Task<T> {
    // ANCHOR: try_spawn
    /// Spawns a coroutine that can raise. If it returns an error, that is the
    /// exception of the task: code that awaits the task gets it, and if it is
    /// never retrieved, the exception handler does. A coroutine that returns
    /// [`Exception::Cancelled`] is a cancelled task.
    #[track_caller]
    pub fn try_spawn<E: Into<Box<dyn Error>> + 'static>(
        event_loop: &EventLoop,
        coroutine: impl Coroutine<Output = Result<T, E>> + 'static,
    ) -> Self {
        let future = Future::new(event_loop);
        let awaited = future.clone();
        let end = move |outcome: Result<Result<T, E>, Exception>| {
            let outcome = outcome.and_then(|result| result.map_err(Exception::raised));
            // Refused if the task was cancelled during this very step.
            awaited.finish(outcome).err().and(None)
        };
        Self::start(event_loop, future, Driver { coroutine, end, waker: None })
    }
    // ANCHOR_END: try_spawn
}

// ANCHOR: ensure_future
/// Returns the future of an awaitable: a future or a task as it is, and any other
/// coroutine as a task that can raise, by [`Task::try_spawn`]. All combinators but
/// [`join`](crate::join) and [`select`](crate::select) do this with their arguments. In
/// the first versions of asyncio this function was called `async`.
#[track_caller]
pub fn ensure_future<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitable: impl Coroutine<Output = Result<T, E>> + 'static,
) -> Future<T> {
    let any: &dyn Any = &awaitable;
    if let Some(future) = any.downcast_ref::<Future<T>>() {
        future.clone()
    } else if let Some(task) = any.downcast_ref::<Task<T>>() {
        Future::clone(task)
    } else {
        Task::try_spawn(event_loop, awaitable).into()
    }
}
// ANCHOR_END: ensure_future

impl<T> From<Task<T>> for Future<T> {
    fn from(task: Task<T>) -> Self {
        task.future
    }
}
