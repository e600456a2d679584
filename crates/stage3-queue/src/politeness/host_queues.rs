//! The queues of all hosts: what becomes of a job that comes, comes back, is deferred or is
//! left to a later run; and of a host that throttles or does not answer.

use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crawl_core::{BusyHost, FetchError, HostWait, Job, Options, Purpose, Visit};
use web::Address;

use super::deferrals::Deferrals;
use super::dispatcher::Dispatcher;
use super::host::{Host, origin};
use super::job::{DeferredJob, Effects, HostId, ReadyJob, StartedJob, WaitingJob, Work};
use super::rate_limit::MAX_INTERVAL;
use super::rules_state::RulesState;
use crate::JoinableQueue;
use crate::health::{CircuitBreaker, Health};
use crate::rules::Rules;

/// All hosts of a crawl, and the jobs that wait for one of them.
///
/// A host that cannot get a request now keeps its jobs here, in order, so that they do
/// not block other hosts. A job that may start is in the [`Effects`] that a method returns,
/// for the queue of the crawl. In that queue a job waits only for a free worker.
pub(crate) struct HostQueues {
    dispatcher: Dispatcher,
    max_wait: Duration,
    /// Throttled URLs that have one attempt left. They get it when nothing else is left.
    last_chances: Vec<LastChance>,
    /// True while they get it, and nothing new was found.
    is_ending: bool,
}

/// A throttled URL that has one attempt left, not before a time.
struct LastChance {
    host: HostId,
    due: Instant,
    job: DeferredJob,
}

impl HostQueues {
    pub(crate) fn new(options: &Options, q: &JoinableQueue<ReadyJob>) -> Self {
        Self {
            dispatcher: Dispatcher::new(options, q),
            max_wait: options.settings.max_wait.min(MAX_INTERVAL),
            last_chances: Vec::new(),
            is_ending: false,
        }
    }

    fn host(&mut self, id: HostId) -> &mut Host {
        &mut self.dispatcher.hosts[id]
    }

    /// Returns the id of the host of a URL.
    fn id(&mut self, address: Address<'_>) -> HostId {
        self.dispatcher.hosts.id(address, false)
    }

    /// Adds jobs: each waits behind the others of its host.
    pub(crate) fn push(&mut self, jobs: Vec<Job>, now: Instant) -> Effects {
        let mut effects = Effects::default();
        for job in jobs {
            let is_of_site = job.purpose != Purpose::External;
            let id = self.dispatcher.hosts.id(job.address(), is_of_site);
            let waiting = self.dispatcher.reserve(job);
            if self.is_stopped() || self.host(id).given_up.is_some() {
                self.leave_todo(id, waiting, &mut effects);
                continue;
            }
            self.is_ending = false;
            self.dispatcher.hosts.update(id, |host| host.jobs.push_back(waiting));
            // A host that waits for a worker starts its jobs in its turn.
            if !self.host(id).is_queued {
                self.dispatcher.start_ready(id, now, &mut effects);
            }
        }
        effects
    }

    /// Puts an unfinished job back at the front of its host's queue. The job of a
    /// robots.txt is dropped instead.
    pub(crate) fn give_back(&mut self, job: StartedJob, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let StartedJob { ready, reservation } = job;
        let ReadyJob { job, work, deferrals, host: id, started } = ready;
        if let Work::FetchRules = work {
            self.dispatcher.set_rules(id, origin(&job), RulesState::Unknown(deferrals));
            effects.unused = Some(reservation);
        } else {
            self.put_back(id, WaitingJob { job, reservation }, deferrals, now, &mut effects);
        }
        self.free_worker(id, started, now, &mut effects);
        effects
    }

    /// Puts a throttled URL behind the other work of its host, until its next attempt. The
    /// job of a robots.txt is dropped instead: its host waits for the file anyway.
    pub(crate) fn defer(
        &mut self,
        job: StartedJob,
        retry_after: Option<Duration>,
        now: Instant,
    ) -> Effects {
        let mut effects = Effects::default();
        let StartedJob { ready, reservation } = job;
        let ReadyJob { job, work, deferrals, host: id, started } = ready;
        let (max_wait, mut deferrals) = (self.max_wait, deferrals.unwrap_or_default());
        let host = self.host(id);
        let wait = deferrals.add(retry_after, host.answers, max_wait);
        let due = (now + wait).min(host.rate_limit.wait_end(now));
        let is_last = deferrals.is_last || host.given_up.is_some();
        if let Work::FetchRules = work {
            host.rate_limit.pause(due);
            self.dispatcher.set_rules(id, origin(&job), RulesState::Unknown(Some(deferrals)));
            effects.unused = Some(reservation);
        } else if is_last {
            self.add_last_chance(id, due, WaitingJob { job, reservation }, deferrals);
        } else {
            let waiting = WaitingJob { job, reservation };
            self.put_back(id, waiting, Some(deferrals), due, &mut effects);
        }
        self.free_worker(id, started, now, &mut effects);
        effects
    }

