//! How fast one host may be asked, and how much at a time.

use std::time::{Duration, Instant};

/// A pause that is asked for is no longer than this: whoever asks for hours is
/// asked again sooner, and soon given up.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// The pause when a server says that it has no time, but not for how long; it
/// doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest delay between two requests that a robots.txt can ask for.
const LONGEST_DELAY: Duration = Duration::from_secs(30);

/// The longest that a user can ask for, as far as it makes a difference.
const LONGEST_INTERVAL: Duration = Duration::from_secs(365 * 24 * 3600);

/// After so many pauses without an answer in between, a host is given up.
const MOST_REFUSALS: u32 = 10;

/// A host that was asked too much may be asked one more at a time after so
/// many answers.
const ANSWERS_PER_STEP: u32 = 10;

/// The pace of one host. It knows no clock: it is told what happens, and when.
#[derive(Debug)]
pub(super) struct Pace {
    /// Between the beginnings of two requests.
    interval: Duration,
    /// How many requests at a time, as long as nobody complains.
    most: usize,
    limit: usize,
    last_start: Option<Instant>,
    paused_until: Option<Instant>,
    /// When the last refusal came that counted.
    refused: Option<Instant>,
    /// Refusals without an answer in between.
    refusals: u32,
    /// Answers since the limit was changed.
    answers: u32,
}

impl Pace {
    pub(super) fn new(interval: Duration, most: usize) -> Self {
        Self {
            interval: interval.min(LONGEST_INTERVAL),
            most,
            limit: most,
            last_start: None,
            paused_until: None,
            refused: None,
            refusals: 0,
            answers: 0,
        }
    }

    /// When the next request may begin; `None` if at any time.
    pub(super) fn next_start(&self) -> Option<Instant> {
        let rested = self.last_start.filter(|_| self.is_measured()).map(|at| at + self.interval);
        // Nothing is less than any moment.
        rested.max(self.paused_until)
    }

    /// Whether requests begin one by one.
    pub(super) fn is_measured(&self) -> bool {
        !self.interval.is_zero()
    }

    /// How many requests there may be at a time. At least one.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// A request begins, then or as soon as it may. Returns when that is.
    pub(super) fn start(&mut self, now: Instant) -> Instant {
        let at = self.next_start().map_or(now, |at| at.max(now));
        self.last_start = Some(at);
        at
    }

    /// The host's robots.txt asks for a pause between requests.
    pub(super) fn slow_down(&mut self, delay: Duration) {
        self.interval = self.interval.max(delay.min(LONGEST_DELAY));
    }

    /// The server had no time for a request that began at `started`, one of so
    /// many at that time. `pause` is what it asks for, if it does.
    ///
    /// All that were under way when the first of them was refused are one
    /// refusal: what was learnt from it they could not know.
    pub(super) fn refused(
        &mut self,
        started: Instant,
        at_a_time: usize,
        pause: Option<Duration>,
        now: Instant,
    ) {
        self.answers = 0;
        if self.refused.is_none_or(|refused| refused <= started) {
            self.refused = Some(now);
            self.refusals += 1;
            self.limit = (self.limit.min(at_a_time) / 2).max(1);
        }
        let doublings = self.refusals.saturating_sub(1).min(16);
        let pause = pause.unwrap_or(FIRST_PAUSE * (1 << doublings)).min(LONGEST_PAUSE);
        self.paused_until = self.paused_until.max(Some(now + pause));
    }

    /// The server had time for a request that began at `started`.
    pub(super) fn answered(&mut self, started: Instant) {
        if self.refused.is_some_and(|refused| started < refused) {
            return;
        }
        self.refusals = 0;
        if self.limit < self.most {
            self.answers += 1;
            if self.answers == ANSWERS_PER_STEP {
                self.answers = 0;
                self.limit += 1;
            }
        }
    }

    /// Whether it makes no sense to go on.
    pub(super) fn is_given_up(&self) -> bool {
        self.refusals >= MOST_REFUSALS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    #[test]
    fn requests_begin_at_intervals() {
        let now = Instant::now();
        let mut pace = Pace::new(secs(2), 10);
        assert_eq!(pace.next_start(), None);
        assert_eq!(pace.start(now), now);
        assert_eq!(pace.next_start(), Some(now + secs(2)));
        assert_eq!(pace.start(now + secs(1)), now + secs(2), "as soon as it may");
        assert_eq!(pace.start(now + secs(9)), now + secs(9));
        pace.slow_down(secs(1));
        assert_eq!(pace.next_start(), Some(now + secs(11)), "the longer one counts");
        pace.slow_down(secs(3_600));
        assert_eq!(pace.next_start(), Some(now + secs(9) + LONGEST_DELAY));
    }

    #[test]
    fn refusals_halve_and_answers_restore() {
        let now = Instant::now();
        let mut pace = Pace::new(Duration::ZERO, 10);
        pace.start(now);
        assert_eq!(pace.next_start(), None);
        // Eight under way, all refused: that is one refusal.
        for n in 0..8 {
            pace.refused(now, 8 - n, Some(secs(3)), now + secs(1));
        }
        assert_eq!((pace.limit(), pace.next_start()), (4, Some(now + secs(4))));
        pace.refused(now + secs(4), 4, None, now + secs(5));
        assert_eq!((pace.limit(), pace.next_start()), (2, Some(now + secs(7))));
        for _ in 0..ANSWERS_PER_STEP {
            pace.answered(now);
            assert_eq!(pace.limit(), 2, "they were under way at that time");
        }
        for _ in 0..ANSWERS_PER_STEP {
            pace.answered(now + secs(7));
        }
        assert_eq!(pace.limit(), 3);
        for _ in 0..100 * ANSWERS_PER_STEP {
            pace.answered(now + secs(8));
        }
        assert_eq!(pace.limit(), 10);
    }

    #[test]
    fn pauses_grow_up_to_a_limit_and_then_it_is_over() {
        let mut now = Instant::now();
        let mut pace = Pace::new(Duration::ZERO, 10);
        for pause in [1, 2, 4, 8, 16, 32, 60, 60, 60, 60] {
            assert!(!pace.is_given_up());
            pace.refused(now, 1, None, now);
            assert_eq!(pace.next_start(), Some(now + secs(pause)));
            now += secs(pause);
        }
        assert!(pace.is_given_up());
        assert_eq!(pace.limit(), 1);
        pace.answered(now);
        assert!(!pace.is_given_up());
        pace.refused(now, 1, Some(secs(86_400)), now);
        assert_eq!(pace.next_start(), Some(now + LONGEST_PAUSE));
    }
}
