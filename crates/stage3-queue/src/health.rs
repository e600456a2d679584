//! The health of an origin: a circuit breaker, which opens when nothing answers.

use std::time::{Duration, Instant};

use crawl_core::Visit;

/// Number of failed attempts to connect, one after another and without an answer
/// in between, after which an origin is given up.
const MAX_FAILED_CONNECTS: u32 = 8;

/// Number of URLs without a response, one after another, after which an origin is
/// given up.
const MAX_FAILED_URLS: u32 = 16;

/// No origin is given up before it has been silent for this long.
const MIN_FAILED_TIME: Duration = Duration::from_secs(5);

/// What is thought of an origin after an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// It may get further attempts.
    Alive,
    /// It does not answer and gets no more attempts.
    GivenUp,
}

/// The circuit breaker of an origin: counts its failed attempts since its last answer.
#[derive(Debug, Default)]
pub struct CircuitBreaker {
    failed_connects: u32,
    failed_urls: u32,
    /// The beginning of the first visit that failed.
    since: Option<Instant>,
}

impl CircuitBreaker {
    /// Records an attempt without a response.
    pub fn record_failure(&mut self, visit: &Visit, now: Instant) -> Health {
        let since = *self.since.get_or_insert(visit.begun());
        self.failed_connects += u32::from(!visit.has_request());
        self.failed_urls += u32::from(!visit.has_failed_try());
        let is_often =
            self.failed_connects >= MAX_FAILED_CONNECTS || self.failed_urls >= MAX_FAILED_URLS;
        if is_often && now >= since + MIN_FAILED_TIME { Health::GivenUp } else { Health::Alive }
    }
}
