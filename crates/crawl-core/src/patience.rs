//! How long one try may take.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use crate::{ErrorClass, FetchError, Options};

/// The deadlines of one try: for the connection, for silence, and for the
/// whole from the look-up to the last byte, TLS included. One timer serves all
/// three: it is set to [`Patience::deadline`], and if that has moved by the
/// time it fires, it is set again.
///
/// Changed through a shared reference, because the side that hears from the
/// server and the side that watches the clock both hold it.
///
/// Small, because every fetch in flight has one: it counts in milliseconds from
/// the beginning of the try. So a deadline comes up to a millisecond early, and
/// nobody is patient for more than 49 days.
#[derive(Debug)]
pub struct Patience {
    /// When the try began; later by as long as the clock has stood still.
    begun: Cell<Instant>,
    connect_timeout: u32,
    read_timeout: u32,
    timeout: u32,
    /// When there has to be a connection, to whichever address.
    connect_ends: Cell<u32>,
    /// When the present phase is over: a look-up, an address, or a silence.
    phase_ends: Cell<u32>,
    phase: Cell<Phase>,
    /// Since when the clock stands still, if it does, and until when at least.
    paused: Cell<Option<(u32, NonZeroU32)>>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    LookingUp,
    Connecting,
    Listening,
}

impl Patience {
    /// The least share of an address, in milliseconds: as long as RFC 8305,
    /// section 5, would wait before it tries the next one.
    const LEAST_SHARE: u32 = 250;

    /// A try that begins at `now`.
    pub fn new(options: &Options, now: Instant) -> Self {
        let patience = Self {
            begun: Cell::new(now),
            connect_timeout: at_least(options.connect_timeout),
            read_timeout: at_least(options.read_timeout),
            timeout: at_least(options.timeout),
            connect_ends: Cell::new(0),
            phase_ends: Cell::new(0),
            phase: Cell::new(Phase::LookingUp),
            paused: Cell::new(None),
        };
        patience.reconnect(now);
        patience
    }

    fn milliseconds_at(&self, moment: Instant) -> u32 {
        milliseconds(moment.saturating_duration_since(self.begun.get()))
    }

    /// A connection is to be made, from the look-up on: at the beginning, and
    /// once more within the same try when a kept one was of no use.
    pub fn reconnect(&self, now: Instant) {
        let ends = self.milliseconds_at(now).saturating_add(self.connect_timeout);
        self.connect_ends.set(ends);
        self.phase_ends.set(ends);
        self.phase.set(Phase::LookingUp);
    }

    /// An address is tried, one of so many that are left. What time there is
    /// for connecting is shared out among them, so that one which swallows
    /// every packet does not cost the others theirs.
    pub fn try_address(&self, now: Instant, addresses_left: usize) {
        let now = self.milliseconds_at(now);
        let time = self.connect_ends.get().saturating_sub(now);
        let addresses = u32::try_from(addresses_left).unwrap_or(u32::MAX).max(1);
        let share = (time / addresses).max(Self::LEAST_SHARE).min(time);
        self.phase_ends.set(now.saturating_add(share));
        self.phase.set(Phase::Connecting);
    }

    /// Whether it is only the address's share that has passed at `now`: there
    /// is time for the next one.
    pub fn is_next_address_due(&self, now: Instant) -> bool {
        let now = self.milliseconds_at(now);
        let (phase, share) = (self.phase.get(), self.phase_ends.get());
        let in_all = self.connect_ends.get().min(self.timeout);
        matches!(phase, Phase::Connecting) && share <= now && now < in_all
    }

    /// The try is held up by something that is not the server's fault: the
    /// clock stands still until [`Patience::resume`].
    pub fn pause(&self, now: Instant) {
        if self.paused.get().is_none() {
            self.paused.set(Some((self.milliseconds_at(now), NonZeroU32::MAX)));
        }
    }

    /// The clock, which stands still, is to be looked at then.
    pub fn pause_until(&self, moment: Instant) {
        // Not before: who waits for it may have nothing to do until then.
        let moment = at_least(moment.saturating_duration_since(self.begun.get()));
        let moment = NonZeroU32::MIN.saturating_add(moment.saturating_sub(1));
        self.paused.update(|paused| paused.map(|(since, _)| (since, moment)));
    }

    /// The clock goes on where it stood.
    pub fn resume(&self, now: Instant) {
        let Some((since, _)) = self.paused.take() else {
            return;
        };
        let lost = self.milliseconds_at(now).saturating_sub(since);
        self.begun.update(|begun| begun + Duration::from_millis(lost.into()));
    }

    /// The connection is made, or the server has let hear from itself.
    pub fn heard(&self, now: Instant) {
        self.phase_ends.set(self.milliseconds_at(now).saturating_add(self.read_timeout));
        self.phase.set(Phase::Listening);
    }

