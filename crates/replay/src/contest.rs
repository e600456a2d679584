//! All stages, one after another, on one site.

use std::io::{self, Write};

use command_line::values;

use crate::child::{self, Crawled};
use crate::progress::Progress;
use crate::stages::Stage;
use crate::table::{self, Line};

/// How many differences between two stages are shown.
const SHOWN: usize = 10;

/// A stage, and how many fetches at a time it may have.
pub(crate) type Entrant = (Stage, usize);

/// What has become of an entrant.
pub(crate) struct Entry {
    pub(crate) stage: Stage,
    tasks: usize,
    pub(crate) crawled: Crawled,
}

/// Lets them crawl `url` and tells about it on stdout. True when all have found
/// the same.
pub(crate) fn hold(title: &str, url: &str, entrants: &[Entrant]) -> io::Result<bool> {
    tell(title, &crawl(url, entrants)?)
}

/// Tells about them on stdout. True when all have found the same.
pub(crate) fn tell(title: &str, entries: &[Entry]) -> io::Result<bool> {
    let Some((first, others)) = entries.split_first() else {
        return Ok(true);
    };
    let mut lines = vec![first.line("-")];
    let mut disagreements = String::new();
    for other in others {
        let told = tell_differences(first, other);
        lines.push(other.line(if told.is_empty() { "yes" } else { "no" }));
        disagreements += &told;
    }
    let agree = disagreements.is_empty();
    let verdict = if agree && !others.is_empty() {
        let rows = table::thousands(first.crawled.findings.total());
        format!("All agree on each of the {rows} rows.\n")
    } else {
        disagreements
    };
    let text = format!("{title}\n\n{}\n{verdict}\n", table::format(&lines));
    let mut out = io::stdout();
    out.write_all(values::printable(&text).as_bytes())?;
    out.flush()?;
    Ok(agree)
}

/// Lets them crawl `url`.
pub(crate) fn crawl(url: &str, entrants: &[Entrant]) -> io::Result<Vec<Entry>> {
    let crawl = |&(stage, tasks): &Entrant| Entry::new(stage, tasks, url, None);
    entrants.iter().map(crawl).collect()
}

impl Entry {
    /// Lets one stage crawl; see [`child::crawl`].
    pub(crate) fn new(
        stage: Stage,
        tasks: usize,
        root: &str,
        first_pages: Option<u32>,
    ) -> io::Result<Self> {
        let crawled = child::run(stage, tasks, root, first_pages, &mut Progress::new())?;
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

/// A few of the differences, or nothing.
fn tell_differences(one: &Entry, other: &Entry) -> String {
    let differences = one.crawled.findings.differences(&other.crawled.findings);
    if differences.is_empty() {
        return String::new();
    }
    let count = differences.len();
    let (one, other) = (one.stage, other.stage);
    let mut told = format!("Stages {one} and {other} disagree on {count} URLs:\n");
    for (url, ones, others) in differences.iter().take(SHOWN) {
        told += &format!("  {url}\n");
        for (stage, finding) in [(one, ones), (other, others)] {
            told += &format!("    {stage}: {}\n", finding.unwrap_or("not found"));
        }
    }
    if count > SHOWN {
        told += &format!("  and {} more\n", count - SHOWN);
    }
    told
}
