//! The crawler people keep: workers around a queue, on the runtime of stage 2.
//!
//! The rules of this stage:
//!
//! 1. **The queue is the plan.** Workers take URLs from a [`JoinableQueue`] and
//!    put in what they find. How many workers there are is how many fetches
//!    there can be at a time.
//! 2. **Whoever took an item hands it back.** The queue counts what was put in
//!    and not yet finished. An [`Item`] is a guard: when it goes out of
//!    scope, on whatever path, it counts as done, so [`JoinableQueue::join`]
//!    always returns.
//! 3. **A worker survives its jobs.** Whatever one fetch does, a panic
//!    included, ends as the row of its URL, and the worker takes the next.
//! 4. **New work is put in before old work is handed back.** So the count
//!    touches zero only when there is nothing left to do at all.
//!
//! Read [`queue`](JoinableQueue) first, then [`crawler`](Crawler). What is
//! practical, but not the lesson, is in modules beside them:
//!
//! * `segments`: what the queue keeps its items in;
//! * `client`: one fetch, with `pool`, the connections that are kept;
//! * `manners`: what stands between the queue and the workers, so that no host
//!   is asked what it does not want to be (`robots`), more often than it wants
//!   (`pace`, `retry_after`), or with more than its share of the workers
//!   (`hosts`); and what hosts offer by themselves (`sitemaps`);
//! * `ledger`: where the rows go, with `journal`, from which a crawl that was
//!   killed at any moment goes on;
//! * `stop`: the end before the end ([`Stopper`]);
//! * `builder`: what a program that crawls holds all of it by ([`Builder`]).
//!
//! robots.txt is obeyed here only. `nofollow` is obeyed by all stages alike, in
//! `crawl-core`.

mod builder;
mod client;
mod crawler;
mod journal;
mod ledger;
mod manners;
mod pool;
mod queue;
mod segments;
mod stop;

pub use builder::{Builder, crawl, crawl_on};
pub use crawler::Crawler;
pub use queue::{Item, JoinableQueue};
pub use stop::Stopper;
