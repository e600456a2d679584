//! The same crawler on two other async runtimes, tokio and smol.
//!
//! This crate shows what changes, and what does not, when the event loop, the
//! tasks and the timers come from another runtime. And it shows that the cores
//! do not depend on a runtime: the rules of a crawl and the transport are used
//! as they are, TLS included.
//!
//! The rules of this crate:
//!
//! 1. **Each in its own way.** Neither is a translation of stage 3: [`on_tokio`]
//!    has a task for each fetch, as is usual there, and [`on_smol`] has workers
//!    around a channel.
//! 2. **The same rows.** A test compares them with those of stage 3.
//! 3. **A page, not a product.** There is no connection pool, no robots.txt, no
//!    connect limiter, no denial of addresses, so that `--deny-private` does nothing,
//!    and no wait for file descriptors; stage 3 has those.

mod exchange;
pub mod on_smol;
pub mod on_tokio;

/// The default limit on concurrent fetches.
const MAX_TASKS: usize = 10;
