//! A crawler for everyday use: workers around a queue, on the runtime of
//! stage 2.
//!
//! The rules of this stage:
//!
//! 1. **The queue is the plan.** Workers take URLs from a [`JoinableQueue`],
//!    the frontier of the crawl, and put in the URLs that they find. The number
//!    of workers limits the number of fetches at a time.
//! 2. **A worker hands back each item that it took.** The queue counts the
//!    items that were put in and are not yet finished. An [`Item`] is a guard:
//!    when it goes out of scope, on whatever path, it counts as done, so
//!    [`JoinableQueue::join`] always returns.
//! 3. **A worker survives its jobs.** Whatever one fetch does, a panic
//!    included, ends as the row of its URL, and the worker takes the next job.
//! 4. **New work is put in before old work is handed back.** So the count
//!    reaches zero only when there is nothing left to do at all.
//!
//! Read [`queue`](JoinableQueue) first, then [`crawler`](Crawler). The modules
//! beside them are needed in practice, but are not the lesson:
//!
//! * `segmented_deque`: the container in which the queue keeps its items;
//! * `fetch`: one fetch, over the connections of `connector`, with the connection
//!   pool in `pool`;
//! * `politeness`: the layer between the queue and the workers. It obeys
//!   robots.txt (`robots`), keeps a rate limit for each host and backs off when
//!   the host throttles the crawler (`rate_limit`, `retry_after`), and gives each
//!   host no more than its share of the workers (`host_queues`). It also reads
//!   sitemaps (`sitemaps`);
//! * `row_writer`: the output for rows; with `journal`, the state on disk from
//!   which a crawl that was killed at any moment resumes;
//! * `shutdown`: graceful shutdown ([`Stopper`]);
//! * `builder`: the interface for programs that run a crawl ([`Builder`]).
//!
//! robots.txt is obeyed here only. `nofollow` is obeyed by all stages alike, in
//! `crawl-core`.

mod builder;
mod connector;
mod crawler;
mod fetch;
mod journal;
mod politeness;
mod pool;
mod queue;
mod row_writer;
mod segmented_deque;
mod shutdown;

#[cfg(feature = "os")]
pub use builder::crawl;
pub use builder::{Builder, crawl_on};
pub use crawler::Crawler;
pub use queue::{Item, JoinableQueue};
pub use shutdown::Stopper;
