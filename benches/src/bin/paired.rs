//! A paired comparison of subjects: `cargo run --release -p benches --bin paired
//! -- throughput ours tokio-raw tokio-hyper`.
//!
//! In every round each subject crawls the same site once, one after another, so
//! that disturbances of the machine affect all of them alike. The result is the
//! ratio of the first subject to each of the others, round by round: its median
//! and its quartiles, shown as a table and written as JSON. "Sleeps" is how often the
//! server fell asleep for want of requests, per page: each time it has to be woken.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;

use benches::figures::Quartiles;
use benches::subjects::Subject;
use benches::workload::Workload;
use benches::{Crawl, Run, ServerProcess, SubjectProcess, figures, play_role_if_asked};
use clap::Parser;
use serde::Serialize;

/// Lets subjects crawl the same site in turns and compares them.
#[derive(Debug, Parser)]
struct Arguments {
    /// `throughput/WORKLOAD`, or `throughput` for the usual one
    what: String,

    /// The first is compared with each of the others; `ours` is stage3-queue
    #[arg(required = true)]
    subjects: Vec<String>,

    /// Number of crawls of each subject; there is one more, which does not count
    #[arg(long, default_value_t = 21, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,

    /// Number of pages of the site
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..))]
    pages: u32,
}

/// A line of the table: the figures of one subject.
#[derive(Debug, Serialize)]
struct Line {
    subject: String,
    pages_per_second: Quartiles,
    cpu_microseconds_per_page: Quartiles,
    /// The wall time of the first subject divided by that of this one.
    wall_ratio: Quartiles,
    /// The CPU time of the first subject divided by that of this one.
    cpu_ratio: Quartiles,
    /// The times that the server fell asleep during a crawl, divided by its pages.
    server_sleeps_per_page: Quartiles,
    /// The number of crawls that have missed pages, and were made again.
    missed: u32,
}

impl Line {
    fn new(subject: String, first: &[Run], runs: &[Run], server_sleeps: &[u64]) -> Self {
        let wall = |run: &Run| run.wall.as_secs_f64();
        let cpu = |run: &Run| run.cpu.as_secs_f64();
        let pages = |run: &Run| f64::from(run.pages);
        let ratio = |of: fn(&Run) -> f64| {
            Quartiles::of(first.iter().zip(runs).map(move |(first, run)| of(first) / of(run)))
        };
        Self {
            subject,
            pages_per_second: Quartiles::of(runs.iter().map(|run| pages(run) / wall(run))),
            cpu_microseconds_per_page: Quartiles::of(
                runs.iter().map(|run| cpu(run) * 1e6 / pages(run)),
            ),
            wall_ratio: ratio(|run| run.wall.as_secs_f64()),
            cpu_ratio: ratio(|run| run.cpu.as_secs_f64()),
            server_sleeps_per_page: Quartiles::of(
                runs.iter()
                    .zip(server_sleeps)
                    .map(|(run, &sleeps)| sleeps as f64 / (pages(run) * f64::from(run.missed + 1))),
            ),
            missed: runs.iter().map(|run| run.missed).sum(),
        }
    }

    fn print(&self) {
        let ratio = |it: Quartiles| format!("{:.2} [{:.2} {:.2}]", it.median, it.lower, it.upper);
        println!(
            "{:18} {:>8.0} {:>8.1}   {:18} {:18} {:>6.2}",
            self.subject,
            self.pages_per_second.median,
            self.cpu_microseconds_per_page.median,
            ratio(self.wall_ratio),
            ratio(self.cpu_ratio),
            self.server_sleeps_per_page.median,
        );
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    play_role_if_asked(None)?;
    let arguments = Arguments::parse();
    let workload = match arguments.what.split_once('/') {
        Some(("throughput", name)) => Workload::named(name),
        _ if arguments.what == "throughput" => Workload::named("8KB-100-tasks"),
        _ => None,
    };
    let workload = workload.ok_or_else(|| format!("there is no {}", arguments.what))?;
    let named = |name: &String| {
        let name = if name == "ours" { "stage3-queue" } else { name };
        match Subject::named(name) {
            Some(subject) if !subject.can_crawl(workload.site) => {
                Err(format!("{name} cannot crawl the site of {}", workload.name))
            }
            _ => Ok(name.to_owned()),
        }
    };
    let subjects = arguments.subjects.iter().map(named).collect::<Result<Vec<_>, _>>()?;

    let mut site = workload.site;
    site.pages = arguments.pages;
    let server = ServerProcess::start(site)?;
    let start = |subject: &String| {
        let crawl = Crawl::new(subject, &server, workload.max_tasks, !site.is_html);
        SubjectProcess::start(crawl)
    };
    let mut processes = subjects.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let mut runs = vec![Vec::new(); subjects.len()];
    let mut server_sleeps = vec![Vec::new(); subjects.len()];
    for process in &mut processes {
        process.run()?;
    }
    for _ in 0..arguments.rounds {
        for (n, process) in processes.iter_mut().enumerate() {
            let before = server.times_asleep();
            runs[n].push(process.run()?);
            server_sleeps[n].push(server.times_asleep() - before);
        }
    }

    let (rounds, pages) = (arguments.rounds, arguments.pages);
    println!("throughput/{}, {pages} pages, {rounds} rounds", workload.name);
    println!(
        "{:18} {:>8} {:>8}   {:18} {:18} {:>6}",
        "", "pages/s", "us/page", "wall ratio", "CPU ratio", "sleeps"
    );
    let ran = runs.iter().zip(&server_sleeps);
    let lines = subjects
        .into_iter()
        .zip(ran)
        .map(|(subject, (ran, server_sleeps))| Line::new(subject, &runs[0], ran, server_sleeps));
    let lines: Vec<_> = lines.collect();
    lines.iter().for_each(Line::print);
    let by_id = |line: Line| (format!("paired/{}/{}", workload.name, line.subject), line);
    let lines: BTreeMap<_, _> = lines.into_iter().map(by_id).collect();
    let kept = figures::keep(&format!("paired-{}", workload.name), &lines)?;
    println!("kept in {}", kept.display());
    Ok(())
}
