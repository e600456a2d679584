//! A model of a crawl with many workers and a frontier on Redis, in virtual time.
//!
//! The workers are tasks of the runtime of stage 2, and wait as those of
//! `crates/frontier-redis` do: a claimer for each worker asks one partition after another,
//! and a page is claimed, fetched and completed. The servers of Redis do one script after
//! another, and each takes the time that was measured on a real one ([`Costs::MEASURED`]). So
//! the model says what a crawl waits for, and how many calls it makes. It says nothing of
//! what goes wrong: leases do not break, hosts are never busy, and each robots.txt is known.
//!
//! A test of `crates/frontier-redis` compares it with a real crawl of fifty hosts.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use sim_net::{SimNet, silence};
use stage2_coroutines::{EventLoop, Future, runtime_on, select, sleep};

use crate::random::Random;

/// Limit on the jobs of one claim, as in `frontier-redis`.
const MAX_CLAIMS: usize = 64;
/// Shortest and longest pause of a worker without jobs, as in `frontier-redis`.
const IDLE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
/// Pause between two renewals of the leases of a worker.
const RENEWAL: Duration = Duration::from_secs(1);
/// Number of plain commands with which a worker reads the counters of a partition.
const COUNTERS: u32 = 3;
/// Number of links of a page to its own host.
const LINKS: u32 = 10;

/// The processor time that calls take a server, measured by
/// `cargo run --release -p frontier-redis --example costs`.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Of each call beside its script: it is read, and its reply written.
    pub call: Duration,
    /// Of a claim, even if there is no job.
    pub claim: Duration,
    /// Of each job of a claim.
    pub job: Duration,
    /// Of the completion of a page of ten links.
    pub complete: Duration,
    /// Of putting a link in that leads to another partition.
    pub put: Duration,
    /// Of the renewal of a worker's leases.
    pub renew: Duration,
}

impl Costs {
    /// The costs of one run, rounded; see the table in the book's page on many machines.
    pub const MEASURED: Self = Self {
        call: Duration::from_micros(8),
        claim: Duration::from_micros(30),
        job: Duration::from_micros(13),
        complete: Duration::from_micros(26),
        put: Duration::from_micros(13),
        renew: Duration::from_micros(28),
    };
}

/// The size of a crawl.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The number of hosts. The root of each is known at the beginning.
    pub hosts: u32,
    /// The number of pages of the largest host. The nth largest has an nth of it (the law
    /// of Zipf), and each at least one.
    pub largest: u32,
    /// The limit on the pages of a host.
    pub max_pages_per_host: u32,
    /// The number of workers: processes with a connection to each server.
    pub workers: u32,
    /// The number of tasks of each worker.
    pub tasks: u32,
    /// The number of servers of Redis.
    pub servers: usize,
    /// The number of partitions, which are spread over the servers.
    pub partitions: usize,
    /// The time between two requests to a host.
    pub pause: Duration,
    /// The time that a call and its reply are on their way.
    pub round_trip: Duration,
    /// The shortest and the longest time in which a page is fetched.
    pub fetch: (Duration, Duration),
    /// The pages of a hundred that have a link to another host.
    pub foreign: u64,
    /// The costs of calls.
    pub costs: Costs,
}

impl Scale {
    /// A crawl of a hundred workers and a hundred thousand hosts with one server.
    pub const LARGE: Self = Self {
        hosts: 100_000,
        largest: 250_000,
        max_pages_per_host: u32::MAX,
        workers: 100,
        tasks: 100,
        servers: 1,
        partitions: 1,
        pause: Duration::from_secs(1),
        round_trip: Duration::from_millis(1),
        fetch: (Duration::from_millis(100), Duration::from_millis(300)),
        foreign: 100,
        costs: Costs::MEASURED,
    };

    /// Returns the numbers of pages of the hosts, the largest host first.
    pub fn sizes(&self) -> impl Iterator<Item = u32> {
        let Self { hosts, largest, max_pages_per_host, .. } = *self;
        (1..=hosts).map(move |n| (largest / n).clamp(1, max_pages_per_host))
    }

