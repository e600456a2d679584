//! How much the stages can bear.

use std::io::{self, Write};
use std::time::Duration;

use crate::contest::{self, Entrant, Entry};
use crate::findings::Findings;
use crate::site::Site;
use crate::stages::Stage;
use crate::table::{self, thousands};

const PAGES: u32 = 100_000;
const TASKS: usize = 1000;
const CONNECTIONS: u64 = 19_000;
/// Descriptors for everything that is no connection.
const SPARE: u64 = 100;
/// Whether they have borne it: every page found, no connection failed, and as
/// many held at once as there should be.
pub(crate) fn bear(stages: &[Stage]) -> io::Result<bool> {
    let pages = many_pages(stages)?;
    Ok(many_connections(stages)? && pages)
}

fn many_pages(stages: &[Stage]) -> io::Result<bool> {
    let site = Site::start(PAGES, Duration::ZERO, true)?;
    let entrants: Vec<Entrant> = stages.iter().map(|stage| (*stage, TASKS)).collect();
    let entries = contest::crawl(site.root(), &entrants)?;
    let title = format!("Many pages: {} of 1 KB", thousands(PAGES.into()));
    let agree = contest::tell(&title, &entries)?;
    let faults: String = entries
        .iter()
        .map(|entry| missing(entry.stage, &entry.crawled.findings, PAGES.into()))
        .collect();
    io::stdout().write_all(faults.as_bytes())?;
    Ok(agree && faults.is_empty())
}

/// A thread for each would be another story, so stage 0 is not asked.
fn many_connections(stages: &[Stage]) -> io::Result<bool> {
    // What is raised here, the processes to come inherit.
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
        let entry = Entry::new(stage, pages as usize, site.root(), Some(pages))?;
        let held = site.end()?;
        if held != connections {
            faults += &format!("{stage}: the site had {} at once.\n", thousands(held));
        }
        faults += &missing(stage, &entry.crawled.findings, connections);
        lines.push(entry.line(if held == connections { "yes" } else { "no" }));
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

/// What is amiss; nothing, if all is well.
fn missing(stage: Stage, findings: &Findings, urls: u64) -> String {
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
    fn whatever_is_missing_or_broken_is_told() {
        let stage = Stage::numbered("3").unwrap();
        let mut findings = Findings::default();
        findings.add(&json!({"url": "/a", "outcome": "page"}));
        assert_eq!(missing(stage, &findings, 1), "");
        assert_eq!(missing(stage, &findings, 2), "3 queue: 1 of 2 URLs, 0 of them broken.\n");
        findings.add(&json!({"url": "/b", "outcome": "failed"}));
        assert_eq!(missing(stage, &findings, 2), "3 queue: 2 of 2 URLs, 1 of them broken.\n");
    }
}
