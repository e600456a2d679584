//! The deadline of one try at a URL: for the whole try, for connecting (shared
//! out among the host's addresses), and for a silence of the server.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use crate::{ErrorClass, FetchError, Options};

/// The deadline of one try, from three timeouts: for the connection, for silence
/// of the server, and for the whole try from the DNS lookup to the last byte, TLS
/// included. One timer serves all three: it is set to [`Deadline::at`], and if
/// that has moved by the time it fires, it is set again.
///
/// The methods take a shared reference, because the code that reads from the
/// server and the code that waits for the timer both hold the deadline.
///
/// Every fetch in flight has a deadline, so it is small: it counts in
/// milliseconds from the beginning of the try. This is why it may expire up to a
/// millisecond early, and why no timeout is longer than 49 days.
#[derive(Debug)]
pub struct Deadline {
    /// The beginning of the try, moved forward by the duration of all pauses.
    begun: Cell<Instant>,
    connect_timeout: u32,
    read_timeout: u32,
    timeout: u32,
    /// The deadline for a connection, to any of the addresses.
    connect_deadline: Cell<u32>,
    /// The deadline of the current phase: the lookup, the connection to one
    /// address, or the next read.
    phase_deadline: Cell<u32>,
    phase: Cell<Phase>,
    /// The beginning of the current pause, and the time at which the timer fires
    /// during the pause.
    paused: Cell<Option<(u32, NonZeroU32)>>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Lookup,
    Connect,
    Read,
}

impl Deadline {
    /// The minimum time for one address, in milliseconds: the delay before the
    /// next address in RFC 8305 (happy eyeballs), section 5.
    const MIN_SHARE: u32 = 250;

    /// Creates the deadline of a try that begins at `now`.
    pub fn new(options: &Options, now: Instant) -> Self {
        let deadline = Self {
            begun: Cell::new(now),
            connect_timeout: round_up_ms(options.connect_timeout),
            read_timeout: round_up_ms(options.read_timeout),
            timeout: round_up_ms(options.timeout),
            connect_deadline: Cell::new(0),
            phase_deadline: Cell::new(0),
            phase: Cell::new(Phase::Lookup),
            paused: Cell::new(None),
        };
        deadline.reconnect(now);
        deadline
    }

    /// Returns the milliseconds from the beginning of the try to a moment.
    fn elapsed_ms(&self, moment: Instant) -> u32 {
        milliseconds(moment.saturating_duration_since(self.begun.get()))
    }

    /// Starts the phase of the lookup: at the beginning, and once more within the
    /// same try if a connection of the pool turned out to be closed.
    pub fn reconnect(&self, now: Instant) {
        let ends = self.elapsed_ms(now).saturating_add(self.connect_timeout);
        self.connect_deadline.set(ends);
        self.phase_deadline.set(ends);
        self.phase.set(Phase::Lookup);
    }

    /// Starts the connection to one of `addresses_left` addresses. The time left
    /// for connecting is divided among them, so that an address that drops every
    /// packet does not use up the time of the others.
    pub fn start_address(&self, now: Instant, addresses_left: usize) {
        let now = self.elapsed_ms(now);
        let time = self.connect_deadline.get().saturating_sub(now);
        let addresses = u32::try_from(addresses_left).unwrap_or(u32::MAX).max(1);
        let share = (time / addresses).max(Self::MIN_SHARE).min(time);
        self.phase_deadline.set(now.saturating_add(share));
        self.phase.set(Phase::Connect);
    }

    /// Returns true if only the time for one address has passed at `now`, and
    /// there is time left for the next address.
    pub fn address_timed_out(&self, now: Instant) -> bool {
        let now = self.elapsed_ms(now);
        let (phase, share) = (self.phase.get(), self.phase_deadline.get());
        let overall = self.connect_deadline.get().min(self.timeout);
        matches!(phase, Phase::Connect) && share <= now && now < overall
    }

    /// Pauses the deadline until [`Deadline::resume`]: the try waits for
    /// something that is not the fault of the server, such as a permit.
    pub fn pause(&self, now: Instant) {
        if self.paused.get().is_none() {
            self.paused.set(Some((self.elapsed_ms(now), NonZeroU32::MAX)));
        }
    }

    /// Sets the moment at which the timer fires during a pause.
    pub fn pause_until(&self, moment: Instant) {
        // Rounded up: a timer that fires too early would find nothing to do.
        let moment = round_up_ms(moment.saturating_duration_since(self.begun.get()));
        let moment = NonZeroU32::MIN.saturating_add(moment.saturating_sub(1));
        self.paused.update(|paused| paused.map(|(since, _)| (since, moment)));
    }

    /// Ends a pause: all deadlines move by its duration.
    pub fn resume(&self, now: Instant) {
        let Some((since, _)) = self.paused.take() else {
            return;
        };
        let paused = self.elapsed_ms(now).saturating_sub(since);
        self.begun.update(|begun| begun + Duration::from_millis(paused.into()));
    }

    /// Restarts the timeout for silence: the connection is made, or the server
    /// has sent bytes.
    pub fn progress(&self, now: Instant) {
        self.phase_deadline.set(self.elapsed_ms(now).saturating_add(self.read_timeout));
        self.phase.set(Phase::Read);
    }

