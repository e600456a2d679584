//! Rate limit and backoff of one host: the time between two requests, and the
//! number of requests at a time.

use std::time::{Duration, Instant};

/// Limit on the pause after a refusal. A host that asks for hours is asked again
/// after this time, and is abandoned before long.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// First pause of the exponential backoff, used when a server throttles the
/// crawler but does not say for how long. It doubles each time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// Limit on the delay between two requests that a robots.txt can ask for.
const MAX_DELAY: Duration = Duration::from_secs(30);

/// Limit on the interval that a user can ask for. Longer ones make no difference,
/// and could overflow.
const MAX_INTERVAL: Duration = Duration::from_secs(365 * 24 * 3600);

/// Number of refusals, without an answer in between, after which a host is
/// abandoned.
const MAX_REFUSALS: u32 = 10;

/// Number of answers after which the limit of a throttled host grows by one
/// request at a time.
const ANSWERS_PER_STEP: u32 = 10;

/// The rate limit of one host: an interval between requests, a backoff after
/// refusals, and a limit on requests at a time. Refusals halve that limit and
/// answers raise it again (additive increase, multiplicative decrease). It reads
/// no clock: the caller passes the time of each event.
#[derive(Debug)]
pub(super) struct RateLimit {
    /// Minimum time between the starts of two requests.
    interval: Duration,
    /// Upper bound of `limit`, and its value until the first refusal.
    max_limit: usize,
    /// Number of requests that may be in flight at a time.
    limit: usize,
    last_start: Option<Instant>,
    paused_until: Option<Instant>,
    /// Time of the last refusal that counted.
    last_refusal: Option<Instant>,
    /// Number of refusals without an answer in between.
    refusals: u32,
    /// Number of answers since the limit was changed.
    answers: u32,
}

impl RateLimit {
    pub(super) fn new(interval: Duration, max_limit: usize) -> Self {
        Self {
            interval: interval.min(MAX_INTERVAL),
            max_limit,
            limit: max_limit,
            last_start: None,
            paused_until: None,
            last_refusal: None,
            refusals: 0,
            answers: 0,
        }
    }

    /// Returns the earliest time at which the next request may start; `None` if it
    /// may start at any time.
    pub(super) fn next_start(&self) -> Option<Instant> {
        let rested = self.last_start.filter(|_| self.has_interval()).map(|at| at + self.interval);
        // `None` is less than any `Some`.
        rested.max(self.paused_until)
    }

    /// Returns true if requests must be some time apart.
    pub(super) fn has_interval(&self) -> bool {
        !self.interval.is_zero()
    }

    /// Returns the number of requests that may be in flight at a time, at least
    /// one.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// Counts a request that starts now, or as soon as it may. Returns the time of
    /// that start.
    pub(super) fn start(&mut self, now: Instant) -> Instant {
        let at = self.next_start().map_or(now, |at| at.max(now));
        self.last_start = Some(at);
        at
    }

    /// Applies the `Crawl-delay` of the host's robots.txt.
    pub(super) fn slow_down(&mut self, delay: Duration) {
        self.interval = self.interval.max(delay.min(MAX_DELAY));
    }

    /// Records that the server refused a request that began at `started`, when
    /// `at_a_time` requests were in flight. `pause` is the pause that it asks for,
    /// if any; without it, the backoff is exponential.
    ///
    /// All requests that were in flight when the first one was refused count as
    /// one refusal: they were sent before the limit was lowered.
    pub(super) fn refused(
        &mut self,
        started: Instant,
        at_a_time: usize,
        pause: Option<Duration>,
        now: Instant,
    ) {
        self.answers = 0;
        if self.last_refusal.is_none_or(|refused| refused <= started) {
            self.last_refusal = Some(now);
            self.refusals += 1;
            self.limit = (self.limit.min(at_a_time) / 2).max(1);
        }
        let doublings = self.refusals.saturating_sub(1).min(16);
        let pause = pause.unwrap_or(FIRST_BACKOFF * (1 << doublings)).min(MAX_BACKOFF);
        self.paused_until = self.paused_until.max(Some(now + pause));
    }

    /// Records that the server answered a request that began at `started`.
    pub(super) fn answered(&mut self, started: Instant) {
        if self.last_refusal.is_some_and(|refused| started < refused) {
            return;
        }
        self.refusals = 0;
        if self.limit < self.max_limit {
            self.answers += 1;
            if self.answers == ANSWERS_PER_STEP {
                self.answers = 0;
                self.limit += 1;
            }
        }
    }

    /// Returns true if the host has refused so often that it is not asked any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.refusals >= MAX_REFUSALS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn requests_start_at_intervals() {
        let now = Instant::now();
        let mut rate_limit = RateLimit::new(secs(2), 10);
        assert_eq!(rate_limit.next_start(), None);
        assert_eq!(rate_limit.start(now), now);
        assert_eq!(rate_limit.next_start(), Some(now + secs(2)));
        assert_eq!(rate_limit.start(now + secs(1)), now + secs(2), "as soon as it may");
        assert_eq!(rate_limit.start(now + secs(9)), now + secs(9));
        rate_limit.slow_down(secs(1));
        assert_eq!(rate_limit.next_start(), Some(now + secs(11)), "the longer one counts");
        rate_limit.slow_down(secs(3_600));
        assert_eq!(rate_limit.next_start(), Some(now + secs(9) + MAX_DELAY));
    }

    #[test]
    fn refusals_halve_the_limit_and_answers_restore_it() {
        let now = Instant::now();
        let mut rate_limit = RateLimit::new(Duration::ZERO, 10);
        rate_limit.start(now);
        assert_eq!(rate_limit.next_start(), None);
        // Eight requests in flight, all refused: that counts as one refusal.
        for n in 0..8 {
            rate_limit.refused(now, 8 - n, Some(secs(3)), now + secs(1));
        }
        assert_eq!((rate_limit.limit(), rate_limit.next_start()), (4, Some(now + secs(4))));
        rate_limit.refused(now + secs(4), 4, None, now + secs(5));
        assert_eq!((rate_limit.limit(), rate_limit.next_start()), (2, Some(now + secs(7))));
        for _ in 0..ANSWERS_PER_STEP {
            rate_limit.answered(now);
            assert_eq!(rate_limit.limit(), 2, "they were under way at that time");
        }
        for _ in 0..ANSWERS_PER_STEP {
            rate_limit.answered(now + secs(7));
        }
        assert_eq!(rate_limit.limit(), 3);
        for _ in 0..100 * ANSWERS_PER_STEP {
            rate_limit.answered(now + secs(8));
        }
        assert_eq!(rate_limit.limit(), 10);
    }

    #[test]
    fn backoff_doubles_up_to_a_limit_until_the_host_is_abandoned() {
        let mut now = Instant::now();
        let mut rate_limit = RateLimit::new(Duration::ZERO, 10);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60] {
            assert!(!rate_limit.is_abandoned());
            rate_limit.refused(now, 1, None, now);
            assert_eq!(rate_limit.next_start(), Some(now + secs(pause)));
            now += secs(pause);
        }
        assert!(rate_limit.is_abandoned());
        assert_eq!(rate_limit.limit(), 1);
        rate_limit.answered(now);
        assert!(!rate_limit.is_abandoned());
        rate_limit.refused(now, 1, Some(secs(86_400)), now);
        assert_eq!(rate_limit.next_start(), Some(now + MAX_BACKOFF));
    }
}
