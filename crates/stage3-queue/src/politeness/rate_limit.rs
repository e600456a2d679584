//! Rate limit and backoff of one host: the time between two requests, the pauses
//! after a 429 or 503, and the number of requests at a time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crawl_core::{HostWait, WaitReason};

/// First pause of the exponential backoff, used when a host throttles again but does
/// not say for how long. It doubles each time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// Limit on the delay between two requests that a robots.txt can demand.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Limit on the interval and on the longest wait that a user can set. Longer ones
/// make no difference, and could overflow.
pub(super) const MAX_INTERVAL: Duration = Duration::from_secs(365 * 24 * 3600);

/// Number of answers after which the limit of a host that was throttled grows by a tenth,
/// and at least by one request at a time.
const ANSWERS_PER_STEP: u32 = 10;

/// Time after which requests without any news count as silent. Otherwise they would keep the
/// only places of a host whose limit is reduced.
const SILENCE: Duration = Duration::from_secs(1);

/// The rate limit of one host: an interval between requests, pauses after a 429 or 503, and
/// a limit on requests at a time. A throttled request halves that limit and
/// other answers raise it again (additive increase, multiplicative decrease). It
/// reads no clock: the caller passes the time of each event.
///
/// A 429 or 503 is about its URL first. So the pauses of a host are short enough
/// that its other URLs are requested in any case, see [`ThrottledSpell`].
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    /// Minimum time between the starts of two requests.
    interval: Duration,
    /// Limit on the wait that a 429 or 503 can demand.
    max_wait: Duration,
    /// Upper bound of `limit`, and its value until the host throttles for the first time.
    max_limit: usize,
    /// Number of requests that may be in flight at a time.
    limit: usize,
    last_start: Option<Instant>,
    pub(super) paused_until: Option<Instant>,
    /// Time and status of the last 429 or 503 that counted.
    last_throttled: Option<(Instant, u16)>,
    /// Set from a 429 or 503 to the next other answer.
    spell: Option<ThrottledSpell>,
    /// Number of answers since the limit was changed.
    answers: u32,
    /// Time of the last start or end of a request.
    last_event: Option<Instant>,
    /// How many requests in flight count as silent.
    num_silent: usize,
    /// When they began to; later requests do not count.
    silent_since: Option<Instant>,
}

/// A spell of time: since it began, a host has answered everything with 429 or 503.
///
/// In one spell, the host is paused for at most three quarters of the longest
/// wait. Then one URL after another is requested, at short intervals, since the host
/// may throttle some URLs only. When it has answered nothing else for twice the
/// longest wait, the host itself is overloaded and is given up.
#[derive(Debug)]
struct ThrottledSpell {
    /// Its beginning, moved by the times in which the crawler had other things to do.
    since: Instant,
    /// Number of answers that counted.
    count: u32,
    /// Sum of the pauses.
    paused: Duration,
}

impl RateLimit {
    pub(super) fn new(interval: Duration, max_wait: Duration, max_limit: usize) -> Self {
        let (interval, max_wait) = (interval.min(MAX_INTERVAL), max_wait.min(MAX_INTERVAL));
        Self { interval, max_wait, max_limit, limit: max_limit, ..Self::default() }
    }

    /// Returns the earliest time at which the next request may start; `None` if it
    /// may start at any time.
    pub(super) fn next_start(&self) -> Option<Instant> {
        // `None` is less than any `Some`.
        self.rested().max(self.paused_until)
    }

    /// Returns the time at which the interval since the last request is over.
    fn rested(&self) -> Option<Instant> {
        if self.interval.is_zero() {
            return None;
        }
        self.last_start.map(|at| at + self.interval)
    }

    /// Returns the wait of a host until a time.
    pub(super) fn wait(&self, host: Arc<str>, until: Instant) -> HostWait {
        let reason = match self.last_throttled {
            Some((_, status)) if self.rested() < Some(until) => WaitReason::Busy(status),
            _ => WaitReason::Delay,
        };
        HostWait { host, until, reason }
    }

    /// Counts a request that starts then.
    pub(super) fn start(&mut self, at: Instant) {
        self.last_start = Some(at);
        self.last_event = Some(at);
    }

    /// Counts the end of a request that has started at `started`.
    pub(super) fn end(&mut self, started: Instant, now: Instant) {
        self.last_event = Some(now);
        if self.silent_since.is_some_and(|since| started < since) {
            self.num_silent = self.num_silent.saturating_sub(1);
        }
    }

