//! The load test: many pages, and many connections at once.

use std::io::{self, Write};
use std::time::Duration;

use crate::comparison::{self, StageResult, StageTasks};
use crate::findings::Findings;
use crate::site::Site;
use crate::stages::Stage;
use crate::table::{self, thousands};

const PAGES: u32 = 100_000;
const TASKS: usize = 1000;
const CONNECTIONS: u64 = 19_000;
/// File descriptors for everything that is not a connection.
const SPARE: u64 = 100;

/// Runs the load test. Returns true if it has passed: every page was found, no
/// connection failed, and the required number of connections was held at once.
pub(crate) fn load_test(stages: &[Stage]) -> io::Result<bool> {
    let pages = many_pages(stages)?;
    Ok(many_connections(stages)? && pages)
}

fn many_pages(stages: &[Stage]) -> io::Result<bool> {
    let site = Site::start(PAGES, Duration::ZERO, true)?;
    let stages: Vec<StageTasks> = stages.iter().map(|stage| (*stage, TASKS)).collect();
    let results = comparison::crawl_with_each(&stages, site.root())?;
    let title = format!("Many pages: {} of 1 KB", thousands(PAGES.into()));
    let agree = comparison::print_comparison(&title, &results)?;
    let faults: String = results
        .iter()
        .map(|result| format_faults(result.stage, &result.crawled.findings, PAGES.into()))
        .collect();
    io::stdout().write_all(faults.as_bytes())?;
    Ok(agree && faults.is_empty())
}

/// Runs the stages that can hold many connections. Stage 0 would need a thread
/// for each, so it is left out.
fn many_connections(stages: &[Stage]) -> io::Result<bool> {
    // The worker processes inherit this limit.
    let limit = rlimit::increase_nofile_limit(CONNECTIONS + SPARE)?;
    let connections = limit.saturating_sub(SPARE).min(CONNECTIONS);
    let mut out = io::stdout();
    if connections < CONNECTIONS {
        let (limit, wanted) = (thousands(limit), thousands(CONNECTIONS));
        writeln!(out, "Not {wanted} connections: a process may open {limit} files (ulimit -n).\n")?;
    }
    let (mut lines, mut faults) = (Vec::new(), String::new());
    let pages = u32::try_from(connections).map_err(io::Error::other)?;
    for &stage in stages.iter().filter(|stage| stage.number > 0) {
        let site = Site::holding(pages)?;
        let result = StageResult::of_crawl(stage, pages as usize, site.root(), Some(pages))?;
        let held = site.end()?;
        if held != connections {
            faults += &format!("{stage}: the site had {} at once.\n", thousands(held));
        }
        faults += &format_faults(stage, &result.crawled.findings, connections);
        lines.push(result.line(if held == connections { "yes" } else { "no" }));
    }
    let all = thousands(connections);
    if !lines.is_empty() {
        writeln!(out, "Many connections: {all} held at once, and then answered\n")?;
        writeln!(out, "{}", table::format(&lines))?;
    }
    if faults.is_empty() {
        faults = format!("The site agrees that there were {all} at once.\n");
        return out.write_all(faults.as_bytes()).map(|()| true);
    }
    out.write_all(faults.as_bytes()).map(|()| false)
}

/// Reports missing and broken URLs. The text is empty if there are none.
fn format_faults(stage: Stage, findings: &Findings, urls: u64) -> String {
    let (found, broken) = (findings.total(), findings.broken());
    if found == urls && broken == 0 {
        return String::new();
    }
    let [found, urls, broken] = [found, urls, broken].map(thousands);
    format!("{stage}: {found} of {urls} URLs, {broken} of them broken.\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn missing_and_broken_urls_are_reported() {
        let stage = Stage::from_number("3").unwrap();
        let mut findings = Findings::default();
        findings.add(&json!({"url": "/a", "outcome": "page"}));
        assert_eq!(format_faults(stage, &findings, 1), "");
        assert_eq!(format_faults(stage, &findings, 2), "3 queue: 1 of 2 URLs, 0 of them broken.\n");
        findings.add(&json!({"url": "/b", "outcome": "failed"}));
        assert_eq!(format_faults(stage, &findings, 2), "3 queue: 2 of 2 URLs, 1 of them broken.\n");
    }
}