    /// Returns the number of pages of all hosts.
    pub fn pages(&self) -> u64 {
        self.sizes().map(u64::from).sum()
    }

    /// Runs the crawl until the last of these moments, or until it ends, and looks at it at
    /// each of them and at its end. The moments after the end are left out.
    ///
    /// # Errors
    /// When the loop fails.
    pub fn run(&self, moments: impl IntoIterator<Item = Duration>) -> io::Result<Vec<State>> {
        let net = SimNet::new(|_| silence());
        let runtime = runtime_on(net.clone(), net.lookup());
        let event_loop = runtime.event_loop().clone();
        let model = Rc::new(Model::new(*self, event_loop.clone()));
        for _ in 0..self.workers {
            Worker::spawn(&model);
        }
        let mut states = Vec::new();
        runtime.run_until_complete(async {
            for moment in moments {
                let pause = moment.saturating_sub(model.now());
                select((sleep(&event_loop, pause), model.ended.clone())).await;
                states.push(model.state());
                if model.plan.borrow().left == 0 {
                    break;
                }
            }
        })?;
        drop(runtime);
        Ok(states)
    }
}

/// The state of a crawl at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The time since the beginning.
    pub at: Duration,
    /// The number of pages that are done.
    pub done: u64,
    /// The calls so far.
    pub calls: Calls,
    /// The time for which the busiest server was busy.
    pub busy: Duration,
}

/// Numbers of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The claims, those among them that got nothing.
    pub claims: (u64, u64),
    /// The completions.
    pub completions: u64,
    /// The links that were put into another partition.
    pub puts: u64,
    /// The renewals.
    pub renewals: u64,
    /// The plain commands, which read counters.
    pub commands: u64,
}

impl Calls {
    /// Returns the number of scripts that were called.
    pub fn scripts(&self) -> u64 {
        self.claims.0 + self.completions + self.puts + self.renewals
    }
}

/// A host.
struct Host {
    partition: usize,
    /// The number of pages that no link was found to yet.
    unknown: u32,
    queued: u32,
    /// The moment of its next request.
    next: Duration,
}

/// A server of Redis: the moment at which it is idle again, and the time for which it was busy.
#[derive(Clone, Copy, Default)]
struct Server {
    idle: Duration,
    busy: Duration,
}

/// The crawl in Redis.
struct Plan {
    hosts: Vec<Host>,
    /// The hosts that may be asked, by partition and moment.
    ready: Vec<BTreeSet<(Duration, usize)>>,
    servers: Vec<Server>,
    left: u64,
    state: State,
}

struct Model {
    scale: Scale,
    event_loop: EventLoop,
    begun: Instant,
    plan: RefCell<Plan>,
    random: RefCell<Random>,
    ended: Future<()>,
}

impl Model {
    fn new(scale: Scale, event_loop: EventLoop) -> Self {
        let mut random = Random::new(1);
        let mut sizes: Vec<u32> = scale.sizes().collect();
        // The order of hosts says nothing of their sizes.
        for n in (1..sizes.len()).rev() {
            sizes.swap(n, random.index(n + 1));
        }
        let mut ready = vec![BTreeSet::new(); scale.partitions];
        let host = |(n, size): (usize, &u32)| {
            let partition = random.index(scale.partitions);
            ready[partition].insert((Duration::ZERO, n));
            Host { partition, unknown: size - 1, queued: 1, next: Duration::ZERO }
        };
        let hosts = sizes.iter().enumerate().map(host).collect();
        let servers = vec![Server::default(); scale.servers];
        let plan = Plan { hosts, ready, servers, left: scale.pages(), state: State::default() };
        Self {
            scale,
            begun: event_loop.now(),
            plan: RefCell::new(plan),
            random: RefCell::new(random),
            ended: Future::new(&event_loop),
            event_loop,
        }
    }

    fn now(&self) -> Duration {
        self.event_loop.now() - self.begun
    }

    fn state(&self) -> State {
        let plan = self.plan.borrow();
        let busy = plan.servers.iter().map(|server| server.busy).max().unwrap_or_default();
        State { at: self.now(), busy, ..plan.state }
    }

