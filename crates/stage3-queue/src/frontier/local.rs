//! The frontier of a crawl in one process.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crawl_core::{
    Completion, Crawl, CrawlProgress, CrawlSummary, FetchError, FetchResult, HostWait, Job,
    Options, Sink, Visit,
};
use stage2_coroutines::{EventLoop, Future, Handle, sleep, yield_now};
use url::Url;
use web::Address;

use super::{Claim, Frontier, Gate, JobResult, Report, Seeds};
use crate::politeness::{Effects, HostQueues, ReadyJob, StartedJob, Work};
use crate::row_writer::RowWriter;
use crate::{Health, Item, JoinableQueue, Rules, ShutdownHandle};

/// Number of jobs that a worker completes in one poll without a request, before it
/// yields to other tasks.
const JOBS_PER_POLL: u32 = 64;

/// The frontier of a crawl in one process, on a [`JoinableQueue`]. In the queue are
/// the jobs that may start now. A job that has to wait has a reservation, and waits
/// in the queue of its host.
pub struct LocalFrontier(Rc<LocalPlan>);

/// The state that the frontier shares with its claims and its timer.
struct LocalPlan {
    event_loop: EventLoop,
    q: JoinableQueue<ReadyJob>,
    host_queues: RefCell<HostQueues>,
    crawl: RefCell<Crawl>,
    row_writer: RowWriter,
    /// The time at which the next host wakes up.
    timer: RefCell<Option<(Instant, Handle)>>,
    /// Tasks that wait for the rules of an origin, or for the end.
    waiters: RefCell<Vec<Future<()>>>,
}

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

impl LocalFrontier {
    /// Creates the frontier of a crawl that begins with the start URLs of its options and
    /// hands its rows to `sink`. Jobs that may start now go into the queue.
    pub fn new(
        event_loop: &EventLoop,
        q: JoinableQueue<ReadyJob>,
        options: Options,
        mut sink: Sink,
    ) -> Self {
        let mut crawl = Crawl::new(options);
        if crawl.options().settings.sitemap {
            crawl.expect_seeds();
        }
        let roots = crawl.roots(&mut sink);
        // Without a journal there is no reason to abort.
        let row_writer = RowWriter::new(None, sink, ShutdownHandle::new());
        Self::with_jobs(event_loop, q, crawl, roots, row_writer)
    }

    /// Creates a frontier that begins with `urls_todo`: the start URLs, or the jobs that a
    /// resumed crawl has left to do.
    pub(crate) fn with_jobs(
        event_loop: &EventLoop,
        q: JoinableQueue<ReadyJob>,
        crawl: Crawl,
        urls_todo: Vec<Job>,
        row_writer: RowWriter,
    ) -> Self {
        let plan = Rc::new(LocalPlan {
            event_loop: event_loop.clone(),
            host_queues: RefCell::new(HostQueues::new(crawl.options(), &q)),
            q,
            crawl: RefCell::new(crawl),
            row_writer,
            timer: RefCell::default(),
            waiters: RefCell::default(),
        });
        plan.put(urls_todo);
        Self(plan)
    }

    /// Counts the jobs by where they are, so that a test can check between two steps that
    /// none is lost. Takes time for each host.
    pub fn job_counts(&self) -> JobCounts {
        JobCounts {
            unfinished: self.0.q.unfinished(),
            queued: self.0.q.len(),
            // Each claim has a reference to the plan.
            claimed: Rc::strong_count(&self.0) - 1,
            deferred: self.0.host_queues.borrow().num_waiting(),
        }
    }
}

impl Frontier for LocalFrontier {
    type Claim = LocalClaim;

    // ANCHOR: next
    async fn next(&self) -> LocalClaim {
        let mut without_request = 0;
        loop {
            let item = self.0.q.get().await;
            if let Work::Refuse(error) = &item.work {
                let error = (**error).clone();
                let completion = self.0.crawl.borrow_mut().refuse(&item.job, error);
                self.0.carry_out(item, completion);
            } else if self.0.count_start(&item) {
                return LocalClaim { item: Some(item), plan: Rc::clone(&self.0) };
            } else {
                self.0.stop();
                self.0.give_back(started(item));
            }
            without_request += 1;
            if without_request % JOBS_PER_POLL == 0 {
                yield_now(&self.0.event_loop).await;
            }
        }
    }
    // ANCHOR_END: next

