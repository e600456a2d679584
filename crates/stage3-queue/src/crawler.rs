//! The crawler: workers around a queue.

use std::pin::pin;
use std::rc::Rc;

use crawl_core::{CrawlProgress, CrawlSummary, Finished, HostWait, Options, Sink, SiteFile};
use stage2_coroutines::sync::Mutex;
use stage2_coroutines::{EventLoop, InspectTask, Task, catch, yield_now};

use crate::connector::Connector;
use crate::fetch::{Client, FileError};
use crate::frontier::local::LocalFrontier;
use crate::frontier::{Claim, Frontier, Gate, JobResult, Reporting, Seeds};
use crate::robots::{fetch_robots, rules_of};
use crate::sitemaps::read_sitemaps;
use crate::{JoinableQueue, ShutdownHandle};

/// Limit on the workers whose tasks have names. More names would only take memory.
const MAX_NAMES: usize = 100;

/// A crawl: workers, and the frontier from which they take URLs and to which they
/// give the URLs that they find.
pub struct Crawler<F = LocalFrontier> {
    pub(crate) event_loop: EventLoop,
    num_workers: usize,
    client: Client<F>,
    /// Held during work that takes the thread for long, see [`Crawler::fetch`].
    slow_work: Mutex,
    shutdown: ShutdownHandle,
}

impl Crawler {
    // ANCHOR: new
    /// Creates a crawler with its start URLs in the queue and no worker running yet.
    /// It cannot be stopped and keeps no journal; for both, see
    /// [`Crawler::builder`].
    pub fn new(event_loop: &EventLoop, options: Options, sink: Sink) -> Rc<Self> {
        // One jar, for robots.txt and sitemaps, too.
        let options = options.with_cookie_jar();
        // What may start now is in the queue. What has to wait for its host waits in the
        // frontier, which puts it into the queue in its time.
        let q = JoinableQueue::new(event_loop);
        let frontier = LocalFrontier::new(event_loop, q, options.clone(), sink);
        Self::with_frontier(event_loop, options, frontier, ShutdownHandle::new())
    }
    // ANCHOR_END: new
}

impl<F: Frontier + Gate + Seeds + Reporting> Crawler<F> {
    /// Creates a crawler with a frontier of your own. From the options it takes what
    /// a worker needs: the number of tasks, timeouts, limits on what is received.
    pub fn with_frontier(
        event_loop: &EventLoop,
        options: Options,
        frontier: F,
        shutdown: ShutdownHandle,
    ) -> Rc<Self> {
        let num_workers = options.num_workers();
        let connector = Connector::new(event_loop, &options, num_workers);
        let (event_loop, slow_work) = (event_loop.clone(), Mutex::new(event_loop));
        let client = Client { event_loop: event_loop.clone(), options, connector, frontier };
        Rc::new(Self { event_loop, num_workers, client, slow_work, shutdown })
    }

    /// Returns the frontier, to look at it while the crawl runs.
    pub fn frontier(&self) -> &F {
        &self.client.frontier
    }

    // ANCHOR: crawl
    /// Runs until all work is done or the crawl is stopped.
    ///
    /// # Panics
    /// When the sink has panicked.
    pub async fn crawl(self: &Rc<Self>) -> CrawlSummary {
        let worker = |n| {
            let worker = Task::spawn(&self.event_loop, Rc::clone(self).work());
            if n < MAX_NAMES { worker.named(format!("worker {n}")) } else { worker }
        };
        let workers = Workers((0..self.num_workers).map(worker).collect());
        let all_done = async {
            if self.client.options.settings.sitemap {
                read_sitemaps(&self.client).await;
            }
            self.frontier().join().await;
        };
        let max_time = self.client.options.max_time;
        let stop = || self.frontier().stop();
        let running = self.shutdown.run_until_stopped(&self.event_loop, max_time, all_done, stop);
        let stopped = running.await;
        let summary = self.frontier().end();
        // Idle workers wait for URLs, and there will be no more.
        drop(workers);
        self.client.connector.close();
        CrawlSummary { stopped, max_tasks: Some(self.num_workers), ..summary }
    }
    // ANCHOR_END: crawl

    // ANCHOR: work
    /// Runs one worker: takes a URL, fetches it, gives back the URLs that it found,
    /// until it is cancelled.
    async fn work(self: Rc<Self>) {
        loop {
            let claim = self.frontier().next().await;
            if claim.is_for_rules() {
                // Boxed: it runs once per origin, and its state would make every
                // worker larger.
                Box::pin(self.fetch_rules(claim)).await;
                continue;
            }
            let finished = self.fetch_catching_panic(&claim).await;
            match finished.deferral {
                Some(deferral) if claim.may_defer(&deferral) => {
                    self.frontier().defer(claim, deferral).await;
                }
                _ => self.frontier().complete(claim, JobResult::Url(finished)).await,
            }
        }
    }
    // ANCHOR_END: work

    // ANCHOR: fetch_catching_panic
    /// Fetches a URL, and ends it as a row even if that panics.
    async fn fetch_catching_panic(&self, claim: &F::Claim) -> Box<Finished> {
        let caught = catch(pin!(self.fetch(claim))).await;
        caught.unwrap_or_else(|exception| {
            Box::new(Finished::with_panic(claim, exception.to_string()))
        })
    }
    // ANCHOR_END: fetch_catching_panic

    /// Fetches a URL.
    async fn fetch(&self, claim: &F::Claim) -> Box<Finished> {
        let mut visit = claim.visit();
        trace::fetch_begin(&visit);
        self.client.fetch(&mut visit).await;
        if self.client.options.settings.select.is_empty() {
            return Box::new(visit.finish(self.event_loop.now()));
        }
        // A selection may take a tenth of a second. The selections of all workers in one batch
        // would keep the loop from its timers and sockets: one is made in each batch.
        let _turn = self.slow_work.lock().await;
        yield_now(&self.event_loop).await;
        Box::new(visit.finish(self.event_loop.now()))
    }

    /// Fetches the robots.txt that was claimed.
    async fn fetch_rules(&self, claim: F::Claim) {
        let response = fetch_robots(&self.client, claim.as_ref()).await;
        let (Ok(SiteFile { deferral, .. }) | Err(FileError { deferral, .. })) = &response;
        if let Some(deferral) = *deferral
            && claim.may_defer(&deferral)
        {
            return self.frontier().defer(claim, deferral).await;
        }
        let user_agent = &self.client.options.settings.user_agent;
        let rules = rules_of(&claim.as_ref().url, &response, user_agent).await;
        self.frontier().complete(claim, JobResult::Rules(Box::new(rules))).await;
    }

    /// Returns the counts that show how far the crawl is.
    pub fn progress(&self) -> CrawlProgress {
        self.frontier().progress()
    }

    /// Returns the hosts that the crawl waits for.
    pub fn waits(&self) -> Vec<HostWait> {
        self.frontier().waits()
    }
}

// ANCHOR: workers
/// The workers' tasks, cancelled when this is dropped: at the end of the crawl,
/// or when [`Crawler::crawl`] itself is cancelled.
struct Workers(Vec<Task<()>>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &self.0 {
            worker.cancel();
        }
    }
}
// ANCHOR_END: workers
