//! How often a URL was put off, and when its last attempt has come.

use std::time::Duration;

use crawl_core::{DeferReason, Deferral};

/// Maximum attempts for a URL that is always throttled while its host answers nothing
/// else.
pub(crate) const MAX_ATTEMPTS_IN_A_ROW: u32 = 4;

/// Maximum attempts for a URL that is always throttled while its host answers others.
const MAX_ATTEMPTS: u32 = 10;

/// Least time until the name of a host is looked up once more, if its name server gave no
/// answer.
const DNS_PAUSE: Duration = Duration::from_secs(2);

/// The deferrals of a URL, or of a robots.txt, that was throttled or whose server failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferrals {
    /// Number of attempts before the next one.
    pub(crate) tries: u32,
    /// Number of deferrals because it was throttled.
    times: u32,
    /// Number of those without another answer of the host in between.
    in_a_row: u32,
    /// Number of the host's answers at the last one of them.
    answers: u32,
    /// Sum of the waits.
    waited: Duration,
    /// True if the next attempt is the last one.
    pub(crate) is_last: bool,
    /// True if the server has failed at it once.
    has_failed: bool,
    /// The status with which the server has failed, until the next attempt has ended.
    pub(super) server_error: Option<u16>,
}

impl Deferrals {
    /// Returns true if the URL may be put off for this reason.
    pub(super) fn may_add(&self, deferral: &Deferral) -> bool {
        match deferral.reason {
            DeferReason::Throttled => !self.is_last,
            DeferReason::ServerError(_) => !self.is_last && !self.has_failed,
            DeferReason::NoDns => !self.is_last,
        }
    }

    /// Records that the URL is put off, when its host had given so many `answers`. Returns the
    /// wait until the next attempt.
    pub(super) fn add(
        &mut self,
        deferral: &Deferral,
        answers: u32,
        max_wait: Duration,
    ) -> Duration {
        let retry_after = deferral.retry_after;
        self.tries += deferral.tries;
        self.server_error = None;
        match deferral.reason {
            DeferReason::Throttled => {}
            DeferReason::ServerError(status) => {
                self.has_failed = true;
                self.server_error = Some(status);
                return backoff(1, retry_after).min(max_wait);
            }
            DeferReason::NoDns => return DNS_PAUSE.min(max_wait),
        }
        self.times += 1;
        self.in_a_row = if self.answers == answers { self.in_a_row + 1 } else { 1 };
        self.answers = answers;
        let wait = backoff(self.in_a_row, retry_after).min(max_wait);
        self.waited += wait;
        self.is_last = self.in_a_row + 1 >= MAX_ATTEMPTS_IN_A_ROW
            || self.times + 1 >= MAX_ATTEMPTS
            || self.waited >= max_wait;
        wait
    }
}

/// Returns the wait for a URL that was throttled this many times in a row: as long as
/// `Retry-After` says, and at least one second, which doubles each time.
pub(crate) fn backoff(times: u32, retry_after: Option<Duration>) -> Duration {
    let least = Duration::from_secs(1 << times.saturating_sub(1).min(16));
    retry_after.unwrap_or_default().max(least)
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
