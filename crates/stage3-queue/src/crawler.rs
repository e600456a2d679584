//! The crawler: workers around a queue.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use crawl_core::{Completion, Crawl, CrawlProgress, CrawlSummary, Job, Options, Sink};
use stage2_coroutines::{EventLoop, Task, catch};

use crate::connector::Connector;
use crate::fetch::Client;
use crate::politeness::{Dispatch, Politeness, SitemapResult, read_sitemaps};
use crate::row_writer::RowWriter;
use crate::{JoinableQueue, Stopper};

/// Default number of workers.
const MAX_TASKS: usize = 10;

/// Limit on the workers whose tasks have names. More names would only take memory.
const MAX_NAMES: usize = 100;

/// A crawl: a queue of `(URL, redirects left)`, the workers that take from it,
/// and the [`Crawl`], whose admission check every URL has passed before it is
/// put in.
pub struct Crawler {
    event_loop: EventLoop,
    max_tasks: usize,
    client: Rc<Client>,
    q: JoinableQueue<Job>,
    politeness: Rc<Politeness>,
    crawl: RefCell<Crawl>,
    row_writer: RowWriter,
    stopper: Stopper,
}

impl Crawler {
    /// Creates a crawler with its roots in the queue and no worker running yet.
    /// It cannot be stopped and keeps no journal; for both, see
    /// [`Crawler::builder`].
    pub fn new(event_loop: &EventLoop, options: Options, mut sink: Sink) -> Rc<Self> {
        let mut crawl = Crawl::new(options);
        let roots = crawl.roots(&mut sink);
        let stopper = Stopper::new();
        let row_writer = RowWriter::new(None, sink, stopper.clone());
        Self::with_jobs(event_loop, crawl, roots, row_writer, stopper)
    }

    /// Creates a crawler whose queue begins with `urls_todo`: the roots, or the
    /// jobs that a resumed crawl has left to do.
    pub(crate) fn with_jobs(
        event_loop: &EventLoop,
        crawl: Crawl,
        urls_todo: Vec<Job>,
        row_writer: RowWriter,
        stopper: Stopper,
    ) -> Rc<Self> {
        let options = crawl.options().clone();
        let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
        let connector = Connector::new(event_loop, &options, max_tasks);
        let client = Rc::new(Client { event_loop: event_loop.clone(), options, connector });
        let q = JoinableQueue::new(event_loop);
        let politeness = Politeness::new(&client, &q, max_tasks);
        urls_todo.into_iter().for_each(|job| politeness.put(job));
        Rc::new(Self {
            event_loop: event_loop.clone(),
            max_tasks,
            client,
            q,
            politeness,
            crawl: RefCell::new(crawl),
            row_writer,
            stopper,
        })
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
        let workers = Workers((0..self.max_tasks).map(worker).collect());
        let all_done = async {
            if self.client.options.sitemap {
                read_sitemaps(&self.politeness, |result| self.take_sitemap_result(result)).await;
            }
            self.q.join().await;
        };
        let all_done = self.politeness.run_timers_until(all_done);
        let (max_time, start_draining) = (self.client.options.max_time, || self.start_draining());
        let stopped =
            self.stopper.supervise(&self.event_loop, max_time, all_done, start_draining).await;
        let untaken = self.politeness.discarded() + self.q.unfinished();
        // Idle workers wait for URLs, and there will be no more.
        drop(workers);
        self.client.connector.close();
        self.row_writer.resume_panic();
        let summary = self.crawl.borrow_mut().end(untaken, Some(self.max_tasks));
        CrawlSummary { stopped, ..summary }
    }
    // ANCHOR_END: crawl

    /// Returns the counts that show how far the crawl is.
    pub fn progress(&self) -> CrawlProgress {
        self.crawl.borrow().progress(self.politeness.queued())
    }

    // ANCHOR: work
    /// Runs one worker: takes a URL, fetches it, puts in the URLs that it found,
    /// for ever.
    async fn work(self: Rc<Self>) {
        loop {
            // Held until the end of the loop's body: the URL counts as done
            // only after all URLs that it leads to have been put in.
            let job = self.politeness.next().await;
            if let Some(completion) = self.fetch_catching_panic(&job).await {
                let jobs = self.row_writer.write(&job, completion, &self.crawl);
                jobs.into_iter().for_each(|job| self.politeness.put(job));
            }
        }
    }
    // ANCHOR_END: work

    // ANCHOR: fetch_catching_panic
    /// Fetches a URL, and ends it as a row even if that panics.
    async fn fetch_catching_panic(&self, job: &Dispatch) -> Option<Completion> {
        let caught = catch(pin!(self.fetch(job))).await;
        caught.unwrap_or_else(|exception| {
            Some(self.crawl.borrow_mut().abandon(&**job, exception.to_string()))
        })
    }
    // ANCHOR_END: fetch_catching_panic

    /// Begins the graceful shutdown: no new fetch starts from now on.
    fn start_draining(&self) {
        self.crawl.borrow_mut().stop();
        self.politeness.stop();
    }

    // ANCHOR: fetch
    /// Fetches a URL. Returns `None` when a limit forbids it, when the job was
    /// deferred because its host throttles the crawler, or when the sink has
    /// panicked and takes no more rows.
    async fn fetch(&self, job: &Dispatch) -> Option<Completion> {
        if self.row_writer.has_panicked() {
            self.start_draining();
            return None;
        }
        if let Some(error) = job.refusal() {
            return Some(self.crawl.borrow_mut().refuse(job, error.clone()));
        }
        let now = self.event_loop.now();
        let Some(mut visit) = self.crawl.borrow_mut().begin(Job::clone(job), now) else {
            self.politeness.stop();
            return None;
        };
        self.client.fetch(&mut visit, &|| job.next_start()).await;
        if job.defer_if_throttled(&visit) {
            self.crawl.borrow_mut().defer(visit);
            return None;
        }
        let now = self.event_loop.now();
        Some(self.crawl.borrow_mut().complete(&mut visit, now))
    }
    // ANCHOR_END: fetch

    /// Takes a page that a sitemap names, or a warning about a sitemap.
    fn take_sitemap_result(&self, result: SitemapResult) {
        let mut crawl = self.crawl.borrow_mut();
        let url = match result {
            SitemapResult::Page(url) => url,
            SitemapResult::Warning(warning) => return crawl.warn(warning),
        };
        let (job, row) = crawl.seed(&url);
        drop(crawl);
        job.into_iter().for_each(|job| self.politeness.put(job));
        row.into_iter().for_each(|row| self.row_writer.write_row(row));
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
