//! The traditional approach: a page is fetched by one thread, which waits for
//! every answer on its own.
//!
//! The rules of this stage:
//!
//! 1. **A fetch is read from top to bottom.** Look up, connect, send, receive:
//!    each call returns when it is done. Where it stands, and what it knows,
//!    is on the thread's stack. (`fetcher`)
//! 2. **One thread, one fetch.** To wait for a hundred servers takes a hundred
//!    threads, and that is the price of the first rule. They are started when
//!    there is work for them, and end together. (`pool`)
//! 3. **What threads share lies under a lock**, and the lock is held neither
//!    while one waits for a server nor while it parses a page.
//! 4. **Whoever blocks does so for a limited time.** A socket is told before
//!    each call how long it may take. (`socket`)

mod connections;
mod fetcher;
mod pool;
mod socket;
mod turns;

use std::io;
use std::sync::Arc;

use crawl_core::{Ending, Options, Sink};
use transport::{LookUp, system_look_up};

use crate::fetcher::Fetcher;

/// How many threads there are at most, if nobody says.
const MAX_TASKS: usize = 10;

/// Crawls a site and returns when nothing is left to fetch. The calling thread
/// is one of the `max_tasks`, which are 10 by default.
///
/// # Errors
/// None in this stage: when the system has no more threads, it makes do with
/// those it has.
///
/// # Panics
/// When `sink` does; the other threads finish the crawl before.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    crawl_with(Arc::new(system_look_up), options, sink)
}

/// The same with names of your own.
///
/// # Errors
/// As for [`crawl`].
///
/// # Panics
/// As for [`crawl`].
pub fn crawl_with(look_up: Arc<LookUp>, options: Options, sink: Sink) -> io::Result<Ending> {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let fetcher = Fetcher::new(options.clone(), look_up);
    let ending = pool::crawl(options, max_tasks, sink, &move |visit| fetcher.fetch(visit));
    Ok(ending)
}
