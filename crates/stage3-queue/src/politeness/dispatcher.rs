//! The dispatcher: starts the jobs that may start now, and knows what each host waits for.

use std::mem;
use std::time::{Duration, Instant};

use crawl_core::{Job, Options};

use super::alarms::Alarms;
use super::host::Host;
use super::hosts::Hosts;
use super::job::{Effects, HostId, ReadyJob, StartedJob, WaitingJob, Work};
use super::rules_memory::RulesMemory;
use super::rules_state::RulesState;
use super::shares::Shares;
use crate::JoinableQueue;

/// Time after which a host that needs rules looks again whether there is memory for them.
const MEMORY_WAIT: Duration = Duration::from_secs(1);

/// Starts the jobs of all hosts. A job waits only while an event is certain to start it: an
/// alarm, or the end of a request.
pub(super) struct Dispatcher {
    /// For reservations only: what starts is put in by the owner of the host queues.
    q: JoinableQueue<ReadyJob>,
    /// True if robots.txt is obeyed.
    pub(super) robots: bool,
    pub(super) hosts: Hosts,
    shares: Shares,
    alarms: Alarms,
    rules_memory: RulesMemory,
    pub(super) is_stopped: bool,
}

impl Dispatcher {
    pub(super) fn new(options: &Options, q: &JoinableQueue<ReadyJob>) -> Self {
        Self {
            q: q.clone(),
            robots: options.settings.robots,
            hosts: Hosts::new(options),
            shares: Shares::new(options.num_workers()),
            alarms: Alarms::default(),
            rules_memory: RulesMemory::default(),
            is_stopped: false,
        }
    }

    /// Returns a job that waits from now on.
    pub(super) fn reserve(&self, job: Job) -> WaitingJob {
        WaitingJob { job, reservation: self.q.reserve() }
    }

    /// Starts the jobs of a host that may start now, or notes what it waits for.
    pub(super) fn start_ready(&mut self, id: HostId, now: Instant, effects: &mut Effects) {
        loop {
            let is_held_back = self.rules_memory.is_scarce() && self.evict_rules(id);
            let free_at = if is_held_back { now + MEMORY_WAIT } else { now };
            let next_start = self.hosts[id].next_start(now).map(|at| at.max(free_at));
            let wait = next_start.filter(|at| *at > now);
            if self.hosts[id].is_asleep != wait.is_some() {
                self.hosts.update(id, |host| host.is_asleep = wait.is_some());
            }
            if let Some(at) = wait {
                return self.wake_at(id, at, effects);
            }
            if next_start.is_none() || self.is_stopped {
                return;
            }
            let sums = self.hosts.sums();
            if self.shares.free_slots(&mut self.hosts[id], sums, now) == 0 {
                return self.queue_for_worker(id, effects);
            }
            self.start_next(id, now, effects);
        }
    }

    /// Starts the next job of a host, or the request for its robots.txt.
    fn start_next(&mut self, id: HostId, now: Instant, effects: &mut Effects) {
        let host = &mut self.hosts[id];
        let needs_rules = if self.robots { host.needs_rules() } else { None };
        let (job, work, deferrals, reservation) = if let Some(origin) = needs_rules {
            let scheme = ["http", "https"][origin];
            let file = Job::for_file(&format!("{scheme}://{}/robots.txt", host.name));
            let deferrals = mem::replace(&mut host.rules[origin], RulesState::Pending).deferrals();
            (file, Work::FetchRules, deferrals, self.q.reserve())
        } else {
            let Some((waiting, deferrals)) = self.hosts.update(id, Host::pop) else { return };
            let WaitingJob { job, reservation } = waiting;
            let host = &self.hosts[id];
            let server_error = deferrals.as_ref().and_then(|deferrals| deferrals.server_error);
            let work = match (host.rules_of(&job).refusal(&job.url), server_error) {
                (Some(error), _) => Work::Refuse(Box::new(error)),
                (None, Some(status)) if !host.has_retries() => Work::SettleServerError(status),
                (None, _) => Work::Fetch,
            };
            (job, work, deferrals, reservation)
        };
        let is_request = matches!(work, Work::Fetch | Work::FetchRules);
        self.hosts.update(id, |host| {
            host.in_flight += 1;
            if is_request {
                host.rate_limit.start(now);
            }
        });
        let ready = ReadyJob { job, work, deferrals, host: id, started: now };
        effects.start.push(StartedJob { ready, reservation });
    }

    /// Frees the worker of a job that has ended, and starts other jobs in its place.
    pub(super) fn release(
        &mut self,
        id: HostId,
        started: Instant,
        now: Instant,
        effects: &mut Effects,
    ) {
        self.hosts.update(id, |host| {
            host.in_flight -= 1;
            host.rate_limit.end(started, now);
        });
        if Shares::use_turn(&mut self.hosts[id]) {
            self.start_ready(id, now, effects);
        }
        self.queue_for_worker(id, effects);
        // Each host at most once: one that gets no worker goes to the end of the queue.
        for _ in 0..self.shares.num_queued() {
            let Some(id) = self.shares.dequeue(&mut self.hosts) else { break };
            self.start_ready(id, now, effects);
        }
    }

    /// Wakes the hosts whose time has come.
    pub(super) fn wake(&mut self, now: Instant, effects: &mut Effects) {
        while let Some(id) = self.alarms.pop_due(&mut self.hosts, now) {
            self.start_ready(id, now, effects);
        }
        effects.wake_at = self.alarms.next();
    }

    /// Starts nothing more, and wakes no host.
    pub(super) fn stop(&mut self) {
        self.is_stopped = true;
        self.alarms.clear();
    }

    /// Sets the state of the robots.txt of an origin.
    pub(super) fn set_rules(&mut self, id: HostId, origin: usize, state: RulesState) {
        self.rules_memory.set(&mut self.hosts[id], origin, state);
    }

    /// Evicts the rules of a host if memory is scarce. Returns true if the host must wait
    /// for memory.
    pub(super) fn evict_rules(&mut self, id: HostId) -> bool {
        self.rules_memory.evict(&mut self.hosts[id])
    }

    /// Lets a host wait in turn for a worker.
    fn queue_for_worker(&mut self, id: HostId, effects: &mut Effects) {
        let host = &mut self.hosts[id];
        self.shares.enqueue(id, host);
        if let Some(at) = host.rate_limit.silent_at(host.in_flight) {
            self.wake_at(id, at, effects);
        }
    }

    fn wake_at(&mut self, id: HostId, at: Instant, effects: &mut Effects) {
        self.alarms.set(id, &mut self.hosts[id], at);
        effects.wake_at = self.alarms.next();
    }
}
