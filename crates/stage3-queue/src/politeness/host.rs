//! One host: the jobs that wait for it, its rules, its rate limit and its health.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use crawl_core::{BusyHost, HostWait, Job};

use super::deferrals::Deferrals;
use super::job::{DeferredJob, WaitingJob};
use super::rate_limit::RateLimit;
use super::rules_state::RulesState;
use crate::health::CircuitBreaker;
use crate::segmented_deque::SegmentedDeque;

/// One host: a name and a port, for both schemes. Arrays have an element for the
/// http origin and one for the https origin.
#[derive(Default)]
pub(super) struct Host {
    pub(super) name: Arc<str>,
    pub(super) rate_limit: RateLimit,
    pub(super) rules: [RulesState; 2],
    /// The origin whose rules a task waits for, although it may have no jobs.
    pub(super) rules_wanted: Option<usize>,
    pub(super) breakers: [CircuitBreaker; 2],
    /// Jobs that wait, in the order in which they were found.
    pub(super) jobs: SegmentedDeque<WaitingJob>,
    /// Jobs that were put off, by the time of their next attempt. They come after all others.
    /// The second part of a key makes it unique.
    pub(super) deferred: BTreeMap<(Instant, u32), DeferredJob>,
    num_deferred: u32,
    /// Number of jobs that have started and are not done.
    pub(super) in_flight: usize,
    /// Number of answers that were not 429 or 503.
    pub(super) answers: u32,
    /// Number of URLs whose second attempt has failed as their first one, since the server is
    /// out of order.
    pub(super) retries_in_vain: u32,
    /// What becomes of the host since its name server gave no answer.
    pub(super) dns: Dns,
    /// Set when the host is given up because it has throttled everything for too long.
    pub(super) given_up: Option<BusyHost>,
    /// Time at which the host wakes up, at the latest.
    pub(super) alarm: Option<Instant>,
    pub(super) is_asleep: bool,
    /// True while the host waits in turn for a worker.
    pub(super) is_queued: bool,
    /// Number of jobs that have ended in this turn, see `QUANTUM`.
    pub(super) quantum_used: u32,
}

/// What becomes of a host whose name server gives no answer for now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dns {
    /// Nothing is wrong.
    #[default]
    Fine,
    /// All its jobs wait until nothing else is left.
    HeldBack,
    /// Its name is looked up for the last time.
    LastChance,
}

/// Number of second attempts in vain after which the URLs of a host get none: not only a few
/// pages of it are out of order.
const MAX_RETRIES_IN_VAIN: u32 = 10;

/// Returns the index of the origin of a job.
pub(super) fn origin(job: &Job) -> usize {
    usize::from(job.url.starts_with("https:"))
}

impl Host {
    /// Creates a host without jobs.
    pub(super) fn new(name: Arc<str>, rate_limit: RateLimit) -> Self {
        Self { name, rate_limit, ..Self::default() }
    }

    /// Returns true if jobs wait or are in flight.
    pub(super) fn has_work(&self) -> bool {
        self.waiting() + self.in_flight > 0
    }

    /// Returns the number of jobs that wait.
    pub(super) fn waiting(&self) -> usize {
        self.jobs.len() + self.deferred.len()
    }

    /// Returns true if a URL whose server has failed may get a second attempt.
    pub(super) fn has_retries(&self) -> bool {
        self.retries_in_vain < MAX_RETRIES_IN_VAIN
    }

    /// Adds a job that is put off, for another attempt at a time.
    pub(super) fn defer(&mut self, due: Instant, job: DeferredJob) {
        self.num_deferred = self.num_deferred.wrapping_add(1);
        self.deferred.insert((due, self.num_deferred), job);
    }

    /// Returns the time at which the next job may start; `None` if none waits, or
    /// if the rules of the host are being fetched.
    pub(super) fn next_start(&self, now: Instant) -> Option<Instant> {
        if self.rules.iter().any(RulesState::is_pending) {
            return None;
        }
        let wants_rules = self.rules_wanted.is_some_and(|origin| self.rules[origin].is_unknown());
        let due = match self.jobs.front() {
            _ if wants_rules => now,
            // It gets its row without a request, so it needs no pause either.
            Some(next) if self.rules_of(&next.job).dead().is_some() => return Some(now),
            Some(_) => now,
            None => {
                let ((due, _), next) = self.deferred.first_key_value()?;
                if next.deferrals.server_error.is_some() && !self.has_retries() {
                    return Some(now);
                }
                *due
            }
        };
        Some(due.max(self.rate_limit.next_start().unwrap_or(now)))
    }

    /// Returns the origin whose rules are needed before the next job can start.
    pub(super) fn needs_rules(&self) -> Option<usize> {
        let deferred = || self.deferred.values().next().map(|next| &next.waiting);
        let next = self.jobs.front().or_else(deferred);
        let origins = [self.rules_wanted, next.map(|next| origin(&next.job))];
        origins.into_iter().flatten().find(|origin| self.rules[*origin].is_unknown())
    }

    /// Takes the next job, and the deferrals of its URL if that was put off.
    pub(super) fn pop(&mut self) -> Option<(WaitingJob, Option<Box<Deferrals>>)> {
        if let Some(waiting) = self.jobs.pop_front() {
            return Some((waiting, None));
        }
        let (_, DeferredJob { waiting, deferrals }) = self.deferred.pop_first()?;
        Some((waiting, Some(deferrals)))
    }

    /// Returns what is known of the rules for a job.
    pub(super) fn rules_of(&self, job: &Job) -> &RulesState {
        &self.rules[origin(job)]
    }

    /// Returns the wait of the host, if it sleeps. A wait for memory does not count.
    pub(super) fn wait(&self, now: Instant) -> Option<HostWait> {
        if !self.is_asleep {
            return None;
        }
        let until = self.next_start(now).filter(|until| *until > now)?;
        Some(self.rate_limit.wait(Arc::clone(&self.name), until))
    }
}
