//! The same crawl with coroutines, on an async runtime written by hand.
//!
//! A coroutine is a value that can be resumed. Calling an `async fn` runs nothing
//! of it: the call returns a value that is frame and resume point in one. A
//! [`Task`] drives it, step by step.
//!
//! The rules of this stage:
//!
//! 1. **Pending means stored.** Before an operation returns `Poll::Pending`, it
//!    stores the waker of its caller where the event will arrive: under a key
//!    of the selector, in a timer, under the id of a lookup, or among the
//!    callbacks of a [`Future`]. Nothing is polled just to try, with two exceptions:
//!    [`join`] and [`select`] poll all their coroutines at each wake-up of the task,
//!    and [`timeout_at`] polls its coroutine once more when its timer wakes the task.
//! 2. **A wake-up is an entry in a queue.** It runs nothing: it puts the key of
//!    the task at the end of one run queue, unless it is there already.
//! 3. **Tasks take their steps in turn.** After each batch of that queue the
//!    loop looks at sockets and timers (one tick). A read that is always ready
//!    yields after 16 in a row. Other operations that are always ready do not: a
//!    loop of them needs [`yield_now`].
//! 4. **Nothing is borrowed while foreign code runs.** Steps, callbacks, wakers
//!    and destructors may call any method of the loop.
//!
//! Read in this order: `fetch`, which is the purpose of all the
//! others; then [`future`](Future), [`task`](Task), `waker`, `scheduler`,
//! `reactor`, [`event_loop`](EventLoop), and [`io`](read). [`connector`](Connector)
//! is one call of a fetch: lookup, permit, file descriptor, one address after
//! another, TLS.
//!
//! The sources are in four rooms:
//!
//! * `runtime` holds futures, tasks and wakers, and the loop in two parts: the
//!   scheduler, which has tasks take steps, and the reactor, which waits for
//!   events and wakes tasks.
//! * `net` holds what waits for a socket, a name, a limit or the clock. [`read_by_hand`]
//!   has [`read`] and [`read_all`] once more, as the state machines that the
//!   compiler generates.
//! * `asyncio` holds the rest of asyncio's interface, which is useful, but not
//!   part of the lesson: callbacks, combinators, exceptions, inspection. For
//!   readers who know Python, [`names_of_asyncio`] lists the names of asyncio
//!   and Tornado.
//! * [`generator`] is a digression: Python's generators by hand.
//!
//! The parts of the runtime by their usual names:
//!
//! * **executor, scheduler, task table, run queue, current task**: `scheduler`
//! * **reactor, tick, timers**: `reactor`, on the selector
//! * **event loop**: `event_loop`, which runs the two in turn
//! * **waker**: `waker`
//! * **inject queue** (`call_soon_threadsafe`): `inject_queue`, [`Remote`]
//! * **coop budget** and **yield**: `connection`, [`yield_now`]
//! * **resolver**: `lookups`, [`lookup()`]
//! * **combinators**: [`gather`], [`wait`], [`shield`], [`as_completed`] ...;
//!   [`join`] and [`select`] within one task
//! * **timeout and deadline**: [`sleep`], [`timeout_at`], [`wait_for`]
//! * **cancellation**: [`Future::cancel`], or dropping a coroutine
//! * **structured inspection**: `inspector`, [`TaskInfo`], [`Stats`]
//! * **exception handler**: [`EventLoop::set_exception_handler`],
//!   [`LoopError`]

mod asyncio;
mod crawl;
#[cfg(feature = "explore")]
mod explore;
mod fetch;
mod net;
mod runtime;

pub mod generator;

#[doc = include_str!("names_of_asyncio.md")]
pub mod names_of_asyncio {
    // The links of the page are resolved from here.
    #[cfg(doc)]
    use crate::*;
}

pub use asyncio::callbacks::{Handle, Remote};
pub use asyncio::combinators::{AsCompleted, ReturnWhen, as_completed, shield, wait, wait_for};
pub use asyncio::exceptions::{Elapsed, Exception, InvalidState, catch};
pub use asyncio::gather::{Gather, gather, gather_outcomes, multi, multi_map};
pub use asyncio::inspection::{Stats, with_wait};
pub use asyncio::inspector::{LoopError, TaskInfo, Wait};
pub use asyncio::join::{Join, Select, Selected, join, select};
pub use asyncio::tasks::ensure_future;
pub use asyncio::traceback;
#[cfg(feature = "os")]
pub use crawl::crawl;
pub use crawl::crawl_on;
#[cfg(feature = "explore")]
pub use explore::{Exploration, explore};
pub use net::connection::Connection;
pub use net::connector::Connector;
pub use net::io::{connect, connect_unix, read, read_all, read_to_end, write_all};
pub use net::lookup::lookup;
pub use net::read_by_hand;
pub use net::time::{sleep, sleep_and_return, timeout_at, yield_now};
pub use runtime::event_loop::EventLoop;
pub use runtime::future::{CallbackId, Future};
pub use runtime::task::Task;

/// A coroutine: the value that an `async fn` returns. Rust's name for this
/// trait is `Future`. In the chapter, a future is a thing that has a result
/// later, and so it is here: see [`Future`].
pub use std::future::Future as Coroutine;
