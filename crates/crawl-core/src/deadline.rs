//! The deadline of one attempt at a URL: for the whole attempt, for connecting (shared
//! out among the host's addresses), and for a silence of the server.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::{ErrorClass, FetchError, FetchResult, Options};
use web::Address;

/// The deadline of one attempt, from three timeouts: for the connection, for silence
/// of the server, and for the whole attempt from the DNS lookup to the last byte, TLS
/// included. One timer serves all three: it is set to [`Deadline::at`], and if
/// that has moved by the time it fires, it is set again.
///
/// The methods take a shared reference, because the code that reads from the
/// server and the code that waits for the timer both hold the deadline.
///
/// Every fetch in flight has a deadline, so it is small: it counts in
/// milliseconds from the beginning of the attempt. This is why it may expire up to a
/// millisecond early, and why no timeout is longer than 49 days.
#[derive(Debug)]
pub struct Deadline {
    /// The beginning of the attempt, moved forward by the duration of all pauses.
    begun: Cell<Instant>,
    connect_timeout: u32,
    read_timeout: u32,
    timeout: u32,
    /// The deadline for a connection, to any of the addresses.
    connect_deadline: Cell<u32>,
    /// The deadline of the current phase. Of a pause, which has none, its beginning.
    phase_deadline: Cell<u32>,
    phase: Cell<Kind>,
}

// ANCHOR: phase
/// A phase of an attempt. Each has a deadline of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The lookup of the host. Every attempt begins with it, and so does a second
    /// connection within the same attempt.
    Lookup,
    /// The connection to one of the host's addresses. The time left for
    /// connecting is divided among the addresses, so that one that drops every
    /// packet does not use up the time of the others.
    Connect {
        /// The number of addresses that have not failed, this one included.
        addresses_left: usize,
    },
    /// The exchange of request and response. It is entered again whenever the
    /// server sends something, which restarts the timeout for silence.
    Exchange,
    /// The wait for the rest of a response of which nothing more is needed. To
    /// receive it is only worth while if the connection can be used again, so it
    /// has one second, or the timeout for silence if that is shorter.
    Discard,
    /// The wait for something that is not the fault of the server, such as a
    /// permit to connect. The clock of the deadline stands still until the next
    /// phase.
    Pause,
}
// ANCHOR_END: phase

/// The current phase, which an error names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Lookup,
    Connect,
    Exchange,
    Discard,
    Pause,
}

impl Deadline {
    /// The time for a response of which nothing more is needed, in milliseconds.
    const DISCARD_TIME: u32 = 1_000;

    /// The minimum time for one address, in milliseconds: the delay before the
    /// next address in RFC 8305 (happy eyeballs), section 5.
    const MIN_SHARE: u32 = 250;

    /// Creates the deadline of an attempt that begins at `now`, with the lookup.
    pub fn new(options: &Options, now: Instant) -> Self {
        Self::with_timeouts(
            options.settings.connect_timeout,
            options.settings.read_timeout,
            options.settings.timeout,
            now,
        )
    }

    /// Creates the deadline of an attempt at this URL, whose host may have timeouts of its own.
    pub fn for_url(url: Address<'_>, options: &Options, now: Instant) -> Self {
        let Some(host) = options.host(url) else { return Self::new(options, now) };
        let connect_timeout = host.connect_timeout.unwrap_or(options.settings.connect_timeout);
        let read_timeout = host.read_timeout.unwrap_or(options.settings.read_timeout);
        Self::with_timeouts(
            connect_timeout,
            read_timeout,
            host.timeout.unwrap_or(options.settings.timeout),
            now,
        )
    }

    fn with_timeouts(connect: Duration, read: Duration, whole: Duration, now: Instant) -> Self {
        let connect_timeout = round_up_ms(connect);
        Self {
            begun: Cell::new(now),
            connect_timeout,
            read_timeout: round_up_ms(read),
            timeout: round_up_ms(whole),
            connect_deadline: Cell::new(connect_timeout),
            phase_deadline: Cell::new(connect_timeout),
            phase: Cell::new(Kind::Lookup),
        }
    }

    /// Returns the milliseconds from the beginning of the attempt to a moment.
    fn elapsed_ms(&self, moment: Instant) -> u32 {
        milliseconds(moment.saturating_duration_since(self.begun.get()))
    }

