//! The reasons for which a crawl stops early.

use std::io;

use crate::CrawlSummary;

/// The reason for which a crawl was stopped before its work was done.
#[derive(Debug)]
pub enum StopReason {
    /// [`Options::max_time`](crate::Options::max_time) had passed.
    MaxTime,
    /// A signal with this number arrived (graceful shutdown).
    Signal(u8),
    /// The journal could not be written.
    Journal(io::Error),
}

impl CrawlSummary {
    /// Describes the URLs that were left out and the limits that did it, as a
    /// sentence without its full stop; `None` if nothing was left out and the
    /// crawl was not cut short.
    pub fn left_out(&self) -> Option<String> {
        let urls = |n: u64| if n == 1 { "1 URL".to_owned() } else { format!("{n} URLs") };
        let limit = match self.stopped {
            Some(StopReason::MaxTime) => "the limit on time was reached",
            Some(StopReason::Signal(_)) => "the crawl was interrupted",
            Some(StopReason::Journal(_)) => "the journal could not be written",
            None => "the limit on pages was reached",
        };
        let todo = format!("{} left to do: {limit}", urls(self.todo));
        let too_deep = format!("{} too many clicks away", urls(self.too_deep));
        let is_cut_short =
            matches!(self.stopped, Some(StopReason::Signal(_) | StopReason::Journal(_)));
        match (self.todo > 0 || is_cut_short, self.too_deep > 0) {
            (true, true) => Some(format!("{todo}; {too_deep}")),
            (true, false) => Some(todo),
            (false, true) => Some(too_deep),
            (false, false) => None,
        }
    }
}