    /// Returns the number of requests that may start while `in_flight` others are
    /// in flight. Silent ones add to the limit, but never beyond its upper bound.
    pub(super) fn free_slots(&mut self, in_flight: usize, now: Instant) -> usize {
        if self.silent_at(in_flight).is_some_and(|at| at <= now) {
            self.num_silent = in_flight;
            self.silent_since = Some(now);
        }
        (self.limit + self.num_silent).min(self.max_limit).saturating_sub(in_flight)
    }

    /// Returns the time at which the requests in flight count as silent, if they
    /// fill a reduced limit.
    pub(super) fn silent_at(&self, in_flight: usize) -> Option<Instant> {
        let is_reduced = self.limit < self.max_limit;
        if is_reduced && in_flight.saturating_sub(self.num_silent) >= self.limit {
            self.last_event.map(|at| at + SILENCE)
        } else {
            None
        }
    }

    /// Applies the `Crawl-delay` of the host's robots.txt.
    pub(super) fn slow_down(&mut self, delay: Duration) {
        self.interval = self.interval.max(delay.min(MAX_DELAY));
    }

    /// Pauses the host.
    pub(super) fn pause(&mut self, until: Instant) {
        self.paused_until = self.paused_until.max(Some(until));
    }

    /// Records a 429 or 503 for a request that has started at `started`, when
    /// `at_a_time` requests were in flight. `retry_after` is the pause that the
    /// server demands, if any. Without it, the backoff is exponential, from the
    /// second such answer on; but that is of use only if the host `has_others`:
    /// URLs that were not requested yet.
    ///
    /// All requests that were in flight at the first such answer count as one: they
    /// were sent before the limit was lowered.
    pub(super) fn throttled(
        &mut self,
        status: u16,
        started: Instant,
        (at_a_time, has_others): (usize, bool),
        retry_after: Option<Duration>,
        now: Instant,
    ) {
        self.answers = 0;
        let is_first = self.last_throttled.is_none_or(|(last, _)| last <= started);
        let spell = self.spell.get_or_insert(ThrottledSpell {
            since: now,
            count: 0,
            paused: Duration::ZERO,
        });
        if is_first {
            // Do not charge the host for time in which we had no request for it.
            let until = match self.paused_until {
                Some(until) if spell.count > 0 => until,
                _ => started,
            };
            spell.since += started.saturating_duration_since(until + self.interval);
            self.last_throttled = Some((now, status));
            self.limit = (self.limit.min(at_a_time) / 2).max(1);
            spell.count += 1;
        }
        let backoff = match spell.count {
            n @ 2.. if has_others => FIRST_BACKOFF * (1 << (n - 2).min(16)),
            _ => Duration::ZERO,
        };
        let budget = (self.max_wait * 3 / 4).saturating_sub(spell.paused);
        let pause = if budget.is_zero() {
            self.max_wait / 120
        } else {
            retry_after.unwrap_or(backoff).min(budget)
        };
        let paused = self.paused_until.map_or(now, |until| until.max(now));
        spell.paused += (now + pause).saturating_duration_since(paused);
        self.pause(now + pause);
    }

    /// Records that the server answered a request that has started at `started`.
    pub(super) fn answered(&mut self, started: Instant) {
        if self.last_throttled.is_some_and(|(at, _)| started < at) {
            return;
        }
        self.spell = None;
        if self.limit < self.max_limit {
            self.answers = (self.answers + 1) % ANSWERS_PER_STEP;
            if self.answers == 0 {
                self.limit = (self.limit + 1 + self.limit / 10).min(self.max_limit);
            }
        }
    }

    /// Returns the end of the longest wait for a URL that is throttled now. All URLs
    /// that are throttled in one spell wait at the same time.
    pub(super) fn wait_end(&self, now: Instant) -> Instant {
        let since = self.spell.as_ref().map_or(now, |spell| spell.since);
        now.max(since + self.max_wait)
    }

