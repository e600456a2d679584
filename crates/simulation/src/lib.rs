//! The whole crawler under simulation: random sites with random faults, stops and
//! resumptions, each from one seed, checked at each tick of the loop.
//!
//! The rules of this crate:
//!
//! 1. **A seed is a run.** The site, the faults, the options, the moments of the stops and
//!    the order of the tasks follow from it, so a failure can be repeated.
//! 2. **The witness is the site.** The rows that are expected follow from the site itself,
//!    by a search that shares nothing with the crawler.
//! 3. **What always holds is checked at each tick**, not at the end: see `Watch`.
//! 4. **Every crawl ends.** A run with more ticks than [`MAX_TICKS`] has failed.

mod orders;
mod random;
pub mod scale;
mod site;
mod watch;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use crawl_core::{CrawlSummary, Options, Outcome, Row, Settings, StopReason};
use sim_net::{Link, Request, Response, SimNet};
use stage2_coroutines::{EventLoop, Inspect, explore, runtime_on};
use stage3_queue::Crawler;

pub use crate::orders::{SEEDS, run_orders, run_with_early_task_done};
use crate::random::Random;
use crate::site::{Expected, Health, Site};
use crate::watch::{Watch, Watched};

/// The most ticks of a run. The longest one of a million has a tenth of it.
pub const MAX_TICKS: u64 = 1_000_000;

/// The most pages of a site, besides the roots of its hosts.
const MAX_PAGES: u64 = 150;

/// The time that fetches have after the first request to stop.
const DRAIN: Duration = Duration::from_secs(2);

/// The counts of a run that went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of sites.
    pub sites: u64,
    /// The number of crawls, those among them that were stopped or killed.
    pub crawls: u64,
    /// The number of rows at the ends.
    pub rows: u64,
    /// The number of requests.
    pub requests: u64,
    /// The number of steps of tasks.
    pub steps: u64,
    /// The simulated time.
    pub elapsed: Duration,
}

impl Totals {
    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        self.sites += other.sites;
        self.crawls += other.crawls;
        self.rows += other.rows;
        self.requests += other.requests;
        self.steps += other.steps;
        self.elapsed += other.elapsed;
    }
}

/// The early end of a crawl. The next one resumes from its journal.
#[derive(Clone, Copy, Debug)]
enum End {
    /// A request to stop at this time, and another one so much later.
    Stop(Duration, Option<Duration>),
    /// The limit on time.
    MaxTime(Duration),
    /// The limit on pages.
    MaxPages(u64),
    /// The process is killed at this tick, and so many bytes of its last write are lost.
    Kill(u64, u64),
}

/// The plan of a run, as it follows from a seed.
struct Plan {
    site: Rc<Site>,
    options: Options,
    /// The early ends of its crawls, before one that is left to end by itself.
    ends: Vec<End>,
    /// The seed of the order of tasks; none for the usual order.
    order: Option<u64>,
}

impl Plan {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let has_images = random.percent(40);
        // Most sites are small: there the ends are near each other.
        let max_pages = random.pick(&[5, 15, 60, MAX_PAGES]);
        let site = Site::new(&mut random, max_pages, has_images);
        let roots = site.roots();
        let mut options = Options::new(roots.iter().flat_map(|root| root.parse()).collect());
        options.seed = seed;
        options.settings.check.images = has_images;
        options.max_tasks = Some(random.pick(&[1, 2, 3, 10, 40]));
        options.settings.max_depth =
            if random.percent(40) { Some(random.below(6) as u32) } else { None };
        options.settings.max_redirect = 5 + random.below(6) as u32;
        options.settings.sitemap = random.percent(30);
        if random.percent(20) {
            options.settings.delay = Duration::from_millis(random.pick(&[10, 500, 2_000]));
        }
        if random.percent(10) {
            options.settings.rate_limit = Some(random.pick(&[1, 4, 50]));
        }
        let num_ends = random.pick(&[0, 0, 1, 1, 2, 4]);
        let ends = (0..num_ends).map(|_| End::new(&mut random)).collect();
        let order = Some(random.below(u64::MAX)).filter(|_| random.percent(75));
        Self { site: Rc::new(site), options, ends, order }
    }
}

impl End {
    fn new(random: &mut Random) -> Self {
        let longest = random.pick(&[100, 2_000, 60_000]);
        let mut time = || Duration::from_millis(random.below(longest));
        let (at, second) = (time(), time());
        match random.below(10) {
            0..2 => Self::Stop(at, None),
            2..4 => Self::Stop(at, Some(second)),
            4..5 => Self::MaxTime(at),
            5..6 => Self::MaxPages(random.below(30)),
            _ => Self::Kill(1 + random.below(300), random.pick(&[0, 0, 1, 10, 100])),
        }
    }
}