    /// Enters a phase, and leaves the one before it. At the end of a pause all
    /// deadlines move by its duration.
    // Inlined: a call with a phase that is known takes few instructions.
    #[inline]
    pub fn enter(&self, phase: Phase, now: Instant) {
        let mut now = self.elapsed_ms(now);
        if self.phase.get() == Kind::Pause {
            if phase == Phase::Pause {
                return;
            }
            let since = self.phase_deadline.get();
            let pause = now.saturating_sub(since);
            self.begun.update(|begun| begun + Duration::from_millis(pause.into()));
            now = since;
        }
        let (kind, time) = match phase {
            Phase::Lookup => {
                self.connect_deadline.set(now.saturating_add(self.connect_timeout));
                (Kind::Lookup, self.connect_timeout)
            }
            Phase::Connect { addresses_left } => {
                let time = self.connect_deadline.get().saturating_sub(now);
                let addresses = u32::try_from(addresses_left).unwrap_or(u32::MAX).max(1);
                (Kind::Connect, (time / addresses).max(Self::MIN_SHARE).min(time))
            }
            Phase::Discard if self.phase.get() == Kind::Discard => return,
            Phase::Discard => (Kind::Discard, self.read_timeout.min(Self::DISCARD_TIME)),
            Phase::Exchange => (Kind::Exchange, self.read_timeout),
            Phase::Pause => (Kind::Pause, 0),
        };
        self.phase.set(kind);
        self.phase_deadline.set(now.saturating_add(time));
    }

    // ANCHOR: deadline
    /// Returns the instant at which the current phase times out: the far future
    /// in a pause.
    pub fn at(&self) -> Instant {
        let deadline = match self.phase.get() {
            Kind::Pause => u32::MAX,
            _ => self.timeout.min(self.phase_deadline.get()),
        };
        self.begun.get() + Duration::from_millis(deadline.into())
    }
    // ANCHOR_END: deadline

    /// Checks that the attempt has not timed out at `now`. In the phase
    /// [`Phase::Connect`] it has not as long as there is time for another address.
    ///
    /// # Errors
    /// When the attempt has timed out.
    pub fn check(&self, now: Instant) -> FetchResult {
        let (what, timeout) = match self.phase.get() {
            Kind::Lookup => ("no answer from DNS within", self.connect_timeout),
            Kind::Connect => ("no connection within", self.connect_timeout),
            Kind::Exchange => ("the server was silent for", self.read_timeout),
            Kind::Discard => ("the response did not end within", Self::DISCARD_TIME),
            Kind::Pause => return Ok(()),
        };
        let deadline = match self.phase.get() {
            Kind::Connect => self.connect_deadline.get(),
            _ => self.phase_deadline.get(),
        };
        if self.elapsed_ms(now) < self.timeout.min(deadline) {
            return Ok(());
        }
        let (what, timeout) = if self.timeout <= self.phase_deadline.get() {
            ("no complete response within", self.timeout)
        } else {
            (what, timeout)
        };
        let timeout = Duration::from_millis(timeout.into());
        Err(FetchError::new(ErrorClass::Timeout, format!("{what} {timeout:?}")))
    }
}

