//! The runtime: futures, tasks, wakers, the scheduler, the reactor and the event
//! loop. It knows [`selector_core`] and nothing else of this crate.
//!
//! **Nothing is added here.** What wants to know, observes ([`observer::Observer`]); what
//! wants to wait, stands on `sync` or on `leaf`.

/// A coroutine: the value that an `async fn` returns. Rust's name for this
/// trait is `Future`. In the chapter, a future is a thing that has a result
/// later, and so it is here: see [`Future`](future::Future).
pub use std::future::Future as Coroutine;

pub mod event_loop;
pub mod exception;
pub mod future;
pub mod observer;
pub mod reactor;
pub mod scheduler;
pub mod task;
pub(crate) mod waker;