/// Runs the site of a seed, with `in_use` to ask for the bytes of memory in use, if no
/// other thread uses any.
///
/// # Errors
/// When something does not hold: the sentence that says what.
pub fn run(seed: u64, in_use: Option<fn() -> usize>) -> Result<Totals, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let journal = folder.path().join("journal");
    let mut run = Run {
        plan: Plan::new(seed),
        begun: Instant::now(),
        asked: Rc::default(),
        done: BTreeSet::new(),
        in_use,
        totals: Totals { sites: 1, ..Totals::default() },
    };
    for end in run.plan.ends.clone() {
        run.crawl(Some((&journal, end)))?;
    }
    let last = Some(&*journal).filter(|_| !run.plan.ends.is_empty());
    let (rows, summary) = run.crawl(last.map(|journal| (journal, End::Kill(u64::MAX, 0))))?;
    let summary = summary.ok_or("the last crawl was killed")?;
    run.totals.rows += rows.len() as u64;
    let is_busy = run.plan.site.hosts.iter().any(|host| host.health == Health::Busy);
    if let Some(reason) = &summary.stopped {
        return Err(format!("stopped: {reason:?}"));
    }
    if summary.todo > 0 && !is_busy {
        return Err(format!("{} URLs are left to do", summary.todo));
    }
    run.compare_requests()?;
    compare(&run.plan.site.expected(&run.plan.options), rows, summary.todo)?;
    Ok(run.totals)
}

/// The number of requests for each path of a host.
type Asked = HashMap<(String, String), u32>;

/// The rows of a crawl, and its summary unless it was killed.
type Crawled = (BTreeMap<String, Row>, Option<CrawlSummary>);

/// The crawls of one site, one after another.
struct Run {
    plan: Plan,
    begun: Instant,
    /// The memory of the servers, which go on while the crawler is away.
    asked: Rc<RefCell<Asked>>,
    /// The URLs that are finished, as the journal says.
    done: BTreeSet<String>,
    in_use: Option<fn() -> usize>,
    totals: Totals,
}

impl Run {
    /// Looks whether a page without a fault was asked once, or once more for each crawl
    /// that had an early end.
    fn compare_requests(&self) -> Result<(), String> {
        let most = 1 + self.plan.ends.len() as u32;
        for ((host, path), times) in &*self.asked.borrow() {
            if *times > most && self.plan.site.is_plain(host, path) {
                return Err(format!("{host}{path} was asked {times} times"));
            }
        }
        Ok(())
    }

    /// Runs one crawl.
    fn crawl(&mut self, journal: Option<(&Path, End)>) -> Result<Crawled, String> {
        let Self { plan, begun, asked, done, in_use, totals } = self;
        let (site, asked) = (Rc::clone(&plan.site), Rc::clone(asked));
        // The time goes on, so that all crawls of a run are on one trace.
        let net =
            SimNet::starting_at(*begun + totals.elapsed, move |request: &Request| -> Response {
                let key = (request.host.clone(), request.path.clone());
                let mut asked = asked.borrow_mut();
                let times = asked.entry(key).or_default();
                *times += 1;
                site.answer(request, *times - 1)
            });
        net.seed(plan.options.seed);
        plan.site.connect(&net);
        let mut options = plan.options.clone();
        let end = journal.map(|(_, end)| end);
        match end {
            Some(End::MaxTime(limit)) => options.max_time = Some(limit),
            Some(End::MaxPages(limit)) => options.max_pages = Some(limit),
            _ => {}
        }
        let watch = Rc::new(RefCell::new(Watch::new(&net, &plan.site, &options, done, *in_use)));
        if let Some(End::Kill(tick, _)) = end {
            watch.borrow_mut().kill_at(tick);
        }
        let backend = Watched::new(net.clone(), Rc::clone(&watch));
        let runtime = runtime_on(backend, net.lookup());
        let event_loop = runtime.event_loop().clone();
        flap(&event_loop, &net, &plan.site);
        let mut crawler = Crawler::builder(options);
        if let Some((path, _)) = journal {
            crawler = crawler.journal(path);
        }
        let before = journal.and_then(|(path, _)| fs::metadata(path).ok());
        let before = before.map_or(0, |metadata| metadata.len());
        let shutdown = crawler.shutdown_handle();
        let stopped_at = Rc::new(Cell::new(None));
        if let Some(End::Stop(first, second)) = end {
            let times = [Some(first), second.map(|second| first + second)];
            for at in times.into_iter().flatten() {
                let (shutdown, net) = (shutdown.clone(), net.clone());
                let stopped_at = Rc::clone(&stopped_at);
                event_loop.call_later(at, move || {
                    shutdown.stop(StopReason::Signal(15));
                    stopped_at.set(Some(stopped_at.get().unwrap_or(net.elapsed())));
                });
            }
        }
        let (mut rows, mut twice) = (BTreeMap::new(), None);
        let exploration = plan.order.map(explore);
        let result = crawler
            .on_begin(|crawler| watch.borrow_mut().begin(crawler))
            .on_row(|row| {
                if let Some(row) = rows.insert(row.url.to_string(), row) {
                    twice = Some(row.url);
                }
            })
            .run_on(runtime);
        drop(exploration);
        totals.crawls += 1;
        totals.steps += event_loop.stats().polls;
        totals.elapsed += net.elapsed();
        if let Some(url) = twice {
            return Err(format!("{url} has two rows"));
        }
        totals.requests += watch.borrow_mut().finish()?;
        let summary = match result {
            Ok(summary) => summary,
            Err(_) if watch.borrow().was_killed() => {
                if let Some((path, End::Kill(_, lost))) = journal {
                    tear(path, before, lost).map_err(|error| error.to_string())?;
                    if lost == 0 {
                        done.extend(rows.keys().cloned());
                    }
                }
                return Ok((rows, None));
            }
            Err(error) => return Err(format!("the loop has ended: {error}")),
        };
        if let Some(at) = stopped_at.get()
            && net.elapsed() > at + DRAIN
        {
            return Err(format!("stopped at {at:?}, ended at {:?}", net.elapsed()));
        }
        for (what, left) in [
            ("tasks", event_loop.pending_tasks()),
            ("timers", event_loop.pending_timers()),
            ("registered sockets", event_loop.connections()),
            ("connections", net.connections()),
        ] {
            if left > 0 {
                return Err(format!("{left} {what} are left at the end"));
            }
        }
        if summary.done != rows.len() as u64 {
            return Err(format!("{} rows, and the summary has {}", rows.len(), summary.done));
        }
        let seen = summary.admission.seen() as u64;
        if seen != summary.done + summary.todo {
            let CrawlSummary { done, todo, .. } = summary;
            return Err(format!("{seen} URLs were admitted, {done} are done, and {todo} to do"));
        }
        done.extend(rows.keys().cloned());
        Ok((rows, Some(summary)))
    }
}

