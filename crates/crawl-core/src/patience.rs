//! How long one try may take.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::{ErrorClass, FetchError, Options};

/// The deadlines of one try: for the connection, for silence, and for the
/// whole from the look-up to the last byte. One timer serves all three: it is
/// set to [`Patience::deadline`], and if that has moved by the time it fires,
/// it is set again.
///
/// Changed through a shared reference, because the side that hears from the
/// server and the side that watches the clock both hold it.
#[derive(Debug)]
pub struct Patience {
    connect_timeout: Duration,
    read_timeout: Duration,
    timeout: Duration,
    ends: Cell<Instant>,
    /// When the present phase is over: the connection, or a silence.
    phase_ends: Cell<Instant>,
    phase: Cell<Phase>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Connecting,
    Listening,
}

impl Patience {
    /// A try that begins at `now`.
    pub fn new(options: &Options, now: Instant) -> Self {
        let patience = Self {
            connect_timeout: options.connect_timeout,
            read_timeout: options.read_timeout,
            timeout: options.timeout,
            ends: Cell::new(now),
            phase_ends: Cell::new(now),
            phase: Cell::new(Phase::Connecting),
        };
        patience.restart(now);
        patience
    }

    /// The try begins only now: it had to wait for something that is not the
    /// server's fault.
    pub fn restart(&self, now: Instant) {
        self.ends.set(after(now, self.timeout));
        self.reconnect(now);
    }

    /// A connection is to be made once more, within the same try.
    pub fn reconnect(&self, now: Instant) {
        self.phase_ends.set(after(now, self.connect_timeout));
        self.phase.set(Phase::Connecting);
    }

    /// The try is held up by something that is not the server's fault: the
    /// clock stands still until [`Patience::restart`].
    pub fn pause(&self) {
        let never = after(self.ends.get(), A_CENTURY);
        self.ends.set(never);
        self.phase_ends.set(never);
    }

    /// The connection is made, or the server has let hear from itself.
    pub fn heard(&self, now: Instant) {
        self.phase_ends.set(after(now, self.read_timeout));
        self.phase.set(Phase::Listening);
    }

    /// When to lose patience, as things stand.
    pub fn deadline(&self) -> Instant {
        self.ends.get().min(self.phase_ends.get())
    }

    /// What to say when it is lost.
    pub fn lost(&self) -> FetchError {
        let message = if self.ends.get() <= self.phase_ends.get() {
            format!("no complete response within {:?}", self.timeout)
        } else {
            match self.phase.get() {
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

    #[test]
    fn silence_moves_the_deadline_and_the_whole_bounds_it() {
        let mut options = Options::new(Vec::new());
        options.connect_timeout = Duration::from_secs(10);
        options.read_timeout = Duration::from_secs(15);
        options.timeout = Duration::from_secs(30);
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);

        let patience = Patience::new(&options, start);
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
        patience.pause();
        assert!(patience.deadline() > at(1_000_000));
        patience.restart(at(100));
        assert_eq!(patience.deadline(), at(110));
    }
}