    // ANCHOR: deadline
    /// When to lose patience, as things stand.
    pub fn deadline(&self) -> Instant {
        let deadline = match self.paused.get() {
            Some((_, until)) => until.get(),
            None => self.timeout.min(self.phase_ends.get()),
        };
        self.begun.get() + Duration::from_millis(deadline.into())
    }
    // ANCHOR_END: deadline

    /// What to say when it is lost.
    pub fn lost(&self) -> FetchError {
        let (what, timeout) = if self.timeout <= self.phase_ends.get() {
            ("no complete response within", self.timeout)
        } else {
            match self.phase.get() {
                Phase::LookingUp => ("no address for the host within", self.connect_timeout),
                Phase::Connecting => ("no connection within", self.connect_timeout),
                Phase::Listening => ("the server was silent for", self.read_timeout),
            }
        };
        let timeout = Duration::from_millis(timeout.into());
        FetchError::new(ErrorClass::Timeout, format!("{what} {timeout:?}"))
    }
}

fn milliseconds(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

/// Rounded up: a timeout of less than a millisecond is still one.
fn at_least(duration: Duration) -> u32 {
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

    /// Every fetch in flight has one.
    #[test]
    fn it_is_small() {
        assert!(size_of::<Patience>() <= 48, "{} bytes", size_of::<Patience>());
    }

    #[test]
    fn silence_moves_the_deadline_and_the_whole_bounds_it() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let patience = Patience::new(&options(), start);
        assert_eq!(patience.deadline(), at(10));
        assert!(patience.lost().message.contains("no address for the host within 10s"));
        patience.try_address(at(2), 1);
        assert_eq!(patience.deadline(), at(10));
        assert!(patience.lost().message.contains("no connection within 10s"));
        patience.heard(at(9));
        assert_eq!(patience.deadline(), at(24));
        assert!(patience.lost().message.contains("silent for 15s"));
        patience.heard(at(23));
        assert_eq!(patience.deadline(), at(30));
        assert!(patience.lost().message.contains("no complete response within 30s"));
        patience.reconnect(at(24));
        assert_eq!(patience.deadline(), at(30), "the whole is not extended");
    }

    #[test]
    fn a_pause_costs_nothing_and_gives_nothing() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let patience = Patience::new(&options(), start);
        patience.pause(at(4));
        patience.pause(at(50));
        assert!(patience.deadline() > at(1_000_000));
        patience.resume(at(104));
        patience.resume(at(999));
        assert_eq!(patience.deadline(), at(110), "four seconds had passed, and six are left");
        patience.try_address(at(108), 2);
        assert_eq!(patience.deadline(), at(109));
        patience.heard(at(109));
        assert_eq!(patience.deadline(), at(124));
        patience.heard(at(123));
        assert_eq!(patience.deadline(), at(130));
    }

    #[test]
    fn it_counts_in_milliseconds_and_not_for_ever() {
        let start = Instant::now();
        let mut options = options();
        options.connect_timeout = Duration::from_nanos(1);
        (options.read_timeout, options.timeout) = (Duration::MAX, Duration::MAX);

        let patience = Patience::new(&options, start);
        assert_eq!(patience.deadline(), start + Duration::from_millis(1));
        patience.heard(start + Duration::from_micros(1_999));
        assert_eq!(patience.deadline(), start + Duration::from_millis(u32::MAX.into()));
    }

    #[test]
    fn each_address_has_its_share() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);

        let patience = Patience::new(&options(), start);
        assert!(!patience.is_next_address_due(at(9_000)), "that is the look-up's");
        // 1 s for the look-up, 9 s for three addresses; the second refuses.
        patience.try_address(at(1_000), 3);
        assert_eq!(patience.deadline(), at(4_000));
        assert!(!patience.is_next_address_due(at(3_999)));
        assert!(patience.is_next_address_due(at(4_000)));
        patience.try_address(at(4_000), 2);
        assert_eq!(patience.deadline(), at(7_000));
        patience.try_address(at(4_001), 1);
        assert_eq!(patience.deadline(), at(10_000));
        assert!(!patience.is_next_address_due(at(10_000)), "there is no time for another");
        // Many addresses: the first of them have as much as makes sense.
        patience.reconnect(at(0));
        patience.try_address(at(9_000), 16);
        assert_eq!(patience.deadline(), at(9_250));
        patience.try_address(at(9_900), 9);
        assert_eq!(patience.deadline(), at(10_000));
        assert!(patience.lost().message.contains("no connection within 10s"));
        patience.heard(at(9_950));
        assert!(!patience.is_next_address_due(at(24_950)), "a silent server is no bad address");
    }
}
