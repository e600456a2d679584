//! The builder: configures, starts and watches a crawl.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use crawl_core::{Crawl, CrawlProgress, CrawlSummary, HostWait, Job, Options, Row, Sink};
#[cfg(feature = "os")]
use stage2_coroutines::system_runtime;
use stage2_coroutines::{Coroutine, EventLoop, Inspect, Runtime, sleep};

use crate::external_cache::ExternalCache;
use crate::journal::Journal;
use crate::row_writer::RowWriter;
use crate::{Crawler, JoinableQueue, LocalFrontier, ShutdownHandle};

/// Crawls a site with workers around a queue.
///
/// # Errors
/// Those of [`crawl_on`]; and when the operating system cannot create an event queue.
///
/// # Panics
/// When `sink` panics.
#[cfg(feature = "os")]
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    crawl_on(system_runtime()?, options, sink)
}

/// Crawls a site on a loop of your own, and closes the loop afterwards.
///
/// # Errors
/// Those of [`Runtime::run_until_complete`].
///
/// # Panics
/// When `sink` panics.
pub fn crawl_on(runtime: Runtime, options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    let crawler = Crawler::new(runtime.event_loop(), options, sink);
    let summary = runtime.run_until_complete(crawler.crawl());
    drop(runtime);
    summary
}

impl Crawler {
    /// Prepares a crawl. The `options` say where it begins and how far it goes;
    /// everything else is set on the builder.
    ///
    /// ```
    /// use crawl_core::Options;
    /// use stage3_queue::Crawler;
    ///
    /// # let server = demo_site::scripted::Server::start(|_, reply| reply.page("<a href=/>home</a>"))?;
    /// # let site = server.url("/");
    /// let mut options = Options::new(vec![site.parse()?]);
    /// options.max_pages = Some(100);
    /// let mut urls = Vec::new();
    /// let summary = Crawler::builder(options).on_row(|row| urls.push(row.url)).run()?;
    /// assert_eq!(summary.done, urls.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder<'a>(options: Options) -> Builder<'a> {
        Builder {
            options,
            sink: Box::new(drop),
            journal: None,
            cache: None,
            is_fresh: false,
            warn: Box::new(|_| ()),
            begun: None,
            begin: None,
            watch: None,
            shutdown: ShutdownHandle::new(),
        }
    }
}

/// A crawl that has not begun. Created by [`Crawler::builder`].
/// Its callbacks are called on the thread that runs the crawl, one at a time, and
/// may borrow for `'a`.
#[must_use]
pub struct Builder<'a> {
    options: Options,
    sink: Box<dyn FnMut(Row) + 'a>,
    journal: Option<PathBuf>,
    cache: Option<(PathBuf, Duration)>,
    is_fresh: bool,
    warn: Box<dyn FnMut(&str) + 'a>,
    begun: Option<(Crawl, Vec<Job>)>,
    begin: Option<Begin<'a>>,
    watch: Option<(Duration, Watch<'a>)>,
    shutdown: ShutdownHandle,
}

type Begin<'a> = Box<dyn FnOnce(&Rc<Crawler>) + 'a>;
type Watch<'a> = Box<dyn FnMut(&CrawlProgress) + 'a>;

impl<'a> Builder<'a> {
    /// Hands each row to `sink` as its URL is finished.
    pub fn on_row(mut self, sink: impl FnMut(Row) + 'a) -> Self {
        self.sink = Box::new(sink);
        self
    }

    /// Keeps a journal in this file, from which the crawl can be resumed. If the
    /// file is a journal already, the crawl resumes where it ends, however the
    /// last run ended: the rows in the journal are handed over first, and their
    /// URLs are not fetched again.
    ///
    /// Cookies are not kept in it: a crawl that resumes begins with the jar of its
    /// options.
    ///
    /// The limits on all pages and on time, the rate and the timeouts may differ between
    /// runs; the limit on the pages of a host, and the options that decide which URLs are
    /// found, must be the same.
    pub fn journal(mut self, path: impl Into<PathBuf>) -> Self {
        self.journal = Some(path.into());
        self
    }

    /// Keeps the results of other sites in this file, and takes from it those that are not
    /// older than `max_age`, without a request. Those that are dead or unsure are requested
    /// again each time. At most 100,000 URLs are kept.
    pub fn external_cache(mut self, path: impl Into<PathBuf>, max_age: Duration) -> Self {
        self.cache = Some((path.into(), max_age));
        self
    }

    /// Resumes a crawl that has begun in another way: these are its jobs that are left.
    /// The start URLs of the options are not requested again. It has no journal.
    pub fn begun(mut self, crawl: Crawl, urls_todo: Vec<Job>) -> Self {
        self.begun = Some((crawl, urls_todo));
        self
    }

    /// Discards the contents of the journal and starts over. A file that is not a journal is
    /// still refused, and not changed.
    pub fn fresh(mut self) -> Self {
        self.is_fresh = true;
        self
    }

    /// Calls `warn` with problems that do not prevent the crawl, before it begins:
    /// for example, that the journal ended in the middle of a record. The message
    /// is a sentence without its full stop.
    pub fn on_warning(mut self, warn: impl FnMut(&str) + 'a) -> Self {
        self.warn = Box::new(warn);
        self
    }

    /// Calls `begin` with the crawler before the first request, for a program that wants
    /// to look at it while it runs.
    pub fn on_begin(mut self, begin: impl FnOnce(&Rc<Crawler>) + 'a) -> Self {
        self.begin = Some(Box::new(begin));
        self
    }

