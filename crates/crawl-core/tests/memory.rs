//! Tests of the memory for a known URL. This is a program of its own, since it
//! counts every byte.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;

use crawl_core::{Admission, Decision, Job, Options, Via};
use encoding_rs::UTF_8;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use url::Url;
use web::BaseUrl;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The maximum memory for a URL, besides its text: 7 % above what was measured.
const MAX_BYTES_PER_URL: usize = 155;

/// The number of links to each URL; with so many, its list of referrers is full.
const LINKS: usize = 20;

/// A smaller number of links, which takes less time. The memory is the same (see
/// below).
const FEW: usize = 2;

fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Admits `count` URLs, each of which is linked to from `links` pages. Measures
/// the bytes per URL, without the texts, after each URL from the number `from`
/// on, and returns the maximum.
fn bytes_per_url(from: usize, count: usize, links: usize, path: fn(usize) -> String) -> usize {
    let root = Url::parse("http://site.test/").unwrap();
    let options = Options::new(vec![root.clone()]);
    let mut base_url = BaseUrl::new(&root, UTF_8);
    let mut jobs: Vec<Job> = Vec::with_capacity(count);
    let before = live_bytes();
    let mut admission = Admission::new(&options);
    let Decision::Admitted(job) = admission.admit(base_url.join("/").unwrap(), Via::Root) else {
        panic!("the root is outside");
    };
    let mut texts = job.url.len();
    jobs.push(job);
    let mut worst = 0;
    while jobs.len() < count {
        let new = jobs.len();
        for n in new.saturating_sub(links - 1).max(1)..=new {
            let page = &jobs[new - 1];
            let decision = admission.admit(base_url.join(&path(n)).unwrap(), Via::Link(page));
            if let Decision::Admitted(job) = decision {
                texts += job.url.len();
                jobs.push(job);
            }
        }
        assert_eq!(jobs.len(), new + 1);
        if jobs.len() >= from {
            worst = worst.max((live_bytes() - before - texts).div_ceil(jobs.len()));
        }
    }
    assert_eq!(admission.seen(), count);
    let (first, referrers) = admission.referrers(&jobs[count / 2].url);
    assert_eq!(first.len(), links.min(Admission::MAX_REFERRERS));
    assert_eq!(referrers as usize, links);
    worst
}

#[test]
fn a_known_url_uses_little_memory_at_any_crawl_size() {
    // Every number of URLs is measured, so that the peaks are included at which
    // the tables grow. With a query, each path has its own count of variants.
    type Path = fn(usize) -> String;
    let shapes: [(&str, Path); 3] = [
        ("flat", |n| format!("/page/{n}")),
        ("queries", |n| format!("/page/{n}?a")),
        ("deep and varied", |n| format!("/{n}/a/b?c")),
    ];
    for (shape, path) in shapes {
        for (from, to, links) in [(5_000, 10_000, LINKS), (50_000, 100_000, FEW)] {
            let worst = bytes_per_url(from, to, links, path);
            println!("{shape}: {worst} bytes per URL between {from} and {to}");
            assert!(worst <= MAX_BYTES_PER_URL, "{shape}, up to {to}: {worst}");
        }
    }
    let fewer = bytes_per_url(5_000, 10_000, FEW, shapes[0].1);
    // The partitions of the index grow at different times, by the random key of the hash.
    assert!(fewer.abs_diff(bytes_per_url(5_000, 10_000, LINKS, shapes[0].1)) <= 2);
    let worst = bytes_per_url(450_000, 500_000, FEW, shapes[0].1);
    println!("flat: {worst} bytes per URL up to 500,000");
    assert!(worst <= MAX_BYTES_PER_URL, "{worst}");
}
