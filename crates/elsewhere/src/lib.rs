//! The same crawler on runtimes that others have written.
//!
//! Two things are shown here. One is what changes, and what does not, when the
//! loop, the tasks and the timers come from somewhere else. The other is that
//! the cores hold what they promise: what a crawl *is* and how bytes travel is
//! taken over as it stands, TLS included.
//!
//! The rules of this crate:
//!
//! 1. **Each in its own way.** Neither is a translation of stage 3: [`on_tokio`]
//!    has a task for each fetch, as one would have there, and [`on_smol`] has
//!    workers around a channel.
//! 2. **The same rows.** A test compares them with those of stage 3.
//! 3. **A page, not a product.** There is no pool, no robots.txt, no turn to
//!    connect and no remedy when the descriptors run out; those are stage 3's.

mod exchange;
pub mod on_smol;
pub mod on_tokio;

/// How many fetches at a time unless somebody says otherwise.
const MAX_TASKS: usize = 10;
