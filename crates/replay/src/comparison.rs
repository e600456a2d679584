//! The comparison: all stages crawl one site, one after another.

use std::io::{self, Write};

use cli::parsers;

use crate::progress::Progress;
use crate::stages::Stage;
use crate::table::{self, Line};
use crate::worker_process::{self, Crawled};

/// The maximum number of differences between two stages that are printed.
const SHOWN: usize = 10;

/// A stage, and its maximum number of concurrent fetches.
pub(crate) type StageTasks = (Stage, usize);

/// The result of one stage.
pub(crate) struct StageResult {
    pub(crate) stage: Stage,
    tasks: usize,
    pub(crate) crawled: Crawled,
}

/// Crawls `url` with each stage and prints the comparison. Returns true if all
/// have found the same.
pub(crate) fn compare(title: &str, url: &str, stages: &[StageTasks]) -> io::Result<bool> {
    print_comparison(title, &crawl_with_each(stages, url)?)
}

/// Prints a comparison on stdout. Returns true if all stages have found the
/// same.
pub(crate) fn print_comparison(title: &str, results: &[StageResult]) -> io::Result<bool> {
    let Some((first, others)) = results.split_first() else {
        return Ok(true);
    };
    let mut lines = vec![first.line("-")];
    let mut all_differences = String::new();
    for other in others {
        let differences = format_differences(first, other);
        lines.push(other.line(if differences.is_empty() { "yes" } else { "no" }));
        all_differences += &differences;
    }
    let agree = all_differences.is_empty();
    let result = if agree && !others.is_empty() {
        let rows = table::thousands(first.crawled.findings.total());
        format!("All agree on each of the {rows} rows.\n")
    } else {
        all_differences
    };
    let text = format!("{title}\n\n{}\n{result}\n", table::format(&lines));
    let mut out = io::stdout();
    out.write_all(parsers::printable(&text).as_bytes())?;
    out.flush()?;
    Ok(agree)
}

/// Crawls `url` with each stage.
pub(crate) fn crawl_with_each(stages: &[StageTasks], url: &str) -> io::Result<Vec<StageResult>> {
    let crawl = |&(stage, tasks): &StageTasks| StageResult::of_crawl(stage, tasks, url, None);
    stages.iter().map(crawl).collect()
}

impl StageResult {
    /// Crawls with one stage; see [`worker_process::crawl`].
    pub(crate) fn of_crawl(
        stage: Stage,
        tasks: usize,
        root: &str,
        first_pages: Option<u32>,
    ) -> io::Result<Self> {
        let crawled = worker_process::run(stage, tasks, root, first_pages, &mut Progress::new())?;
        Ok(Self { stage, tasks, crawled })
    }

    pub(crate) fn line(&self, agrees: &'static str) -> Line {
        let crawled = &self.crawled;
        Line {
            stage: self.stage.to_string(),
            tasks: self.tasks,
            urls: crawled.findings.total(),
            broken: crawled.findings.broken(),
            seconds: crawled.seconds,
            peak_in_flight: crawled.peak_in_flight,
            peak_memory: crawled.peak_memory,
            agrees,
        }
    }
}

/// Formats the first few differences. The text is empty if there are none.
fn format_differences(one: &StageResult, other: &StageResult) -> String {
    let differences = one.crawled.findings.differences(&other.crawled.findings);
    if differences.is_empty() {
        return String::new();
    }
    let count = differences.len();
    let (one, other) = (one.stage, other.stage);
    let mut text = format!("Stages {one} and {other} disagree on {count} URLs:\n");
    for (url, ones, others) in differences.iter().take(SHOWN) {
        text += &format!("  {url}\n");
        for (stage, finding) in [(one, ones), (other, others)] {
            text += &format!("    {stage}: {}\n", finding.unwrap_or("not found"));
        }
    }
    if count > SHOWN {
        text += &format!("  and {} more\n", count - SHOWN);
    }
    text
}
