//! The plan behind the frontier of a crawl in one process: what becomes of a job, and of the
//! effects of a change of the host queues.

use std::cell::RefCell;
use std::panic::Location;
use std::rc::Rc;
use std::time::Instant;

use asyncio::{CallbackHandle, EventLoopExt};
use crawl_core::{Completion, Crawl, Job};
use stage2_coroutines::EventLoop;
use stage2_coroutines::sync::WaitQueue;

use crate::politeness::{Effects, HostQueues, ReadyJob, StartedJob, Work};
use crate::row_writer::RowWriter;
use crate::{Item, JoinableQueue, Rules};

/// The state that the frontier shares with its claims and its timer.
pub(super) struct LocalPlan {
    pub(super) event_loop: EventLoop,
    pub(super) q: JoinableQueue<ReadyJob>,
    pub(super) host_queues: RefCell<HostQueues>,
    pub(super) crawl: RefCell<Crawl>,
    pub(super) row_writer: RowWriter,
    /// The time at which the next host wakes up.
    timer: RefCell<Option<(Instant, CallbackHandle)>>,
    /// Tasks that wait for the rules of an origin, or for the end.
    waiters: WaitQueue,
}

impl LocalPlan {
    /// Creates a plan without jobs.
    pub(super) fn new(
        event_loop: &EventLoop,
        q: JoinableQueue<ReadyJob>,
        crawl: Crawl,
        row_writer: RowWriter,
    ) -> Rc<Self> {
        Rc::new(Self {
            event_loop: event_loop.clone(),
            host_queues: RefCell::new(HostQueues::new(crawl.options(), &q)),
            q,
            crawl: RefCell::new(crawl),
            row_writer,
            timer: RefCell::default(),
            waiters: WaitQueue::new(event_loop, &"waiting for a robots.txt"),
        })
    }

    // ANCHOR: carry_out
    /// Carries out the completion of a job: writes its rows, puts its new jobs in, and only
    /// then counts it as done.
    pub(super) fn carry_out(self: &Rc<Self>, item: Item<ReadyJob>, mut completion: Completion) {
        completion.row.tries += item.earlier_tries();
        let jobs = self.row_writer.write(&item.job, completion, &self.crawl);
        self.put(jobs);
        let now = self.event_loop.now();
        let effects = self.host_queues.borrow_mut().release(item.host, item.started, now);
        self.apply(effects);
        if self.row_writer.sink().has_panicked() {
            self.stop();
        }
    }
    // ANCHOR_END: carry_out

    /// Adds new jobs, except those whose results are known already.
    pub(super) fn put(self: &Rc<Self>, jobs: impl IntoIterator<Item = Job>) {
        let jobs = self.row_writer.settle_cached(jobs.into_iter().collect(), &self.crawl);
        if !jobs.is_empty() {
            let effects = self.host_queues.borrow_mut().push(jobs, self.event_loop.now());
            self.apply(effects);
        }
    }

    /// Records the rules of a robots.txt, which may let jobs of its origin start.
    pub(super) fn set_rules(self: &Rc<Self>, item: Item<ReadyJob>, rules: Rules) {
        let now = self.event_loop.now();
        let effects = self.host_queues.borrow_mut().set_rules(&item, rules, now);
        self.apply(effects);
        self.wake_waiters();
    }

    /// Counts a job that is about to start. Returns false if it must not: the crawl is
    /// stopped, or has as many URLs as it may.
    pub(super) fn count_start(&self, job: &ReadyJob) -> bool {
        match job.work {
            Work::FetchRules => !self.host_queues.borrow().is_stopped(),
            _ => self.crawl.borrow_mut().count_visit(),
        }
    }

    /// Takes back a job that a worker has claimed and not finished.
    pub(super) fn take_back(&self, item: Item<ReadyJob>) -> StartedJob {
        if let Work::Fetch = item.work {
            self.crawl.borrow_mut().uncount_visit();
        }
        started(item)
    }

    /// Gives an unfinished job back to its host.
    pub(super) fn give_back(self: &Rc<Self>, job: StartedJob) {
        let effects = self.host_queues.borrow_mut().give_back(job, self.event_loop.now());
        self.apply(effects);
        self.wake_waiters();
    }

    // ANCHOR: apply
    /// Does what a change of the host queues has led to: moves every job that may start
    /// into the crawl's queue, sets the timer, and counts the jobs that are left to do.
    pub(super) fn apply(self: &Rc<Self>, effects: Effects) {
        for StartedJob { ready, reservation } in effects.start {
            reservation.put(ready);
        }
        if let Some(at) = effects.wake_at {
            self.set_timer(at);
        }
        if !effects.leave.is_empty() {
            let jobs = self.crawl.borrow_mut().leave(effects.leave.len());
            // The reservations of the jobs that are left are dropped only after this: the
            // crawl may not end before.
            self.put(jobs);
        }
    }
    // ANCHOR_END: apply

    /// Sets the timer, unless it is set to an earlier time already.
    fn set_timer(self: &Rc<Self>, at: Instant) {
        let mut timer = self.timer.borrow_mut();
        if timer.as_ref().is_some_and(|(set, _)| *set <= at) {
            return;
        }
        let plan = Rc::downgrade(self);
        let wake = move || {
            if let Some(plan) = plan.upgrade() {
                plan.wake_hosts();
            }
        };
        if let Some((_, handle)) = timer.replace((at, self.event_loop.call_at(at, wake))) {
            handle.cancel();
        }
    }

    pub(super) fn cancel_timer(&self) {
        if let Some((_, handle)) = self.timer.take() {
            handle.cancel();
        }
    }

    /// Wakes the hosts whose time has come: the timer is over.
    fn wake_hosts(self: &Rc<Self>) {
        self.timer.take();
        let effects = self.host_queues.borrow_mut().wake(self.event_loop.now());
        self.apply(effects);
    }

    pub(super) fn stop(self: &Rc<Self>) {
        self.crawl.borrow_mut().stop();
        let effects = self.host_queues.borrow_mut().stop();
        self.apply(effects);
        self.wake_waiters();
    }

    /// Returns the number of URLs that are not done. A robots.txt is not one of them.
    pub(super) fn num_urls(&self) -> usize {
        self.q.unfinished() - self.host_queues.borrow().num_pending_rules()
    }

    /// Waits until the rules of an origin have changed, or the frontier is stopped.
    pub(super) async fn changed(&self) {
        self.waiters.wait(Location::caller(), || ()).await;
    }

    pub(super) fn wake_waiters(&self) {
        self.waiters.wake_all();
    }
}

/// Takes an item apart: the work on it is not done.
pub(super) fn started(item: Item<ReadyJob>) -> StartedJob {
    let (ready, reservation) = item.into_parts();
    StartedJob { ready, reservation }
}
