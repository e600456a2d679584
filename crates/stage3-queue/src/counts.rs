//! The counts of a crawl's jobs, by which its state can be checked between two steps.

use std::rc::Rc;

use crate::{Crawler, LocalFrontier};

/// The number of jobs in each place where a job can be. The queue counts its unfinished
/// items by itself: between two steps of the loop, that number is the sum of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Items of the queue, and reservations in it, that are not done.
    pub unfinished: usize,
    /// Jobs that may start, and wait for a worker.
    pub queued: usize,
    /// Jobs that a worker has claimed.
    pub claimed: usize,
    /// Jobs that wait for their host.
    pub deferred: usize,
}

impl Crawler {
    /// Counts the jobs. Takes time for each host.
    pub fn job_counts(&self) -> JobCounts {
        let LocalFrontier(inner) = self.frontier();
        let host_queues = inner.host_queues.borrow();
        let waiting: usize = host_queues.hosts.iter().map(|host| host.waiting()).sum();
        JobCounts {
            unfinished: inner.q.unfinished(),
            queued: inner.q.len(),
            // Each claim has a reference to the frontier.
            claimed: Rc::strong_count(inner) - 1,
            deferred: waiting + host_queues.in_vain.len(),
        }
    }
}
