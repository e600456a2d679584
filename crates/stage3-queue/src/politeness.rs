//! Politeness: decides what is requested from a host, when, and how much at a
//! time.
//!
//! A job whose host cannot be asked now waits in its host's queue, and not in a
//! worker. With 429 or 503, a URL is busy first, and then its host, which gets
//! fewer requests. A host that does not answer at all is given up. The user can set
//! a delay and a rate limit, and so can the host in its robots.txt.

mod host;
mod host_queues;
mod rate_limit;

pub(crate) use self::host::{Deferrals, MAX_BUSY_ANSWERS, backoff};
pub(crate) use self::host_queues::HostQueues;
