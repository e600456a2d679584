//! Per-host queues: hold the jobs that cannot start yet, choose the host that may
//! be asked next, and share the workers fairly.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crawl_core::{BusyHost, FetchError, HostWait, Job, Options, Pace, Purpose, Visit};
use web::Address;

use super::host::{Deferrals, Host, origin};
use super::rate_limit::{MAX_INTERVAL, RateLimit};
use crate::crawler::max_tasks;
use crate::frontier::{HostId, ReadyJob, Started, Waiting, Work};
use crate::health::Health;
use crate::robots::{Rules, RulesState};
use crate::{JoinableQueue, Reservation};

/// Limit on the memory for the rules of all hosts, in bytes. Above it, the rules
/// of a host without work are dropped, and fetched again if they are needed again.
/// Above four times as much, a host that needs rules waits until others have no more work,
/// and does not keep its other rules for so long.
const MAX_RULES_SIZE: usize = 64 << 20;

/// Number of jobs that a host starts one after another while other hosts wait for a
/// worker (round robin with a quantum). So its connections can be used again.
const QUANTUM: u32 = 8;

/// Time after which a host that needs rules asks again if there is memory for them.
const MEMORY_WAIT: Duration = Duration::from_secs(1);

/// All hosts of a crawl, and the jobs that wait for one of them.
///
/// A host that cannot be asked now keeps its jobs here, in order, so that they do
/// not block other hosts. A job that may start is [handed
/// over](HostQueues::take_changes) to the queue of the crawl, in which nothing
/// waits but for a free worker.
///
/// The rules by which hosts share the workers:
///
/// 1. A host may use all workers when it is the only one with work.
/// 2. Otherwise each host has its share. A host that sleeps until a time needs no
///    worker, but one worker is kept free for a host that wakes up.
/// 3. Hosts that wait for a worker get the next ones in turn.
///
/// A job waits only while an event is certain to start it: a timer, or the end of
/// a request.
pub(crate) struct HostQueues {
    q: JoinableQueue<ReadyJob>,
    /// Number of workers.
    max_tasks: usize,
    pace: Pace,
    max_wait: Duration,
    /// True if robots.txt is obeyed.
    robots: bool,
    ids: HashMap<Arc<str>, HostId>,
    pub(crate) hosts: Vec<Host>,
    /// Host that was looked up last: a cache of one, since the next look-up is
    /// usually for the same host.
    last_id: HostId,
    /// Number of hosts that have work.
    active: usize,
    /// Number of those that sleep until a time.
    asleep: usize,
    /// Number of jobs that have started and are not done.
    in_flight: usize,
    /// Times at which sleeping hosts wake up, the earliest first.
    timers: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Hosts with jobs for which there is no room, in turn.
    blocked: VecDeque<HostId>,
    /// Jobs of URLs that were busy each time. They are asked once more at the end,
    /// after these times.
    pub(crate) in_vain: Vec<(HostId, Instant, Waiting, Box<Deferrals>)>,
    /// True while they are asked, and nothing new was found.
    is_ending: bool,
    /// Memory for the rules of all hosts, in bytes.
    rules_size: usize,
    /// Jobs that have started and are not in the queue of the crawl yet.
    started: Vec<Started>,
    /// Jobs that are left to a later run, and not taken yet.
    pub(crate) left: Vec<Waiting>,
    pub(crate) is_stopped: bool,
}

impl HostQueues {
    pub(crate) fn new(options: &Options, q: &JoinableQueue<ReadyJob>) -> Self {
        Self {
            q: q.clone(),
            max_tasks: max_tasks(options),
            pace: Pace::new(options, max_tasks(options)),
            max_wait: options.settings.max_wait.min(MAX_INTERVAL),
            robots: options.settings.robots,
            ids: HashMap::new(),
            hosts: Vec::new(),
            last_id: 0,
            active: 0,
            asleep: 0,
            in_flight: 0,
            timers: BinaryHeap::new(),
            blocked: VecDeque::new(),
            in_vain: Vec::new(),
            is_ending: false,
            rules_size: 0,
            started: Vec::new(),
            left: Vec::new(),
            is_stopped: false,
        }
    }

    /// Returns the id of the host of a URL, and adds the host if it is new.
    fn id(&mut self, address: Address<'_>) -> HostId {
        self.id_of(address, false)
    }

