//! The bench `memory`: the memory of a fetch in flight, in bytes of the heap,
//! while `n` fetches wait for a server that does not answer:
//! `memory/<subject>/<n>`.
//!
//! The figure is a difference: the memory with `n` fetches in flight, less that
//! with one, when the same `n` URLs are known, divided by `n - 1`. So neither the
//! program itself nor the table of URLs counts. The figures also have the
//! resident memory and the reserved address space, which is large for threads.
//!
//! Then, `scheduling/parked-bytes/<subject>`: the memory of a parked task among a
//! million, its future included.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "subjects/runtimes.rs"]
mod runtimes;

use std::alloc::System;
use std::collections::BTreeMap;
use std::future::pending;
use std::io;
use std::time::Duration;

use benches::subjects::{Kind, Subject};
use benches::{Crawl, Memory, ServerProcess, Site, SubjectProcess, figures, play_role_if_asked};
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput};
use runtimes::{AsyncExecutor, Ours, Pool, Runtime, Tokio, yield_once};
use serde::Serialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// The counting allocator. It counts the requested bytes, before the allocator
/// rounds them up.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of measurements of each `n`. They hardly differ, and each takes a
/// while, so criterion's samples repeat these.
const TIMES: usize = 3;

/// The latency of the server: longer than any measurement.
const LATENCY: Duration = Duration::from_secs(600);

fn heap() -> u64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated) as u64
}

/// The measurement of bytes for criterion.
struct Bytes;

impl Measurement for Bytes {
    type Intermediate = u64;
    type Value = f64;

    fn start(&self) -> u64 {
        heap()
    }

    fn end(&self, start: u64) -> f64 {
        heap() as f64 - start as f64
    }

    fn add(&self, one: &f64, other: &f64) -> f64 {
        one + other
    }

    fn zero(&self) -> f64 {
        0.0
    }

    fn to_f64(&self, value: &f64) -> f64 {
        *value
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for Bytes {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "B"
    }

    fn scale_throughputs(&self, _: f64, _: &Throughput, _: &mut [f64]) -> &'static str {
        "B"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "B"
    }
}

/// The figures of a process with one fetch in flight, and with `n`.
#[derive(Serialize)]
struct Figures {
    one: Memory,
    all: Memory,
    heap_per_fetch: f64,
    resident_per_fetch: f64,
    reserved_per_fetch: f64,
}

impl Figures {
    fn new(one: Memory, all: Memory, n: usize) -> Self {
        let per_fetch = |all: u64, one: u64| (all as f64 - one as f64) / (n - 1) as f64;
        Self {
            heap_per_fetch: per_fetch(all.heap, one.heap),
            resident_per_fetch: per_fetch(all.resident, one.resident),
            reserved_per_fetch: per_fetch(all.reserved, one.reserved),
            one,
            all,
        }
    }
}

/// Returns the memory of a process that knows `n` URLs while `in_flight` fetches
/// wait. Then the crawl runs to its end, if `to_the_end` asks for that check.
fn memory_in_flight(
    subject: Subject,
    n: usize,
    in_flight: usize,
    to_the_end: bool,
) -> io::Result<Memory> {
    let pages = u32::try_from(n).map_err(io::Error::other)?;
    let site = Site { pages, page_size: 1024, latency: LATENCY, ..Site::default() };
    let mut server = ServerProcess::start(site)?;
    let mut process = SubjectProcess::start(Crawl::new(subject.name, &server, in_flight, true))?;
    process.begin()?;
    server.await_in_flight(in_flight)?;
    let memory = process.memory()?;
    if to_the_end {
        server.release()?;
        process.end()?;
    }
    Ok(memory)
}

fn in_flight(criterion: &mut Criterion<Bytes>) -> io::Result<()> {
    let mut kept = BTreeMap::new();
    let many: &[usize] = if figures::is_test() { &[100] } else { &[100, 1000, 10_000, 19_000] };
    let slow = Site { latency: LATENCY, ..Site::default() };
    let crawlers = Subject::all().filter(|subject| subject.kind != Kind::KnowsAll);
    for subject in crawlers.filter(|subject| subject.can_crawl(slow)) {
        let mut group = criterion.benchmark_group(format!("memory/{}", subject.name));
        for &n in many.iter().filter(|&&n| n <= subject.max_tasks()) {
            let mut measured: Vec<Figures> = Vec::new();
            group.bench_function(n.to_string(), |bencher| {
                // This is called for each sample.
                if measured.len() < TIMES {
                    let one = memory_in_flight(subject, n, 1, false).unwrap();
                    let all = memory_in_flight(subject, n, n, measured.is_empty()).unwrap();
                    measured.push(Figures::new(one, all, n));
                } else {
                    measured.rotate_left(1);
                }
                let heap = measured.last().unwrap().heap_per_fetch;
                bencher.iter_custom(|iterations| heap * iterations as f64);
            });
            let id = format!("memory/{}/{n}", subject.name);
            kept.extend(measured.pop().map(|figures| (id, figures)));
        }
        group.finish();
    }
    figures::keep("memory", &kept).map(drop)
}

fn parked<R: Runtime>(criterion: &mut Criterion<Bytes>) {
    let tasks = if figures::is_test() { 1000 } else { 1_000_000 };
    criterion.benchmark_group("scheduling/parked-bytes").bench_function(R::NAME, |bencher| {
        bencher.iter_custom(|iterations| {
            let runtime = R::new();
            let handle = runtime.clone();
            let before = heap();
            let per_task = runtime.run(async move {
                let parked: Vec<_> = (0..tasks).map(|_| handle.spawn(pending::<()>())).collect();
                yield_once().await;
                let list = parked.capacity() * size_of_val(&parked[0]);
                (heap() as f64 - before as f64 - list as f64) / f64::from(tasks)
            });
            per_task * iterations as f64
        });
    });
}

fn main() -> io::Result<()> {
    play_role_if_asked(Some(heap))?;
    // No plots: a count that is the same every time has no distribution.
    let mut criterion = Criterion::default()
        .with_measurement(Bytes)
        .without_plots()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .configure_from_args();
    parked::<Ours>(&mut criterion);
    parked::<Tokio>(&mut criterion);
    parked::<AsyncExecutor>(&mut criterion);
    parked::<Pool>(&mut criterion);
    in_flight(&mut criterion)?;
    criterion.final_summary();
    Ok(())
}
