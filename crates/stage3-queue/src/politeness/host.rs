//! One host: the jobs that wait for it, its rules, its rate limit and its health.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crawl_core::{BusyHost, HostWait, Job};

use super::rate_limit::RateLimit;
use crate::frontier::Waiting;
use crate::health::Health;
use crate::robots::RulesState;
use crate::segmented_deque::SegmentedDeque;

/// Limit on how often a URL is asked that is busy each time, while nothing else of
/// its host is answered.
pub(crate) const MAX_BUSY_ANSWERS: u32 = 4;

/// Limit on how often a URL is asked that is busy each time.
const MAX_BUSY_ANSWERS_IN_ALL: u32 = 10;

/// One host: a name and a port, for both schemes. Arrays have an element for the
/// http origin and one for the https origin.
#[derive(Default)]
pub(crate) struct Host {
    pub(super) name: Arc<str>,
    pub(super) rate_limit: RateLimit,
    pub(super) rules: [RulesState; 2],
    /// The origin whose rules are waited for, although it may have no jobs.
    pub(super) wanted: Option<usize>,
    pub(super) health: [Health; 2],
    /// Jobs that wait, in the order in which they were found.
    pub(super) jobs: SegmentedDeque<Waiting>,
    /// Jobs of URLs that were busy, by the time at which they are asked again. They
    /// come after all others. The second part of a key makes it unique.
    pub(super) busy: BTreeMap<(Instant, u32), (Waiting, Box<Deferrals>)>,
    pub(super) num_busy: u32,
    /// Number of jobs that have started and are not done.
    pub(super) in_flight: usize,
    /// Number of answers that were not busy.
    pub(super) answers: u32,
    /// Set when the host is given up because it was busy all the time.
    pub(super) busy_host: Option<BusyHost>,
    /// Time at which the host wakes up, at the latest.
    pub(super) timer: Option<Instant>,
    pub(super) is_asleep: bool,
    /// True while the host waits in turn for a worker.
    pub(super) is_blocked: bool,
    /// Number of jobs that have ended in this round, see `QUANTUM`.
    pub(super) quantum_used: u32,
}

/// Returns the index of the origin of a job.
pub(super) fn origin(job: &Job) -> usize {
    usize::from(job.url.starts_with("https:"))
}

/// The deferrals of a URL, or of a robots.txt, that was busy.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferrals {
    /// Number of deferrals.
    times: u32,
    /// Number of those without another answer of the host in between.
    in_vain: u32,
    /// Number of the host's answers at the last time.
    answers: u32,
    /// Sum of the waits.
    waited: Duration,
    /// True if it is asked once more only.
    pub(crate) is_last: bool,
}

impl Deferrals {
    /// Records that the URL was busy once more. Returns the time at which it is asked
    /// again, at the earliest.
    pub(super) fn again(
        &mut self,
        retry_after: Option<Duration>,
        host: &Host,
        max_wait: Duration,
        now: Instant,
    ) -> Instant {
        self.times += 1;
        self.in_vain = if self.answers == host.answers { self.in_vain + 1 } else { 1 };
        self.answers = host.answers;
        let wait = backoff(self.in_vain, retry_after).min(max_wait);
        self.waited += wait;
        self.is_last = self.in_vain + 1 >= MAX_BUSY_ANSWERS
            || self.times + 1 >= MAX_BUSY_ANSWERS_IN_ALL
            || self.waited >= max_wait;
        (now + wait).min(host.rate_limit.wait_end(now))
    }
}

/// Returns the wait for a URL that was busy so many times, one after another: as long
/// as `Retry-After` says, but at least one second, which doubles from time to time.
pub(crate) fn backoff(times: u32, retry_after: Option<Duration>) -> Duration {
    let least = Duration::from_secs(1 << times.saturating_sub(1).min(16));
    retry_after.unwrap_or_default().max(least)
}

impl Host {
    /// Returns true if jobs wait or are in flight.
    pub(super) fn has_work(&self) -> bool {
        self.waiting() + self.in_flight > 0
    }

    /// Returns the number of jobs that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.jobs.len() + self.busy.len()
    }

    /// Adds a job whose URL was busy, to be asked again at a time.
    pub(super) fn add_busy(&mut self, due: Instant, waiting: Waiting, deferrals: Box<Deferrals>) {
        self.num_busy = self.num_busy.wrapping_add(1);
        self.busy.insert((due, self.num_busy), (waiting, deferrals));
    }

    /// Returns the time at which the next job may start; `None` if none waits, or
    /// if the rules of the host are being fetched.
    pub(super) fn next_start(&self, now: Instant) -> Option<Instant> {
        if self.rules.iter().any(|rules| matches!(rules, RulesState::Pending)) {
            return None;
        }
        let wants_rules = self.wanted.is_some_and(|origin| self.rules[origin].is_unknown());
        let due = match self.jobs.front() {
            _ if wants_rules => now,
            Some((job, _)) if self.rules_of(job).dead().is_some() => return Some(now),
            Some(_) => now,
            None => self.busy.first_key_value()?.0.0,
        };
        Some(due.max(self.rate_limit.next_start().unwrap_or(now)))
    }

    /// Returns the origin whose rules are needed before the next job can start.
    pub(super) fn needs_rules(&self) -> Option<usize> {
        let next = self.jobs.front().or_else(|| self.busy.values().next().map(|(next, _)| next));
        let origins = [self.wanted, next.map(|(job, _)| origin(job))];
        origins.into_iter().flatten().find(|origin| self.rules[*origin].is_unknown())
    }

    /// Takes the next job, and the deferrals of its URL if that was busy.
    pub(super) fn pop(&mut self) -> Option<(Waiting, Option<Box<Deferrals>>)> {
        if let Some(waiting) = self.jobs.pop_front() {
            return Some((waiting, None));
        }
        self.busy.pop_first().map(|(_, (waiting, deferrals))| (waiting, Some(deferrals)))
    }

    /// Returns what is known of the rules for a job.
    pub(super) fn rules_of(&self, job: &Job) -> &RulesState {
        &self.rules[origin(job)]
    }

    /// Returns the wait of the host, if it sleeps. A wait for memory is none of it.
    pub(super) fn wait(&self, now: Instant) -> Option<HostWait> {
        let until = self.next_start(now).filter(|until| self.is_asleep && *until > now)?;
        Some(self.rate_limit.wait(Arc::clone(&self.name), until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_doubles_and_is_never_less_than_the_server_wants() {
        let seconds = |times, retry_after: Option<u64>| {
            backoff(times, retry_after.map(Duration::from_secs)).as_secs()
        };
        let doubling: Vec<u64> = [0, 1, 2, 3, 4, 17, 18, u32::MAX].map(|n| seconds(n, None)).into();
        assert_eq!(doubling, [1, 1, 2, 4, 8, 65_536, 65_536, 65_536]);
        assert_eq!([1, 3, 4].map(|n| seconds(n, Some(7))), [7, 7, 8]);
    }
}
