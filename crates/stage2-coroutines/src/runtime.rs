//! The runtime: futures, tasks, wakers, the scheduler and the event loop.

pub(crate) mod current_loop;
pub(crate) mod event_loop;
pub(crate) mod future;
pub(crate) mod inject_queue;
pub(crate) mod task;
pub(crate) mod task_table;
pub(crate) mod waker;
