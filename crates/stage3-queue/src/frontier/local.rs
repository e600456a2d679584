//! The frontier of a crawl in one process.

use std::cell::RefCell;
use std::iter;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use asyncio::CallbackHandle;
use asyncio::prelude::*;
use crawl_core::{
    Completion, Crawl, CrawlProgress, CrawlSummary, FetchError, FetchResult, Finished, HostWait,
    Job, Options, Sink, Visit,
};
use stage2_coroutines::{EventLoop, Future, sleep, yield_now};
use url::Url;
use web::Address;

use super::{Claim, Frontier, ReadyJob, Started, Work};
use crate::politeness::HostQueues;
use crate::row_writer::RowWriter;
use crate::{Item, JoinableQueue, Reservation, Rules, Stopper};

/// Number of jobs that a worker completes in one poll without a request, before it
/// yields to other tasks.
const JOBS_PER_POLL: u32 = 64;

/// The frontier of a crawl in one process, on a [`JoinableQueue`]. In the queue are
/// the jobs that may start now. A job that has to wait has a reservation, and waits
/// in the queue of its host.
pub struct LocalFrontier(pub(crate) Rc<Inner>);

/// The state that the frontier shares with its claims and its timer.
pub(crate) struct Inner {
    event_loop: EventLoop,
    pub(crate) q: JoinableQueue<ReadyJob>,
    pub(crate) host_queues: RefCell<HostQueues>,
    crawl: RefCell<Crawl>,
    row_writer: RowWriter,
    /// The time at which the next host wakes up.
    timer: RefCell<Option<(Instant, CallbackHandle)>>,
    /// Tasks that wait for the rules of an origin, or for the end.
    waiters: RefCell<Vec<Future<()>>>,
}

impl LocalFrontier {
    /// Creates the frontier of a crawl that begins with its roots and hands its rows
    /// to `sink`.
    pub fn new(event_loop: &EventLoop, options: Options, mut sink: Sink) -> Self {
        let mut crawl = Crawl::new(options);
        if crawl.options().settings.sitemap {
            crawl.expect_seeds();
        }
        let roots = crawl.roots(&mut sink);
        // Without a journal there is no reason to abort.
        let row_writer = RowWriter::new(None, sink, Stopper::new());
        Self::with_jobs(event_loop, crawl, roots, row_writer)
    }

    /// Creates a frontier that begins with `urls_todo`: the roots, or the jobs that a
    /// resumed crawl has left to do.
    pub(crate) fn with_jobs(
        event_loop: &EventLoop,
        crawl: Crawl,
        urls_todo: Vec<Job>,
        row_writer: RowWriter,
    ) -> Self {
        let q = JoinableQueue::new(event_loop);
        let inner = Rc::new(Inner {
            event_loop: event_loop.clone(),
            host_queues: RefCell::new(HostQueues::new(crawl.options(), &q)),
            q,
            crawl: RefCell::new(crawl),
            row_writer,
            timer: RefCell::default(),
            waiters: RefCell::default(),
        });
        inner.put(urls_todo);
        Self(inner)
    }
}

impl Frontier for LocalFrontier {
    type Claim = LocalClaim;

    // ANCHOR: next
    async fn next(&self) -> LocalClaim {
        let mut without_request = 0;
        loop {
            let item = self.0.q.get().await;
            match &item.work {
                Work::Refuse(error) => {
                    let error = (**error).clone();
                    let completion = self.0.crawl.borrow_mut().refuse(&item.job, error);
                    self.0.finish(item, completion);
                }
                Work::Fetch if !self.0.crawl.borrow_mut().count_visit() => {
                    self.0.stop();
                    self.0.change(|hosts, now| hosts.release(item.into_parts(), now));
                }
                Work::FetchRules if self.0.host_queues.borrow().is_stopped => {
                    self.0.change(|hosts, now| hosts.release(item.into_parts(), now));
                }
                _ => return LocalClaim { item: Some(item), inner: Rc::clone(&self.0) },
            }
            without_request += 1;
            if without_request % JOBS_PER_POLL == 0 {
                yield_now(&self.0.event_loop).await;
            }
        }
    }
    // ANCHOR_END: next

    fn visit(&self, claim: &LocalClaim) -> Visit {
        let job = claim.as_ref().clone();
        self.0.crawl.borrow().visit(job, self.0.event_loop.now())
    }

    // ANCHOR: complete
    async fn complete(&self, claim: LocalClaim, finished: Box<Finished>) {
        let completion = self.0.crawl.borrow_mut().settle(claim.as_ref(), *finished);
        self.0.finish(claim.into_item(), completion);
    }
    // ANCHOR_END: complete

    async fn defer(&self, claim: LocalClaim, retry_after: Option<Duration>) {
        self.0.hand_back(claim.into_item(), |host_queues, started, now| {
            host_queues.defer(started, retry_after, now)
        });
    }

    async fn set_rules(&self, claim: LocalClaim, rules: Rules) {
        let item = claim.into_item();
        self.0.change(|host_queues, now| host_queues.set_rules(&item, rules, now));
        self.0.wake_waiters();
    }

    async fn rules(&self, site: &Url) -> Option<Rc<Rules>> {
        let site = Address::of(site).ok()?;
        loop {
            match self.0.change(|host_queues, now| host_queues.rules(site, now)) {
                Poll::Ready(rules) => return rules,
                Poll::Pending => self.0.changed().await,
            }
        }
    }

    async fn seed(&self, url: &Url) {
        let (job, row) = self.0.crawl.borrow_mut().seed(url);
        self.0.put(job);
        row.into_iter().for_each(|row| self.0.row_writer.write_row(row));
    }

