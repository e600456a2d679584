//! A job on its way: it waits for its host, then starts; and what a change of the queues
//! has led to.

use std::time::Instant;

use crawl_core::{Deferral, FetchError, Job};

use super::deferrals::Deferrals;
use crate::Reservation;

/// An index that stands for a host.
pub(crate) type HostId = u32;

/// A job that waits for its host, with its reservation in the queue of the crawl.
pub(crate) struct WaitingJob {
    pub(crate) job: Job,
    pub(crate) reservation: Reservation<ReadyJob>,
}

/// A job that was put off, and waits for another attempt.
pub(crate) struct DeferredJob {
    pub(crate) waiting: WaitingJob,
    pub(crate) deferrals: Box<Deferrals>,
}

/// A job that may start now: the item of the crawl's queue.
pub struct ReadyJob {
    pub(crate) job: Job,
    pub(crate) work: Work,
    /// The deferrals of the URL, if it was put off before.
    pub(crate) deferrals: Option<Box<Deferrals>>,
    pub(crate) host: HostId,
    pub(crate) started: Instant,
}

impl ReadyJob {
    /// Returns true if the job may be put off for this reason.
    pub(crate) fn may_defer(&self, deferral: &Deferral) -> bool {
        self.deferrals.as_ref().is_none_or(|deferrals| deferrals.may_add(deferral))
    }

    /// Returns the number of attempts before this one.
    pub(crate) fn earlier_tries(&self) -> u32 {
        self.deferrals.as_ref().map_or(0, |deferrals| deferrals.tries)
    }

    /// Returns true if the server has failed at this job, and this is its second attempt.
    pub(super) fn is_retry(&self) -> bool {
        self.deferrals.as_ref().is_some_and(|deferrals| deferrals.server_error.is_some())
    }
}

/// The work of a worker on a job.
pub(crate) enum Work {
    Fetch,
    /// Fetch a robots.txt; the job is for that file.
    FetchRules,
    /// Complete the job with this error and without a request.
    Refuse(Box<FetchError>),
    /// Complete the job without a further request: its server has failed with this status.
    SettleServerError(u16),
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
