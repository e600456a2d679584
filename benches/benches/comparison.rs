//! The bench `comparison`: what each stage costs, in one small table. It takes about a
//! minute: `cargo bench -p benches --bench comparison`.
//!
//! The speed is the median of several crawls of the same site. The stages take turns, so that
//! a disturbance of the machine hits all of them alike, and each has one core for itself, on
//! Linux. The memory of a fetch is a difference between many in flight and one. Only there does
//! an allocator count: it would charge the speed of a stage by the number of its allocations.
//!
//! The other benches ask one question each, and compare with programs of others. With
//! `--test`, each stage crawls a small site and prints no figure.
#![allow(clippy::print_stdout, missing_docs)]

use std::alloc::System;
use std::io;
use std::path::Path;
use std::process::Command;

use benches::figures::Quartiles;
use benches::subjects::{Kind, Subject};
use benches::workload::{WORKLOADS, Workload};
use benches::{
    Crawl, FetchMemory, Run, ServerProcess, SubjectProcess, figures, play_role_if_asked,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// A program of this package without a counting allocator.
const NOT_COUNTING: &str = env!("CARGO_BIN_EXE_paired");

/// The counting allocator. It counts the requested bytes, before the allocator
/// rounds them up.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn heap() -> u64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated) as u64
}

/// The amounts of work for each stage.
struct Sizes {
    pages: u32,
    crawls: usize,
    /// Number of fetches in flight while the memory is read.
    in_flight: usize,
    readings: usize,
}

/// Returns a figure with its unit. It is zero where the operating system doesn't say.
fn shown(figure: f64, decimals: usize, unit: &str) -> String {
    if figure == 0.0 { "n/a".to_owned() } else { format!("{figure:.decimals$} {unit}") }
}

fn print_head(workload: Workload, in_flight: usize) {
    let (pages, max_tasks) = (workload.site.pages, workload.max_tasks);
    let cores = if cfg!(target_os = "linux") { "one core" } else { "all cores" };
    println!("Speed: {pages} pages of 8 KB, {max_tasks} fetches at a time, {cores} for each stage");
    println!("Memory: {in_flight} fetches in flight");
    println!("Stage 0 has a thread for each fetch, the others have one thread for all of them");
    println!();
    println!("stage               pages/s  CPU per page  heap per fetch  resident per fetch");
}

fn print_line(stage: Subject, runs: &[Run], memory: &[FetchMemory]) {
    let pages_per_second = |run: &Run| f64::from(run.pages) / run.wall.as_secs_f64();
    let cpu_microseconds = |run: &Run| run.cpu_per_page().as_secs_f64() * 1e6;
    println!(
        "{:18} {:>8.0} {:>13} {:>15} {:>19}",
        stage.name,
        median(runs, pages_per_second),
        shown(median(runs, cpu_microseconds), 1, "µs"),
        shown(median(memory, |memory| memory.heap_per_fetch), 0, "B"),
        shown(median(memory, |memory| memory.resident_per_fetch), 0, "B"),
    );
}

fn median<T>(all: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    Quartiles::of(all.iter().map(figure)).median
}

/// Returns the runs of each stage.
fn crawl(stages: &[Subject], workload: Workload, times: usize) -> io::Result<Vec<Vec<Run>>> {
    let server = ServerProcess::start_program(Path::new(NOT_COUNTING), workload.site)?;
    let start = |stage: &Subject| {
        let crawl = Crawl::new(stage.name, &server, workload.max_tasks, false);
        SubjectProcess::start_program(Command::new(NOT_COUNTING), crawl)
    };
    let mut processes = stages.iter().map(start).collect::<io::Result<Vec<_>>>()?;
    // The first crawl of a process takes longer.
    for process in &mut processes {
        process.run()?;
    }
    let mut runs = vec![Vec::new(); stages.len()];
    for _ in 0..times {
        for (process, runs) in processes.iter_mut().zip(&mut runs) {
            runs.push(process.run()?);
        }
    }
    Ok(runs)
}

fn main() -> io::Result<()> {
    play_role_if_asked(Some(heap))?;
    let sizes = if figures::is_test() {
        Sizes { pages: 50, crawls: 1, in_flight: 50, readings: 1 }
    } else {
        Sizes { pages: 5000, crawls: 21, in_flight: 1000, readings: 3 }
    };
    let [mut workload, ..] = WORKLOADS;
    workload.site.pages = sizes.pages;
    if !figures::is_test() {
        print_head(workload, sizes.in_flight);
    }
    let stages: Vec<Subject> = Subject::all().filter(|it| it.kind == Kind::Stage).collect();
    let runs = crawl(&stages, workload, sizes.crawls)?;
    for (&stage, runs) in stages.iter().zip(&runs) {
        let read = |_| FetchMemory::measure(stage, sizes.in_flight, false);
        let memory = (0..sizes.readings).map(read).collect::<io::Result<Vec<_>>>()?;
        if figures::is_test() {
            println!("{}: ok", stage.name);
        } else {
            print_line(stage, runs, &memory);
        }
    }
    Ok(())
}