    /// Returns the id of the host of a URL; `is_of_site` as in [`Pace::of`].
    fn id_of(&mut self, address: Address<'_>, is_of_site: bool) -> HostId {
        let is_last = |host: &Host| address.has_authority(&host.name);
        if self.hosts.get(self.last_id as usize).is_some_and(is_last) {
            return self.last_id;
        }
        let authority = address.authority();
        let known = self.ids.get(authority).copied();
        self.last_id = known.unwrap_or_else(|| {
            let name: Arc<str> = authority.into();
            self.ids.insert(Arc::clone(&name), self.hosts.len() as HostId);
            let (interval, max_tasks) = self.pace.of(address, is_of_site);
            let rate_limit = RateLimit::new(interval, self.max_wait, max_tasks);
            self.hosts.push(Host { name, rate_limit, ..Host::default() });
            self.hosts.len() as HostId - 1
        });
        self.last_id
    }

    fn host(&mut self, id: HostId) -> &mut Host {
        &mut self.hosts[id as usize]
    }

    /// Changes a host, and brings the sums over all hosts up to date.
    fn change<R>(&mut self, id: HostId, change: impl FnOnce(&mut Host) -> R) -> R {
        let host = &mut self.hosts[id as usize];
        self.active -= usize::from(host.has_work());
        self.asleep -= usize::from(host.is_asleep);
        self.in_flight -= host.in_flight;
        let result = change(host);
        self.active += usize::from(host.has_work());
        self.asleep += usize::from(host.is_asleep);
        self.in_flight += host.in_flight;
        result
    }

    /// Adds a job: it waits behind the others of its host.
    pub(crate) fn push(&mut self, job: Job, now: Instant) {
        let id = self.id_of(job.address(), job.purpose != Purpose::External);
        let waiting = (job, self.q.reserve());
        if self.is_stopped || self.host(id).busy_host.is_some() {
            return self.leave(id, waiting);
        }
        self.is_ending = false;
        self.change(id, |host| host.jobs.push_back(waiting));
        // One that is blocked is fed in its turn.
        if !self.host(id).is_blocked {
            self.feed(id, now);
        }
    }

    /// Puts a job back that has started and was not done: it comes first. One for a
    /// robots.txt is dropped instead, and its reservation is returned.
    pub(crate) fn release(&mut self, item: Started, now: Instant) -> Option<Reservation<ReadyJob>> {
        let (ReadyJob { job, work, deferrals, host: id, started }, reservation) = item;
        let mut unused = None;
        if let Work::FetchRules = work {
            self.set_state(id, origin(&job), RulesState::Unknown(deferrals));
            unused = Some(reservation);
        } else {
            self.put_back(id, now, (job, reservation), deferrals);
        }
        self.ended(id, started, now);
        unused
    }

