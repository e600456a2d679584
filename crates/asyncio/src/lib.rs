//! The rest of asyncio's interface, on the runtime of [`stage2_coroutines`].
//!
//! The runtime has futures, tasks and a loop. What asyncio has besides stands here, on
//! the seam that the runtime shows to everybody:
//!
//! * [`Scheduler`](stage2_coroutines::runtime::scheduler::Scheduler): a callback is a task
//!   that is added, and takes its first step when it is woken;
//! * [`Future::wake_when_done`](stage2_coroutines::Future::wake_when_done): a done callback is
//!   such a task, and stands in line with those who await the future;
//! * [`Future::inspect`](stage2_coroutines::Future::inspect): a result that is copied, and
//!   stays where it is.
//!
//! The methods come with the [`prelude`]. For readers who know Python,
//! [`names_of_asyncio`] lists the names of asyncio and Tornado.

mod any_future;
mod callbacks;
mod combinators;
mod gather;
mod task_group;
mod timeout;

pub mod traceback;

pub mod names_of_asyncio {
    #![doc = include_str!("names_of_asyncio.md")]

    // The links of the page are resolved from here.
    #[cfg(doc)]
    use crate::{prelude::*, *};
    #[cfg(doc)]
    use stage2_coroutines::{sync::*, *};
}

/// The extension traits, to be imported together.
pub mod prelude {
    pub use crate::{EventLoopExt, FutureExt, RuntimeExt, TaskExt};
}

pub use any_future::{AnyFuture, CallbackId, FutureExt, TaskExt, raised};
pub use callbacks::{CallbackHandle, EventLoopExt, Remote, RuntimeExt};
pub use combinators::{AsCompleted, ReturnWhen, as_completed, shield, wait, wait_for};
pub use gather::{Gather, ensure_future, gather, gather_outcomes, multi, multi_map};
pub use stage2_coroutines::sync::{Event, Mutex as Lock, Semaphore};
pub use task_group::{ExceptionGroup, TaskGroup, TaskGroupClosed};
pub use timeout::{Timeout, timeout};
