//! The summary of a crawl, and the reasons for which one stops early.

use std::io;

use crate::{Admission, BusyHost, Unchecked, UncheckedReason};

/// The number of busy hosts that are named in a report.
const MAX_NAMED_HOSTS: usize = 10;

/// The reason for which a crawl was stopped before its work was done.
#[derive(Debug)]
pub enum StopReason {
    /// [`Options::max_time`](crate::Options::max_time) had passed.
    MaxTime,
    /// A signal with this number arrived (graceful shutdown).
    Signal(u8),
    /// The journal could not be written.
    Journal(io::Error),
    /// A worker of a crawl on many machines could not go on: its frontier cannot be reached,
    /// the crawl was deleted, or the journal cannot be written.
    Frontier(io::Error),
    /// The crawl was not stopped, and is not done: that of a crawl on many machines, which
    /// can be reported while it runs.
    UnderWay,
}

/// The summary of a crawl that has ended.
#[derive(Debug)]
pub struct CrawlSummary {
    /// The number of rows: one for each URL that ended, one for each missing fragment, and
    /// one for each link that is not a URL.
    pub done: u64,
    /// The number of missing fragments.
    pub missing_fragments: u64,
    /// The number of URLs that were admitted and have no row: a limit was reached, the
    /// crawl was stopped, or their host was busy.
    pub todo: u64,
    /// The number of URLs that were found and not admitted, because they are too
    /// many clicks away.
    pub too_deep: u64,
    /// The URLs that were found, and not checked for a reason other than a limit.
    pub unchecked: Unchecked,
    /// The number of URLs with a fragment that could not be checked, because their page was
    /// not read to its end.
    pub unchecked_fragments: u64,
    /// Warnings for the user that belong to no row: at most 100, and one that says how many
    /// more there were.
    pub warnings: Vec<String>,
    /// The maximum number of visits that were in flight at the same time.
    pub peak_in_flight: u64,
    /// The limit on visits in flight, if there was one.
    pub max_tasks: Option<usize>,
    /// The admission with its URL table, for the referrers of each URL.
    pub admission: Admission,
    /// The hosts of which URLs are left to do, because they were busy all the time.
    pub busy_hosts: Vec<BusyHost>,
    /// The reason for which the crawl could not do what was asked, for example if the roots
    /// do not lead to a site: a sentence without its full stop.
    pub problem: Option<String>,
    /// The reason for which the crawl was stopped early, if it was. The limits on
    /// pages and depth do not count as one.
    pub stopped: Option<StopReason>,
}

impl CrawlSummary {
    /// Returns true if the crawl was stopped before the sitemaps were read to their end: they
    /// may name URLs that are not known.
    pub fn has_unread_sitemaps(&self) -> bool {
        self.admission.levels.expects_seeds()
    }

    /// Returns all URLs that were found and not checked, in no particular order.
    pub fn unchecked(&self) -> impl Iterator<Item = (UncheckedReason, &str)> {
        let all = UncheckedReason::ALL.into_iter();
        let others = all.flat_map(|it| self.unchecked.urls(it).map(move |url| (it, url)));
        others.chain(self.admission.undone())
    }

    /// Describes the URLs that are left to do and why, as a sentence without its full stop;
    /// `None` if there are none and the crawl was not cut short. URLs beyond the limit on depth
    /// are not meant: see [`too_deep`](Self::too_deep).
    pub fn left_out(&self) -> Option<String> {
        let urls = |n: u64| if n == 1 { "1 URL".to_owned() } else { format!("{n} URLs") };
        let limit = match self.stopped {
            Some(StopReason::MaxTime) => "--max-time was reached",
            Some(StopReason::Signal(_)) => "the crawl was interrupted",
            Some(StopReason::Journal(_)) => "the journal could not be written",
            Some(StopReason::Frontier(_)) => "this worker had to stop",
            Some(StopReason::UnderWay) => "the crawl is not done yet",
            None => "--max-pages was reached",
        };
        let busy: u64 = self.busy_hosts.iter().map(|busy| busy.todo).sum();
        let todo = self.todo.saturating_sub(busy);
        let is_cut_short =
            self.stopped.as_ref().is_some_and(|stopped| !matches!(stopped, StopReason::MaxTime));
        let mut sentences = Vec::new();
        let unread = "the sitemaps were not read completely";
        match (todo > 0 || is_cut_short, self.has_unread_sitemaps()) {
            (true, true) => {
                sentences.push(format!("{} left to do, and {unread}: {limit}", urls(todo)));
            }
            (true, false) => sentences.push(format!("{} left to do: {limit}", urls(todo))),
            (false, true) => sentences.push(format!("{unread}: {limit}")),
            (false, false) => {}
        }
        for BusyHost { host, status, todo } in self.busy_hosts.iter().take(MAX_NAMED_HOSTS) {
            let why = format!("{host} stayed busy (status {status})");
            sentences.push(format!("{} left to do: {why}", urls(*todo)));
        }
        if let Some(others) = self.busy_hosts.get(MAX_NAMED_HOSTS..).filter(|o| !o.is_empty()) {
            let todo = others.iter().map(|busy| busy.todo).sum();
            let why = format!("{} other hosts stayed busy, too", others.len());
            sentences.push(format!("{} left to do: {why}", urls(todo)));
        }
        (!sentences.is_empty()).then(|| sentences.join("; "))
    }
}
