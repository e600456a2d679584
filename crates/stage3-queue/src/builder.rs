//! What a program holds the crawler by.

use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use crawl_core::{Crawl, Ending, Options, Row, Sink, Standing};
use stage2_coroutines::{EventLoop, Task, sleep};

use crate::journal::Journal;
use crate::ledger::Ledger;
use crate::{Crawler, Stopper};

/// Crawls a site with workers around a queue.
///
/// # Errors
/// When there is no event queue to be had.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    Crawler::builder(options).on_row(sink).run()
}

/// The same on a loop of your own, which is closed afterwards.
///
/// # Errors
/// Those of [`EventLoop::run_until_complete`].
pub fn crawl_on(event_loop: &EventLoop, options: Options, sink: Sink) -> io::Result<Ending> {
    Crawler::builder(options).on_row(sink).run_on(event_loop)
}

impl Crawler {
    /// Prepares a crawl. Where it begins and how far it goes is in `options`;
    /// what else a program may want, the builder has.
    ///
    /// ```
    /// use crawl_core::Options;
    /// use stage3_queue::Crawler;
    ///
    /// # let server = demo_site::scripted::Server::start(|_, reply| reply.page("<a href=/>home</a>"))?;
    /// # let site = server.url("/");
    /// let mut options = Options::new(vec![site.parse()?]);
    /// options.max_pages = Some(100);
    /// let ending = Crawler::builder(options)
    ///     .on_row(|row| println!("{} {:?}", row.url, row.outcome))
    ///     .run()?;
    /// assert_eq!(ending.done, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn builder(options: Options) -> Builder {
        Builder {
            options,
            sink: Box::new(drop),
            journal: None,
            is_fresh: false,
            warn: Box::new(|_| ()),
            watch: None,
            stopper: Stopper::new(),
        }
    }
}

/// A crawl that has not begun: [`Crawler::builder`].
#[must_use]
pub struct Builder {
    options: Options,
    sink: Sink,
    journal: Option<PathBuf>,
    is_fresh: bool,
    warn: Box<dyn FnMut(&str)>,
    watch: Option<(Duration, Watch)>,
    stopper: Stopper,
}

type Watch = Box<dyn FnMut(&Standing)>;

impl Builder {
    /// Hands each row to `sink` as its URL is finished.
    pub fn on_row(mut self, sink: impl FnMut(Row) + Send + 'static) -> Self {
        self.sink = Box::new(sink);
        self
    }

    /// Keeps a journal in this file. If there is one, the crawl goes on from
    /// where the journal ends, however the last run came to its own: the rows
    /// that it has are handed over first, and their URLs not asked again.
    ///
    /// Limits on pages and time, speed and patience may be different each
    /// time; what decides which URLs are found must be the same.
    pub fn journal(mut self, path: impl Into<PathBuf>) -> Self {
        self.journal = Some(path.into());
        self
    }

    /// Begins anew, whatever the journal has. A file that is none is not
    /// touched even so.
    pub fn fresh(mut self) -> Self {
        self.is_fresh = true;
        self
    }

    /// Tells `warn` of what is wrong and yet no error, before the crawl begins:
    /// that the journal ended in the middle of a record, say. A sentence
    /// without its full stop.
    pub fn on_warning(mut self, warn: impl FnMut(&str) + 'static) -> Self {
        self.warn = Box::new(warn);
        self
    }

    /// Shows `watch` how the crawl stands, each time so much time has passed.
    pub fn watch(mut self, interval: Duration, watch: impl FnMut(&Standing) + 'static) -> Self {
        self.watch = Some((interval, Box::new(watch)));
        self
    }

    /// What the crawl can be stopped with, now or while it runs.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Crawls on a loop of its own.
    ///
    /// # Errors
    /// Those of [`Builder::run_on`]; and when there is no event queue to be
    /// had.
    ///
    /// # Panics
    /// When what was given to [`Builder::on_row`] does.
    pub fn run(self) -> io::Result<Ending> {
        self.run_on(&EventLoop::new()?)
    }

    /// Crawls on a loop of yours, and closes it.
    ///
    /// # Errors
    /// Those of [`EventLoop::run_until_complete`]. And those of the journal:
    /// the file cannot be opened; somebody else has it; it is none, or of a
    /// later version, or damaged other than at its end; or it was begun with
    /// other options. Then the file is as it was, and nothing was asked.
    ///
    /// # Panics
    /// When what was given to [`Builder::on_row`] does.
    pub fn run_on(mut self, event_loop: &EventLoop) -> io::Result<Ending> {
        let watch = self.watch.take();
        let crawler = self.build(event_loop)?;
        let watching = watch.map(|watch| {
            Task::spawn(event_loop, watch_over(event_loop.clone(), Rc::clone(&crawler), watch))
        });
        let ending = event_loop.run_until_complete(crawler.crawl());
        if let Some(watching) = watching {
            watching.cancel();
        }
        event_loop.close();
        ending
    }

    fn build(mut self, event_loop: &EventLoop) -> io::Result<Rc<Crawler>> {
        let mut crawl = Crawl::new(self.options);
        // A journal that is of no use is refused before anything is told.
        let opened = self.journal.map(|path| Journal::open(path, self.is_fresh, crawl.options()));
        let opened = opened.transpose()?;
        let mut urls_todo = crawl.roots(&mut self.sink);
        let journal = match opened {
            Some((journal, past)) => {
                urls_todo = past.replay(&mut crawl, urls_todo, &mut self.sink, &mut self.warn)?;
                if urls_todo.is_empty() && !crawl.options().sitemap {
                    (self.warn)(&journal.nothing_left());
                }
                crawl.keep_leads();
                Some(journal)
            }
            None => None,
        };
        let ledger = Ledger::new(journal, self.sink, self.stopper.clone());
        Ok(Crawler::go_on(event_loop, crawl, urls_todo, ledger, self.stopper))
    }
}

async fn watch_over(
    event_loop: EventLoop,
    crawler: Rc<Crawler>,
    (interval, mut watch): (Duration, Watch),
) {
    loop {
        watch(&crawler.standing());
        sleep(&event_loop, interval).await;
    }
}
