//! Knows *when*: readiness and time. It has never heard of HTTP, links, tasks
//! or futures.
//!
//! The rules of this crate:
//!
//! 1. **Registered once.** A socket is registered with the operating system
//!    when it is opened, for both directions, until it is closed. What changes
//!    from wait to wait is *who is waiting*: the data under its [`Key`].
//! 2. **Readiness is news, and news is kept.** The operating system reports a
//!    change once (edge-triggered). The [`Selector`] remembers it until the
//!    owner, having met `WouldBlock`, says that it is used up.
//! 3. **Stale keys are harmless.** Every key carries a generation. A key whose
//!    socket is gone finds nothing, even when its slot has a new tenant.
//! 4. **Collect, then call.** [`Selector::select`] hands out keys and calls
//!    nobody, so whoever runs callbacks may register and unregister freely
//!    between one key and the next. Data that leaves a slot is returned, never
//!    dropped in here, for the same reason.
//!
//! Everything a loop learns from outside enters through [`World`]: exchange it
//! and the same loop runs on [`VirtualTime`] or on sockets that a test wrote.

mod chunks;
mod peer;
mod readiness;
mod selector;
mod slots;
mod timers;
mod virtual_time;
mod world;

pub use readiness::{Interest, Readiness};
pub use selector::Selector;
pub use slots::{Key, Slots};
pub use timers::{TimerKey, Timers};
pub use virtual_time::VirtualTime;
pub use world::{Event, Notifier, Os, ScriptedSocket, Socket, World};
