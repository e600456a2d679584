//! The frontier of a crawl in one process.

mod plan;

use std::rc::Rc;
use std::task::Poll;

use crawl_core::{
    Crawl, CrawlProgress, CrawlSummary, Deferral, FetchError, FetchResult, Finished, HostWait, Job,
    Options, Sink, Visit,
};
use stage2_coroutines::{EventLoop, sleep, yield_now};
use url::Url;
use web::Address;

use self::plan::{LocalPlan, started};
use super::{Claim, Frontier, Gate, JobResult, Reporting, Seeds};
use crate::politeness::{ReadyJob, Work};
use crate::row_writer::RowWriter;
use crate::{Health, Item, JoinableQueue, Rules, ShutdownHandle};

/// Number of jobs that a worker completes in one poll without a request, before it
/// yields to other tasks.
const JOBS_PER_POLL: u32 = 64;

/// The frontier of a crawl in one process, on a [`JoinableQueue`]. In the queue are
/// the jobs that may start now. A job that has to wait has a reservation, and waits
/// in the queue of its host.
pub struct LocalFrontier(Rc<LocalPlan>);

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
        let plan = LocalPlan::new(event_loop, q, crawl, row_writer);
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
            } else if let Work::SettleServerError(status) = item.work {
                let finished = Finished::with_server_error(&item.job, status);
                let completion = self.0.crawl.borrow_mut().settle_known(&item.job, finished);
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
                if let Some(deferral) = &finished.deferral {
                    self.0.host_queues.borrow_mut().record_in_vain(claim.item(), deferral);
                }
                let completion = self.0.crawl.borrow_mut().settle(claim.as_ref(), *finished);
                self.0.carry_out(claim.into_item(), completion);
            }
            JobResult::Rules(rules) => self.0.set_rules(claim.into_item(), *rules),
        }
    }
    // ANCHOR_END: complete

    async fn defer(&self, claim: LocalClaim, deferral: Deferral) {
        let job = self.0.take_back(claim.into_item());
        let now = self.0.event_loop.now();
        let effects = self.0.host_queues.borrow_mut().defer(job, &deferral, now);
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

impl Reporting for LocalFrontier {
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
        self.0.cancel_timer();
        self.0.row_writer.sink().resume_panic();
        self.0.row_writer.save_cache(&self.0.crawl);
        let summary = self.0.crawl.borrow_mut().end(self.0.num_urls(), None);
        let busy_hosts = self.0.host_queues.borrow().given_up_hosts();
        CrawlSummary { busy_hosts, ..summary }
    }
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

    fn may_defer(&self, deferral: &Deferral) -> bool {
        self.plan.host_queues.borrow().may_defer(self.item(), deferral)
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
