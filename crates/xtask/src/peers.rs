//! `crawl` beside its peers: what each takes, finds and misses, on a site with planted
//! faults, on one by other authors, and on one with many plain pages.

mod reports;
mod sites;
pub(crate) mod timed;
pub(crate) mod tools;

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use demo_site::planted::{self, PLANTS};
use demo_site::{DemoSite, SiteOptions};
use tempfile::TempDir;

use crate::measurements::figures::Figures;
use crate::measurements::provenance::Provenance;
use crate::measurements::{draw, keep};
use crate::process::{cargo, target_folder};
use reports::{Report, Targets};
use sites::{Nginx, confirmed, judge_planted, normal, on_site};
use timed::{LIMIT, Run};
use tools::{OURS, Place, Places, Setting, TOOLS, Tool, WITH_FRAGMENTS};

/// The arguments of the chore `peers`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Number of runs of each tool on each site; one that takes long runs once
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Only this site; may be given several times
    #[arg(long, value_name = "SITE", value_parser = SITES)]
    only: Vec<String>,
    /// Number of plain pages
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    pages: u32,
}

/// The sites, in the order of the runs: with planted faults, by other authors, and generated.
const SITES: [&str; 3] = ["planted", "real", "generated"];
/// The time limit of a run on a part of the plants.
const PART_LIMIT: Duration = Duration::from_secs(20);
/// The seconds from which on a run is long.
const LONG: f64 = 10.0;
/// Other hosts, for tools that would ask them. Roots here are addresses in numbers.
const OTHER_HOSTS: &str = "^(https?|ftp)://[a-z]";
/// The other hosts of the planted site, where names of hosts are among the faults.
const OTHER_PLANTED_HOSTS: &str = r"^http://(127\.0\.0\.2|never\.test)";

/// Compares the tools, and writes the tables of their page.
///
/// # Errors
/// When a site or `crawl` itself cannot be started, or a file cannot be read or written.
pub(crate) fn compare(root: &Path, arguments: &Arguments) -> io::Result<bool> {
    let installed = Command::new(root.join("benches/peers/install")).status()?;
    let mut build = cargo(root)?;
    build.args(["build", "--release", "--package", "crawl", "--bin", "crawl"]);
    if !installed.success() || !build.status()?.success() {
        return Err(io::Error::other("what is to be compared cannot be installed or built"));
    }
    let target = target_folder()?;
    let comparison = Comparison::new(Places { workspace: root, target: &target }, arguments.rounds);
    for site in SITES
        .into_iter()
        .filter(|site| arguments.only.is_empty() || arguments.only.iter().any(|only| only == site))
    {
        let Arguments { rounds, pages, .. } = arguments;
        let command = format!("cargo xtask peers --only {site} --rounds {rounds} --pages {pages}");
        let taken = Provenance::now(root, &format!("peers-{site}"), &command)?;
        let begun = Instant::now();
        let mut figures = Figures::default();
        match site {
            "planted" => comparison.planted(&mut figures)?,
            "real" => comparison.real(&mut figures)?,
            _ => comparison.generated(*pages, &mut figures)?,
        }
        let seconds = begun.elapsed().as_secs();
        let taken = taken.with_seconds(seconds).with_versions(&comparison.versions());
        keep(root, taken, &figures)?;
        draw(root)?;
    }
    Ok(true)
}

/// The tools that are there, each with its version if it is.
struct Comparison<'a> {
    places: Places<'a>,
    rounds: u32,
    tools: Vec<(&'static Tool, Option<String>)>,
}

/// The runs of a tool on a site, and its finds.
struct Compared {
    tool: &'static Tool,
    /// The targets of its report, or of the part until it was stopped.
    targets: Targets,
    has_crashed: bool,
    /// The requests of the run with the report for machines.
    requests: u64,
    /// The number of pages that it has asked at least once in that run.
    asked_pages: usize,
    runs: Vec<Run>,
    /// The lines that a user sees; `None` if no run has ended.
    lines: Option<usize>,
    is_done: bool,
}

/// The requests that a site has had so far.
struct Asked {
    requests: u64,
    /// The number of requests of each page, where it is known.
    pages: BTreeMap<String, u64>,
}

impl Asked {
    /// Returns the number of requests alone.
    fn requests(requests: u64) -> Self {
        Self { requests, pages: BTreeMap::new() }
    }

    /// Returns the number of requests since then, and of the pages that they asked.
    fn since(&self, before: &Self) -> (u64, usize) {
        let grown = self.pages.iter().filter(|(page, hits)| before.pages.get(*page) < Some(hits));
        (self.requests - before.requests, grown.count())
    }
}