    // ANCHOR: deadline
    /// Returns the instant at which the try times out, unless there is progress.
    pub fn at(&self) -> Instant {
        let deadline = match self.paused.get() {
            Some((_, until)) => until.get(),
            None => self.timeout.min(self.phase_deadline.get()),
        };
        self.begun.get() + Duration::from_millis(deadline.into())
    }
    // ANCHOR_END: deadline

    /// Returns the error for a try that has timed out.
    pub fn timeout_error(&self) -> FetchError {
        let (what, timeout) = if self.timeout <= self.phase_deadline.get() {
            ("no complete response within", self.timeout)
        } else {
            match self.phase.get() {
                Phase::Lookup => ("no address for the host within", self.connect_timeout),
                Phase::Connect => ("no connection within", self.connect_timeout),
                Phase::Read => ("the server was silent for", self.read_timeout),
            }
        };
        let timeout = Duration::from_millis(timeout.into());
        FetchError::new(ErrorClass::Timeout, format!("{what} {timeout:?}"))
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

/// Returns a duration in milliseconds, rounded up: a timeout of less than a
/// millisecond becomes one millisecond.
fn round_up_ms(duration: Duration) -> u32 {
    milliseconds(duration.saturating_add(Duration::from_nanos(999_999)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        let mut options = Options::new(Vec::new());
        options.connect_timeout = Duration::from_secs(10);
        options.read_timeout = Duration::from_secs(15);
        options.timeout = Duration::from_secs(30);
        options
    }

    /// Every fetch in flight has a deadline.
    #[test]
    fn a_deadline_is_small() {
        assert!(size_of::<Deadline>() <= 48, "{} bytes", size_of::<Deadline>());
    }

    #[test]
    fn progress_moves_the_deadline_and_the_total_timeout_bounds_it() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let deadline = Deadline::new(&options(), start);
        assert_eq!(deadline.at(), at(10));
        assert!(deadline.timeout_error().message.contains("no address for the host within 10s"));
        deadline.start_address(at(2), 1);
        assert_eq!(deadline.at(), at(10));
        assert!(deadline.timeout_error().message.contains("no connection within 10s"));
        deadline.progress(at(9));
        assert_eq!(deadline.at(), at(24));
        assert!(deadline.timeout_error().message.contains("silent for 15s"));
        deadline.progress(at(23));
        assert_eq!(deadline.at(), at(30));
        assert!(deadline.timeout_error().message.contains("no complete response within 30s"));
        deadline.reconnect(at(24));
        assert_eq!(deadline.at(), at(30), "the whole is not extended");
    }

    #[test]
    fn a_pause_neither_uses_nor_adds_time() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let deadline = Deadline::new(&options(), start);
        deadline.pause(at(4));
        deadline.pause(at(50));
        assert!(deadline.at() > at(1_000_000));
        deadline.resume(at(104));
        deadline.resume(at(999));
        assert_eq!(deadline.at(), at(110), "four seconds had passed, and six are left");
        deadline.start_address(at(108), 2);
        assert_eq!(deadline.at(), at(109));
        deadline.progress(at(109));
        assert_eq!(deadline.at(), at(124));
        deadline.progress(at(123));
        assert_eq!(deadline.at(), at(130));
    }

    #[test]
    fn times_are_whole_milliseconds_and_saturate() {
        let start = Instant::now();
        let mut options = options();
        options.connect_timeout = Duration::from_nanos(1);
        (options.read_timeout, options.timeout) = (Duration::MAX, Duration::MAX);

        let deadline = Deadline::new(&options, start);
        assert_eq!(deadline.at(), start + Duration::from_millis(1));
        deadline.progress(start + Duration::from_micros(1_999));
        assert_eq!(deadline.at(), start + Duration::from_millis(u32::MAX.into()));
    }

    #[test]
    fn addresses_share_the_time_for_connecting() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);

        let deadline = Deadline::new(&options(), start);
        assert!(!deadline.address_timed_out(at(9_000)), "that is the look-up's");
        // 1 s for the lookup, 9 s for three addresses; the second one refuses.
        deadline.start_address(at(1_000), 3);
        assert_eq!(deadline.at(), at(4_000));
        assert!(!deadline.address_timed_out(at(3_999)));
        assert!(deadline.address_timed_out(at(4_000)));
        deadline.start_address(at(4_000), 2);
        assert_eq!(deadline.at(), at(7_000));
        deadline.start_address(at(4_001), 1);
        assert_eq!(deadline.at(), at(10_000));
        assert!(!deadline.address_timed_out(at(10_000)), "there is no time for another");
        // Many addresses: the first ones get the minimum time.
        deadline.reconnect(at(0));
        deadline.start_address(at(9_000), 16);
        assert_eq!(deadline.at(), at(9_250));
        deadline.start_address(at(9_900), 9);
        assert_eq!(deadline.at(), at(10_000));
        assert!(deadline.timeout_error().message.contains("no connection within 10s"));
        deadline.progress(at(9_950));
        assert!(!deadline.address_timed_out(at(24_950)), "a silent server is no bad address");
    }
}
