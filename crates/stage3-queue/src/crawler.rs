//! Workers, and what holds them together.

use std::any::Any;
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Patience, Row, Sink, Visit,
};
use stage2_coroutines::fetcher::{exchange, open, until_finished};
use stage2_coroutines::{Connection, Coroutine, EventLoop, Exception, Task};
use transport::Security;

use crate::JoinableQueue;
use crate::pool::Pool;

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
    options: Options,
    max_tasks: usize,
    security: Security,
    q: JoinableQueue<Job>,
    pool: Pool,
    crawl: RefCell<Crawl>,
    sink: RefCell<Sink>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

impl Crawler {
    /// A crawler with its roots in the queue, and nobody at work yet.
    pub fn new(event_loop: &EventLoop, options: Options, mut sink: Sink) -> Rc<Self> {
        let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
        let mut crawl = Crawl::new(options.clone());
        let q = JoinableQueue::new(event_loop);
        crawl.roots(&mut sink).into_iter().for_each(|root| q.put_nowait(root));
        Rc::new(Self {
            event_loop: event_loop.clone(),
            security: Security::new(&options.ca_certificates, options.insecure),
            options,
            max_tasks,
            q,
            pool: Pool::new(max_tasks),
            crawl: RefCell::new(crawl),
            sink: RefCell::new(sink),
            panic: RefCell::new(None),
        })
    }

    // ANCHOR: crawl
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
        self.q.join().await;
        // They wait for URLs, of which there will be no more.
        drop(workers);
        self.pool.clear();
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
        let untaken = self.q.len();
        self.crawl.borrow_mut().end(untaken, Some(self.max_tasks))
    }
    // ANCHOR_END: crawl

    // ANCHOR: work
    /// One worker: takes a URL, fetches it, puts in what it found, for ever.
    async fn work(self: Rc<Self>) {
        loop {
            // Held until the end of the turn: the URL counts as done only
            // after all that it leads to has been put in.
            let job = self.q.get().await;
            if let Some(Conclusion { row, skipped, jobs }) = self.survive(&job).await {
                for job in jobs {
                    self.q.put_nowait(job);
                }
                skipped.into_iter().chain([row]).for_each(|row| self.report(row));
            }
        }
    }
    // ANCHOR_END: work

    // ANCHOR: survive
    /// Fetches a URL, and ends it as a row even if that panics.
    async fn survive(&self, job: &Job) -> Option<Conclusion> {
        match catch(self.fetch(job.clone())).await {
            Ok(conclusion) => conclusion,
            Err(exception) => {
                let error = FetchError::new(ErrorClass::Panic, exception.to_string());
                Some(self.crawl.borrow_mut().abandon(job, error))
            }
        }
    }
    // ANCHOR_END: survive

    /// Hands a row to whoever wants to know. If that panics, nothing more is
    /// asked for, and the panic goes to whoever called for the crawl.
    fn report(&self, row: Row) {
        let mut sink = self.sink.borrow_mut();
        let Err(panic) = catch_unwind(AssertUnwindSafe(|| sink(row))) else {
            return;
        };
        self.panic.borrow_mut().get_or_insert(panic);
    }

    // ANCHOR: fetch
    /// Fetches a URL; nothing comes of it when a limit forbids to.
    async fn fetch(&self, job: Job) -> Option<Conclusion> {
        if self.panic.borrow().is_some() {
            return None;
        }
        let now = self.event_loop.now();
        let mut visit = self.crawl.borrow_mut().begin(job, now)?;
        until_finished(&self.event_loop, &self.options, &mut visit, async |visit, patience| {
            self.attempt(visit, patience).await
        })
        .await;
        let now = self.event_loop.now();
        Some(self.crawl.borrow_mut().conclude(visit, now))
    }
    // ANCHOR_END: fetch

    // ANCHOR: attempt
    /// One try; the first one on a kept connection, if there is one. Such a
    /// connection may be dead in a way that only silence tells.
    async fn attempt(&self, visit: &mut Visit, patience: &Patience) -> Result<(), FetchError> {
        if visit.is_first_try()
            && let Some(mut kept) = self.pool.take(visit)
        {
            patience.heard(self.event_loop.now());
            let result = exchange(&mut kept, &self.options, visit, patience, true).await;
            if result.is_ok() || visit.has_response() {
                return self.keep(kept, visit, result);
            }
            // The server had closed it in the meantime. That is its right
            // (RFC 9112, section 9.3.1), and the try goes on without it.
            drop(kept);
            patience.reconnect(self.event_loop.now());
        }
        let mut fresh = self.open(visit, patience).await?;
        let result = exchange(&mut fresh, &self.options, visit, patience, true).await;
        self.keep(fresh, visit, result)
    }
    // ANCHOR_END: attempt

    /// A connection of its own for this visit. When there is no descriptor
    /// left for it, an idle connection gives up its own.
    async fn open(&self, visit: &Visit, patience: &Patience) -> Result<Connection, FetchError> {
        let make_room = || self.pool.give_one_up();
        open(&self.event_loop, &self.security, visit, patience, make_room).await
    }

    fn keep(
        &self,
        connection: Connection,
        visit: &Visit,
        result: Result<bool, FetchError>,
    ) -> Result<(), FetchError> {
        // To close it is better, when somebody has no descriptor to open one.
        if result? && !self.event_loop.is_starved() {
            self.pool.keep(visit, connection);
        }
        Ok(())
    }
}

// ANCHOR: workers
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
// ANCHOR_END: workers

// ANCHOR: catch
/// Runs a coroutine and turns its panic into an error.
async fn catch<T>(coroutine: impl Coroutine<Output = T>) -> Result<T, Exception> {
    let mut coroutine = pin!(coroutine);
    poll_fn(|context| {
        let poll = AssertUnwindSafe(|| coroutine.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(Exception::panicked(&*panic))),
        }
    })
    .await
}
// ANCHOR_END: catch
