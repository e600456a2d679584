//! The four stages, and the crawls that the tests run on them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use crawl_core::{CrawlSummary, Options, Row, Sink};
use stage2_coroutines::Inspect;
use stage3_queue::Crawler;
use transport::{LookupFn, system_lookup};

use super::{ExpectedRow, InterceptedBackend, Interceptor, WATCHDOG};

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
            self.run_with_watchdog(options, move |options, sink| Ok((crawl(options, sink)?, ())));
        crawled
    }

    /// Crawls with a name lookup of the test's own.
    pub fn crawl_with_lookup(self, lookup: Arc<LookupFn>, options: Options) -> Crawled {
        struct NoInterceptor;
        impl Interceptor for NoInterceptor {}
        if self != Self::Threads {
            return self.crawl_on_loop(NoInterceptor, lookup, options).0;
        }
        let crawl =
            move |options, sink| Ok((stage0_threads::crawl_with(lookup, options, sink)?, ()));
        self.run_with_watchdog(options, crawl).0
    }

    /// Crawls on a loop whose backend has an interceptor, and returns the
    /// loop's statistics as well.
    ///
    /// # Panics
    /// For [`Stage::Threads`], which has no loop.
    pub fn crawl_with_interceptor(
        self,
        interceptor: impl Interceptor + Send,
        options: Options,
    ) -> (Crawled, LoopStats) {
        self.crawl_on_loop(interceptor, Arc::new(system_lookup), options)
    }

    fn crawl_on_loop(
        self,
        interceptor: impl Interceptor + Send,
        lookup: Arc<LookupFn>,
        options: Options,
    ) -> (Crawled, LoopStats) {
        self.run_with_watchdog(options, move |options, sink| {
            let backend = InterceptedBackend::new(interceptor);
            if self == Self::Callbacks {
                let mut event_loop = stage1_callbacks::EventLoop::with_backend(backend);
                let summary = stage1_callbacks::crawl_on(&mut event_loop, lookup, options, sink)?;
                let stage1_callbacks::Stats { ticks, callbacks } = event_loop.stats();
                let calls = callbacks;
                return Ok((summary, LoopStats { ticks, calls }));
            }
            let runtime = stage2_coroutines::runtime_on(backend, lookup);
            let event_loop = runtime.event_loop().clone();
            let summary = match self {
                Self::Coroutines => stage2_coroutines::crawl_on(runtime, options, sink),
                Self::Queue => stage3_queue::crawl_on(runtime, options, sink),
                Self::Threads | Self::Callbacks => unreachable!("no loop of stage 2's"),
            };
            let stage2_coroutines::Stats { ticks, polls } = event_loop.stats();
            assert_eq!(event_loop.pending_tasks(), 0);
            assert_eq!(event_loop.pending_timers(), 0);
            assert_eq!(event_loop.connections(), 0);
            let calls = polls;
            Ok((summary?, LoopStats { ticks, calls }))
        })
    }

    /// Runs a crawl on a thread of its own, so that a crawl which hangs fails
    /// the test.
    fn run_with_watchdog<T: Send + 'static>(
        self,
        options: Options,
        crawl: impl FnOnce(Options, Sink) -> io::Result<(CrawlSummary, T)> + Send + 'static,
    ) -> (Crawled, T) {
        let root = options.settings.roots[0].clone();
        let (row_sender, rows) = channel();
        let sink: Sink = Box::new(move |row| row_sender.send(row).unwrap());
        let (sender, result) = channel();
        let thread = thread::spawn(move || sender.send(crawl(options, sink)).unwrap());
        let (summary, value) = match result.recv_timeout(WATCHDOG) {
            Ok(result) => result.unwrap(),
            Err(RecvTimeoutError::Timeout) => panic!("{self:?}: the crawl of {root} hangs"),
            Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().unwrap_err()),
        };
        let origin = root.origin().ascii_serialization();
        (Crawled::new(self, origin, summary, rows.iter()), value)
    }
}

