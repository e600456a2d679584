//! The runtime: futures, tasks, wakers, the scheduler, the reactor and the event
//! loop.

pub(crate) mod event_loop;
pub(crate) mod future;
pub(crate) mod inject_queue;
pub(crate) mod reactor;
pub(crate) mod scheduler;
pub(crate) mod task;
pub(crate) mod waker;
