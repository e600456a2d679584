//! The stages, and how a test has them crawl.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use crawl_core::{Ending, Options, Row, Sink};
use stage3_queue::Crawler;
use transport::{LookUp, system_look_up};

use super::{Meddled, Meddler, Told, WATCHDOG};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Threads,
    Callbacks,
    Coroutines,
    Queue,
}

impl Stage {
    pub const ALL: [Self; 4] = [Self::Threads, Self::Callbacks, Self::Coroutines, Self::Queue];
    pub const ON_A_LOOP: [Self; 3] = [Self::Callbacks, Self::Coroutines, Self::Queue];

    pub fn crawl(self, options: Options) -> Crawled {
        let crawl = match self {
            Self::Threads => stage0_threads::crawl,
            Self::Callbacks => stage1_callbacks::crawl,
            Self::Coroutines => stage2_coroutines::crawl,
            Self::Queue => stage3_queue::crawl,
        };
        let (crawled, ()) =
            self.watch(options, move |options, sink| Ok((crawl(options, sink)?, ())));
        crawled
    }

    /// The same with names of the test's own.
    pub fn crawl_with(self, look_up: Arc<LookUp>, options: Options) -> Crawled {
        struct Nobody;
        impl Meddler for Nobody {}
        if self != Self::Threads {
            return self.crawl_in_world(Nobody, look_up, options).0;
        }
        let crawl =
            move |options, sink| Ok((stage0_threads::crawl_with(look_up, options, sink)?, ()));
        self.watch(options, crawl).0
    }

    /// The same on a loop whose world somebody meddles with, and what the loop
    /// did for it.
    ///
    /// # Panics
    /// For [`Stage::Threads`], which has none.
    pub fn crawl_in(self, meddler: impl Meddler + Send, options: Options) -> (Crawled, Work) {
        self.crawl_in_world(meddler, Arc::new(system_look_up), options)
    }

    fn crawl_in_world(
        self,
        meddler: impl Meddler + Send,
        look_up: Arc<LookUp>,
        options: Options,
    ) -> (Crawled, Work) {
        self.watch(options, move |options, sink| {
            let world = Meddled::by(meddler);
            if self == Self::Callbacks {
                let mut event_loop = stage1_callbacks::EventLoop::in_world(world, look_up);
                let ending = stage1_callbacks::crawl_on(&mut event_loop, options, sink)?;
                let stage1_callbacks::Stats { ticks, callbacks } = event_loop.stats();
                let turns = callbacks;
                return Ok((ending, Work { ticks, turns }));
            }
            let event_loop = stage2_coroutines::EventLoop::in_world(world, look_up);
            let ending = match self {
                Self::Coroutines => stage2_coroutines::crawl_on(&event_loop, options, sink),
                Self::Queue => {
                    let crawler = Crawler::new(&event_loop, options, sink);
                    event_loop.run_until_complete(crawler.crawl())
                }
                Self::Threads | Self::Callbacks => unreachable!("no loop of stage 2's"),
            };
            let stage2_coroutines::Stats { ticks, polls } = event_loop.stats();
            event_loop.close();
            assert_eq!(event_loop.pending_tasks(), 0);
            assert_eq!(event_loop.pending_timers(), 0);
            assert_eq!(event_loop.connections(), 0);
            let turns = polls;
            Ok((ending?, Work { ticks, turns }))
        })
    }

