//! The traditional approach: one thread per fetch, which blocks until each
//! answer is there.
//!
//! The rules of this stage:
//!
//! 1. **A fetch is read from top to bottom.** Connect, send, receive: each call
//!    returns when it is done. The position and the local variables of a fetch
//!    are on its thread's stack. (`fetch`)
//! 2. **One thread, one fetch.** To wait for a hundred servers takes a hundred
//!    threads, and that is the price of the first rule. The threads are started
//!    on demand and end together. (`crawl`)
//! 3. **Shared state is behind a lock**, and the lock is held neither while a
//!    thread waits for a server nor while it parses a page.
//! 4. **Every blocking call has a timeout.** It is set on the socket before each
//!    call. (`connection`)
//!
//! Read `fetch` first, then `crawl`. `connector` is one call of a fetch: lookup,
//! permit, file descriptor, one address after another, TLS. `traced` holds all that
//! the trace of a run needs, in decorators.

mod connection;
mod connector;
mod crawl;
mod fetch;
mod limits;
mod lookups;
mod traced;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use crawl::{crawl, crawl_with};

/// Locks a mutex even after a panic: the panic ends as a row, and the data is
/// still valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