impl Compared {
    /// Adds a run of a round. A tool has asked for as many pages as in its worst run.
    fn add(&mut self, run: Run, asked_pages: usize) {
        self.asked_pages = self.asked_pages.min(asked_pages);
        self.lines = Some(run.lines());
        self.is_done = run.wall > LONG;
        self.runs.push(run);
    }

    /// Sets the figures of the runs. Ratios are those of `ours` to these, round by round.
    fn set(&self, figures: &mut Figures, id: &str, ours: &Self) {
        let of = |quantity: fn(&Run) -> f64| quartiles(self.runs.iter().map(quantity));
        figures.set(id, "requests", self.requests as f64);
        if let Some(lines) = self.lines {
            figures.set(id, "lines", lines as f64);
        }
        let timed_out = self.runs.iter().any(|run| run.timed_out);
        figures.set(id, "timed_out", f64::from(u8::from(timed_out)));
        figures.set(id, "wall", of(|run| run.wall)[1]);
        figures.set(id, "cpu", of(|run| run.cpu)[1]);
        figures.set(id, "memory", self.runs.iter().map(|run| run.memory).fold(0.0, f64::max));
        let ratios =
            quartiles(ours.runs.iter().zip(&self.runs).map(|(ours, its)| ours.cpu / its.cpu));
        for (part, value) in ["lower", "median", "upper"].into_iter().zip(ratios) {
            figures.set(id, &format!("cpu_ratio.{part}"), value);
        }
    }
}

/// Computes the quartiles of at least one number, by interpolation.
fn quartiles(numbers: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|part| {
        let position = part * (sorted.len() - 1) as f64;
        let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
        below + (above - below) * position.fract()
    })
}

impl<'a> Comparison<'a> {
    fn new(places: Places<'a>, rounds: u32) -> Self {
        let tools = TOOLS.iter().map(|tool| (tool, tool.version(places))).collect();
        Self { places, rounds, tools }
    }

    /// Returns the versions of all, for their provenance.
    fn versions(&self) -> String {
        let peers =
            self.tools.iter().filter(|(tool, _)| ![OURS, WITH_FRAGMENTS].contains(&tool.name));
        let said = peers.map(|(tool, version)| match version {
            Some(version) => format!("{} {version}", tool.name),
            None => format!("{} not to be had", tool.name),
        });
        said.collect::<Vec<_>>().join(", ")
    }

