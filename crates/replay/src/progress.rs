//! What goes on, for somebody who watches.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on stderr that is written over and over, if stderr is a terminal.
pub(crate) struct Progress {
    is_seen: bool,
    next: Instant,
}

impl Progress {
    const PAUSE: Duration = Duration::from_millis(100);

    pub(crate) fn new() -> Self {
        Self { is_seen: io::stderr().is_terminal(), next: Instant::now() }
    }

    /// Shows a text, unless the last one has hardly been read.
    pub(crate) fn show(&mut self, text: &str) {
        let now = Instant::now();
        if self.is_seen && now >= self.next {
            self.next = now + Self::PAUSE;
            let _ = write!(io::stderr(), "\r{text}\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_seen {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