    /// Calls `watch` with the progress of the crawl, once per `interval`.
    pub fn watch(mut self, interval: Duration, watch: impl FnMut(&CrawlProgress) + 'a) -> Self {
        self.watch = Some((interval, Box::new(watch)));
        self
    }

    /// Returns a handle that stops the crawl, now or while it runs.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        self.shutdown.clone()
    }

    /// Runs the crawl on a new loop.
    ///
    /// # Errors
    /// Those of [`Builder::run_on`]; and when the operating system cannot create
    /// an event queue.
    ///
    /// # Panics
    /// When the sink given to [`Builder::on_row`] panics.
    #[cfg(feature = "os")]
    pub fn run(self) -> io::Result<CrawlSummary> {
        self.run_on(system_runtime()?)
    }

    /// Runs the crawl on a loop of your own, and closes the loop.
    ///
    /// # Errors
    /// Those of [`Runtime::run_until_complete`], and those of the journal: the
    /// file cannot be opened; another process is using it; it is not a journal, or
    /// has a later format, or is damaged before its end; or it was begun
    /// with other options. In these cases the file is unchanged, and no request
    /// was sent. The same is true of a cache file that cannot be read, or is not a cache.
    ///
    /// # Panics
    /// When the sink given to [`Builder::on_row`] panics.
    pub fn run_on(mut self, runtime: Runtime) -> io::Result<CrawlSummary> {
        let event_loop = runtime.event_loop();
        let outbox = Rc::new(Outbox::default());
        let crawler = self.build(event_loop, Rc::clone(&outbox))?;
        let Self { mut sink, begin, watch, .. } = self;
        if let Some(begin) = begin {
            begin(&crawler);
        }
        describe_waits(event_loop, &crawler);
        let watching = async {
            if let Some((interval, mut watch)) = watch {
                loop {
                    watch(&crawler.progress());
                    sleep(event_loop, interval).await;
                }
            }
        };
        let crawling = async {
            let (mut crawling, mut watching) = (pin!(crawler.crawl()), pin!(watching));
            let mut is_watched = true;
            poll_fn(|context| {
                outbox.waker.set(Some(context.waker().clone()));
                is_watched = is_watched && watching.as_mut().poll(context).is_pending();
                let crawling = crawling.as_mut().poll(context);
                outbox.deliver(&mut sink);
                crawling
            })
            .await
        };
        let summary = runtime.run_until_complete(crawling);
        drop(runtime);
        summary
    }

    fn build(&mut self, event_loop: &EventLoop, outbox: Rc<Outbox>) -> io::Result<Rc<Crawler>> {
        let Self { sink, warn, .. } = self;
        let (mut crawl, left) = match self.begun.take() {
            Some((crawl, left)) => (crawl, Some(left)),
            None => (Crawl::new(self.options.clone()), None),
        };
        if crawl.options().settings.sitemap {
            // Before the replay: a level that ends in it must not end without the seeds.
            crawl.expect_seeds();
        }
        // What cannot be used is refused before the first row. The journal comes last, since
        // it may be written to when it is opened.
        let cache = self.cache.take().map(|(path, max_age)| ExternalCache::open(&path, max_age));
        let cache = cache.transpose()?;
        let path = self.journal.take();
        let opened = path.map(|path| Journal::open(path, self.is_fresh, crawl.options()));
        let opened = opened.transpose()?;
        let mut urls_todo = left.unwrap_or_else(|| crawl.roots(sink));
        let journal = match opened {
            Some((journal, loaded)) => {
                let has_records = loaded.has_records();
                urls_todo = loaded.replay(&mut crawl, urls_todo, sink, warn)?;
                if urls_todo.is_empty() && has_records && !crawl.options().settings.sitemap {
                    warn(&journal.nothing_left_warning());
                }
                crawl.keep_out_links();
                Some(journal)
            }
            None => None,
        };
        let shutdown = self.shutdown.clone();
        let send = move |row| outbox.send(row);
        let row_writer = RowWriter::new(journal, send, shutdown.clone()).with_cache(cache);
        let (options, q) = (crawl.options().clone(), JoinableQueue::new(event_loop));
        let frontier = LocalFrontier::with_jobs(event_loop, q, crawl, urls_todo, row_writer);
        Ok(Crawler::with_frontier(event_loop, options, frontier, shutdown))
    }
}

/// Has the loop describe the waits for hosts beside its tasks.
fn describe_waits(event_loop: &EventLoop, crawler: &Rc<Crawler>) {
    let crawler = Rc::downgrade(crawler);
    event_loop.also_describe(move || {
        let Some(crawler) = crawler.upgrade() else { return String::new() };
        let now = crawler.event_loop.now();
        let line = |wait: &HostWait| {
            let left = wait.until.saturating_duration_since(now);
            format!("  waiting for {} for another {left:.1?}: {}\n", wait.host, wait.reason)
        };
        crawler.waits().iter().map(line).collect()
    });
}

/// Rows on their way from the workers to the sink. A task owns everything that it
/// uses, but the sink may borrow from the caller: so the workers put rows in here,
/// and the coroutine that the caller waits for hands them over.
#[derive(Default)]
struct Outbox {
    rows: RefCell<Vec<Row>>,
    /// The waker of the coroutine that hands the rows over.
    waker: Cell<Option<Waker>>,
}

impl Outbox {
    /// Takes a row from a worker.
    fn send(&self, row: Row) {
        self.rows.borrow_mut().push(row);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    /// Hands all rows over. A panic of the sink is a panic of the caller's coroutine: it ends
    /// the crawl at once, and reaches the caller.
    fn deliver(&self, sink: &mut dyn FnMut(Row)) {
        self.rows.take().into_iter().for_each(sink);
    }
}
