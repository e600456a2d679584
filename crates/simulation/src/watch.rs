//! The watch: what must hold at each tick of a crawl.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};

use crawl_core::Options;
use selector_core::{Backend, Event, Key, Notifier, Socket};
use sim_net::SimNet;
use stage3_queue::Crawler;

use crate::MAX_TICKS;
use crate::site::Site;

/// The memory that a crawl may have in use beside what is counted below, in bytes: the
/// buffers of a loop and of a journal, and the site itself.
const MEMORY: usize = 512 * 1024;
/// The memory of a fetch, in bytes.
const MEMORY_PER_TASK: usize = 32 * 1024;

/// The network of a crawl, with a look at the crawl before each wait. Between two steps
/// nothing is under way, so that everything can be counted.
pub(crate) struct Watched {
    net: SimNet,
    watch: Rc<RefCell<Watch>>,
}

impl Watched {
    pub(crate) fn new(net: SimNet, watch: Rc<RefCell<Watch>>) -> Self {
        Self { net, watch }
    }
}

impl Backend for Watched {
    fn now(&self) -> Instant {
        self.net.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        self.net.connect(address, key)
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.watch.borrow_mut().tick().map_err(io::Error::other)?;
        self.net.wait(timeout, events)
    }

    fn notifier(&self) -> Notifier {
        self.net.notifier()
    }
}

/// The checks of a crawl.
pub(crate) struct Watch {
    net: SimNet,
    crawler: Weak<Crawler>,
    max_tasks: usize,
    max_connections: usize,
    /// The pace of each host.
    paces: HashMap<String, Pace>,
    ticks: u64,
    /// The tick at which the process is killed.
    killed_at: u64,
    requests: u64,
    /// The URLs that earlier crawls of the journal have finished.
    done: BTreeSet<String>,
    in_use: Option<fn() -> usize>,
    /// The memory in use at the beginning.
    memory: usize,
    failure: Option<String>,
}

/// The pace of a host.
struct Pace {
    /// The least time between two requests that the options say.
    least: Duration,
    /// The least time between two requests.
    interval: Duration,
    /// The time by which the network may bring two requests nearer to each other: the
    /// first one may open a connection.
    slack: Duration,
    last: Option<Duration>,
}

impl Watch {
    pub(crate) fn new(
        net: &SimNet,
        site: &Site,
        options: &Options,
        done: &BTreeSet<String>,
        in_use: Option<fn() -> usize>,
    ) -> Self {
        let of_rate = options.settings.rate_limit.map(|rate| Duration::from_secs(1) / rate);
        let least = options.settings.delay.max(of_rate.unwrap_or_default());
        let pace = |host: &crate::site::Host| {
            let interval = least.max(Duration::from_secs(host.crawl_delay.unwrap_or(0)));
            let slack = 2 * host.link.latency + 3 * host.link.jitter;
            (host.name.clone(), Pace { least, interval, slack, last: None })
        };
        let max_tasks = options.max_tasks.unwrap_or(10);
        Self {
            net: net.clone(),
            crawler: Weak::new(),
            max_tasks,
            // Each worker has one, and keeps one; so has the reader of sitemaps.
            max_connections: 2 * max_tasks + usize::from(options.settings.sitemap),
            paces: site.hosts.iter().map(pace).collect(),
            ticks: 0,
            killed_at: u64::MAX,
            requests: 0,
            done: done.clone(),
            in_use,
            memory: in_use.map_or(0, |in_use| in_use()),
            failure: None,
        }
    }

    pub(crate) fn kill_at(&mut self, tick: u64) {
        self.killed_at = tick;
    }

    pub(crate) fn was_killed(&self) -> bool {
        self.ticks >= self.killed_at
    }

    pub(crate) fn begin(&mut self, crawler: &Rc<Crawler>) {
        self.crawler = Rc::downgrade(crawler);
    }

    /// Looks at the crawl.
    fn tick(&mut self) -> Result<(), String> {
        self.ticks += 1;
        if self.was_killed() {
            return Err("killed".into());
        }
        let result = self.check();
        self.failure = result.clone().err();
        result
    }

    /// Returns the number of requests.
    ///
    /// # Errors
    /// When something has not held.
    pub(crate) fn finish(&mut self) -> Result<u64, String> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.check_requests()?;
        Ok(self.requests)
    }

    fn check(&mut self) -> Result<(), String> {
        if self.ticks > MAX_TICKS {
            return Err(format!("no end after {MAX_TICKS} ticks"));
        }
        self.check_requests()?;
        if let Some(crawler) = self.crawler.upgrade() {
            // ANCHOR: counts
            let counts = crawler.frontier().job_counts();
            if counts.unfinished != counts.queued + counts.claimed + counts.deferred {
                return Err(format!("the jobs do not add up: {counts:?}"));
            }
            if counts.claimed > self.max_tasks {
                return Err(format!("more claims than workers: {counts:?}"));
            }
            // ANCHOR_END: counts
        }
        let connections = self.net.connections();
        if connections > self.max_connections {
            return Err(format!("{connections} connections of {} workers", self.max_tasks));
        }
        if let Some(in_use) = self.in_use {
            let used = in_use().saturating_sub(self.memory);
            let limit = MEMORY + self.max_tasks * MEMORY_PER_TASK;
            if used > limit {
                return Err(format!("{used} bytes are in use, of {limit}"));
            }
        }
        Ok(())
    }

    /// Looks at the requests since the last tick.
    fn check_requests(&mut self) -> Result<(), String> {
        for request in self.net.take_requests() {
            self.requests += 1;
            let url = format!("http://{}{}", request.host, request.path);
            if self.done.contains(&url) {
                return Err(format!("{url} has a row in the journal, and was asked once more"));
            }
            let Some(pace) = self.paces.get_mut(&request.host) else {
                return Err(format!("{} of {} was asked", request.path, request.host));
            };
            let gap = pace.last.map(|last| request.at.saturating_sub(last) + pace.slack);
            pace.last = Some(request.at);
            // A robots.txt that was busy has not said its delay.
            let is_robots = request.path == "/robots.txt";
            let interval = if is_robots { pace.least } else { pace.interval };
            if let Some(gap) = gap.filter(|gap| *gap < interval) {
                return Err(format!(
                    "{}{} was asked at {:?}, {gap:?} after the last request (with slack), and its \
                     pace is {interval:?}",
                    request.host, request.path, request.at
                ));
            }
        }
        Ok(())
    }
}