    /// Returns the status of a host that is to be given up: it has answered nothing else
    /// for twice the longest wait.
    pub(super) fn given_up(&self, now: Instant) -> Option<u16> {
        let spell = self.spell.as_ref()?;
        let (_, status) = self.last_throttled?;
        (now >= spell.since + self.max_wait * 2).then_some(status)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_WAIT: Duration = Duration::from_secs(60);
    const S: u64 = 1_000;

    /// Returns the moments of a test, by their milliseconds.
    fn clock() -> impl Fn(u64) -> Instant {
        let start = Instant::now();
        move |millis| start + Duration::from_millis(millis)
    }

    /// Returns a limit without an interval.
    fn limit(max_limit: usize) -> RateLimit {
        RateLimit::new(Duration::ZERO, MAX_WAIT, max_limit)
    }

    fn secs(secs: u64) -> Option<Duration> {
        Some(Duration::from_secs(secs))
    }

    #[test]
    fn a_request_may_start_after_the_interval_and_after_the_pause() {
        let at = clock();
        let mut limit = RateLimit::new(Duration::from_secs(2), MAX_WAIT, 10);
        assert_eq!(limit.next_start(), None);
        limit.start(at(0));
        assert_eq!(limit.next_start(), Some(at(2 * S)));
        for (until, next_start) in [(S, 2 * S), (3 * S, 3 * S), (2 * S, 3 * S)] {
            limit.pause(at(until));
            assert_eq!(limit.next_start(), Some(at(next_start)));
        }
        for (delay, next_start) in [(1, 3), (5, 5), (100, 30), (7, 30)] {
            limit.slow_down(Duration::from_secs(delay));
            assert_eq!(limit.next_start(), Some(at(next_start * S)));
        }

        let mut limit = self::limit(10);
        limit.start(at(0));
        assert_eq!(limit.next_start(), None);
        limit.pause(at(S));
        assert_eq!(limit.next_start(), Some(at(S)));
    }

    #[test]
    fn intervals_and_waits_of_years_count_as_one() {
        let now = Instant::now();
        let days = |days: u64| Duration::from_secs(days * 24 * 3600);
        for (wanted, expected) in [(300, 300), (365, 365), (10_000, 365)] {
            let mut limit = RateLimit::new(days(wanted), days(wanted), 10);
            limit.start(now);
            let expected = now + days(expected);
            assert_eq!((limit.next_start(), limit.wait_end(now)), (Some(expected), expected));
        }
    }

    /// The reason of a wait is what takes longest.
    #[test]
    fn a_wait_has_a_reason() {
        let at = clock();
        let mut limit = RateLimit::new(Duration::from_secs(2), MAX_WAIT, 10);
        let reason = |limit: &RateLimit, until| limit.wait(Arc::from("host"), at(until)).reason;
        limit.start(at(0));
        assert_eq!(reason(&limit, 3 * S), WaitReason::Delay);
        limit.throttled(429, at(0), (1, true), None, at(0));
        assert_eq!(reason(&limit, 2 * S), WaitReason::Delay);
        assert_eq!(reason(&limit, 3 * S), WaitReason::Busy(429));
    }

    #[test]
    fn busy_answers_halve_the_limit_and_other_answers_raise_it() {
        let at = clock();
        let mut limit = limit(40);
        let throttled = |limit: &mut RateLimit, started, at_a_time, now| {
            limit.throttled(503, at(started), (at_a_time, true), None, at(now));
            limit.free_slots(0, at(now))
        };
        let answers = |limit: &mut RateLimit, started, n| {
            (0..n).for_each(|_| limit.answered(at(started)));
            limit.free_slots(0, at(started))
        };
        assert_eq!(limit.free_slots(0, at(0)), 40);
        assert_eq!((limit.free_slots(39, at(0)), limit.free_slots(40, at(0))), (1, 0));
        assert_eq!(throttled(&mut limit, 0, 40, 100), 20);
        // It was in flight already: both count as one.
        assert_eq!(throttled(&mut limit, 99, 40, 200), 20);
        assert_eq!(answers(&mut limit, 99, 100), 20);
        assert_eq!(answers(&mut limit, 100, 9), 20);
        let steps = [1, 10, 10, 10, 10, 10, 10, 100].map(|n| answers(&mut limit, 100, n));
        assert_eq!(steps, [23, 26, 29, 32, 36, 40, 40, 40]);
        assert_eq!(throttled(&mut limit, 200, 9, 300), 4);
        assert_eq!(throttled(&mut limit, 300, 40, 400), 2);
        assert_eq!(throttled(&mut limit, 400, 2, 500), 1);
        assert_eq!(throttled(&mut limit, 500, 1, 600), 1);
        assert_eq!(answers(&mut limit, 600, 10), 2);
    }

    /// Returns the pauses after one 503 after another, in milliseconds.
    fn pauses(has_others: bool, retry_after: Option<Duration>) -> Vec<u128> {
        let mut limit = limit(10);
        let mut now = Instant::now();
        let mut pause = || {
            limit.throttled(503, now, (1, has_others), retry_after, now);
            let begun = now;
            now = limit.next_start().unwrap_or(now);
            now.duration_since(begun).as_millis()
        };
        (0..9).map(|_| pause()).collect()
    }

    /// The pauses of a spell are three quarters of the longest wait, and short ones then.
    #[test]
    fn pauses_double_up_to_a_sum() {
        let doubling = [0, 1_000, 2_000, 4_000, 8_000, 16_000, 14_000, 500, 500];
        assert_eq!(pauses(true, None), doubling);
        assert_eq!(pauses(false, None), [0; 9]);
        let wanted = [20_000, 20_000, 5_000, 500, 500, 500, 500, 500, 500];
        assert_eq!(pauses(true, secs(20)), wanted);
        assert_eq!(pauses(false, secs(20)), wanted);
    }

    /// Time that two answers ask for is counted once.
    #[test]
    fn pauses_at_the_same_time_are_one() {
        let at = clock();
        let mut limit = limit(10);
        limit.throttled(503, at(0), (2, true), secs(10), at(0));
        limit.throttled(503, at(0), (2, true), secs(10), at(S));
        assert_eq!(limit.next_start(), Some(at(11 * S)));
        limit.throttled(503, at(11 * S), (1, true), secs(100), at(11 * S));
        assert_eq!(limit.next_start(), Some(at(45 * S)));
    }

    /// Checks that a host is given up at a time, with its status, and not before.
    #[track_caller]
    fn assert_given_up(limit: &RateLimit, at: Instant) {
        let before = at.checked_sub(Duration::from_millis(1)).unwrap();
        assert_eq!((limit.given_up(before), limit.given_up(at)), (None, Some(503)));
    }

    #[test]
    fn a_host_is_given_up_that_is_busy_for_twice_the_longest_wait() {
        let at = clock();
        let mut limit = limit(10);
        assert_eq!(limit.wait_end(at(0)), at(60 * S));
        assert_eq!(limit.given_up(at(1_000 * S)), None);
        // A pause before the first 503 says nothing about the host.
        limit.pause(at(5 * S));
        limit.throttled(503, at(20 * S), (1, false), None, at(20 * S));
        assert_given_up(&limit, at(140 * S));
        assert_eq!(limit.wait_end(at(30 * S)), at(80 * S));
        assert_eq!(limit.wait_end(at(90 * S)), at(90 * S));
        limit.answered(at(20 * S));
        assert_eq!(limit.given_up(at(1_000 * S)), None);
    }

    /// Only time counts in which the crawler had a request for the host.
    #[test]
    fn time_with_other_things_to_do_is_not_the_hosts() {
        let at = clock();
        let mut limit = RateLimit::new(Duration::from_secs(2), MAX_WAIT, 10);
        limit.throttled(503, at(0), (1, false), None, at(0));
        limit.throttled(503, at(10 * S), (1, false), None, at(10 * S));
        assert_given_up(&limit, at(128 * S));
    }

    #[test]
    fn silent_requests_do_not_keep_the_places_of_a_reduced_limit() {
        let at = clock();
        let mut limit = limit(4);
        assert_eq!(limit.silent_at(4), None);
        limit.start(at(0));
        assert_eq!(limit.silent_at(4), None);
        limit.throttled(503, at(0), (4, true), None, at(100));
        limit.start(at(200));
        assert_eq!((limit.silent_at(1), limit.silent_at(2)), (None, Some(at(1_200))));
        assert_eq!((limit.free_slots(2, at(1_199)), limit.free_slots(2, at(1_200))), (0, 2));
        assert_eq!(limit.silent_at(2), None);
        // Two others, which are not silent: they begin when it is noticed.
        limit.start(at(1_200));
        assert_eq!((limit.free_slots(4, at(1_200)), limit.silent_at(4)), (0, Some(at(2_200))));
        limit.end(at(1_200), at(1_300));
        assert_eq!((limit.free_slots(3, at(1_300)), limit.silent_at(4)), (1, Some(at(2_300))));
        limit.end(at(0), at(1_400));
        assert_eq!((limit.free_slots(2, at(1_400)), limit.free_slots(3, at(1_400))), (1, 0));
    }
}