/// The statistics of a stage's event loop after a crawl.
#[derive(Clone, Copy, Debug)]
pub struct LoopStats {
    pub ticks: u64,
    /// The number of callbacks called, or of coroutines polled.
    pub calls: u64,
}

/// The result of a crawl: its summary and its rows.
#[derive(Debug)]
pub struct Crawled {
    pub summary: CrawlSummary,
    pub stage: Stage,
    /// The origin of the first root, which a path is appended to.
    origin: String,
    rows: BTreeMap<String, Row>,
}

impl Crawled {
    /// Collects the rows, and checks the invariants that hold for every crawl
    /// of any stage.
    fn new(
        stage: Stage,
        origin: String,
        summary: CrawlSummary,
        all: impl Iterator<Item = Row>,
    ) -> Self {
        let mut rows = BTreeMap::new();
        for row in all {
            let previous = rows.insert(row.url.to_string(), row);
            assert!(previous.is_none(), "{stage:?}: a second row: {previous:?}");
        }
        assert_eq!(summary.done, rows.len() as u64, "{stage:?}: rows");
        let admitted = summary.admission.seen() as u64;
        let rows_or_todo = admitted + summary.missing_fragments;
        assert_eq!(rows_or_todo, summary.done + summary.todo, "{stage:?}: {rows:#?}");
        if let Some(max_tasks) = summary.max_tasks {
            assert!(summary.peak_in_flight <= max_tasks as u64, "{stage:?}");
        }
        Self { summary, stage, origin, rows }
    }

    /// Returns every row, by URL.
    pub fn rows(&self) -> &BTreeMap<String, Row> {
        &self.rows
    }

    /// Returns the row of a path or of an absolute URL.
    ///
    /// # Panics
    /// If there is none.
    pub fn row(&self, path: &str) -> &Row {
        let url = self.url(path);
        let row = self.rows.get(&url);
        row.unwrap_or_else(|| panic!("{:?}: no row for {url}: {self:#?}", self.stage))
    }

    /// Returns true if a path or URL was admitted through a link, whether or
    /// not it was requested.
    pub fn was_admitted(&self, path: &str) -> bool {
        let url = self.url(path);
        let (_, referrers) = self.summary.admission.referrers(&url);
        referrers > 0
    }

    /// Fails unless the crawl has these rows and no others. Each is named by
    /// its path or its absolute URL.
    #[track_caller]
    pub fn expect<P: AsRef<str>>(&self, expected: impl IntoIterator<Item = (P, ExpectedRow)>) {
        let url = |path: &str| self.url(path);
        let comparable = |url: &String, row: &Row| (url.clone(), self.comparable(row));
        let actual: BTreeMap<_, _> = self.rows.iter().map(|(u, r)| comparable(u, r)).collect();
        let expected = expected.into_iter();
        let expected: BTreeMap<_, _> = expected.map(|(p, row)| (url(p.as_ref()), row)).collect();
        let mut differences = String::new();
        for url in actual.keys().chain(expected.keys()).collect::<BTreeSet<_>>() {
            let (actual, expected) = (actual.get(url), expected.get(url));
            if actual != expected {
                let error = self.rows.get(url).and_then(|row| row.error.as_ref());
                differences += &format!("{url}\n  expected {expected:?}\n  found    {actual:?}\n");
                differences += &format!("  with the error {error:?}\n");
            }
        }
        assert!(differences.is_empty(), "{:?}:\n{differences}", self.stage);
    }

    /// Returns the fields of a row that are compared.
    pub fn comparable(&self, row: &Row) -> ExpectedRow {
        ExpectedRow::from_row(row, &self.origin)
    }

    fn url(&self, path: &str) -> String {
        if path.starts_with('/') && !path.starts_with("//") {
            return format!("{}{path}", self.origin);
        }
        path.to_owned()
    }
}
