//! The health of an origin: a circuit breaker, which opens when nothing answers.

use std::time::{Duration, Instant};

use crawl_core::Visit;

/// Number of failed attempts to connect, one after another and without an answer
/// in between, after which an origin is given up.
const MAX_FAILED_CONNECTS: u32 = 8;

/// Number of URLs without a response, one after another, after which an origin is
/// given up.
const MAX_FAILED_URLS: u32 = 16;

/// Time without an answer before which no origin is given up.
const MIN_FAILED_TIME: Duration = Duration::from_secs(5);

/// The health of an origin: its failed attempts since its last answer.
#[derive(Debug, Default)]
pub struct Health {
    failed_connects: u32,
    failed_urls: u32,
    /// The beginning of the first visit that failed.
    since: Option<Instant>,
}

impl Health {
    /// Records an attempt without a response. Returns true if the origin is given
    /// up.
    pub fn failed(&mut self, visit: &Visit, now: Instant) -> bool {
        let since = *self.since.get_or_insert(visit.begun());
        self.failed_connects += u32::from(!visit.has_request());
        self.failed_urls += u32::from(!visit.has_failed_try());
        let is_often =
            self.failed_connects >= MAX_FAILED_CONNECTS || self.failed_urls >= MAX_FAILED_URLS;
        is_often && now >= since + MIN_FAILED_TIME
    }
}
