//! The warnings of a crawl.

use std::mem;

/// Limit on the warnings that are kept.
const MAX_WARNINGS: usize = 100;

/// The warnings of a crawl: a hundred are kept, and others counted. Those that say what the
/// result lacks come first.
#[derive(Debug, Default)]
pub struct Warnings {
    kept: Vec<String>,
    /// The number of those that come first.
    num_first: usize,
    num_dropped: usize,
}

impl Warnings {
    /// Adds a warning.
    pub fn add(&mut self, warning: String) {
        if self.kept.len() < MAX_WARNINGS {
            self.kept.push(warning);
        } else {
            self.num_dropped += 1;
        }
    }

    /// Adds a problem, which comes before others. Each of them is kept.
    pub(crate) fn add_problem(&mut self, problem: String) {
        self.kept.insert(self.num_first, problem);
        self.num_first += 1;
    }

    /// Adds a warning that says what the result lacks. It comes before others, unless there
    /// are many such.
    pub fn add_lack(&mut self, warning: String) {
        if self.num_first < MAX_WARNINGS / 2 {
            self.add_problem(warning);
        } else {
            self.add(warning);
        }
    }

    /// Takes all warnings, with these `lacks` behind those that come first. The last one is
    /// the number of those that were left out, if any.
    pub fn take(&mut self, lacks: impl IntoIterator<Item = String>) -> Vec<String> {
        let Self { mut kept, num_first, num_dropped } = mem::take(self);
        let others = kept.split_off(num_first);
        kept.extend(lacks);
        kept.extend(others);
        let num_dropped = num_dropped + kept.len().saturating_sub(MAX_WARNINGS);
        kept.truncate(MAX_WARNINGS);
        if num_dropped > 0 {
            kept.push(format!("{num_dropped} more warnings are not shown"));
        }
        kept
    }
}
