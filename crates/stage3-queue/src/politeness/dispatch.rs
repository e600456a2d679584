//! A dispatched job: one that a worker may fetch now.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crawl_core::{FetchError, Job, Visit};

use super::Politeness;
use super::host_queues::HostId;
use crate::Item;

/// Limit on how often a URL is deferred because its host throttles the crawler.
/// After that, the response becomes its row.
pub(super) const MAX_DEFERRALS: u32 = 5;

/// A job that a worker fetches now, and its slot in the host's limit. When this
/// goes out of scope, the slot is free for other jobs, and the job is done unless
/// it was deferred.
pub(crate) struct Dispatch {
    pub(super) politeness: Rc<Politeness>,
    pub(super) id: HostId,
    /// The queue's item; `None` only while this is dropped.
    pub(super) item: Option<Item<Job>>,
    /// Reason not to fetch the URL, if there is one. Boxed to be small: reasons are
    /// rare, and every fetch in flight has a `Dispatch`.
    pub(super) refusal: Option<Box<FetchError>>,
    /// True if the robots.txt of the origin must be fetched first.
    pub(super) needs_robots: bool,
    /// Set when the job goes back to its host's queue and is not done.
    pub(super) is_deferred: Cell<bool>,
}

impl Dispatch {
    /// Returns the reason not to fetch the URL, if there is one.
    pub(crate) fn refusal(&self) -> Option<&FetchError> {
        self.refusal.as_deref()
    }

    /// Returns the time at which the next request for this job may start.
    pub(crate) fn next_start(&self) -> Instant {
        self.politeness.next_start(self.id)
    }

    /// Defers the job if the response shows that the host throttles the crawler,
    /// and returns true in that case: the worker drops the job, which comes
    /// again. After too many deferrals returns false, and the response stands.
    pub(crate) fn defer_if_throttled(&self, visit: &Visit) -> bool {
        let is_deferred = visit
            .status()
            .is_some_and(|status| self.should_defer(visit.begun(), status, visit.retry_after()));
        self.is_deferred.set(is_deferred);
        is_deferred
    }

    /// Returns true if the response to a request that began at `begun` throttles
    /// the crawler and the job may be deferred once more.
    pub(super) fn should_defer(
        &self,
        begun: Instant,
        status: u16,
        retry_after: Option<&[u8]>,
    ) -> bool {
        if !self.politeness.is_throttled(self.id, begun, status, retry_after) {
            return false;
        }
        let mut deferrals = self.politeness.deferrals.borrow_mut();
        let times = deferrals.entry(Arc::clone(&self.url)).or_default();
        *times += 1;
        *times <= MAX_DEFERRALS
    }
}

impl Deref for Dispatch {
    type Target = Job;

    fn deref(&self) -> &Job {
        self.item.as_ref().expect("the job is there until the dispatch is dropped")
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        if !self.is_deferred.get() && !self.politeness.deferrals.borrow().is_empty() {
            self.politeness.deferrals.borrow_mut().remove(&self.url);
        }
        let item = self.item.take();
        let now = self.politeness.event_loop.now();
        let done = self.politeness.with_host_queues(|host_queues| {
            if self.refusal.is_none() {
                host_queues.end(self.id);
            }
            let done = match item {
                Some(item) if self.is_deferred.get() => {
                    host_queues.defer_first(self.id, item);
                    None
                }
                item => {
                    host_queues.finish(self.id);
                    item
                }
            };
            if self.politeness.is_stopped() {
                host_queues.release_all();
            } else {
                host_queues.refill_all(self.id, now);
            }
            done
        });
        // Dropped outside the closure: if it is the last item, it wakes the
        // joiners of the queue.
        drop(done);
        self.politeness.wake_robots_waiters();
    }
}
