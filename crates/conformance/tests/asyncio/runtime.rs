//! The names of the runtime in this tree that the programs use. The one in `old.rs` has
//! those of an earlier commit: what is named in another way since then is made equal in one
//! of the two, and the programs stay as they are.

pub(crate) use asyncio::prelude::*;
pub(crate) use asyncio::{
    AnyFuture, CallbackHandle, CallbackId, ReturnWhen, as_completed, gather, gather_outcomes,
    shield, wait, wait_for,
};
pub(crate) use selector_core::Key;
pub(crate) use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Inspect, LoopError, Runtime, Task, sleep, timeout_at,
    virtual_runtime,
};
pub(crate) use stage3_queue::{Item, JoinableQueue};

/// In the old runtime it is named by the results of its children.
pub(crate) type Gather<T> = asyncio::Gather<Vec<T>>;

/// Only looks: an exception does not count as retrieved then.
pub(crate) fn has_exception(future: &AnyFuture<u64>) -> bool {
    future.as_future().inspect(Result::is_err).unwrap_or(false)
}

/// Closes a loop.
pub(crate) fn close(runtime: Runtime) {
    drop(runtime);
}
