//! The bench `memory`: the memory of a fetch in flight, in bytes, while `n` fetches
//! wait for a server that does not answer: `memory/resident/<n>/<subject>` and
//! `memory/heap/<n>/<subject>`. Resident memory is what a fetch takes in all; the
//! heap is the part of it that is no stack of a thread.
//!
//! The figure is a difference: the memory with `n` fetches in flight, less that
//! with one, when the same `n` URLs are known, divided by `n - 1`. So neither the
//! program itself nor the table of URLs counts. The figures that are kept also have
//! the reserved address space, which is large for threads.
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

use benches::fetch_memory::{FetchMemory, LATENCY};
use benches::subjects::{Kind, Subject};
use benches::{RESAMPLES, Site, figures, play_role_if_asked};
use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{Criterion, Throughput};
use runtimes::{AsyncExecutor, Ours, Pool, Runtime, Tokio, yield_once};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// The counting allocator. It counts the requested bytes, before the allocator
/// rounds them up.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of measurements of each `n`. They hardly differ, and each takes a
/// while, so criterion's samples repeat these. More than [`MANY`] fetches take seconds to
/// connect, and are measured once.
const TIMES: usize = 3;
const MANY: usize = 10_000;

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

/// The quantities that are compared, each in a group for every `n`.
type Quantity = (&'static str, fn(&FetchMemory) -> f64);
const QUANTITIES: [Quantity; 2] =
    [("resident", |memory| memory.resident_per_fetch), ("heap", |memory| memory.heap_per_fetch)];

fn in_flight(criterion: &mut Criterion<Bytes>) -> io::Result<()> {
    // The one whose resident memory is the median.
    let median = |(id, mut all): (String, Vec<FetchMemory>)| {
        all.sort_by(|one, other| one.resident_per_fetch.total_cmp(&other.resident_per_fetch));
        (!all.is_empty()).then(|| (id, all.swap_remove(all.len() / 2)))
    };
    let mut kept = BTreeMap::new();
    let many: &[usize] = if figures::is_test() { &[100] } else { &[100, 1000, 10_000, 19_000] };
    let slow = Site { latency: LATENCY, ..Site::default() };
    for &n in many {
        let mut measured: BTreeMap<String, Vec<FetchMemory>> = BTreeMap::new();
        for (quantity, of) in QUANTITIES {
            let mut group = criterion.benchmark_group(format!("memory/{quantity}/{n}"));
            let crawlers = Subject::all().filter(|subject| subject.kind != Kind::KnowsAll);
            let crawlers = crawlers.filter(|subject| subject.can_crawl(slow));
            for subject in crawlers.filter(|subject| n <= subject.max_tasks()) {
                group.bench_function(subject.name, |bencher| {
                    let known = measured.entry(format!("memory/{}/{n}", subject.name)).or_default();
                    let times = if n > MANY { 1 } else { TIMES };
                    // This is called for each sample.
                    if known.len() < times {
                        known.push(FetchMemory::measure(subject, n, known.is_empty()).unwrap());
                    } else {
                        known.rotate_left(1);
                    }
                    let bytes = of(known.last().unwrap());
                    bencher.iter_custom(|iterations| bytes * iterations as f64);
                });
            }
            group.finish();
        }
        // Now, since a subject may fail at the next number.
        kept.extend(measured.into_iter().filter_map(median));
        figures::keep("memory", &kept)?;
    }
    Ok(())
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
    let mut criterion = Criterion::default()
        .nresamples(RESAMPLES)
        .with_measurement(Bytes)
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
