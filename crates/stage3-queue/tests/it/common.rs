//! Helpers shared by the tests of this stage. Each test file uses a part of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crawl_core::{CrawlSummary, DeferReason, Deferral, ErrorClass, Options, Row};
use sim_net::{Request, Response, SimNet};
use stage2_coroutines::{Inspect, Stats, runtime_on};
use stage3_queue::Crawler;

/// The deferral of a URL that is throttled, and may come again at any time.
pub(crate) const THROTTLED: Deferral =
    Deferral { reason: DeferReason::Throttled, retry_after: None, tries: 1 };

/// Returns the options of most crawls: ten fetches at a time.
pub(crate) fn options(roots: &[&str]) -> Options {
    let mut options = Options::new(roots.iter().map(|root| root.parse().unwrap()).collect());
    options.max_tasks = Some(10);
    options.settings.max_tries = 1;
    options
}

/// Returns the class of the error in a row.
pub(crate) fn class(row: &Row) -> Option<ErrorClass> {
    row.error.as_ref().map(|error| error.class)
}

/// Returns the paths of `n` pages.
pub(crate) fn paths(n: usize) -> Vec<String> {
    (0..n).map(|n| format!("/{n}")).collect()
}

/// The result of a crawl.
pub(crate) struct Crawled {
    pub(crate) rows: Vec<Row>,
    pub(crate) summary: CrawlSummary,
    pub(crate) requests: Vec<Request>,
    /// Duration of the crawl by the simulated clock.
    pub(crate) elapsed: Duration,
    pub(crate) stats: Stats,
}

/// Crawls a simulated network and checks the invariants of every crawl.
pub(crate) fn crawl(
    options: Options,
    handler: impl FnMut(&Request) -> Response + 'static,
) -> Crawled {
    crawl_on(&SimNet::new(handler), options)
}

/// Crawls this simulated network and checks the invariants of every crawl.
pub(crate) fn crawl_on(net: &SimNet, options: Options) -> Crawled {
    let no_names = |host: &str, _| panic!("{host} is looked up");
    let runtime = runtime_on(net.clone(), Arc::new(no_names));
    let event_loop = runtime.event_loop().clone();
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let crawler =
        Crawler::new(&event_loop, options, Box::new(move |row| sink.lock().unwrap().push(row)));
    let summary = runtime.run_until_complete(crawler.crawl()).unwrap();
    let stats = event_loop.stats();
    drop(crawler);
    drop(runtime);
    assert_eq!(event_loop.pending_tasks(), 0);
    assert_eq!(event_loop.pending_timers(), 0);
    assert_eq!(event_loop.connections(), 0);
    let rows = std::mem::take(&mut *rows.lock().unwrap());
    assert_eq!(summary.done, rows.len() as u64, "{rows:#?}");
    assert_eq!(summary.admission.seen() as u64, summary.done + summary.todo, "{rows:#?}");
    let (requests, elapsed) = (net.take_requests(), net.elapsed());
    Crawled { rows, summary, requests, elapsed, stats }
}

impl Crawled {
    /// Returns the only row of a URL.
    #[track_caller]
    pub(crate) fn row(&self, url: &str) -> &Row {
        let mut of_url = self.rows.iter().filter(|row| &*row.url == url);
        let row = of_url.next().unwrap_or_else(|| panic!("no row for {url}: {:#?}", self.rows));
        assert!(of_url.next().is_none(), "two rows for {url}");
        row
    }

    /// Returns the path and time of each request to a host.
    pub(crate) fn requests_to(&self, host: &str) -> Vec<(&str, Duration)> {
        let of_host = self.requests.iter().filter(|request| request.host == host);
        of_host.map(|request| (request.path.as_str(), request.at)).collect()
    }

    /// Returns the number of requests for a path, to any host.
    pub(crate) fn num_requests(&self, path: &str) -> usize {
        self.requests.iter().filter(|request| request.path == path).count()
    }
}