    /// Crawls on a thread of its own, so that a crawl which hangs is an error.
    fn watch<T: Send + 'static>(
        self,
        options: Options,
        crawl: impl FnOnce(Options, Sink) -> io::Result<(Ending, T)> + Send + 'static,
    ) -> (Crawled, T) {
        let root = options.roots[0].clone();
        let (row_sender, rows) = channel();
        let sink: Sink = Box::new(move |row| row_sender.send(row).unwrap());
        let (sender, ending) = channel();
        let crawling = thread::spawn(move || sender.send(crawl(options, sink)).unwrap());
        let (ending, rest) = match ending.recv_timeout(WATCHDOG) {
            Ok(ending) => ending.unwrap(),
            Err(RecvTimeoutError::Timeout) => panic!("{self:?}: the crawl of {root} hangs"),
            Err(RecvTimeoutError::Disconnected) => resume_unwind(crawling.join().unwrap_err()),
        };
        let origin = root.origin().ascii_serialization();
        (Crawled::new(self, origin, ending, rows.iter()), rest)
    }
}

/// What the loop of a stage has done for a crawl.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    pub ticks: u64,
    /// Callbacks called, or coroutines resumed.
    pub turns: u64,
}

/// What came of a crawl.
#[derive(Debug)]
pub struct Crawled {
    pub ending: Ending,
    pub stage: Stage,
    /// Of the first root: what a path is joined to.
    origin: String,
    rows: BTreeMap<String, Row>,
}

impl Crawled {
    /// Checks what holds for every crawl of any stage.
    fn new(stage: Stage, origin: String, ending: Ending, all: impl Iterator<Item = Row>) -> Self {
        let mut rows = BTreeMap::new();
        for row in all {
            let before = rows.insert(row.url.to_string(), row);
            assert!(before.is_none(), "{stage:?}: a second row: {before:?}");
        }
        assert_eq!(ending.done, rows.len() as u64, "{stage:?}: rows");
        let let_in = ending.admission.seen() as u64;
        let rows_or_todo = let_in + ending.missing_fragments;
        assert_eq!(rows_or_todo, ending.done + ending.todo, "{stage:?}: {rows:#?}");
        if let Some(max_tasks) = ending.max_tasks {
            assert!(ending.peak_in_flight <= max_tasks as u64, "{stage:?}");
        }
        Self { ending, stage, origin, rows }
    }

    /// Every row, by URL.
    pub fn rows(&self) -> &BTreeMap<String, Row> {
        &self.rows
    }

    /// The row of a path, or of a whole URL.
    pub fn row(&self, path: &str) -> &Row {
        let url = self.url(path);
        let row = self.rows.get(&url);
        row.unwrap_or_else(|| panic!("{:?}: no row for {url}: {self:#?}", self.stage))
    }

    /// Whether somebody leads to a path or URL that was let in, be it asked for
    /// or not.
    pub fn was_let_in(&self, path: &str) -> bool {
        let url = self.url(path);
        let (_, referrers) = self.ending.admission.referrers(&url);
        referrers > 0
    }

    /// Fails unless there are these rows and no others. Each is named by its
    /// path or its whole URL.
    #[track_caller]
    pub fn expect<P: AsRef<str>>(&self, expected: impl IntoIterator<Item = (P, Told)>) {
        let url = |path: &str| self.url(path);
        let told = |url: &String, row: &Row| (url.clone(), self.told(row));
        let found: BTreeMap<_, _> = self.rows.iter().map(|(u, r)| told(u, r)).collect();
        let expected = expected.into_iter();
        let expected: BTreeMap<_, _> = expected.map(|(p, t)| (url(p.as_ref()), t)).collect();
        let mut differences = String::new();
        for url in found.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
            let (found, expected) = (found.get(url), expected.get(url));
            if found != expected {
                let error = self.rows.get(url).and_then(|row| row.error.as_ref());
                differences += &format!("{url}\n  expected {expected:?}\n  found    {found:?}\n");
                differences += &format!("  with the error {error:?}\n");
            }
        }
        assert!(differences.is_empty(), "{:?}:\n{differences}", self.stage);
    }

    /// What a row tells.
    pub fn told(&self, row: &Row) -> Told {
        Told::by(row, &self.origin)
    }

    fn url(&self, path: &str) -> String {
        if path.starts_with('/') {
            return format!("{}{path}", self.origin);
        }
        path.to_owned()
    }
}
