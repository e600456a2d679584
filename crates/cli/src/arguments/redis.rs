//! Flags for a crawl on many machines.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use crawl_core::{Crawl, Options};

use crate::parsers;

/// The flags under "Many machines".
#[derive(Args, Debug)]
#[command(next_help_heading = "Many machines")]
pub(crate) struct Redis {
    /// Share the crawl through this Redis or Valkey server or cluster: redis://HOST/,
    /// rediss://HOST/ or unix:///PATH
    #[arg(
        long, value_name = "URL", requires = "crawl",
        conflicts_with_all = ["state", "sitemap", "max_depth", "one_page", "record", "replay"]
    )]
    frontier: Option<String>,

    /// Start the crawl with this name, or join it. Without a start URL: join it
    #[arg(long, value_name = "NAME", requires = "frontier")]
    crawl: Option<String>,

    /// Longest wait for a Redis server that does not answer [default: 1m]
    #[arg(long, value_name = "DURATION", requires = "frontier", value_parser = parsers::duration)]
    frontier_wait: Option<Duration>,

    /// Move finished records of the crawl to FILE, so that Redis does not have to hold them
    /// all. With --report: also read them from there (repeatable)
    #[arg(long, value_name = "FILE", requires = "frontier")]
    journal: Vec<PathBuf>,

    /// Show the state of the crawl, its workers and the hosts that it waits for
    #[arg(long, requires = "frontier", conflicts_with_all = ["sources", "report", "drop"])]
    status: bool,

    /// Report everything that the crawl has found so far
    #[arg(long, requires = "frontier", conflicts_with_all = ["sources", "drop"])]
    report: bool,

    /// Delete the crawl
    #[arg(long, requires = "frontier", conflicts_with = "sources")]
    drop: bool,
}

/// A crawl on many machines, and what is to be done with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontierArguments {
    /// The URL of its server.
    pub url: String,
    /// Its name.
    pub crawl: String,
    /// The time for which an unreachable server is waited for, if it was given.
    pub wait: Option<Duration>,
    /// The files to which its journal is moved.
    pub journal: Vec<PathBuf>,
    /// The thing to do.
    pub action: FrontierAction,
}

impl FrontierArguments {
    /// Returns the number of roots that a report has if it can be said that none of them
    /// could be crawled: one worker does not know what others have crawled. Roots that are
    /// excluded, or the same but for a fragment, have no row. A worker that joins has to repeat
    /// `--exclude` and `--strip-query` for that.
    pub(crate) fn min_roots(&self, options: &Options) -> u64 {
        match self.action {
            FrontierAction::Work if options.settings.roots.is_empty() => u64::MAX,
            FrontierAction::Work => {
                let mut refused = 0;
                let jobs = Crawl::new(options.clone()).roots(&mut |_| refused += 1);
                jobs.len() as u64 + refused
            }
            FrontierAction::Status | FrontierAction::Report | FrontierAction::Drop => 1,
        }
    }
}

/// The thing to do with a crawl on many machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrontierAction {
    /// Begin it, or join it.
    Work,
    /// Show its state.
    Status,
    /// Report what it has found.
    Report,
    /// Delete it.
    Drop,
}

impl FrontierAction {
    /// Returns true if rows are written.
    pub(crate) fn has_rows(self) -> bool {
        matches!(self, Self::Work | Self::Report)
    }
}

impl Redis {
    /// Returns the files to which the journal is moved.
    pub(crate) fn journal(&self) -> impl Iterator<Item = &Path> {
        self.journal.iter().map(PathBuf::as_path)
    }

    /// Returns the crawl on many machines, if there is one.
    pub(crate) fn frontier(&self) -> Option<FrontierArguments> {
        let action = match (self.status, self.report, self.drop) {
            (true, ..) => FrontierAction::Status,
            (_, true, _) => FrontierAction::Report,
            (.., true) => FrontierAction::Drop,
            _ => FrontierAction::Work,
        };
        let (url, crawl) = (self.frontier.clone()?, self.crawl.clone()?);
        let (wait, journal) = (self.frontier_wait, self.journal.clone());
        Some(FrontierArguments { url, crawl, wait, journal, action })
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;

    #[test]
    fn a_root_without_a_row_of_its_own_does_not_count() {
        let frontier = FrontierArguments {
            url: "redis://a.test/".into(),
            crawl: "a".into(),
            wait: None,
            journal: Vec::new(),
            action: FrontierAction::Work,
        };
        let roots = |roots: &[&str]| {
            let roots = roots.iter().map(|root| root.parse().unwrap()).collect();
            let mut options = Options::new(roots);
            options.settings.exclude = vec![Regex::new("/no$").unwrap()];
            options.settings.strip_query = vec!["id".into()];
            frontier.min_roots(&options)
        };
        assert_eq!(roots(&[]), u64::MAX);
        assert_eq!(roots(&["http://a.test/", "http://a.test/#top", "http://a.test/?id=1"]), 1);
        assert_eq!(roots(&["http://a.test/", "http://a.test/no", "http://b.test/"]), 2);
        // A trap has a row.
        assert_eq!(roots(&["http://a.test/", "http://a.test/l/l/l"]), 2);
    }
}