    // ANCHOR: complete
    async fn complete(&self, claim: LocalClaim, result: JobResult) {
        match result {
            JobResult::Url(finished) => {
                let completion = self.0.crawl.borrow_mut().settle(claim.as_ref(), *finished);
                self.0.carry_out(claim.into_item(), completion);
            }
            JobResult::Rules(rules) => self.0.set_rules(claim.into_item(), *rules),
        }
    }
    // ANCHOR_END: complete

    async fn defer(&self, claim: LocalClaim, retry_after: Option<Duration>) {
        let job = self.0.take_back(claim.into_item());
        let now = self.0.event_loop.now();
        let effects = self.0.host_queues.borrow_mut().defer(job, retry_after, now);
        self.0.apply(effects);
        self.0.wake_waiters();
    }

    // ANCHOR: join
    async fn join(&self) {
        let jobs = self.0.crawl.borrow_mut().end_seeds();
        self.0.put(jobs);
        self.0.q.join().await;
    }
    // ANCHOR_END: join

    fn stop(&self) {
        self.0.stop();
    }
}

impl Gate for LocalFrontier {
    async fn rules(&self, site: &Url) -> Option<Rc<Rules>> {
        let site = Address::of(site).ok()?;
        loop {
            let now = self.0.event_loop.now();
            let (rules, effects) = self.0.host_queues.borrow_mut().rules(site, now);
            self.0.apply(effects);
            match rules {
                Poll::Ready(rules) => return rules,
                Poll::Pending => self.0.changed().await,
            }
        }
    }

    async fn wait_turn(&self, address: Address<'_>) -> FetchResult {
        let mut is_taken = false;
        loop {
            let now = self.0.event_loop.now();
            let turn = self.0.host_queues.borrow_mut().take_turn(address, is_taken, now)?;
            let Some(at) = turn else { return Ok(()) };
            sleep(&self.0.event_loop, at - now).await;
            is_taken = true;
        }
    }

    fn record_attempt(&self, visit: &Visit, error: Option<&FetchError>) -> Health {
        let now = self.0.event_loop.now();
        let (health, effects) = self.0.host_queues.borrow_mut().record_attempt(visit, error, now);
        self.0.apply(effects);
        health
    }

    fn is_given_up(&self, address: Address<'_>) -> bool {
        self.0.host_queues.borrow_mut().is_given_up(address)
    }
}

impl Seeds for LocalFrontier {
    async fn seed(&self, url: &Url) {
        let (job, row) = self.0.crawl.borrow_mut().seed(url);
        self.0.put(job);
        if let Some(row) = row {
            self.0.row_writer.sink().write(row);
        }
    }

    async fn stopped(&self) {
        while !self.0.host_queues.borrow().is_stopped() {
            self.0.changed().await;
        }
    }
}

impl Report for LocalFrontier {
    fn warn(&self, warning: String) {
        self.0.crawl.borrow_mut().warn(warning);
    }

    fn progress(&self) -> CrawlProgress {
        let mut progress = self.0.crawl.borrow().progress(self.0.num_urls());
        progress.queued = progress.queued.saturating_sub(progress.in_flight);
        if progress.in_flight == 0 {
            progress.waits_for = self.waits().into_iter().min_by_key(|wait| wait.until);
        }
        progress
    }

    fn waits(&self) -> Vec<HostWait> {
        self.0.host_queues.borrow().waits(self.0.event_loop.now()).collect()
    }

    fn end(&self) -> CrawlSummary {
        if let Some((_, handle)) = self.0.timer.take() {
            handle.cancel();
        }
        self.0.row_writer.sink().resume_panic();
        self.0.row_writer.save_cache(&self.0.crawl);
        let summary = self.0.crawl.borrow_mut().end(self.0.num_urls(), None);
        let busy_hosts = self.0.host_queues.borrow().given_up_hosts();
        CrawlSummary { busy_hosts, ..summary }
    }
}

