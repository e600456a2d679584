//! The queues of all hosts: what becomes of a job that comes, comes back, is deferred or is
//! left to a later run.

use std::mem;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crawl_core::{BusyHost, DeferReason, Deferral, HostWait, Job, Options, Purpose};
use web::Address;

use super::deferrals::Deferrals;
use super::dispatcher::Dispatcher;
use super::host::{Dns, Host, origin};
use super::job::{DeferredJob, Effects, HostId, ReadyJob, StartedJob, WaitingJob, Work};
use super::rate_limit::MAX_INTERVAL;
use super::rules_state::RulesState;
use crate::JoinableQueue;
use crate::rules::Rules;

/// All hosts of a crawl, and the jobs that wait for one of them.
///
/// A host that cannot get a request now keeps its jobs here, in order, so that they do
/// not block other hosts. A job that may start is in the [`Effects`] that a method returns,
/// for the queue of the crawl. In that queue a job waits only for a free worker.
pub(crate) struct HostQueues {
    pub(super) dispatcher: Dispatcher,
    pub(super) max_wait: Duration,
    /// Throttled URLs that have one attempt left, and URLs of hosts whose name servers gave no
    /// answer. Their turn comes when nothing else is left.
    last_chances: Vec<LastChance>,
    /// True while they get it, and nothing new was found.
    pub(super) is_ending: bool,
}

/// A job whose turn comes when nothing else is left, and not before a time.
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

    pub(super) fn host(&mut self, id: HostId) -> &mut Host {
        &mut self.dispatcher.hosts[id]
    }

    /// Returns the id of the host of a URL.
    pub(super) fn id(&mut self, address: Address<'_>) -> HostId {
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
            if self.host(id).dns == Dns::HeldBack {
                self.add_last_chance(id, now, waiting, Box::default());
                continue;
            }
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

    /// Returns true if a job that was claimed may be put off for this reason.
    pub(crate) fn may_defer(&self, job: &ReadyJob, deferral: &Deferral) -> bool {
        let host = &self.dispatcher.hosts[job.host];
        job.may_defer(deferral)
            && match deferral.reason {
                DeferReason::Throttled => true,
                DeferReason::ServerError(_) => host.has_retries(),
                DeferReason::NoDns => host.dns != Dns::LastChance,
            }
    }

    /// Puts a job behind the other work of its host, until its next attempt. The job of a
    /// robots.txt is dropped instead: its host waits for the file anyway.
    pub(crate) fn defer(&mut self, job: StartedJob, deferral: &Deferral, now: Instant) -> Effects {
        let mut effects = Effects::default();
        let StartedJob { ready, reservation } = job;
        let ReadyJob { job, work, deferrals, host: id, started } = ready;
        let (max_wait, mut deferrals) = (self.max_wait, deferrals.unwrap_or_default());
        let host = self.host(id);
        let wait = deferrals.add(deferral, host.answers, max_wait);
        let due = (now + wait).min(host.rate_limit.wait_end(now));
        let is_last = deferrals.is_last || host.given_up.is_some();
        let is_without_dns = deferral.reason == DeferReason::NoDns;
        deferrals.is_last = is_last;
        if is_without_dns {
            self.hold_back(id, due);
        }
        let host = self.host(id);
        if let Work::FetchRules = work {
            host.rate_limit.pause(due);
            self.dispatcher.set_rules(id, origin(&job), RulesState::Unknown(Some(deferrals)));
            effects.unused = Some(reservation);
        } else if is_last || is_without_dns {
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

    /// Records the answer of a job that is not put off although its answer may be another one
    /// later.
    pub(crate) fn record_in_vain(&mut self, job: &ReadyJob, deferral: &Deferral) {
        if job.is_retry() && matches!(deferral.reason, DeferReason::ServerError(_)) {
            self.host(job.host).retries_in_vain += 1;
        }
    }

    /// Records the end of a job: its worker is free.
    pub(crate) fn release(&mut self, id: HostId, started: Instant, now: Instant) -> Effects {
        let mut effects = Effects::default();
        self.free_worker(id, started, now, &mut effects);
        effects
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
        self.dispatcher.hosts.waits(now)
    }

    /// Returns the number of jobs that wait for their host.
    pub(crate) fn num_waiting(&self) -> usize {
        self.dispatcher.hosts.num_waiting() + self.last_chances.len()
    }

    /// Returns the number of robots.txt files that are being fetched.
    pub(crate) fn num_pending_rules(&self) -> usize {
        self.dispatcher.hosts.num_pending_rules()
    }

    /// Returns the hosts that were given up with jobs left to do.
    pub(crate) fn given_up_hosts(&self) -> Vec<BusyHost> {
        self.dispatcher.hosts.given_up()
    }

    /// Leaves a job to a later run.
    pub(super) fn leave_todo(&mut self, id: HostId, waiting: WaitingJob, effects: &mut Effects) {
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

    /// Keeps all jobs of a host until nothing else is left: its name server gives no answer for
    /// now.
    fn hold_back(&mut self, id: HostId, due: Instant) {
        self.host(id).dns = Dns::HeldBack;
        while let Some((waiting, deferrals)) = self.dispatcher.hosts.update(id, Host::pop) {
            self.add_last_chance(id, due, waiting, deferrals.unwrap_or_default());
        }
    }

    /// Keeps a job until nothing else is left.
    pub(super) fn add_last_chance(
        &mut self,
        host: HostId,
        due: Instant,
        waiting: WaitingJob,
        deferrals: Box<Deferrals>,
    ) {
        let job = DeferredJob { waiting, deferrals };
        self.last_chances.push(LastChance { host, due, job });
    }

    /// Starts the last chances, if nothing else is left.
    pub(super) fn start_last_chances(&mut self, now: Instant, effects: &mut Effects) {
        if self.dispatcher.hosts.sums().active > 0 {
            return;
        }
        for LastChance { host: id, due, job } in mem::take(&mut self.last_chances) {
            self.is_ending = true;
            if self.host(id).dns == Dns::HeldBack {
                self.host(id).dns = Dns::LastChance;
            }
            self.put_back(id, job.waiting, Some(job.deferrals), due, effects);
            self.dispatcher.start_ready(id, now, effects);
        }
    }
}