    /// Makes a call: it travels, waits for its turn, runs, and its reply travels back. The
    /// script gets the moment at which it runs, and returns what it costs. What it changes
    /// is seen by later calls only, so it is changed at once, while it still waits.
    async fn call<T>(
        &self,
        partition: usize,
        script: impl FnOnce(&mut Plan, Duration) -> (Duration, T),
    ) -> T {
        let way = self.scale.round_trip / 2;
        sleep(&self.event_loop, way).await;
        let (end, reply) = {
            let plan = &mut *self.plan.borrow_mut();
            let server = partition % self.scale.servers;
            // All calls are as long on their way, so they run in the order of their arrival.
            let begin = plan.servers[server].idle.max(self.now());
            let (cost, reply) = script(plan, begin);
            let cost = cost + self.scale.costs.call;
            let server = &mut plan.servers[server];
            server.busy += cost;
            server.idle = begin + cost;
            (server.idle, reply)
        };
        sleep(&self.event_loop, end + way - self.now()).await;
        reply
    }

    /// Claims jobs of a partition. Returns their hosts, and the time until the next host
    /// may be asked.
    async fn claim(&self, partition: usize, wanted: usize) -> (Vec<usize>, Option<Duration>) {
        let Scale { pause, costs, .. } = self.scale;
        let claim = |plan: &mut Plan, now| {
            let mut claimed = Vec::new();
            let ready = &mut plan.ready[partition];
            while claimed.len() < wanted.min(MAX_CLAIMS)
                && let Some(&(next, at)) = ready.first()
                && next <= now
            {
                ready.pop_first();
                claimed.push(at);
                let host = &mut plan.hosts[at];
                host.queued -= 1;
                host.next = now + pause;
                if host.queued > 0 {
                    ready.insert((host.next, at));
                }
            }
            let calls = &mut plan.state.calls;
            calls.claims.0 += 1;
            calls.claims.1 += u64::from(claimed.is_empty());
            let wait = ready.first().map(|(next, _)| next.saturating_sub(now));
            (costs.claim + costs.job * claimed.len() as u32, (claimed, wait))
        };
        self.call(partition, claim).await
    }

    /// Completes a page of a host: puts its new links in, those of another host first.
    async fn complete(&self, at: usize) {
        let costs = self.scale.costs;
        let partition = self.plan.borrow().hosts[at].partition;
        let other = {
            let random = &mut *self.random.borrow_mut();
            random.percent(self.scale.foreign).then(|| random.index(self.scale.partitions))
        };
        if let Some(other) = other.filter(|other| *other != partition) {
            // The root of each host is known.
            let put = |plan: &mut Plan, _| {
                plan.state.calls.puts += 1;
                (costs.put, ())
            };
            self.call(other, put).await;
        }
        let complete = |plan: &mut Plan, _| {
            let host = &mut plan.hosts[at];
            let new = host.unknown.min(LINKS);
            host.unknown -= new;
            if host.queued == 0 && new > 0 {
                plan.ready[partition].insert((host.next, at));
            }
            host.queued += new;
            plan.left -= 1;
            plan.state.done += 1;
            plan.state.calls.completions += 1;
            (costs.complete, ())
        };
        self.call(partition, complete).await;
        if self.plan.borrow().left == 0 {
            // It is told so once for each page that is completed at the same moment.
            let _ = self.ended.set_result(());
        }
    }

    /// Reads the counters of all partitions.
    async fn read_counters(&self) {
        for partition in (0..COUNTERS).flat_map(|_| 0..self.scale.partitions) {
            let read = |plan: &mut Plan, _| {
                plan.state.calls.commands += 1;
                (Duration::ZERO, ())
            };
            self.call(partition, read).await;
        }
    }

    /// Returns the time in which a page is fetched.
    fn fetch(&self) -> Duration {
        let (shortest, longest) = self.scale.fetch;
        let spread = (longest - shortest).as_micros() as u64;
        shortest + Duration::from_micros(self.random.borrow_mut().below(spread + 1))
    }
}