/// Has the hosts that flap go down and up again.
fn flap(event_loop: &EventLoop, net: &SimNet, site: &Site) {
    for host in &site.hosts {
        let Health::Flaps(down, up, fault) = host.health else { continue };
        for (at, fault) in [(down, Some(fault)), (up, None)] {
            let (net, address) = (net.clone(), host.address);
            let link = Link { fault, ..host.link };
            event_loop.call_later(at, move || net.link(address, link));
        }
    }
}

/// Cuts the last bytes of a journal off, as if the process had been killed while it wrote.
/// Only its last record can be cut, and nothing that was there `before`.
fn tear(path: &Path, before: u64, lost: u64) -> std::io::Result<()> {
    let Ok(bytes) = fs::read(path) else { return Ok(()) };
    let last = bytes.iter().rev().skip(1).position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let length = bytes.len() as u64;
    let length = length - lost.min(last as u64).min(length.saturating_sub(before));
    OpenOptions::new().write(true).open(path)?.set_len(length)
}

/// Compares the rows with those that are expected.
fn compare(
    expected: &BTreeMap<String, Expected>,
    mut rows: BTreeMap<String, Row>,
    todo: u64,
) -> Result<(), String> {
    for (url, expected) in expected {
        let Some(row) = rows.remove(url) else {
            if expected.is_sure {
                return Err(format!("{url} has no row; expected is {expected:?}"));
            }
            continue;
        };
        let class = row.error.as_ref().map(|error| error.class);
        let is_equal = (row.outcome, row.status, class)
            == (expected.outcome, expected.status, expected.class)
            && expected.depth.is_none_or(|depth| depth == row.depth);
        let has_failed = expected.may_fail && row.outcome != Outcome::Page;
        if !is_equal && !has_failed {
            return Err(format!("{url}: expected is {expected:?}, and its row is {row:?}"));
        }
    }
    // What a busy host has left to do may be there in another run.
    match rows.keys().next() {
        Some(url) => Err(format!("{url} has a row, which the site does not lead to ({todo} todo)")),
        None => Ok(()),
    }
}

/// Describes the plan of a seed: its hosts and pages, the options that it sets, and the
/// early ends of its crawls.
pub fn describe(seed: u64) -> String {
    let Plan { site, options, ends, order } = Plan::new(seed);
    let Options { settings, max_tasks, .. } = options;
    let Settings { max_depth, max_redirect, sitemap, delay, rate_limit, check, .. } = settings;
    format!(
        "{site}max_tasks {max_tasks:?}, max_depth {max_depth:?}, max_redirect {max_redirect}, \
         sitemap {sitemap}, images {}, delay {delay:?}, rate limit {rate_limit:?}\n\
         ends: {ends:?}, order: {order:?}\n",
        check.images
    )
}

/// Writes the trace of a run, as far as it comes. The name of the file says in which form.
///
/// # Errors
/// When the file cannot be written.
pub fn write_trace(path: &Path, run: impl FnOnce()) -> std::io::Result<()> {
    let file = cli::TraceFile::create(path)?;
    let entered = file.begin();
    run();
    drop(entered);
    file.write()
}
