//! Readiness and time: the part of an event loop that knows *when*. It has
//! never heard of HTTP, links, tasks or futures.
//!
//! The rules of this crate:
//!
//! 1. **Register once.** A socket is registered with the operating system when
//!    it is opened, for both directions, until it is closed. From wait to wait
//!    only the *waiter* changes: the data under the socket's [`Key`].
//! 2. **Readiness is kept.** The operating system reports a change once
//!    (edge-triggered). The [`Selector`] keeps the bits set until the owner of
//!    the socket, having met `WouldBlock` or a short read, clears them.
//! 3. **Stale keys are harmless.** Every key carries a generation. The key of a
//!    closed socket finds nothing, even when its slot holds another socket.
//! 4. **Collect, then call.** [`Selector::select`] returns keys and calls
//!    nothing, so a callback may register and unregister freely between one key
//!    and the next. Data that leaves a slot is returned, never dropped in here,
//!    for the same reason.
//!
//! A loop learns of readiness and time, and connects, reads and writes, through
//! one trait, [`Backend`]. The operating system is one backend (feature `os`); with another, such as
//! [`VirtualClock`], the same loop runs without sockets or without waiting.
//!
//! Read `readiness` first, then `slab`, [`selector`](Selector) and
//! [`timers`](Timers).

mod backend;
mod readiness;
mod selector;
mod slab;
mod timers;

#[cfg(feature = "os")]
pub use backend::OsBackend;
pub use backend::{
    Backend, CustomSocket, Endpoint, Event, Notifier, Socket, Timeout, VirtualClock,
};
pub use readiness::{Interest, Readiness};
pub use selector::Selector;
pub use slab::{Key, Slab};
pub use timers::{TimerKey, Timers};