    fn present(&self) -> impl Iterator<Item = &'static Tool> {
        self.tools.iter().filter_map(|(tool, version)| version.is_some().then_some(*tool))
    }

    /// Runs a tool once in a new folder, with a report for machines within that limit, or
    /// with the one for people.
    fn run(
        &self,
        tool: &Tool,
        setting: Setting<'_>,
        report: Option<Duration>,
    ) -> io::Result<(Run, String)> {
        let folder = TempDir::new()?;
        // linkchecker, started by root, becomes a user without rights.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777))?;
        let command = tool.command(self.places, setting, report.is_some());
        let command = command.ok_or_else(|| io::Error::other(format!("{} is gone", tool.name)))?;
        let run = timed::run(&command, folder.path(), report.unwrap_or(LIMIT))?;
        let report = match tool.place {
            Place::Stdout => run.stdout.clone(),
            Place::Stderr => run.stderr.clone(),
            // It is missing after a crash.
            Place::File => fs::read_to_string(folder.path().join("report")).unwrap_or_default(),
        };
        Ok((run, report))
    }

    /// Returns the pages of a site, for tools that follow no links.
    fn pages(&self, setting: Setting<'_>) -> io::Result<Vec<String>> {
        Ok(reports::pages_of_crawl(&self.run(&TOOLS[0], setting, Some(LIMIT))?.1))
    }

    /// Runs the tools in rounds, each once in each. A run before gives the report for
    /// machines; of a tool that takes long, it is the only one that counts, if it shows all.
    fn rounds(
        &self,
        setting: Setting<'_>,
        tools: &[&'static Tool],
        asked: impl Fn() -> io::Result<Asked>,
    ) -> io::Result<Vec<Compared>> {
        let pages = self.pages(setting)?;
        let setting = Setting { pages: &pages, ..setting };
        let mut all = Vec::new();
        for &tool in tools {
            let before = asked()?;
            let (run, report) = self.run(tool, setting, Some(LIMIT))?;
            let (requests, asked_pages) = asked()?.since(&before);
            println!("  {}: {:.2} s, {requests} requests", tool.name, run.wall);
            let Report { targets, is_whole } = (tool.read)(&report);
            let targets = targets.iter().map(|target| normal(setting.root, target)).collect();
            let has_crashed = !is_whole && !run.timed_out;
            let is_done = run.wall > LONG && (tool.reports_both() || run.timed_out);
            let lines = (is_done && tool.reports_both()).then(|| run.lines());
            let runs = if is_done { vec![run] } else { Vec::new() };
            all.push(Compared {
                tool,
                targets,
                has_crashed,
                requests,
                asked_pages,
                runs,
                lines,
                is_done,
            });
        }
        for _ in 0..self.rounds {
            for compared in all.iter_mut().filter(|compared| !compared.is_done) {
                let before = asked()?;
                let (run, _) = self.run(compared.tool, setting, None)?;
                compared.add(run, asked()?.since(&before).1);
            }
        }
        Ok(all)
    }

    fn planted(&self, figures: &mut Figures) -> io::Result<()> {
        println!("the planted site");
        let server = planted::start()?;
        let root = server.url("/");
        let setting =
            Setting { root: &root, pages: &[], fragments: true, other_hosts: OTHER_PLANTED_HOSTS };
        let tools: Vec<_> = self.present().collect();
        let compared = self.rounds(setting, &tools, || Ok(Asked::requests(server.requests())))?;
        let is_fault =
            |number: &usize| planted::plant(*number).is_some_and(|it| it.fault.is_some());
        let faults: Vec<usize> = (0..planted::COUNT).filter(is_fault).collect();
        // Those of the list of fragments come last.
        let fragments = |of: &[usize]| of.iter().filter(|number| **number >= PLANTS.len()).count();
        figures.set("peers/planted", "faults", (faults.len() - fragments(&faults)) as f64);
        figures.set("peers/planted", "fragments", fragments(&faults) as f64);
        figures.set("peers/planted", "sound", (planted::COUNT - faults.len()) as f64);
        for of in &compared {
            let (name, id) = (of.tool.name, format!("peers/planted/{}", of.tool.name));
            let (targets, crashes) = match of.has_crashed {
                true => self.piecemeal(of.tool, 0..planted::COUNT)?,
                false => (of.targets.clone(), 0),
            };
            let (found, wrong) = judge_planted(&targets);
            println!("  {name}: {} found, {crashes} crashes, false alarms {wrong:?}", found.len());
            figures.set(&id, "found", (found.len() - fragments(&found)) as f64);
            figures.set(&id, "fragments", fragments(&found) as f64);
            figures.set(&id, "wrong", wrong.len() as f64);
            figures.set(&id, "crashes", crashes as f64);
            of.set(figures, &id, &compared[0]);
            for number in &faults {
                let plant = planted::plant(*number).map_or("", |plant| plant.name);
                let is_found = f64::from(u8::from(found.contains(number)));
                figures.set(&format!("peers/plant/{plant}"), name, is_found);
            }
        }
        Ok(())
    }

    /// Runs a tool that has crashed on a part of the plants, and again on each half of it,
    /// down to the single plants at which it crashes, or does not end. Returns what it tells
    /// in all the other runs, and the number of those plants.
    fn piecemeal(
        &self,
        tool: &'static Tool,
        numbers: Range<usize>,
    ) -> io::Result<(Targets, usize)> {
        let server = planted::start_with(numbers.clone())?;
        let root = server.url("/");
        let mut setting =
            Setting { root: &root, pages: &[], fragments: true, other_hosts: OTHER_PLANTED_HOSTS };
        let pages = if tool.needs_pages() { self.pages(setting)? } else { Vec::new() };
        setting.pages = &pages;
        let (_, report) = self.run(tool, setting, Some(PART_LIMIT))?;
        let Report { targets, is_whole } = (tool.read)(&report);
        if is_whole {
            return Ok((targets.iter().map(|target| normal(&root, target)).collect(), 0));
        }
        drop(server);
        if numbers.len() <= 1 {
            let name = planted::plant(numbers.start).map_or("", |plant| plant.name);
            println!("  {} crashes or hangs at: {name}", tool.name);
            return Ok((Targets::new(), 1));
        }
        let middle = numbers.start + numbers.len() / 2;
        let (mut targets, crashes) = self.piecemeal(tool, numbers.start..middle)?;
        let (others, more) = self.piecemeal(tool, middle..numbers.end)?;
        targets.extend(others);
        Ok((targets, crashes + more))
    }

    fn real(&self, figures: &mut Figures) -> io::Result<()> {
        let site = self.places.workspace.join("target/real-site/doc");
        println!("{}", site.display());
        let server = Nginx::start(&site)?;
        let setting =
            Setting { root: &server.root, pages: &[], fragments: false, other_hosts: OTHER_HOSTS };
        let compared = self
            .rounds(setting, &self.plain(), || Ok(Asked::requests(server.log()?.len() as u64)))?;
        let log = server.log()?;
        let reports: Vec<_> = compared.iter().map(|of| on_site(&of.targets)).collect();
        let faults = confirmed(&reports.iter().collect::<Vec<_>>(), &log);
        println!("  broken: {faults:?}");
        figures.set("peers/real", "faults", faults.len() as f64);
        for (of, report) in compared.iter().zip(&reports) {
            let (name, id) = (of.tool.name, format!("peers/real/{}", of.tool.name));
            if !of.has_crashed {
                let found = report.intersection(&faults).count();
                let wrong: Vec<_> = report.difference(&faults).collect();
                println!("  {name}: {found} found, false alarms {wrong:?}");
                figures.set(&id, "found", found as f64);
                figures.set(&id, "wrong", wrong.len() as f64);
            }
            of.set(figures, &id, &compared[0]);
        }
        Ok(())
    }

    fn generated(&self, pages: u32, figures: &mut Figures) -> io::Result<()> {
        println!("{pages} pages");
        let site = DemoSite::start(SiteOptions {
            pages,
            special_cases: false,
            // Allows linkchecker to ask without pauses.
            page_fields: "LinkChecker: yes\r\n",
            ..SiteOptions::default()
        })?;
        let root = site.root();
        let setting =
            Setting { root: &root, pages: &[], fragments: false, other_hosts: OTHER_HOSTS };
        let compared = self.rounds(setting, &self.plain(), || {
            let mut asked = Asked { requests: site.requests(), pages: site.all_hits() };
            let is_page = |n: &str| n.parse::<u32>().is_ok_and(|n| n < pages);
            asked
                .pages
                .retain(|path, _| path == "/" || path.strip_prefix("/page/").is_some_and(is_page));
            Ok(asked)
        })?;
        figures.set("peers/generated", "pages", f64::from(pages));
        for of in &compared {
            let id = format!("peers/generated/{}", of.tool.name);
            figures.set(&id, "asked_pages", of.asked_pages as f64);
            of.set(figures, &id, &compared[0]);
        }
        Ok(())
    }

    /// Returns the tools without the one for fragments.
    fn plain(&self) -> Vec<&'static Tool> {
        self.present().filter(|tool| tool.name != WITH_FRAGMENTS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_interpolated() {
        assert_eq!(quartiles([4.0, 1.0, 3.0, 2.0, 5.0].into_iter()), [2.0, 3.0, 4.0]);
        assert_eq!(quartiles([1.0, 2.0].into_iter()), [1.25, 1.5, 1.75]);
    }

    #[test]
    fn a_page_that_is_asked_twice_is_one_page() {
        let asked = |requests, pages: &[(&str, u64)]| Asked {
            requests,
            pages: pages.iter().map(|(page, hits)| ((*page).to_owned(), *hits)).collect(),
        };
        let before = asked(3, &[("/", 2), ("/page/1", 1)]);
        let after = asked(8, &[("/", 4), ("/page/1", 1), ("/page/2", 3)]);
        assert_eq!(after.since(&before), (5, 2));
    }

    fn run(wall: f64, cpu: f64) -> Run {
        let said = "one\ntwo\n".to_owned();
        Run {
            wall,
            cpu,
            memory: wall,
            stdout: said,
            stderr: String::new(),
            timed_out: wall > 100.0,
        }
    }

    fn compared(runs: Vec<Run>) -> Compared {
        Compared {
            tool: &TOOLS[0],
            targets: Targets::new(),
            has_crashed: false,
            requests: 7,
            asked_pages: 7,
            runs,
            lines: None,
            is_done: false,
        }
    }

    #[test]
    fn a_tool_that_asks_for_fewer_pages_in_a_later_round_has_asked_for_these() {
        let mut compared = compared(Vec::new());
        for (asked_pages, expected) in [(7, 7), (5, 5), (7, 5)] {
            compared.add(run(1.0, 1.0), asked_pages);
            assert_eq!(compared.asked_pages, expected);
        }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let ours = compared(vec![run(1.0, 1.0), run(2.0, 4.0), run(3.0, 1.0)]);
        let its = compared(vec![run(1.0, 2.0), run(5.0, 4.0), run(4.0, 8.0)]);
        let mut figures = Figures::default();
        its.set(&mut figures, "x", &ours);
        let get = |quantity| figures.get("x", quantity);
        assert_eq!(get("cpu_ratio.median"), Some(0.5));
        assert_eq!(
            (get("wall"), get("memory"), get("requests")),
            (Some(4.0), Some(5.0), Some(7.0))
        );
        assert_eq!((get("timed_out"), get("lines")), (Some(0.0), None));
    }
}
