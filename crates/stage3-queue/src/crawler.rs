//! Workers, and what holds them together.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use crawl_core::{Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Sink, Standing};
use stage2_coroutines::{Coroutine, EventLoop, Task, catch};

use crate::client::Client;
use crate::ledger::Ledger;
use crate::manners::{Manners, Named, Turn, read_sitemaps};
use crate::{JoinableQueue, Stopper};

/// How many workers there are unless somebody says otherwise.
const MAX_TASKS: usize = 10;

/// So many of them have names. In a greater crowd, they would only take memory.
const MOST_NAMES: usize = 100;

/// A crawl: a queue of `(URL, redirects left)`, the workers that take from it,
/// and the door through which everything they put in has passed.
pub struct Crawler {
    event_loop: EventLoop,
    max_tasks: usize,
    client: Rc<Client>,
    q: JoinableQueue<Job>,
    manners: Rc<Manners>,
    crawl: RefCell<Crawl>,
    ledger: Ledger,
    stopper: Stopper,
}

impl Crawler {
    /// A crawler with its roots in the queue, and nobody at work yet. Nobody
    /// can stop it, and it keeps no journal; see [`Crawler::builder`].
    pub fn new(event_loop: &EventLoop, options: Options, mut sink: Sink) -> Rc<Self> {
        let mut crawl = Crawl::new(options);
        let roots = crawl.roots(&mut sink);
        let stopper = Stopper::new();
        let ledger = Ledger::new(None, sink, stopper.clone());
        Self::go_on(event_loop, crawl, roots, ledger, stopper)
    }

    /// The same in the middle of a crawl.
    pub(crate) fn go_on(
        event_loop: &EventLoop,
        crawl: Crawl,
        urls_todo: Vec<Job>,
        ledger: Ledger,
        stopper: Stopper,
    ) -> Rc<Self> {
        let options = crawl.options().clone();
        let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
        let client = Rc::new(Client::new(event_loop, options, max_tasks));
        let q = JoinableQueue::new(event_loop);
        let manners = Manners::new(&client, &q, max_tasks);
        urls_todo.into_iter().for_each(|job| manners.put(job));
        Rc::new(Self {
            event_loop: event_loop.clone(),
            max_tasks,
            client,
            q,
            manners,
            crawl: RefCell::new(crawl),
            ledger,
            stopper,
        })
    }

    // ANCHOR: crawl
    /// Runs until all work is done, or somebody stops it.
    ///
    /// # Panics
    /// When the sink did.
    pub async fn crawl(self: &Rc<Self>) -> Ending {
        let worker = |n| {
            let worker = Task::spawn(&self.event_loop, Rc::clone(self).work());
            if n < MOST_NAMES { worker.named(format!("worker {n}")) } else { worker }
        };
        let workers = Workers((0..self.max_tasks).map(worker).collect());
        let all_done = async {
            if self.client.options.sitemap {
                read_sitemaps(&self.manners, |named| self.named_by_sitemap(named)).await;
            }
            self.q.join().await;
        };
        let all_done = self.manners.keep_time_until(all_done);
        let (max_time, take_no_more) = (self.client.options.max_time, || self.take_no_more());
        let stopped =
            self.stopper.supervise(&self.event_loop, max_time, all_done, take_no_more).await;
        let untaken = self.manners.left() + self.q.unfinished();
        // They wait for URLs, of which there will be no more.
        drop(workers);
        self.client.close();
        self.ledger.close();
        let ending = self.crawl.borrow_mut().end(untaken, Some(self.max_tasks));
        Ending { stopped, ..ending }
    }
    // ANCHOR_END: crawl

    /// How far it is.
    pub fn standing(&self) -> Standing {
        self.crawl.borrow().standing(self.manners.queued())
    }

    // ANCHOR: work
    /// One worker: takes a URL, fetches it, puts in what it found, for ever.
    async fn work(self: Rc<Self>) {
        loop {
            // Held until the end of the loop's body: the URL counts as done
            // only after all that it leads to has been put in.
            let job = self.manners.next().await;
            if let Some(conclusion) = self.survive(&job).await {
                let found = self.ledger.enter(&job, conclusion, &self.crawl);
                found.into_iter().for_each(|job| self.manners.put(job));
            }
        }
    }
    // ANCHOR_END: work

    // ANCHOR: survive
    /// Fetches a URL, and ends it as a row even if that panics.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
    fn survive(&self, job: &Turn) -> impl Coroutine<Output = Option<Conclusion>> {
        async move {
            match catch(pin!(self.fetch(job))).await {
                Ok(conclusion) => conclusion,
                Err(exception) => {
                    let error = FetchError::new(ErrorClass::Panic, exception.to_string());
                    Some(self.crawl.borrow_mut().abandon(job, error))
                }
            }
        }
    }
    // ANCHOR_END: survive

    /// From now on nothing is begun.
    fn take_no_more(&self) {
        self.crawl.borrow_mut().stop();
        self.manners.stop();
    }

    // ANCHOR: fetch
    /// Fetches a URL; `None` when a limit forbids it, when its host has to be left
    /// alone for now, or when nobody wants the result any more.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
    fn fetch(&self, job: &Turn) -> impl Coroutine<Output = Option<Conclusion>> {
        async move {
            if self.ledger.is_closed() {
                self.take_no_more();
                return None;
            }
            if let Some(error) = job.refusal() {
                return Some(self.crawl.borrow_mut().refuse(job, error.clone()));
            }
            let now = self.event_loop.now();
            let Some(mut visit) = self.crawl.borrow_mut().begin(Job::clone(job), now) else {
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
    }
    // ANCHOR_END: fetch

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
        row.into_iter().for_each(|row| self.ledger.tell(row));
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
