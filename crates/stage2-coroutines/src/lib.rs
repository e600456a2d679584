//! The same crawl with coroutines, on a runtime made by hand.
//!
//! The rules of this stage:
//!
//! 1. **A coroutine is a value that can be resumed.** Calling an `async fn`
//!    runs nothing; it makes such a value, frame and resume point in one. A
//!    [`Task`] drives it, step by step.
//! 2. **Pending means stored.** Before an operation says "not yet", the waker
//!    of whoever asked lies where the news will come in: under a key of the
//!    selector, in a timer, among the callbacks of a [`Future`]. Nothing is
//!    polled in hope.
//! 3. **Everybody takes turns.** Who is woken goes to the end of one queue;
//!    between two rounds of the queue the loop looks at sockets and clock.
//!    Whoever could go on for ever yields after a while.
//! 4. **Nothing is borrowed while foreign code runs.** Steps, callbacks, wakers
//!    and destructors may do anything to the loop.
//!
//! Read on in this order: [`future`](Future), [`task`](Task),
//! [`event_loop`](EventLoop), [`io`](read), and then [`fetcher`], which is what
//! it was all for. What is practical but not the lesson is in modules beside
//! them. [`by_hand`] has [`read`] and [`read_all`]
//! once more, as the state machines that the compiler writes for you. Whoever
//! comes from Python finds what they know in [`names_of_asyncio`].

mod callbacks;
mod catch;
mod connection;
mod descriptors;
mod diagnose;
mod event_loop;
mod exception;
mod functions;
mod future;
mod io;
mod mailbox;
mod names;
mod running;
mod signals;
mod task;
mod task_table;
mod time;
mod turns;
mod waker;

pub mod by_hand;
pub mod fetcher;
pub mod generator;
pub mod names_of_asyncio;
pub mod traceback;

pub use callbacks::{Handle, Remote};
pub use catch::catch;
pub use connection::Connection;
pub use diagnose::{Complaint, Stats, TaskInfo, Wait, noting};
pub use event_loop::EventLoop;
pub use exception::{Exception, InvalidState};
pub use fetcher::{crawl, crawl_on};
pub use functions::{
    AsCompleted, ReturnWhen, as_completed, ensure_future, gather, gather_outcomes, multi,
    multi_map, shield, wait, wait_for,
};
pub use future::{CallbackId, Future};
pub use io::{connect, read, read_all, write_all};
pub use names::look_up;
pub use task::Task;
pub use time::{TooLate, sleep, sleep_and_return, within, yield_now};
pub use turns::Turn;

/// What an `async fn` returns. Rust's name for this trait is `Future`; the
/// chapter keeps that word for something that has a result later, and so do we.
pub use std::future::Future as Coroutine;
