//! Models of what crosses threads: the wakers and the inbox of a loop, its notifier, and the
//! resolver; and bugs that the models must find. The checker loom runs a model once for each
//! order in which its threads can take their steps, and for each value that the memory model
//! lets a load return, except a few that loom does not try.
//!
//! The sources are those of the crates themselves, included here with loom's `Mutex`,
//! atomics and threads in the place of the standard library's: see [`sync`] and
//! [`thread`]. Loom rather than shuttle, which tries random orders: there are few
//! threads with few steps, so that all orders can be tried; and the flag of a waker is an
//! atomic that publishes what was written before, about which only a checker of the memory
//! model can tell.
#![allow(dead_code, unreachable_pub)] // The sources have more than the models use.
#![allow(clippy::unwrap_used)] // In a model, an error is a finding.

extern crate self as std;
extern crate std as the_std;

pub use the_std::*;

/// The `std::sync` of the sources. `Arc` is as it was: its count is not what is checked.
pub mod sync {
    pub use the_std::sync::{Arc, PoisonError};

    pub use loom::sync::{Condvar, Mutex, MutexGuard};

    /// The `std::sync::atomic` of the sources.
    pub mod atomic {
        pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    }
}

/// The `std::thread` of the sources.
pub mod thread {
    pub use loom::thread::{Builder, JoinHandle, spawn};
}

#[path = "../../../transport/src/dns_cache.rs"]
mod dns_cache;
#[path = "../../../transport/src/lookup.rs"]
mod lookup;
mod lookup_queue;
#[path = "../../../transport/src/resolver.rs"]
mod resolver;

/// A scheduler that no thread of a model runs: every wake-up takes the inbox.
mod scheduler {
    pub(super) fn schedule_here(_task: &super::waker::TaskWaker) -> bool {
        false
    }
}

#[path = "../../../stage2-coroutines/src/runtime/waker.rs"]
mod waker;

mod lookups;
mod loops;
