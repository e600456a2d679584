//! The progress line on stderr.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// A progress line on stderr that overwrites itself. If stderr is not a terminal,
/// nothing is written.
pub(crate) struct Progress {
    is_shown: bool,
    next: Instant,
}

impl Progress {
    const INTERVAL: Duration = Duration::from_millis(100);

    pub(crate) fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal(), next: Instant::now() }
    }

    /// Shows a text, at most once per `INTERVAL`.
    pub(crate) fn show(&mut self, text: &str) {
        let now = Instant::now();
        if self.is_shown && now >= self.next {
            self.next = now + Self::INTERVAL;
            let _ = write!(io::stderr(), "\r{text}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