/// A worker: a process with a number of tasks.
struct Worker {
    model: Rc<Model>,
    waiting: RefCell<VecDeque<Future<usize>>>,
    leases: Cell<u32>,
    /// Set when jobs may be claimed, and the claimer that waits for it.
    has_changed: Cell<bool>,
    claimer: RefCell<Option<Future<()>>>,
}

impl Worker {
    fn spawn(model: &Rc<Model>) {
        let worker = Rc::new(Self {
            model: Rc::clone(model),
            waiting: RefCell::default(),
            leases: Cell::default(),
            has_changed: Cell::default(),
            claimer: RefCell::default(),
        });
        let event_loop = &model.event_loop;
        for _ in 0..model.scale.tasks {
            event_loop.spawn_detached(Rc::clone(&worker).work());
        }
        event_loop.spawn_detached(Rc::clone(&worker).claim_jobs());
        event_loop.spawn_detached(Rc::clone(&worker).renew_leases());
        event_loop.spawn_detached(worker.join());
    }

    fn set_changed(&self) {
        self.has_changed.set(true);
        if let Some(claimer) = self.claimer.take() {
            // Refused if it has stopped waiting.
            let _ = claimer.set_result(());
        }
    }

    async fn changed(&self) {
        if !self.has_changed.get() {
            let claimer = Future::new(&self.model.event_loop);
            self.claimer.replace(Some(claimer.clone()));
            // Only this coroutine could cancel it.
            let _ = claimer.await;
        }
        self.has_changed.set(false);
    }

    /// Works on one page after another.
    async fn work(self: Rc<Self>) {
        let event_loop = &self.model.event_loop;
        loop {
            let waiter = Future::new(event_loop);
            self.waiting.borrow_mut().push_back(waiter.clone());
            self.set_changed();
            let Ok(host) = waiter.await else { return };
            sleep(event_loop, self.model.fetch()).await;
            self.model.complete(host).await;
            self.leases.update(|leases| leases - 1);
            self.set_changed();
        }
    }

    /// Claims jobs as `RedisFrontier` does.
    async fn claim_jobs(self: Rc<Self>) {
        let Model { event_loop, scale, .. } = &*self.model;
        let (mut idle, mut first) = (IDLE.0, 0);
        loop {
            let wanted = self.waiting.borrow().len();
            if wanted == 0 {
                self.changed().await;
                continue;
            }
            let (mut claimed, mut pause) = (0, idle);
            for n in 0..scale.partitions {
                if claimed == wanted {
                    break;
                }
                let partition = (first + n) % scale.partitions;
                let (hosts, wait) = self.model.claim(partition, wanted - claimed).await;
                claimed += hosts.len();
                self.leases.update(|leases| leases + hosts.len() as u32);
                let mut waiting = self.waiting.borrow_mut();
                for (waiter, host) in waiting.drain(..hosts.len()).zip(hosts) {
                    // There are as many as were wanted.
                    let _ = waiter.set_result(host);
                }
                pause = pause.min(wait.unwrap_or(pause));
            }
            first = (first + 1) % scale.partitions;
            idle = if claimed > 0 { IDLE.0 } else { (idle * 2).min(IDLE.1) };
            if claimed == 0 {
                select((sleep(event_loop, pause), self.changed())).await;
            }
        }
    }

    /// Renews the leases, and reads the progress.
    async fn renew_leases(self: Rc<Self>) {
        let Model { event_loop, scale, .. } = &*self.model;
        loop {
            for partition in 0..scale.partitions {
                let renew = |plan: &mut Plan, _| {
                    plan.state.calls.renewals += 1;
                    (scale.costs.renew, ())
                };
                self.model.call(partition, renew).await;
            }
            self.model.read_counters().await;
            sleep(event_loop, RENEWAL).await;
        }
    }

    /// Asks for the end of the crawl while there is nothing to do.
    async fn join(self: Rc<Self>) {
        let mut pause = IDLE.0;
        loop {
            if self.leases.get() == 0 {
                self.model.read_counters().await;
            }
            sleep(&self.model.event_loop, pause).await;
            pause = (pause * 2).min(IDLE.1);
        }
    }
}