    /// Puts a job back whose URL is busy: it is asked again when the time has come and
    /// the other work of its host is done. One for a robots.txt, which is asked again
    /// before that, is dropped instead, and its reservation is returned.
    pub(crate) fn defer(
        &mut self,
        (start, reservation): Started,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Option<Reservation<ReadyJob>> {
        let ReadyJob { job, work, deferrals, host: id, started } = start;
        let (max_wait, mut deferrals) = (self.max_wait, deferrals.unwrap_or_default());
        let host = self.host(id);
        let due = deferrals.again(retry_after, host, max_wait, now);
        let mut unused = None;
        if let Work::FetchRules = work {
            host.rate_limit.pause(due);
            self.set_state(id, origin(&job), RulesState::Unknown(Some(deferrals)));
            unused = Some(reservation);
        } else if deferrals.is_last || host.busy_host.is_some() {
            deferrals.is_last = true;
            self.in_vain.push((id, due, (job, reservation), deferrals));
        } else {
            self.put_back(id, due, (job, reservation), Some(deferrals));
        }
        self.ended(id, started, now);
        unused
    }

    /// Records the rules in a robots.txt.
    pub(crate) fn set_rules(&mut self, start: &ReadyJob, rules: Rules, now: Instant) {
        if let Some(delay) = rules.crawl_delay() {
            self.host(start.host).rate_limit.slow_down(delay);
        }
        self.set_state(start.host, origin(&start.job), RulesState::Known(Rc::new(rules)));
        self.ended(start.host, start.started, now);
    }

    /// Returns the rules of a site as soon as they are known; none if they will not
    /// be known any more.
    pub(crate) fn rules(&mut self, site: Address<'_>, now: Instant) -> Poll<Option<Rc<Rules>>> {
        let (id, origin) = (self.id(site), usize::from(site.is_secure()));
        let (robots, is_stopped, host) = (self.robots, self.is_stopped, self.host(id));
        host.wanted = None;
        if let RulesState::Known(rules) = &host.rules[origin] {
            let rules = Rc::clone(rules);
            self.spare_memory(id);
            return Poll::Ready(Some(rules));
        }
        if is_stopped || host.busy_host.is_some() {
            return Poll::Ready(None);
        }
        host.wanted = Some(origin).filter(|_| robots);
        self.feed(id, now);
        Poll::Pending
    }

    /// Starts a further request for a job that has started, if its host may be asked
    /// now. If not, takes the next time at which it may, and returns it: otherwise the jobs
    /// that wait for the host would come first each time. With `is_taken`, it has come;
    /// after a pause since then, another one is taken.
    ///
    /// # Errors
    /// When the host is given up.
    pub(crate) fn start_again(
        &mut self,
        address: Address<'_>,
        is_taken: bool,
        now: Instant,
    ) -> Result<Option<Instant>, FetchError> {
        let id = self.id(address);
        let Host { rules, rate_limit: limit, .. } = self.host(id);
        rules[usize::from(address.is_secure())].dead().cloned().map_or(Ok(()), Err)?;
        if is_taken && limit.paused_until <= Some(now) {
            return Ok(None);
        }
        let wait = limit.next_start().filter(|at| *at > now);
        limit.start(wait.unwrap_or(now));
        Ok(wait)
    }

    /// Records the result of one attempt: a response, or an error. Returns false if
    /// the host is given up and should get no more attempts.
    pub(crate) fn attempted(
        &mut self,
        visit: &Visit,
        error: Option<&FetchError>,
        now: Instant,
    ) -> bool {
        let (id, origin) = (self.id(visit.url()), usize::from(visit.url().is_secure()));
        let (is_ending, max_wait) = (self.is_ending, self.max_wait);
        let host = self.host(id);
        if let Some(error) = error.filter(|_| !(visit.has_request() && visit.has_response())) {
            let is_dead = host.health[origin].failed(visit, now);
            // If a robots.txt is being fetched, that request fails, too.
            let is_pending = matches!(host.rules[origin], RulesState::Pending);
            if is_dead && !is_pending && host.rules[origin].dead().is_none() {
                // The other URLs of the origin end with this error, at once.
                let rules = Rules::of_dead_host(&host.name, error);
                self.set_state(id, origin, RulesState::Known(Rc::new(rules)));
                self.feed(id, now);
            }
            return !is_dead;
        }
        host.health[origin] = Health::default();
        match visit.status().filter(|_| visit.is_busy()) {
            None => {
                host.answers += 1;
                host.rate_limit.answered(visit.begun());
            }
            // All of them were busy before, and come to their end.
            Some(_) if is_ending => host.rate_limit.pause(now + max_wait / 600),
            Some(status) => {
                let in_flight = (host.in_flight, !host.jobs.is_empty());
                host.rate_limit.busy(status, visit.begun(), in_flight, visit.retry_after(), now);
                if let Some(status) = host.rate_limit.given_up(now) {
                    self.leave_busy_host(id, status, now);
                }
            }
        }
        true
    }

    /// Returns true if the host of a URL is given up because it is busy all the time.
    pub(crate) fn is_given_up(&mut self, address: Address<'_>) -> bool {
        let id = self.id(address);
        self.host(id).busy_host.is_some()
    }

    /// Wakes the hosts whose time has come.
    pub(crate) fn wake(&mut self, now: Instant) {
        while let Some(&Reverse((at, id))) = self.timers.peek()
            && at <= now
        {
            self.timers.pop();
            let host = self.host(id);
            host.timer = host.timer.filter(|timer| *timer != at);
            self.feed(id, now);
        }
    }

    /// Returns the hosts that are waited for.
    pub(crate) fn waits(&self, now: Instant) -> impl Iterator<Item = HostWait> {
        self.hosts.iter().filter_map(move |host| host.wait(now))
    }

    /// Returns the number of robots.txt files that are being fetched.
    pub(crate) fn pending_rules(&self) -> usize {
        let rules = self.hosts.iter().flat_map(|host| &host.rules);
        rules.filter(|rules| matches!(rules, RulesState::Pending)).count()
    }

    /// Returns the hosts of which jobs are left because they were busy all the time.
    pub(crate) fn busy_hosts(&self) -> Vec<BusyHost> {
        let busy_hosts = self.hosts.iter().filter_map(|host| host.busy_host.as_ref());
        busy_hosts.filter(|busy_host| busy_host.todo > 0).cloned().collect()
    }

    /// Takes the jobs that have started, and those that are left to a later run. Also returns
    /// the earliest time at which a host wakes up.
    pub(crate) fn take_changes(&mut self) -> (Vec<Started>, Vec<Waiting>, Option<Instant>) {
        let next_timer = self.timers.peek().map(|Reverse((at, _))| *at);
        (mem::take(&mut self.started), mem::take(&mut self.left), next_timer)
    }

    /// Leaves all jobs that wait, and all that come, to a later run.
    pub(crate) fn stop(&mut self) {
        self.is_stopped = true;
        self.left.extend(self.in_vain.drain(..).map(|(_, _, waiting, _)| waiting));
        for id in 0..self.hosts.len() as HostId {
            while let Some((waiting, _)) = self.change(id, Host::pop) {
                self.left.push(waiting);
            }
        }
        self.timers.clear();
    }

    /// Leaves the jobs of a host that is busy all the time to a later run. Those
    /// that were asked are asked once more.
    fn leave_busy_host(&mut self, id: HostId, status: u16, now: Instant) {
        let host = self.host(id);
        let busy_host = || BusyHost { host: Arc::clone(&host.name), status, todo: 0 };
        host.busy_host.get_or_insert_with(busy_host);
        while let Some((waiting, deferrals)) = self.change(id, Host::pop) {
            match deferrals {
                None => self.leave(id, waiting),
                Some(mut deferrals) => {
                    deferrals.is_last = true;
                    self.in_vain.push((id, now, waiting, deferrals));
                }
            }
        }
        self.feed(id, now);
        self.spare_memory(id);
        // The busy answer may have been to a sitemap, which is no job: then no end of a job
        // follows.
        self.ask_in_vain(now);
    }

    /// Leaves a job to a later run.
    fn leave(&mut self, id: HostId, waiting: Waiting) {
        if let Some(busy_host) = &mut self.host(id).busy_host {
            busy_host.todo += 1;
        }
        self.left.push(waiting);
    }

    /// Puts a job back: before the others of its host or, if its URL was busy, after
    /// them and not before it is due.
    fn put_back(&mut self, id: HostId, due: Instant, job: Waiting, busy: Option<Box<Deferrals>>) {
        let is_given_up = self.host(id).busy_host.is_some();
        if self.is_stopped || (is_given_up && busy.is_none()) {
            return self.leave(id, job);
        }
        self.change(id, |host| match busy {
            Some(deferrals) => host.add_busy(due, job, deferrals),
            None => host.jobs.push_front(job),
        });
    }

    /// Sets the state of the robots.txt of an origin.
    fn set_state(&mut self, id: HostId, origin: usize, state: RulesState) {
        self.rules_size += state.size();
        // A task that still waits for them asks again.
        self.host(id).wanted.take_if(|_| state.is_unknown());
        self.rules_size -= mem::replace(&mut self.host(id).rules[origin], state).size();
    }

    /// Drops the rules of a host without work if those of all hosts take too much memory. If
    /// they take far too much, drops those of a host that needs others, but not what a task
    /// is about to take. Returns true if it has to wait for those it needs.
    ///
    /// The wait ends: of the other hosts, those without work have at most
    /// [`MAX_RULES_SIZE`], and what the rest keeps is for its next job.
    fn spare_memory(&mut self, id: HostId) -> bool {
        let host = &mut self.hosts[id as usize];
        let is_unused = !host.has_work() && host.wanted.is_none();
        let needs_rules = self.rules_size > 4 * MAX_RULES_SIZE && host.needs_rules().is_some();
        if needs_rules || is_unused && self.rules_size > MAX_RULES_SIZE {
            let rules = host.rules.iter_mut().enumerate();
            let spare = rules.filter(|(origin, _)| host.wanted != Some(*origin));
            self.rules_size -= spare.map(|(_, rules)| rules.forget()).sum::<usize>();
        }
        needs_rules && self.rules_size > 4 * MAX_RULES_SIZE
    }

    /// Records the end of a job that has started, and starts others in its place.
    pub(crate) fn ended(&mut self, id: HostId, started: Instant, now: Instant) {
        self.change(id, |host| {
            host.in_flight -= 1;
            host.rate_limit.end(started, now);
        });
        let host = self.host(id);
        host.quantum_used = (host.quantum_used + 1) % QUANTUM;
        if host.quantum_used > 0 {
            self.feed(id, now);
        }
        self.block(id);
        for _ in 0..self.blocked.len() {
            if self.in_flight == self.max_tasks {
                break;
            }
            if let Some(id) = self.blocked.pop_front() {
                self.host(id).is_blocked = false;
                self.feed(id, now);
            }
        }
        self.ask_in_vain(now);
        self.spare_memory(id);
    }

    /// Asks the URLs once more that were busy each time, if nothing else is left.
    fn ask_in_vain(&mut self, now: Instant) {
        if self.active == 0 {
            for (id, due, waiting, deferrals) in mem::take(&mut self.in_vain) {
                self.is_ending = true;
                self.put_back(id, due, waiting, Some(deferrals));
                self.feed(id, now);
            }
        }
    }

    /// Starts the jobs of a host that may start now, or notes what it waits for.
    fn feed(&mut self, id: HostId, now: Instant) {
        loop {
            let is_held_back = self.rules_size > MAX_RULES_SIZE && self.spare_memory(id);
            let free_at = if is_held_back { now + MEMORY_WAIT } else { now };
            let next_start = self.host(id).next_start(now).map(|at| at.max(free_at));
            let wait = next_start.filter(|at| *at > now);
            if self.host(id).is_asleep != wait.is_some() {
                self.change(id, |host| host.is_asleep = wait.is_some());
            }
            match wait {
                Some(at) => return self.wake_at(id, at),
                None if next_start.is_none() || self.is_stopped => return,
                None if self.room(id, now) == 0 => return self.block(id),
                None => self.start(id, now),
            }
        }
    }

    /// Sets the timer of a host.
    fn wake_at(&mut self, id: HostId, at: Instant) {
        let timer = &mut self.host(id).timer;
        if timer.is_none_or(|timer| at < timer) {
            *timer = Some(at);
            self.timers.push(Reverse((at, id)));
        }
    }

    /// Has a host wait in turn for a worker.
    fn block(&mut self, id: HostId) {
        let host = self.host(id);
        let silent_at = host.rate_limit.silent_at(host.in_flight);
        if !mem::replace(&mut host.is_blocked, true) {
            self.blocked.push_back(id);
        }
        if let Some(at) = silent_at {
            self.wake_at(id, at);
        }
    }

    /// Returns the number of jobs of a host that may start now.
    fn room(&mut self, id: HostId, now: Instant) -> usize {
        let share = self.max_tasks.div_ceil(self.active.saturating_sub(self.asleep).max(1));
        let free = self.max_tasks - self.in_flight;
        let unreserved = free.saturating_sub(usize::from(self.asleep > 0));
        let host = self.host(id);
        let limit = host.rate_limit.room(host.in_flight, now);
        let room = limit.min(share.saturating_sub(host.in_flight)).min(unreserved);
        room.max(usize::from(host.in_flight == 0)).min(free)
    }

    /// Starts the next job of a host, or the request for its robots.txt.
    fn start(&mut self, id: HostId, now: Instant) {
        let robots = self.robots;
        let host = self.host(id);
        let wanted = host.needs_rules().filter(|_| robots);
        let (job, work, deferrals, reservation) = if let Some(origin) = wanted {
            let scheme = ["http", "https"][origin];
            let file = Job::for_file(&format!("{scheme}://{}/robots.txt", host.name));
            let deferrals = mem::replace(&mut host.rules[origin], RulesState::Pending).deferrals();
            (file, Work::FetchRules, deferrals, self.q.reserve())
        } else {
            let Some(((job, reservation), deferrals)) = self.change(id, Host::pop) else { return };
            let refusal = self.host(id).rules_of(&job).refusal(&job.url);
            let work = refusal.map_or(Work::Fetch, |error| Work::Refuse(Box::new(error)));
            (job, work, deferrals, reservation)
        };
        let is_request = !matches!(work, Work::Refuse(_));
        self.change(id, |host| {
            host.in_flight += 1;
            if is_request {
                host.rate_limit.start(now);
            }
        });
        self.started.push((ReadyJob { job, work, deferrals, host: id, started: now }, reservation));
    }
}