    /// Records the rules in a robots.txt.
    pub(crate) fn set_rules(&mut self, job: &ReadyJob, rules: Rules, now: Instant) -> Effects {
        let mut effects = Effects::default();
        if let Some(delay) = rules.crawl_delay() {
            self.host(job.host).rate_limit.slow_down(delay);
        }
        self.dispatcher.set_rules(job.host, origin(&job.job), RulesState::Known(Rc::new(rules)));
        self.free_worker(job.host, job.started, now, &mut effects);
        effects
    }

    /// Records the end of a job: its worker is free.
    pub(crate) fn release(&mut self, id: HostId, started: Instant, now: Instant) -> Effects {
        let mut effects = Effects::default();
        self.free_worker(id, started, now, &mut effects);
        effects
    }

    /// Returns the rules of a site if they are known, and none if they will not be known
    /// any more. If they are pending, they are fetched, and the caller has to ask again.
    pub(crate) fn rules(
        &mut self,
        site: Address<'_>,
        now: Instant,
    ) -> (Poll<Option<Rc<Rules>>>, Effects) {
        let mut effects = Effects::default();
        let (id, origin) = (self.id(site), usize::from(site.is_secure()));
        let (is_stopped, robots) = (self.is_stopped(), self.dispatcher.robots);
        let host = self.host(id);
        host.rules_wanted = None;
        if let RulesState::Known(rules) = &host.rules[origin] {
            let rules = Rc::clone(rules);
            self.dispatcher.evict_rules(id);
            return (Poll::Ready(Some(rules)), effects);
        }
        if is_stopped || host.given_up.is_some() {
            return (Poll::Ready(None), effects);
        }
        if robots {
            host.rules_wanted = Some(origin);
        }
        self.dispatcher.start_ready(id, now, &mut effects);
        (Poll::Pending, effects)
    }

    /// Takes the turn of a further request for a job that has started. Returns `None` if
    /// the request may start now. Otherwise reserves the next free time and returns it, so
    /// that waiting jobs cannot overtake the request forever. Call again with `is_taken` once
    /// that time has come; if the host was paused meanwhile, a new time is reserved.
    ///
    /// # Errors
    /// When the host is given up.
    pub(crate) fn take_turn(
        &mut self,
        address: Address<'_>,
        is_taken: bool,
        now: Instant,
    ) -> Result<Option<Instant>, FetchError> {
        let id = self.id(address);
        let Host { rules, rate_limit, .. } = self.host(id);
        if let Some(error) = rules[usize::from(address.is_secure())].dead() {
            return Err(error.clone());
        }
        if is_taken && rate_limit.paused_until <= Some(now) {
            return Ok(None);
        }
        let wait = rate_limit.next_start().filter(|at| *at > now);
        rate_limit.start(wait.unwrap_or(now));
        Ok(wait)
    }

    /// Records the result of one attempt: a response, or an error without one.
    pub(crate) fn record_attempt(
        &mut self,
        visit: &Visit,
        error: Option<&FetchError>,
        now: Instant,
    ) -> (Health, Effects) {
        let mut effects = Effects::default();
        let (id, origin) = (self.id(visit.url()), usize::from(visit.url().is_secure()));
        if let Some(error) = error
            && !(visit.has_request() && visit.has_response())
        {
            let health = self.host(id).breakers[origin].record_failure(visit, now);
            if health == Health::GivenUp {
                self.give_up_origin(id, origin, error, now, &mut effects);
            }
            return (health, effects);
        }
        self.host(id).breakers[origin] = CircuitBreaker::default();
        match visit.status() {
            Some(status) if visit.is_busy() => {
                self.record_throttled(id, status, visit, now, &mut effects);
            }
            _ => {
                let host = self.host(id);
                host.answers += 1;
                host.rate_limit.answered(visit.begun());
            }
        }
        (Health::Alive, effects)
    }

    /// Gives up an origin that does not answer: its other URLs end with this error, at once.
    fn give_up_origin(
        &mut self,
        id: HostId,
        origin: usize,
        error: &FetchError,
        now: Instant,
        effects: &mut Effects,
    ) {
        let host = self.host(id);
        // If a robots.txt is being fetched, that request fails, too.
        if !host.rules[origin].is_pending() && host.rules[origin].dead().is_none() {
            let rules = Rules::of_dead_host(&host.name, error);
            self.dispatcher.set_rules(id, origin, RulesState::Known(Rc::new(rules)));
            self.dispatcher.start_ready(id, now, effects);
        }
    }

    /// Records a 429 or 503.
    fn record_throttled(
        &mut self,
        id: HostId,
        status: u16,
        visit: &Visit,
        now: Instant,
        effects: &mut Effects,
    ) {
        let (is_ending, max_wait) = (self.is_ending, self.max_wait);
        let host = self.host(id);
        if is_ending {
            // These URLs are on their last attempt.
            return host.rate_limit.pause(now + max_wait / 600);
        }
        let in_flight = (host.in_flight, !host.jobs.is_empty());
        host.rate_limit.throttled(status, visit.begun(), in_flight, visit.retry_after(), now);
        if let Some(status) = host.rate_limit.given_up(now) {
            self.give_up_host(id, status, now, effects);
        }
    }

