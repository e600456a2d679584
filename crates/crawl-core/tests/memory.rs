//! What a known URL costs. A test of its own, since it counts every byte.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;

use crawl_core::{Admission, Decision, Job, Joiner, Options, Via};
use encoding_rs::UTF_8;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use url::Url;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Beside its text.
const MOST_BYTES_PER_URL: usize = 150;

/// To each URL, so that its list of referrers is full.
const LINKS: usize = 20;

/// It makes no difference (see below), but for the time this takes.
const FEW: usize = 2;

fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Lets in `count` URLs, each of which is linked to from so many pages.
/// Returns the greatest number of bytes per URL beside the texts, of those
/// after each URL from `from` on.
fn bytes_per_url(from: usize, count: usize, links: usize, path: fn(usize) -> String) -> usize {
    let root = Url::parse("http://site.test/").unwrap();
    let options = Options::new(vec![root.clone()]);
    let mut joiner = Joiner::new(&root, UTF_8);
    let mut jobs: Vec<Job> = Vec::with_capacity(count);
    let before = live_bytes();
    let mut door = Admission::new(&options);
    let Decision::Admitted(job) = door.admit(joiner.join("/").unwrap(), Via::Root) else {
        panic!("the root is outside");
    };
    let mut texts = job.url.len();
    jobs.push(job);
    let mut worst = 0;
    while jobs.len() < count {
        let new = jobs.len();
        for n in new.saturating_sub(links - 1).max(1)..=new {
            let page = &jobs[new - 1];
            let decision = door.admit(joiner.join(&path(n)).unwrap(), Via::Link(page));
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
    assert_eq!(door.seen(), count);
    let (first, referrers) = door.referrers(&jobs[count / 2].url);
    assert_eq!(first.len(), links.min(Admission::MOST_REFERRERS));
    assert_eq!(referrers as usize, links);
    worst
}

#[test]
fn a_known_url_costs_little_at_any_size() {
    // Every number of URLs is looked at, so that growth has its say. With a
    // query, each path has its own count of variants.
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
            assert!(worst <= MOST_BYTES_PER_URL, "{shape}, up to {to}: {worst}");
        }
    }
    let fewer = bytes_per_url(5_000, 10_000, FEW, shapes[0].1);
    assert_eq!(fewer, bytes_per_url(5_000, 10_000, LINKS, shapes[0].1));
    let worst = bytes_per_url(900_000, 1_000_000, FEW, shapes[0].1);
    println!("flat: {worst} bytes per URL up to 1,000,000");
    assert!(worst <= MOST_BYTES_PER_URL, "{worst}");
}
