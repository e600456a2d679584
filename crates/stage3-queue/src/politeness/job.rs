//! A job on its way: it waits for its host, then starts; and what a change of the queues
//! has led to.

use std::time::Instant;

use crawl_core::{FetchError, Job};

use super::deferrals::Deferrals;
use crate::Reservation;

/// An index that stands for a host.
pub(crate) type HostId = u32;

/// A job that waits for its host, with its reservation in the queue of the crawl.
pub(crate) struct WaitingJob {
    pub(crate) job: Job,
    pub(crate) reservation: Reservation<ReadyJob>,
}

/// A job whose URL was throttled, and waits for another attempt.
pub(crate) struct DeferredJob {
    pub(crate) waiting: WaitingJob,
    pub(crate) deferrals: Box<Deferrals>,
}

/// A job that may start now: the item of the crawl's queue.
pub struct ReadyJob {
    pub(crate) job: Job,
    pub(crate) work: Work,
    /// The deferrals of the URL, if it was throttled before.
    pub(crate) deferrals: Option<Box<Deferrals>>,
    pub(crate) host: HostId,
    pub(crate) started: Instant,
}

impl ReadyJob {
    /// Returns true if the result counts even if the server throttles it.
    pub(crate) fn is_last(&self) -> bool {
        self.deferrals.as_ref().is_some_and(|deferrals| deferrals.is_last)
    }
}

/// The work of a worker on a job.
pub(crate) enum Work {
    Fetch,
    /// Fetch a robots.txt; the job is for that file.
    FetchRules,
    /// Complete the job with this error and without a request.
    Refuse(Box<FetchError>),
}

/// A job that has started, with its reservation in the queue of the crawl.
pub(crate) struct StartedJob {
    pub(crate) ready: ReadyJob,
    pub(crate) reservation: Reservation<ReadyJob>,
}

/// What has to be done because the queues of the hosts have changed. The queues cannot do
/// it themselves: it may wake tasks, and a waker may be foreign code that looks at them.
#[derive(Default)]
#[must_use = "jobs would neither start nor be counted"]
pub(crate) struct Effects {
    /// Jobs that start: each goes into the queue of the crawl.
    pub(crate) start: Vec<StartedJob>,
    /// Jobs that are left to a later run.
    pub(crate) leave: Vec<WaitingJob>,
    /// The time at which the first sleeping host wakes up.
    pub(crate) wake_at: Option<Instant>,
    /// The reservation of a robots.txt that is not fetched for now.
    pub(crate) unused: Option<Reservation<ReadyJob>>,
}
