//! How many pages a second does each stage crawl?
//!
//! Ids are `throughput/<workload>/<stage>`; one element is one page.
#![allow(clippy::unwrap_used, missing_docs)]

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use benches::{ServerProcess, Site, serve_if_asked};
use crawl_core::{Ending, Options, Outcome, Sink};
use criterion::{Criterion, Throughput};
use url::Url;

type Crawl = fn(Options, Sink) -> io::Result<Ending>;

const STAGES: [(&str, Crawl); 4] = [
    ("stage0-threads", stage0_threads::crawl),
    ("stage1-callbacks", stage1_callbacks::crawl),
    ("stage2-coroutines", stage2_coroutines::crawl),
    ("stage3-queue", stage3_queue::crawl),
];

/// Crawls, and makes sure that every page was found.
fn crawl(crawl: Crawl, root: &Url, max_tasks: usize, pages: u64) {
    let mut options = Options::new(vec![root.clone()]);
    options.max_tasks = Some(max_tasks);
    // Only the last stage would ask for robots.txt.
    options.robots = false;
    let found = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&found);
    let sink = move |row: crawl_core::Row| {
        count.fetch_add(u64::from(row.outcome == Outcome::Page), Ordering::Relaxed);
    };
    crawl(options, Box::new(sink)).unwrap();
    assert_eq!(found.load(Ordering::Relaxed), pages);
}

fn throughput(criterion: &mut Criterion, site: Site, tasks: &[usize]) {
    let server = ServerProcess::start(site).unwrap();
    let root = Url::parse(server.root()).unwrap();
    for &max_tasks in tasks {
        let size = site.page_size / 1024;
        let mut group = criterion.benchmark_group(format!("throughput/{size}KB-{max_tasks}-tasks"));
        let pages = u64::from(site.pages);
        group.throughput(Throughput::Elements(pages));
        group.sample_size(10).measurement_time(Duration::from_secs(3));
        for (name, stage) in STAGES {
            group.bench_function(name, |bencher| {
                bencher.iter(|| crawl(stage, &root, max_tasks, pages));
            });
        }
        group.finish();
    }
}

fn main() {
    serve_if_asked().unwrap();
    let mut criterion = Criterion::default().configure_from_args();
    let eight_kb = Site { pages: 1_000, page_size: 8 * 1024 };
    throughput(&mut criterion, eight_kb, &[1, 10, 100]);
    let one_kb = Site { page_size: 1024, ..eight_kb };
    throughput(&mut criterion, one_kb, &[100]);
    criterion.final_summary();
}
