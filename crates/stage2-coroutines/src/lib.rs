//! The same crawl with coroutines, on an async runtime written by hand.
//!
//! A coroutine is a value that can be resumed. Calling an `async fn` runs nothing
//! of it: the call returns a value that is frame and resume point in one. A
//! [`Task`] drives it, step by step.
//!
//! The rules of this stage:
//!
//! 0. **Nothing is added to the kernel.** The kernel is [`runtime`]. What wants to know,
//!    observes ([`Observer`]); what wants to wait, stands on [`sync`] or on [`leaf`].
//! 1. **Pending means stored.** Before an operation returns `Poll::Pending`, it
//!    stores the waker of its caller where the event will arrive: under a key
//!    of the selector, in a timer, under the id of a lookup, or among those who
//!    wait for a [`Future`]. Nothing is polled just to try, with two exceptions:
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
//! The sources are in these rooms:
//!
//! * [`runtime`] holds futures, tasks and wakers, and the loop in two parts: the
//!   scheduler, which has tasks take steps, and the reactor, which waits for
//!   events and wakes tasks.
//! * `net` holds what waits for a socket, a name, a limit or the clock. [`read_by_hand`]
//!   has [`read`] and [`read_all`] once more, as the state machines that the
//!   compiler generates.
//! * [`sync`] holds what tasks use to wait for each other.
//! * [`inspect`] holds observers: what each task waits for, deadlocks, traces.
//! * [`generator`] is a digression: Python's generators by hand.
//!
//! The rest of asyncio's interface is in the crate `asyncio`, which stands on this one.
//!
//! The parts of the runtime by their usual names:
//!
//! * **executor, scheduler, task table, run queue, current task**: `scheduler`
//! * **reactor, tick, timers**: `reactor`, on the selector
//! * **runtime** and its **handle**: [`Runtime`], [`EventLoop`]
//! * **waker**, **inject queue**: `waker`
//! * **coop budget** and **yield**: `connection`, [`yield_now`]
//! * **resolver**: `lookups`, [`lookup()`]
//! * **combinators**: [`join`] and [`select`] within one task; those of asyncio in its crate
//! * **timeout and deadline**: [`sleep`], [`timeout_at`]
//! * **cancellation**: [`Task::cancel`], or dropping a coroutine
//! * **instrumentation**: [`Observer`], [`inspect`]

mod crawl;
mod defaults;
mod fetch;
mod join;
mod net;

pub mod generator;
pub mod inspect;
pub mod runtime;
pub mod sync;

#[cfg(feature = "os")]
pub use crawl::crawl;
pub use crawl::crawl_on;
#[cfg(feature = "os")]
pub use defaults::system_runtime;
pub use defaults::{runtime_on, virtual_runtime};
#[cfg(feature = "explore")]
pub use inspect::explore::{Exploration, explore};
pub use inspect::{Inspect, InspectTask, LoopError, Stats, TaskInfo};
pub use join::{Join, Select, Selected, catch, join, select};
pub use net::connection::Connection;
pub use net::connector::Connector;
pub use net::io::{connect, connect_unix, read, read_all, read_to_end, write_all};
pub use net::leaf::{leaf, leaf_at};
pub use net::lookup::lookup;
pub use net::read_by_hand;
pub use net::time::{Elapsed, sleep, sleep_and_return, timeout_at, yield_now};
pub use runtime::Coroutine;
pub use runtime::event_loop::{EventLoop, Runtime};
pub use runtime::exception::{Exception, InvalidState};
pub use runtime::future::Future;
pub use runtime::observer::{Observer, Place, Wait};
pub use runtime::task::Task;
