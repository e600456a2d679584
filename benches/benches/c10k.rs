//! The bench `c10k`: ten thousand pages with a latency of one second, fetched
//! concurrently. It measures how much longer than that second a crawl takes:
//! `c10k/<subject>`.
//!
//! All subjects run on one thread, except stage 0, whose threads are shown for
//! comparison. The CPU time is kept among the figures.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use benches::subjects::{Kind, Subject};
use benches::{
    Crawl, RESAMPLES, Run, ServerProcess, Site, SubjectProcess, figures, play_role_if_asked,
};
use criterion::Criterion;
use serde::Serialize;

const LATENCY: Duration = Duration::from_secs(1);

/// The number of crawls of each subject. Each takes seconds, so criterion's samples repeat
/// these.
const TIMES: usize = 3;

/// The figures of the crawl in the middle of several.
#[derive(Serialize)]
struct Figures {
    tasks: usize,
    wall_seconds: f64,
    cpu_seconds: f64,
}

fn main() -> io::Result<()> {
    play_role_if_asked(None)?;
    let pages: u32 = if figures::is_test() { 100 } else { 10_000 };
    let mut criterion = Criterion::default().nresamples(RESAMPLES).configure_from_args();
    let mut group = criterion.benchmark_group("c10k");
    group.sample_size(10).warm_up_time(Duration::from_millis(1));
    group.measurement_time(Duration::from_secs(10));
    let site = Site { pages, page_size: 1024, latency: LATENCY, ..Site::default() };
    let mut kept = BTreeMap::new();
    let crawlers = Subject::all().filter(|subject| subject.kind != Kind::KnowsAll);
    for subject in crawlers.filter(|subject| subject.can_crawl(site)) {
        let tasks = subject.max_tasks().min(pages as usize);
        let mut known: Vec<Run> = Vec::new();
        group.bench_function(subject.name, |bencher| {
            bencher.iter_custom(|iterations| {
                let crawl = || {
                    let server = ServerProcess::start(site).unwrap();
                    let mut process =
                        SubjectProcess::start(Crawl::new(subject.name, &server, tasks, true))
                            .unwrap();
                    // A missing page would be an error.
                    process.run().unwrap()
                };
                // This is called for each sample.
                if known.len() < TIMES {
                    known.push(crawl());
                } else {
                    known.rotate_left(1);
                }
                known.last().unwrap().wall * u32::try_from(iterations).unwrap()
            });
        });
        known.sort_by_key(|run| run.wall);
        // There is none if a filter leaves this subject out.
        if let Some(run) = known.get(known.len() / 2) {
            let figures = Figures {
                tasks,
                wall_seconds: run.wall.as_secs_f64(),
                cpu_seconds: run.cpu.as_secs_f64(),
            };
            kept.insert(format!("c10k/{}", subject.name), figures);
        }
    }
    group.finish();
    criterion.final_summary();
    figures::keep("c10k", &kept)?;
    Ok(())
}
