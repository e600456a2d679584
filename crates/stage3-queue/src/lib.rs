//! A crawler for everyday use: workers around a queue, on the runtime of
//! stage 2.
//!
//! The rules of this stage:
//!
//! 1. **The queue holds what may start now.** Workers take URLs from a
//!    [`JoinableQueue`]. A URL that has to wait, since its host wants a pause, has a
//!    [`Reservation`] in the queue and waits with its host. The number of workers
//!    limits the number of fetches at a time.
//! 2. **A worker hands back each item that it took.** The queue counts the
//!    items that were put in or reserved and are not yet finished. An [`Item`] is a
//!    guard: when it goes out of scope, on whatever path, it counts as done, so
//!    [`JoinableQueue::join`] always returns.
//! 3. **A worker survives its jobs.** Whatever one fetch does, a panic
//!    included, ends as the row of its URL, and the worker takes the next job.
//! 4. **New work is put in before old work is handed back.** So the count
//!    reaches zero only when there is nothing left to do at all.
//! 5. **A worker knows the plan only as a [`Frontier`].** It waits for a claim on a job,
//!    and ends it. In one process the plan is a [`LocalFrontier`], on the queue.
//!
//! Read [`queue`](JoinableQueue) first, then [`crawler`](Crawler), then
//! [`frontier`](Frontier) and `frontier::local`. The modules beside them are needed
//! in practice, but are not the lesson:
//!
//! * `politeness`: what a [`LocalFrontier`] knows of hosts. `host_queues` holds their jobs,
//!   and `dispatcher` chooses what may start now. `shares` gives each host no more than its
//!   share of the workers, and `rate_limit` backs off when a host throttles;
//! * `health`: the circuit breaker of a host that does not answer;
//! * `rules`: what the robots.txt of an origin allows. It is obeyed;
//! * `robots` and `sitemaps`: they fetch the files that describe a site;
//! * `segmented_deque`: the container in which jobs wait for their host;
//! * `fetch`: one fetch, over the connections of `connector`, with the connection
//!   pool in `pool` and proxies in `tunnel`;
//! * `sink` and `row_writer`: the output for rows; with `journal`, the state on disk from
//!   which a crawl that was killed at any moment resumes;
//! * `external_cache`: results of other sites from earlier crawls;
//! * `shutdown`: graceful shutdown ([`ShutdownHandle`]);
//! * `builder`: the interface for programs that run a crawl ([`Builder`]).
//!
//! robots.txt is obeyed here only. `nofollow` is obeyed by all stages alike, in
//! `crawl-core`.

mod builder;
mod connector;
mod crawler;
mod external_cache;
mod fetch;
mod frontier;
mod health;
mod journal;
mod politeness;
mod pool;
mod queue;
mod robots;
mod row_writer;
mod rules;
mod segmented_deque;
mod shutdown;
mod sink;
mod sitemaps;
mod tunnel;

#[cfg(feature = "os")]
pub use builder::crawl;
pub use builder::{Builder, crawl_on};
pub use crawler::Crawler;
pub use frontier::local::{JobCounts, LocalClaim, LocalFrontier};
pub use frontier::{Claim, Frontier, Gate, JobResult, Reporting, Seeds};
pub use health::{CircuitBreaker, Health};
pub use politeness::ReadyJob;
pub use queue::{Item, JoinableQueue, Reservation};
pub use rules::Rules;
pub use shutdown::ShutdownHandle;
pub use sink::GuardedSink;