impl LocalPlan {
    // ANCHOR: carry_out
    /// Carries out the completion of a job: writes its rows, puts its new jobs in, and only
    /// then counts it as done.
    fn carry_out(self: &Rc<Self>, item: Item<ReadyJob>, completion: Completion) {
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
    fn put(self: &Rc<Self>, jobs: impl IntoIterator<Item = Job>) {
        let jobs = self.row_writer.settle_cached(jobs.into_iter().collect(), &self.crawl);
        if !jobs.is_empty() {
            let effects = self.host_queues.borrow_mut().push(jobs, self.event_loop.now());
            self.apply(effects);
        }
    }

    /// Records the rules of a robots.txt, which may let jobs of its origin start.
    fn set_rules(self: &Rc<Self>, item: Item<ReadyJob>, rules: Rules) {
        let now = self.event_loop.now();
        let effects = self.host_queues.borrow_mut().set_rules(&item, rules, now);
        self.apply(effects);
        self.wake_waiters();
    }

    /// Counts a job that is about to start. Returns false if it must not: the crawl is
    /// stopped, or has as many URLs as it may.
    fn count_start(&self, job: &ReadyJob) -> bool {
        match job.work {
            Work::FetchRules => !self.host_queues.borrow().is_stopped(),
            _ => self.crawl.borrow_mut().count_visit(),
        }
    }

    /// Takes back a job that a worker has claimed and not finished.
    fn take_back(&self, item: Item<ReadyJob>) -> StartedJob {
        if let Work::Fetch = item.work {
            self.crawl.borrow_mut().uncount_visit();
        }
        started(item)
    }

    /// Gives an unfinished job back to its host.
    fn give_back(self: &Rc<Self>, job: StartedJob) {
        let effects = self.host_queues.borrow_mut().give_back(job, self.event_loop.now());
        self.apply(effects);
        self.wake_waiters();
    }

    // ANCHOR: apply
    /// Does what a change of the host queues has led to: moves every job that may start
    /// into the crawl's queue, sets the timer, and counts the jobs that are left to do.
    fn apply(self: &Rc<Self>, effects: Effects) {
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

    /// Wakes the hosts whose time has come: the timer is over.
    fn wake_hosts(self: &Rc<Self>) {
        self.timer.take();
        let effects = self.host_queues.borrow_mut().wake(self.event_loop.now());
        self.apply(effects);
    }

    fn stop(self: &Rc<Self>) {
        self.crawl.borrow_mut().stop();
        let effects = self.host_queues.borrow_mut().stop();
        self.apply(effects);
        self.wake_waiters();
    }

    /// Returns the number of URLs that are not done. A robots.txt is not one of them.
    fn num_urls(&self) -> usize {
        self.q.unfinished() - self.host_queues.borrow().num_pending_rules()
    }

    /// Waits until the rules of an origin have changed, or the frontier is stopped.
    async fn changed(&self) {
        let changed = Future::new(&self.event_loop);
        self.waiters.borrow_mut().push(changed.clone());
        // Only this coroutine could cancel it.
        let _ = changed.await;
    }

    fn wake_waiters(&self) {
        for waiter in self.waiters.take() {
            // Fails if the waiting task was cancelled.
            let _ = waiter.set_result(());
        }
    }
}

/// Takes an item apart: the work on it is not done.
fn started(item: Item<ReadyJob>) -> StartedJob {
    let (ready, reservation) = item.into_parts();
    StartedJob { ready, reservation }
}

/// A claim on a job of a [`LocalFrontier`].
pub struct LocalClaim {
    /// The item of the queue; `None` once the claim has ended.
    item: Option<Item<ReadyJob>>,
    plan: Rc<LocalPlan>,
}

impl LocalClaim {
    fn item(&self) -> &Item<ReadyJob> {
        self.item.as_ref().expect("the claim has not ended")
    }

    fn into_item(mut self) -> Item<ReadyJob> {
        self.item.take().expect("the claim has not ended")
    }
}

impl AsRef<Job> for LocalClaim {
    fn as_ref(&self) -> &Job {
        &self.item().job
    }
}

impl Claim for LocalClaim {
    fn visit(&self) -> Visit {
        let job = self.item().job.clone();
        self.plan.crawl.borrow().visit(job, self.plan.event_loop.now())
    }

    fn is_for_rules(&self) -> bool {
        matches!(self.item().work, Work::FetchRules)
    }

    fn is_last(&self) -> bool {
        self.item().is_last()
    }
}

impl Drop for LocalClaim {
    fn drop(&mut self) {
        if let Some(item) = self.item.take() {
            let job = self.plan.take_back(item);
            self.plan.give_back(job);
        }
    }
}
