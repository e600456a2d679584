//! The crawler people keep: workers around a queue, on the runtime of stage 2.
//!
//! The rules of this stage:
//!
//! 1. **The queue is the plan.** Workers take URLs from a [`JoinableQueue`] and
//!    put in what they find. How many workers there are is how many fetches
//!    there can be at a time.
//! 2. **Whoever took an item hands it back.** The queue counts what was put in
//!    and not yet worked off. An [`Item`] is a guard: when it goes out of
//!    scope, on whatever path, it counts as done, so [`JoinableQueue::join`]
//!    always returns.
//! 3. **A worker survives its jobs.** Whatever one fetch does, a panic
//!    included, ends as the row of its URL, and the worker takes the next.
//! 4. **New work is put in before old work is handed back.** So the count
//!    touches zero only when there is nothing left to do at all.
//!
//! Read [`queue`](JoinableQueue) first, then [`crawler`](Crawler). What is
//! practical but not the lesson is in modules beside them: the pool of kept
//! connections, the end before the end ([`Stopper`]), the journal that a crawl
//! killed at any moment goes on from, and what a program that crawls holds all
//! of it by ([`Builder`]).

mod builder;
mod crawler;
mod journal;
mod ledger;
mod pool;
mod queue;
mod stop;

pub use builder::{Builder, crawl, crawl_on};
pub use crawler::Crawler;
pub use queue::{Item, JoinableQueue};
pub use stop::Stopper;
