//! Workers, and what holds them together.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Row, Sink, Standing,
};
use stage2_coroutines::{EventLoop, Task};

use crate::JoinableQueue;
use crate::catch::catch;
use crate::client::Client;
use crate::manners::{Manners, Named, Turn, read_sitemaps};

/// How many workers there are unless somebody says otherwise.
const MAX_TASKS: usize = 10;

/// Crawls a site with workers around a queue.
///
/// # Errors
/// When there is no event queue to be had.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    crawl_on(&EventLoop::new()?, options, sink)
}

/// The same on a loop of your own, which is closed afterwards.
///
/// # Errors
/// Those of [`EventLoop::run_until_complete`].
pub fn crawl_on(event_loop: &EventLoop, options: Options, sink: Sink) -> io::Result<Ending> {
    let crawler = Crawler::new(event_loop, options, sink);
    let ending = event_loop.run_until_complete(crawler.crawl());
    event_loop.close();
    ending
}

/// A crawl: a queue of `(URL, redirects left)`, the workers that take from it,
/// and the door through which everything they put in has passed.
pub struct Crawler {
    event_loop: EventLoop,
    max_tasks: usize,
    client: Rc<Client>,
    q: JoinableQueue<Job>,
    manners: Rc<Manners>,
    crawl: RefCell<Crawl>,
    sink: RefCell<Sink>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

impl Crawler {
    /// A crawler with its roots in the queue, and nobody at work yet.
    pub fn new(event_loop: &EventLoop, options: Options, mut sink: Sink) -> Rc<Self> {
        let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
        let mut crawl = Crawl::new(options.clone());
        let client = Rc::new(Client::new(event_loop, options, max_tasks));
        let q = JoinableQueue::new(event_loop);
        let manners = Manners::new(&client, &q, max_tasks);
        crawl.roots(&mut sink).into_iter().for_each(|root| manners.put(root));
        Rc::new(Self {
            event_loop: event_loop.clone(),
            max_tasks,
            client,
            q,
            manners,
            crawl: RefCell::new(crawl),
            sink: RefCell::new(sink),
            panic: RefCell::new(None),
        })
    }

    /// Runs until all work is done.
    ///
    /// # Panics
    /// When the sink did.
    pub async fn crawl(self: &Rc<Self>) -> Ending {
        let worker = |n| {
            let worker = Task::spawn(&self.event_loop, Rc::clone(self).work());
            worker.named(format!("worker {n}"))
        };
        let workers = Workers((0..self.max_tasks).map(worker).collect());
        let all_done = async {
            if self.client.options.sitemap {
                read_sitemaps(&self.manners, |named| self.named_by_sitemap(named)).await;
            }
            self.q.join().await;
        };
        self.manners.keep_time_until(all_done).await;
        // They wait for URLs, of which there will be no more.
        drop(workers);
        self.client.close();
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
        let untaken = self.manners.untaken();
        self.crawl.borrow_mut().end(untaken, Some(self.max_tasks))
    }

    /// How far it is.
    pub fn standing(&self) -> Standing {
        self.crawl.borrow().standing(self.manners.untaken())
    }

    /// One worker: takes a URL, fetches it, puts in what it found, for ever.
    async fn work(self: Rc<Self>) {
        loop {
            // Held until the end of the turn: the URL counts as done only
            // after all that it leads to has been put in.
            let job = self.manners.next().await;
            if let Some(Conclusion { row, skipped, jobs }) = self.survive(&job).await {
                for job in jobs {
                    self.manners.put(job);
                }
                skipped.into_iter().chain([row]).for_each(|row| self.report(row));
            }
        }
    }

    /// Fetches a URL, and ends it as a row even if that panics.
    async fn survive(&self, job: &Turn) -> Option<Conclusion> {
        match catch(self.fetch(job)).await {
            Ok(conclusion) => conclusion,
            Err(exception) => {
                let error = FetchError::new(ErrorClass::Panic, exception.to_string());
                Some(self.crawl.borrow_mut().abandon(job, error))
            }
        }
    }

    /// Hands a row to whoever wants to know. If that panics, nothing more is
    /// asked for, and the panic goes to whoever called for the crawl.
    fn report(&self, row: Row) {
        let mut sink = self.sink.borrow_mut();
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| sink(row))) else {
            return;
        };
        self.panic.borrow_mut().get_or_insert(panic);
        self.manners.stop();
    }

    /// Fetches a URL; nothing comes of it when a limit forbids to, or when its
    /// host wants to be asked later.
    async fn fetch(&self, job: &Turn) -> Option<Conclusion> {
        if let Some(error) = job.refusal() {
            return Some(self.crawl.borrow_mut().refuse(job, error.clone()));
        }
        let now = self.event_loop.now();
        let begun = self.crawl.borrow_mut().begin(Job::clone(job), now);
        let Some(mut visit) = begun else {
            self.manners.stop();
            return None;
        };
        self.client.fetch(&mut visit, &|| job.next_start()).await;
        if job.comes_again(&visit) {
            self.crawl.borrow_mut().put_off(visit);
            return None;
        }
        let now = self.event_loop.now();
        Some(self.crawl.borrow_mut().conclude(visit, now))
    }

    /// A sitemap has named a page, or was none.
    fn named_by_sitemap(&self, named: Named) {
        let mut crawl = self.crawl.borrow_mut();
        let url = match named {
            Named::Page(url) => url,
            Named::Warning(warning) => return crawl.warn(warning),
        };
        let (job, row) = crawl.seed(&url);
        drop(crawl);
        job.into_iter().for_each(|job| self.manners.put(job));
        row.into_iter().for_each(|row| self.report(row));
    }
}

/// Workers, who go home when this is dropped: at the end of the crawl, or when
/// somebody no longer waits for it.
struct Workers(Vec<Task<()>>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &self.0 {
            worker.cancel();
        }
    }
}
