//! What the rows of a crawl add up to.

use std::collections::BTreeMap;

use crate::{Outcome, Row};

/// Adds rows up, and forgets them.
///
/// The statistics have the names of the original program: `html`, `other`,
/// `error`, `redirect` and `fail`, and `skip` beside them, count URLs, each
/// ends up in one of them; `*_bytes` are their bodies, `status_*`, `fail_*` and
/// `skip_*` say more about errors.
#[derive(Debug, Default)]
pub struct Report {
    counts: BTreeMap<String, u64>,
    total: u64,
    broken: u64,
    roots: u64,
    roots_failed: u64,
    /// Why the first of them did.
    why: Option<String>,
}

impl Report {
    /// Nothing so far.
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
                add("html_bytes", row.size);
            }
            Outcome::Other => {
                add("other", 1);
                add("other_bytes", row.size);
            }
            Outcome::Redirect => add("redirect", 1),
            Outcome::HttpError => {
                add("error", 1);
                add("error_bytes", row.size);
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
        self.total += 1;
        self.broken += u64::from(row.is_broken());
        if row.referrer.is_none() {
            self.roots += 1;
            if matches!(row.outcome, Outcome::Failed | Outcome::Skipped) {
                self.roots_failed += 1;
                let why = || Some(format!("{}: {}", row.url, row.error.as_ref()?));
                self.why = self.why.take().or_else(why);
            }
        }
    }

    /// How many rows there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// How many of them were broken.
    pub fn broken(&self) -> u64 {
        self.broken
    }

    /// Whether there was nothing to crawl: no root gave a response.
    pub fn every_root_failed(&self) -> bool {
        self.roots == self.roots_failed
    }

    /// Why the first root that failed did.
    pub fn why_a_root_failed(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// The statistics, by name.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.counts.iter().map(|(name, &count)| (&**name, count))
    }
}
