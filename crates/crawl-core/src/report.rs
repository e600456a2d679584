//! What is told when a crawl has ended.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use crate::{Ending, Outcome, Row};

/// Adds rows up, and tells about them.
///
/// The statistics have the names of the original program: `html`, `other`,
/// `error`, `redirect` and `fail`, and `skip` beside them, count URLs, each
/// ends up in one of them; `*_bytes` are their bodies, `status_*`, `fail_*` and
/// `skip_*` say more about errors.
#[derive(Debug, Default)]
pub struct Report {
    counts: BTreeMap<String, u64>,
    rows: Vec<Row>,
    total: u64,
    broken: u64,
    roots: u64,
    roots_failed: u64,
}

impl Report {
    /// Nothing so far.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a row and forgets it.
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
            let gave_none = matches!(row.outcome, Outcome::Failed | Outcome::Skipped);
            self.roots_failed += u64::from(gave_none);
        }
    }

    /// Counts a row and keeps it, for [`Report::write_text`].
    pub fn keep(&mut self, row: Row) {
        self.count(&row);
        self.rows.push(row);
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

    /// Writes the rows by URL, the statistics, and what is broken with the
    /// pages that link to it. `date` is the time of writing, as text.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_text(
        &mut self,
        out: &mut dyn Write,
        ending: &Ending,
        elapsed: Duration,
        date: &str,
    ) -> io::Result<()> {
        self.rows.sort_by(|a, b| a.url.cmp(&b.url));
        writeln!(out, "*** Report ***")?;
        for row in &self.rows {
            writeln!(out, "{}", line(row))?;
        }
        let seconds = elapsed.as_secs_f64();
        let tasks = ending.max_tasks.map_or("none".into(), |n| n.to_string());
        // Without a limit, what was reached stands for it.
        let divisor = ending.max_tasks.map_or(ending.peak_in_flight.max(1) as f64, |n| n as f64);
        writeln!(
            out,
            "Finished {} urls in {seconds:.3} secs (max_tasks={tasks}) ({:.3} urls/sec/task)",
            self.total,
            self.total as f64 / seconds.max(1e-9) / divisor,
        )?;
        for (key, count) in &self.counts {
            writeln!(out, "{count:>11} {key}")?;
        }
        writeln!(out, "Todo: {}", ending.todo)?;
        writeln!(out, "Done: {}", ending.done)?;
        if ending.too_deep > 0 {
            writeln!(out, "Too deep: {}", ending.too_deep)?;
        }
        writeln!(out, "Date: {date}")?;
        self.write_broken(out, ending)
    }

    fn write_broken(&self, out: &mut dyn Write, ending: &Ending) -> io::Result<()> {
        if self.broken == 0 {
            return Ok(());
        }
        writeln!(out, "\n*** Broken: {} ***", self.broken)?;
        for row in self.rows.iter().filter(|row| row.is_broken()) {
            writeln!(out, "{}", line(row))?;
            let (referrers, count) = ending.admission.referrers(&row.url);
            for referrer in &referrers {
                writeln!(out, "    found on {}", referrer.url)?;
            }
            let more = u64::from(count) - referrers.len() as u64;
            if more > 0 {
                writeln!(out, "    and {more} times more")?;
            }
        }
        Ok(())
    }
}

/// One row as the original prints it.
fn line(row: &Row) -> String {
    let url = &row.url;
    let status = row.status.map_or("-".into(), |status| status.to_string());
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    let content_type = or_none(&row.content_type);
    let encoding = or_none(&row.encoding);
    let size = row.size;
    match (row.outcome, &row.error, &row.next_url) {
        (Outcome::Skipped, Some(error), _) => format!("{url} {status} skipped {error}"),
        (_, Some(error), _) => format!("{url} {status} error {error}"),
        (_, None, Some(next_url)) => format!("{url} {status} redirect {next_url}"),
        (Outcome::Page, None, None) => {
            let (new, all) = (row.num_new_urls, row.num_urls);
            format!("{url} {status} {content_type} {encoding} {size} {new}/{all}")
        }
        _ => format!("{url} {status} {content_type} {encoding} {size}"),
    }
}
