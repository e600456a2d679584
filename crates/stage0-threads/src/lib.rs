//! The traditional approach: one thread per fetch, which blocks until each
//! answer is there.
//!
//! The rules of this stage:
//!
//! 1. **A fetch is read from top to bottom.** Lookup, connect, send, receive:
//!    each call returns when it is done. The position and the local variables
//!    of a fetch are on its thread's stack. (`fetcher`)
//! 2. **One thread, one fetch.** To wait for a hundred servers takes a hundred
//!    threads, and that is the price of the first rule. The threads of the pool
//!    are started on demand and end together. (`pool`)
//! 3. **Shared state is behind a lock**, and the lock is held neither while a
//!    thread waits for a server nor while it parses a page.
//! 4. **Every blocking call has a timeout.** It is set on the socket before each
//!    call. (`socket`)

mod connect_limit;
mod fd_limit;
mod fetcher;
mod pool;
mod socket;

use std::io;
use std::sync::Arc;

use crawl_core::{CrawlSummary, Options, Sink};
use transport::{LookupFn, system_lookup};

use crate::fetcher::Fetcher;

/// The default maximum number of threads.
const MAX_TASKS: usize = 10;

/// Crawls a site and returns when nothing is left to fetch. The calling thread
/// is one of the `max_tasks`, which are 10 by default.
///
/// # Errors
/// None in this stage: if the system refuses more threads, the crawl continues
/// with those it has.
///
/// # Panics
/// When `sink` panics; the other threads finish the crawl first.
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    crawl_with(Arc::new(system_lookup), options, sink)
}

/// Crawls like [`crawl`], with another lookup of names.
///
/// # Errors
/// As for [`crawl`].
///
/// # Panics
/// As for [`crawl`].
pub fn crawl_with(lookup: Arc<LookupFn>, options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let fetcher = Fetcher::new(options.clone(), lookup);
    let summary = pool::crawl(options, max_tasks, sink, &move |visit| fetcher.fetch(visit));
    Ok(summary)
}
