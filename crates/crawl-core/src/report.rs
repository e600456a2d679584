//! The report: statistics over the rows of a crawl.

use std::collections::BTreeMap;

use crate::{Outcome, Row};

/// The statistics of a crawl. It counts rows and does not keep them.
///
/// The statistics have the names of the original program. `html`, `other`,
/// `error`, `redirect` and `fail`, and `skip` and `accepted` (an error status that the
/// user accepts) in addition, count URLs; each URL is counted in one of them. `*_bytes` are the sizes of their bodies;
/// `status_*`, `fail_*` and `skip_*` count errors by kind, `external_*` verdicts.
#[derive(Debug, Default)]
pub struct Report {
    counts: BTreeMap<String, u64>,
    total: u64,
    broken: u64,
    roots: u64,
    roots_failed: u64,
    /// The error of the first root that failed, after its URL.
    first_root_error: Option<String>,
}

impl Report {
    /// Creates an empty report.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a row.
    pub fn count(&mut self, row: &Row) {
        let mut add = |key: &str, amount: u64| match self.counts.get_mut(key) {
            Some(count) => *count += amount,
            None => drop(self.counts.insert(key.to_owned(), amount)),
        };
        match row.outcome {
            Outcome::Page => {
                add("html", 1);
                add("html_bytes", row.size.unwrap_or(0));
            }
            Outcome::Other => {
                add("other", 1);
                add("other_bytes", row.size.unwrap_or(0));
            }
            Outcome::Redirect => add("redirect", 1),
            Outcome::HttpError => {
                let (name, bytes) = match row.is_accepted {
                    true => ("accepted", "accepted_bytes"),
                    false => ("error", "error_bytes"),
                };
                add(name, 1);
                add(bytes, row.size.unwrap_or(0));
                if let Some(status) = row.status {
                    add(&format!("status_{status}"), 1);
                }
            }
            Outcome::Failed => {
                add("fail", 1);
                if let Some(error) = &row.error {
                    add(&format!("fail_{}", error.class.name()), 1);
                }
            }
            Outcome::Skipped => {
                add("skip", 1);
                if let Some(error) = &row.error {
                    add(&format!("skip_{}", error.class.name()), 1);
                }
            }
        }
        if let Some(verdict) = row.verdict {
            add(&format!("external_{}", verdict.name()), 1);
        }
        self.total += 1;
        self.broken += u64::from(row.is_broken());
        if row.referrer.is_none() {
            self.roots += 1;
            if matches!(row.outcome, Outcome::Failed | Outcome::Skipped) {
                self.roots_failed += 1;
                let error = || Some(format!("{}: {}", row.url, row.error.as_ref()?));
                self.first_root_error = self.first_root_error.take().or_else(error);
            }
        }
    }

    /// Returns the number of rows.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of broken rows.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// Returns the number of roots. A URL that a sitemap named first counts as one.
    pub fn roots(&self) -> u64 {
        self.roots
    }

    /// Returns true if there was nothing to crawl: every root failed or was skipped. A URL
    /// that a sitemap named first counts as a root.
    pub fn every_root_failed(&self) -> bool {
        self.roots == self.roots_failed
    }

    /// Returns the URL and the error of the first root that failed.
    pub fn why_a_root_failed(&self) -> Option<&str> {
        self.first_root_error.as_deref()
    }

    /// Returns the statistics, in the order of their names.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, &count)| (&**name, count))
    }
}
