//! The bench `comparison`: the stages side by side in one table, the last output of
//! `cargo bench -p benches`. It measures anew, a few seconds for each stage: the
//! pages per second and the CPU time of a page, each the median of several crawls of
//! pages of 8 KB, a hundred at a time; and the memory of a fetch, with a thousand in
//! flight. Only for the memory is there an allocator that counts: the speed is that of
//! another program, whose allocator does not.
#![allow(clippy::print_stdout, missing_docs)]

use std::alloc::System;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

use benches::subjects::{Kind, Subject};
use benches::workload::WORKLOADS;
use benches::{
    Crawl, FetchMemory, Run, ServerProcess, SubjectProcess, figures, play_role_if_asked,
};
use serde::Serialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// A program of this package without a counting allocator: counting would charge each stage
/// by the number of its allocations.
const NOT_COUNTING: &str = env!("CARGO_BIN_EXE_paired");

/// The counting allocator. It counts the requested bytes, before the allocator
/// rounds them up.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn heap() -> u64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated) as u64
}

/// One line of the table.
#[derive(Serialize)]
struct Line {
    pages_per_second: f64,
    cpu_microseconds_per_page: f64,
    heap_per_fetch: f64,
    resident_per_fetch: f64,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn measure(stage: Subject, server: &ServerProcess, tasks: usize) -> io::Result<Line> {
    let (crawls, in_flight) = if figures::is_test() { (1, 50) } else { (9, 1000) };
    let crawl = Crawl::new(stage.name, server, tasks, false);
    let mut process = SubjectProcess::start_program(Command::new(NOT_COUNTING), crawl)?;
    // The first crawl of a process takes longer.
    process.run()?;
    let runs = (0..crawls).map(|_| process.run()).collect::<io::Result<Vec<Run>>>()?;
    let of_all = |cost: fn(&Run) -> f64| median(runs.iter().map(cost).collect());
    let memory = FetchMemory::measure(stage, in_flight, false)?;
    Ok(Line {
        pages_per_second: of_all(|run| f64::from(run.pages) / run.wall.as_secs_f64()),
        cpu_microseconds_per_page: of_all(|run| run.cpu_per_page().as_secs_f64() * 1e6),
        heap_per_fetch: memory.heap_per_fetch,
        resident_per_fetch: memory.resident_per_fetch,
    })
}

fn main() -> io::Result<()> {
    play_role_if_asked(Some(heap))?;
    let [mut workload, ..] = WORKLOADS;
    if figures::is_test() {
        workload.site.pages = 50;
    }
    let server = ServerProcess::start_program(Path::new(NOT_COUNTING), workload.site)?;
    println!("stage                pages/s   CPU/page   heap/fetch   resident/fetch");
    let mut lines = BTreeMap::new();
    for stage in Subject::all().filter(|subject| subject.kind == Kind::Stage) {
        let line = measure(stage, &server, workload.max_tasks)?;
        println!(
            "{:18} {:>9.0} {:>7.0} µs {:>10.0} B {:>14.0} B",
            stage.name,
            line.pages_per_second,
            line.cpu_microseconds_per_page,
            line.heap_per_fetch,
            line.resident_per_fetch
        );
        lines.insert(format!("comparison/{}", stage.name), line);
    }
    figures::keep("comparison", &lines).map(drop)
}