fn milliseconds(duration: Duration) -> u32 {
    let milliseconds = duration.as_secs().saturating_mul(1000);
    let milliseconds = milliseconds.saturating_add(duration.subsec_millis().into());
    u32::try_from(milliseconds).unwrap_or(u32::MAX)
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
        options.settings.connect_timeout = Duration::from_secs(10);
        options.settings.read_timeout = Duration::from_secs(15);
        options.settings.timeout = Duration::from_secs(30);
        options
    }

    /// Returns the message of an attempt that has timed out.
    fn timeout(deadline: &Deadline) -> String {
        deadline.check(deadline.at() + Duration::from_secs(1_000)).unwrap_err().message
    }

    /// Every fetch in flight has a deadline.
    #[test]
    fn a_deadline_is_small() {
        assert!(size_of::<Deadline>() <= 40, "{} bytes", size_of::<Deadline>());
    }

    #[test]
    fn progress_moves_the_deadline_and_the_total_timeout_bounds_it() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let deadline = Deadline::new(&options(), start);
        assert_eq!(deadline.at(), at(10));
        assert!(timeout(&deadline).contains("no answer from DNS within 10s"));
        deadline.enter(Phase::Connect { addresses_left: 1 }, at(2));
        assert_eq!(deadline.at(), at(10));
        assert!(timeout(&deadline).contains("no connection within 10s"));
        deadline.enter(Phase::Exchange, at(9));
        assert_eq!(deadline.at(), at(24));
        assert!(timeout(&deadline).contains("silent for 15s"));
        deadline.enter(Phase::Exchange, at(23));
        assert_eq!(deadline.at(), at(30));
        assert!(timeout(&deadline).contains("no complete response within 30s"));
        deadline.enter(Phase::Lookup, at(24));
        assert_eq!(deadline.at(), at(30), "the whole is not extended");
    }

    #[test]
    fn the_rest_of_a_response_that_is_not_needed_has_one_second() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);

        let deadline = Deadline::new(&options(), start);
        deadline.enter(Phase::Exchange, at(100));
        deadline.enter(Phase::Discard, at(200));
        assert_eq!(deadline.at(), at(1_200));
        deadline.enter(Phase::Discard, at(1_100));
        assert_eq!(deadline.at(), at(1_200), "progress does not extend it");
        assert!(timeout(&deadline).contains("did not end within 1s"));
    }

    #[test]
    fn a_pause_neither_uses_nor_adds_time() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let deadline = Deadline::new(&options(), start);
        deadline.enter(Phase::Pause, at(4));
        deadline.enter(Phase::Pause, at(50));
        assert!(deadline.at() > at(1_000_000));
        deadline.enter(Phase::Lookup, at(104));
        assert_eq!(deadline.at(), at(114), "the time for connecting begins anew");
        deadline.enter(Phase::Pause, at(110));
        deadline.enter(Phase::Connect { addresses_left: 1 }, at(210));
        assert_eq!(deadline.at(), at(214), "six seconds had passed, and four are left");
        deadline.enter(Phase::Connect { addresses_left: 2 }, at(212));
        assert_eq!(deadline.at(), at(213));
        deadline.enter(Phase::Exchange, at(213));
        assert_eq!(deadline.at(), at(228));
        deadline.enter(Phase::Exchange, at(227));
        assert_eq!(deadline.at(), at(230), "30 seconds, and 200 of pauses");
    }

    #[test]
    fn times_are_whole_milliseconds_and_saturate() {
        let start = Instant::now();
        let mut options = options();
        options.settings.connect_timeout = Duration::from_nanos(1);
        (options.settings.read_timeout, options.settings.timeout) = (Duration::MAX, Duration::MAX);

        let deadline = Deadline::new(&options, start);
        assert_eq!(deadline.at(), start + Duration::from_millis(1));
        deadline.enter(Phase::Exchange, start + Duration::from_micros(1_999));
        assert_eq!(deadline.at(), start + Duration::from_millis(u32::MAX.into()));
    }

    #[test]
    fn addresses_share_the_time_for_connecting() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);

        let deadline = Deadline::new(&options(), start);
        assert!(deadline.check(at(10_000)).is_err(), "the time is for lookup and addresses");
        // 1 s for the lookup, 9 s for three addresses; the second one refuses.
        deadline.enter(Phase::Connect { addresses_left: 3 }, at(1_000));
        assert_eq!(deadline.at(), at(4_000));
        assert!(deadline.check(at(4_000)).is_ok());
        deadline.enter(Phase::Connect { addresses_left: 2 }, at(4_000));
        assert_eq!(deadline.at(), at(7_000));
        deadline.enter(Phase::Connect { addresses_left: 1 }, at(4_001));
        assert_eq!(deadline.at(), at(10_000));
        assert!(deadline.check(at(10_000)).is_err(), "there is no time for another");
        // Many addresses: the first ones get the minimum time.
        deadline.enter(Phase::Lookup, at(0));
        deadline.enter(Phase::Connect { addresses_left: 16 }, at(9_000));
        assert_eq!(deadline.at(), at(9_250));
        deadline.enter(Phase::Connect { addresses_left: 9 }, at(9_900));
        assert_eq!(deadline.at(), at(10_000));
        assert!(timeout(&deadline).contains("no connection within 10s"));
        deadline.enter(Phase::Exchange, at(9_950));
        assert!(deadline.check(at(24_950)).is_err(), "a silent server is no bad address");
    }
}
