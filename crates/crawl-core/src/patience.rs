//! How long one try may take.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::{ErrorClass, FetchError, Options};

/// The deadlines of one try: for the connection, for silence, and for the
/// whole from the look-up to the last byte, TLS included. One timer serves all
/// three: it is set to [`Patience::deadline`], and if that has moved by the
/// time it fires, it is set again.
///
/// Changed through a shared reference, because the side that hears from the
/// server and the side that watches the clock both hold it.
#[derive(Debug)]
pub struct Patience {
    connect_timeout: Duration,
    read_timeout: Duration,
    timeout: Duration,
    ends: Cell<Instant>,
    /// When there has to be a connection, to whichever address.
    connect_ends: Cell<Instant>,
    /// When the present phase is over: a look-up, an address, or a silence.
    phase_ends: Cell<Instant>,
    phase: Cell<Phase>,
    /// Since when the clock stands still, if it does, and until when at least.
    paused: Cell<Option<(Instant, Instant)>>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    LookingUp,
    Connecting,
    Listening,
}

impl Patience {
    /// The least share of an address: as long as RFC 8305, section 5, would
    /// wait before it tries the next one.
    const LEAST_SHARE: Duration = Duration::from_millis(250);

    /// A try that begins at `now`.
    pub fn new(options: &Options, now: Instant) -> Self {
        let patience = Self {
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            timeout: options.timeout,
            ends: Cell::new(after(now, options.timeout)),
            connect_ends: Cell::new(now),
            phase_ends: Cell::new(now),
            phase: Cell::new(Phase::LookingUp),
            paused: Cell::new(None),
        };
        patience.reconnect(now);
        patience
    }

    /// A connection is to be made, from the look-up on: at the beginning, and
    /// once more within the same try when a kept one was of no use.
    pub fn reconnect(&self, now: Instant) {
        let ends = after(now, self.connect_timeout);
        self.connect_ends.set(ends);
        self.phase_ends.set(ends);
        self.phase.set(Phase::LookingUp);
    }

    /// An address is tried, one of so many that are left. What time there is
    /// for connecting is shared out among them, so that one which swallows
    /// every packet does not cost the others theirs.
    pub fn try_address(&self, now: Instant, addresses_left: usize) {
        let time = self.connect_ends.get().saturating_duration_since(now);
        let addresses = u32::try_from(addresses_left).unwrap_or(u32::MAX).max(1);
        let share = (time / addresses).max(Self::LEAST_SHARE).min(time);
        self.phase_ends.set(after(now, share));
        self.phase.set(Phase::Connecting);
    }

    /// Whether it is only the address's share that has passed at `now`: there
    /// is time for the next one.
    pub fn is_next_address_due(&self, now: Instant) -> bool {
        let (phase, share) = (self.phase.get(), self.phase_ends.get());
        let in_all = self.connect_ends.get().min(self.ends.get());
        matches!(phase, Phase::Connecting) && share <= now && now < in_all
    }

    /// The try is held up by something that is not the server's fault: the
    /// clock stands still until [`Patience::resume`].
    pub fn pause(&self, now: Instant) {
        if self.paused.get().is_none() {
            self.paused.set(Some((now, now + A_CENTURY)));
        }
    }

    /// The clock, which stands still, is to be looked at then.
    pub fn pause_until(&self, moment: Instant) {
        self.paused.update(|paused| paused.map(|(since, _)| (since, moment)));
    }

    /// The clock goes on where it stood.
    pub fn resume(&self, now: Instant) {
        let Some((since, _)) = self.paused.take() else {
            return;
        };
        let lost = now.saturating_duration_since(since);
        for deadline in [&self.ends, &self.connect_ends, &self.phase_ends] {
            deadline.set(after(deadline.get(), lost));
        }
    }

    /// The connection is made, or the server has let hear from itself.
    pub fn heard(&self, now: Instant) {
        self.phase_ends.set(after(now, self.read_timeout));
        self.phase.set(Phase::Listening);
    }

    // ANCHOR: deadline
    /// When to lose patience, as things stand.
    pub fn deadline(&self) -> Instant {
        match self.paused.get() {
            Some((_, until)) => until,
            None => self.ends.get().min(self.phase_ends.get()),
        }
    }
    // ANCHOR_END: deadline

    /// What to say when it is lost.
    pub fn lost(&self) -> FetchError {
        let message = if self.ends.get() <= self.phase_ends.get() {
            format!("no complete response within {:?}", self.timeout)
        } else {
            match self.phase.get() {
                Phase::LookingUp => {
                    format!("no address for the host within {:?}", self.connect_timeout)
                }
                Phase::Connecting => format!("no connection within {:?}", self.connect_timeout),
                Phase::Listening => format!("the server was silent for {:?}", self.read_timeout),
            }
        };
        FetchError::new(ErrorClass::Timeout, message)
    }
}

const A_CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// An instant later, or one that nobody lives to see if the clock cannot
/// count that far.
fn after(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or(now + A_CENTURY)
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
