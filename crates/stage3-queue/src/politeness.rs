//! Politeness: decides what is requested from a host, when, and how much at a
//! time.
//!
//! A job whose host cannot get a request now waits in its host's queue, and not in a
//! worker. With 429 or 503, a URL is throttled first, and then its host, which gets
//! fewer requests. A host that does not answer at all is given up. The user can set
//! a delay and a rate limit, and so can the host in its robots.txt.

mod alarms;
mod deferrals;
mod dispatcher;
mod gate;
mod host;
mod host_queues;
mod hosts;
mod job;
mod rate_limit;
mod rules_memory;
mod rules_state;
mod shares;

pub(crate) use self::deferrals::{MAX_ATTEMPTS_IN_A_ROW, backoff};
pub(crate) use self::host_queues::HostQueues;
pub use self::job::ReadyJob;
pub(crate) use self::job::{Effects, StartedJob, Work};