    /// Leaves the jobs of a host that has throttled everything for too long to a later run.
    /// URLs that were requested before get their last attempt.
    fn give_up_host(&mut self, id: HostId, status: u16, now: Instant, effects: &mut Effects) {
        let host = self.host(id);
        if host.given_up.is_none() {
            host.given_up = Some(BusyHost { host: Arc::clone(&host.name), status, todo: 0 });
        }
        while let Some((waiting, deferrals)) = self.dispatcher.hosts.update(id, Host::pop) {
            match deferrals {
                None => self.leave_todo(id, waiting, effects),
                Some(deferrals) => self.add_last_chance(id, now, waiting, deferrals),
            }
        }
        self.dispatcher.start_ready(id, now, effects);
        self.dispatcher.evict_rules(id);
        // A sitemap is not a job, so no `release` will follow this answer.
        self.start_last_chances(now, effects);
    }

    /// Returns true if the host of a URL is given up because it throttled everything for too
    /// long.
    pub(crate) fn is_given_up(&mut self, address: Address<'_>) -> bool {
        let id = self.id(address);
        self.host(id).given_up.is_some()
    }

    /// Wakes the hosts whose time has come.
    pub(crate) fn wake(&mut self, now: Instant) -> Effects {
        let mut effects = Effects::default();
        self.dispatcher.wake(now, &mut effects);
        effects
    }

    /// Leaves all jobs that wait, and all that come, to a later run.
    pub(crate) fn stop(&mut self) -> Effects {
        let mut effects = Effects::default();
        self.dispatcher.stop();
        let last_chances = mem::take(&mut self.last_chances);
        effects.leave.extend(last_chances.into_iter().map(|chance| chance.job.waiting));
        for id in self.dispatcher.hosts.ids() {
            while let Some((waiting, _)) = self.dispatcher.hosts.update(id, Host::pop) {
                effects.leave.push(waiting);
            }
        }
        effects
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.dispatcher.is_stopped
    }

    /// Returns the hosts that the crawl waits for.
    pub(crate) fn waits(&self, now: Instant) -> impl Iterator<Item = HostWait> {
        self.dispatcher.hosts.iter().filter_map(move |host| host.wait(now))
    }

    /// Returns the number of jobs that wait for their host.
    pub(crate) fn num_waiting(&self) -> usize {
        let waiting: usize = self.dispatcher.hosts.iter().map(Host::waiting).sum();
        waiting + self.last_chances.len()
    }

    /// Returns the number of robots.txt files that are being fetched.
    pub(crate) fn num_pending_rules(&self) -> usize {
        let rules = self.dispatcher.hosts.iter().flat_map(|host| &host.rules);
        rules.filter(|rules| rules.is_pending()).count()
    }

    /// Returns the hosts that were given up with jobs left to do.
    pub(crate) fn given_up_hosts(&self) -> Vec<BusyHost> {
        let given_up = self.dispatcher.hosts.iter().filter_map(|host| host.given_up.as_ref());
        given_up.filter(|host| host.todo > 0).cloned().collect()
    }

    /// Leaves a job to a later run.
    fn leave_todo(&mut self, id: HostId, waiting: WaitingJob, effects: &mut Effects) {
        if let Some(given_up) = &mut self.host(id).given_up {
            given_up.todo += 1;
        }
        effects.leave.push(waiting);
    }

    /// Puts a job back: before the others of its host or, if its URL was throttled, after
    /// them and not before it is due.
    fn put_back(
        &mut self,
        id: HostId,
        waiting: WaitingJob,
        deferrals: Option<Box<Deferrals>>,
        due: Instant,
        effects: &mut Effects,
    ) {
        let is_given_up = self.host(id).given_up.is_some();
        if self.is_stopped() || (is_given_up && deferrals.is_none()) {
            return self.leave_todo(id, waiting, effects);
        }
        self.dispatcher.hosts.update(id, |host| match deferrals {
            Some(deferrals) => host.defer(due, DeferredJob { waiting, deferrals }),
            None => host.jobs.push_front(waiting),
        });
    }

    /// Frees the worker of a job that has ended.
    fn free_worker(&mut self, id: HostId, started: Instant, now: Instant, effects: &mut Effects) {
        self.dispatcher.release(id, started, now, effects);
        self.start_last_chances(now, effects);
        self.dispatcher.evict_rules(id);
    }

    /// Keeps a throttled URL until nothing else is left.
    fn add_last_chance(
        &mut self,
        host: HostId,
        due: Instant,
        waiting: WaitingJob,
        mut deferrals: Box<Deferrals>,
    ) {
        deferrals.is_last = true;
        let job = DeferredJob { waiting, deferrals };
        self.last_chances.push(LastChance { host, due, job });
    }

    /// Gives the throttled URLs their last attempt, if nothing else is left.
    fn start_last_chances(&mut self, now: Instant, effects: &mut Effects) {
        if self.dispatcher.hosts.sums().active > 0 {
            return;
        }
        for LastChance { host: id, due, job } in mem::take(&mut self.last_chances) {
            self.is_ending = true;
            self.put_back(id, job.waiting, Some(job.deferrals), due, effects);
            self.dispatcher.start_ready(id, now, effects);
        }
    }
}
