//! Ends before the end.

use std::io;

use crate::Ending;

/// What ends a crawl whatever is left to do.
#[derive(Debug)]
pub enum Stopped {
    /// [`Options::max_time`](crate::Options::max_time) had passed.
    MaxTime,
    /// Somebody asked for it, with a signal of this number.
    Signal(u8),
    /// What was found could no longer be kept.
    Journal(io::Error),
}

impl Ending {
    /// What the limits left out, if anything, and which limits they were: a
    /// sentence without its full stop.
    pub fn left_out(&self) -> Option<String> {
        let urls = |n: u64| if n == 1 { "1 URL".to_owned() } else { format!("{n} URLs") };
        let limit = match self.stopped {
            Some(Stopped::MaxTime) => "the limit on time was reached",
            Some(Stopped::Signal(_)) => "the crawl was interrupted",
            Some(Stopped::Journal(_)) => "the journal could not be written",
            None => "the limit on pages was reached",
        };
        let todo = format!("{} left to do: {limit}", urls(self.todo));
        let too_deep = format!("{} too many clicks away", urls(self.too_deep));
        let is_cut_short = matches!(self.stopped, Some(Stopped::Signal(_) | Stopped::Journal(_)));
        match (self.todo > 0 || is_cut_short, self.too_deep > 0) {
            (true, true) => Some(format!("{todo}; {too_deep}")),
            (true, false) => Some(todo),
            (false, true) => Some(too_deep),
            (false, false) => None,
        }
    }
}