    async fn pace(&self, address: Address<'_>) -> FetchResult {
        for is_taken in iter::once(false).chain(iter::repeat(true)) {
            let now = self.0.event_loop.now();
            let wait = self.0.host_queues.borrow_mut().start_again(address, is_taken, now)?;
            let Some(at) = wait else { break };
            sleep(&self.0.event_loop, at - now).await;
        }
        Ok(())
    }

    fn attempted(&self, visit: &Visit, error: Option<&FetchError>) -> bool {
        self.0.change(|host_queues, now| host_queues.attempted(visit, error, now))
    }

    fn is_given_up(&self, address: Address<'_>) -> bool {
        self.0.host_queues.borrow_mut().is_given_up(address)
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

    async fn stopped(&self) {
        while !self.0.host_queues.borrow().is_stopped {
            self.0.changed().await;
        }
    }

    fn warn(&self, warning: String) {
        self.0.crawl.borrow_mut().warn(warning);
    }

    fn progress(&self) -> CrawlProgress {
        let host_queues = self.0.host_queues.borrow();
        let urls = self.0.q.unfinished() - host_queues.pending_rules();
        let mut progress = self.0.crawl.borrow().progress(urls);
        progress.queued = progress.queued.saturating_sub(progress.in_flight);
        let waits = host_queues.waits(self.0.event_loop.now());
        let waits_for = waits.filter(|_| progress.in_flight == 0).min_by_key(|wait| wait.until);
        CrawlProgress { waits_for, ..progress }
    }

    fn waits(&self) -> Vec<HostWait> {
        self.0.host_queues.borrow().waits(self.0.event_loop.now()).collect()
    }

    /// # Panics
    /// When the sink has panicked.
    fn end(&self) -> CrawlSummary {
        if let Some((_, handle)) = self.0.timer.take() {
            handle.cancel();
        }
        self.0.row_writer.resume_panic();
        self.0.row_writer.save_cache(&self.0.crawl);
        let host_queues = self.0.host_queues.borrow();
        let untaken = self.0.q.unfinished() - host_queues.pending_rules();
        let summary = self.0.crawl.borrow_mut().end(untaken, None);
        CrawlSummary { busy_hosts: host_queues.busy_hosts(), ..summary }
    }
}

impl Inner {
    // ANCHOR: finish
    /// Finishes a job: writes its rows, puts its new jobs in, and only then counts it
    /// as done.
    fn finish(self: &Rc<Self>, item: Item<ReadyJob>, completion: Completion) {
        let jobs = self.row_writer.write(&item.job, completion, &self.crawl);
        self.put(jobs);
        self.change(|host_queues, now| host_queues.ended(item.host, item.started, now));
        if self.row_writer.has_panicked() {
            self.stop();
        }
    }
    // ANCHOR_END: finish

    /// Adds new jobs, but for those whose results are known.
    fn put(self: &Rc<Self>, jobs: impl IntoIterator<Item = Job>) {
        let jobs = self.row_writer.unknown(jobs.into_iter().collect(), &self.crawl);
        if !jobs.is_empty() {
            self.change(|hosts, now| jobs.into_iter().for_each(|job| hosts.push(job, now)));
        }
    }

    /// Takes back a job that was not finished: it waits once more.
    fn hand_back(
        self: &Rc<Self>,
        item: Item<ReadyJob>,
        wait: impl FnOnce(&mut HostQueues, Started, Instant) -> Option<Reservation<ReadyJob>>,
    ) {
        if let Work::Fetch = item.work {
            self.crawl.borrow_mut().uncount_visit();
        }
        drop(self.change(|host_queues, now| wait(host_queues, item.into_parts(), now)));
        self.wake_waiters();
    }

    // ANCHOR: change
    /// Changes the queues of the hosts, and puts the jobs into the queue of the crawl
    /// that may start now.
    fn change<R>(self: &Rc<Self>, by: impl FnOnce(&mut HostQueues, Instant) -> R) -> R {
        let mut hosts = self.host_queues.borrow_mut();
        let result = by(&mut hosts, self.event_loop.now());
        let (started, left, next_timer) = hosts.take_changes();
        drop(hosts);
        started.into_iter().for_each(|(job, reservation)| reservation.put(job));
        self.set_timer(next_timer);
        if !left.is_empty() {
            let jobs = self.crawl.borrow_mut().leave(left.len());
            // Their reservations are dropped only now: the crawl may not end before.
            self.put(jobs);
        }
        result
    }
    // ANCHOR_END: change

    /// Sets the timer, unless it is set to an earlier time already.
    fn set_timer(self: &Rc<Self>, next: Option<Instant>) {
        let mut timer = self.timer.borrow_mut();
        let is_earlier = |at: &Instant| timer.as_ref().is_none_or(|(set, _)| at < set);
        let Some(at) = next.filter(is_earlier) else { return };
        let inner = Rc::downgrade(self);
        let wake = move || {
            if let Some(inner) = inner.upgrade() {
                inner.timer.take();
                inner.change(HostQueues::wake);
            }
        };
        if let Some((_, handle)) = timer.replace((at, self.event_loop.call_at(at, wake))) {
            handle.cancel();
        }
    }

    fn stop(self: &Rc<Self>) {
        self.crawl.borrow_mut().stop();
        self.change(|host_queues, _| host_queues.stop());
        self.wake_waiters();
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

/// A claim on a job of a [`LocalFrontier`].
pub struct LocalClaim {
    /// The item of the queue; `None` once the claim has ended.
    item: Option<Item<ReadyJob>>,
    inner: Rc<Inner>,
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
            self.inner.hand_back(item, HostQueues::release);
        }
    }
}
