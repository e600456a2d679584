//! What it costs to know where links are, and what fragments name. A test of its
//! own, since it counts every byte.
#![allow(clippy::unwrap_used, missing_docs)]

mod common {
    pub(crate) mod site;
}

use std::alloc::System;

use common::site::{Reply, crawl, options, page};
use crawl_core::links::{Element, Link, Place};
use crawl_core::{Admission, Decision, Job, Joiner, Options, Via};
use encoding_rs::UTF_8;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use url::Url;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TEXT: &str = "the text of a link";

/// As long as a text can be.
const LONG_TEXT: &str =
    "a text as long as any may be, which says what there is to be said of a URL, yes!";

/// What is noted last begins below the limit, and may end above it.
const LAST_BYTES: usize = 1024;

fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Lets in `count` URLs, each of which is linked to from so many pages before
/// anybody asks for it. They have this text and say where they are, or nothing.
/// Returns the bytes this takes, and how many of the links to the last URL are
/// known.
fn bytes_of(count: usize, links: usize, text: Option<&str>) -> (usize, usize) {
    let root = Url::parse("http://site.test/").unwrap();
    let mut joiner = Joiner::new(&root, UTF_8);
    let mut jobs: Vec<Job> = Vec::with_capacity(count);
    let place = text.map(|_| Place { line: 1_000, column: 10 });
    let text = text.unwrap_or_default();
    let link = Link { href: "", element: Element::A, place, text, nofollow: false };
    let before = live_bytes();
    let mut door = Admission::new(&Options::new(vec![root.clone()]));
    let Decision::Admitted(job) = door.admit(joiner.join("/").unwrap(), Via::Root) else {
        panic!("the root is outside");
    };
    jobs.push(job);
    while jobs.len() < count {
        let new = jobs.len();
        for n in new.saturating_sub(links - 1).max(1)..=new {
            let via = Via::Element(&jobs[new - 1], link);
            let decision = door.admit(joiner.join(&format!("/page/{n}")).unwrap(), via);
            if let Decision::Admitted(job) = decision {
                jobs.push(job);
            }
        }
    }
    let bytes = live_bytes() - before;
    let (first, _) = door.referrers(&jobs[count - 1].url);
    (bytes, first.iter().filter(|referrer| referrer.mention.is_some()).count())
}

/// Bytes that are there when a crawl has ended: of a page that links to a hundred
/// others, which are all there or all missing.
fn bytes_after_crawl(are_there: bool, mentions: bool) -> usize {
    let mut options = options("http://site.test/");
    options.mentions = mentions;
    let html: String = (0..100).map(|n| format!("<a href=/{n}>{TEXT}</a>\n")).collect();
    let before = live_bytes();
    let crawled = crawl(&options, |_, url| match url.path() {
        "/" => page(html.clone()),
        _ if are_there => page(html.clone()),
        _ => Reply::Status(404),
    });
    let ending = crawled.ending;
    drop((crawled.rows, crawled.asked));
    let bytes = live_bytes() - before;
    drop(ending);
    bytes
}

/// Bytes that are there, for a page with so many ids, when it has been crawled and
/// fragments are checked, beyond those that are there anyway.
fn bytes_of_ids(ids: usize) -> usize {
    let html: String = (0..ids).map(|n| format!("<p id=paragraph-{n}>")).collect();
    let kept = [false, true].map(|fragments| {
        let mut options = options("http://site.test/");
        options.check.fragments = fragments;
        let before = live_bytes();
        let crawled = crawl(&options, |_, _| page(html.clone()));
        let ending = crawled.ending;
        drop((crawled.rows, crawled.asked));
        let bytes = live_bytes() - before;
        drop(ending);
        bytes
    });
    kept[1] - kept[0]
}

#[test]
fn where_links_are_costs_a_limited_amount() {
    // Few: what one costs.
    let (without, _) = bytes_of(10_000, 1, None);
    let (one, known) = bytes_of(10_000, 1, Some(TEXT));
    assert_eq!(known, 1);
    let (ten_without, _) = bytes_of(10_000, 10, None);
    let (ten, _) = bytes_of(10_000, 10, Some(TEXT));
    let first = (one - without) / 10_000;
    let next = (ten - ten_without - (one - without)) / 90_000;
    println!("{first} bytes for the first mention of a URL, {next} for others");
    assert!(first <= 30 + TEXT.len(), "{first}");
    assert!(next <= 10, "{next}: the same text is there already");

    // Many: what all cost together. The first of each goes before the others.
    let (without, _) = bytes_of(800_000, 1, None);
    let (with, known) = bytes_of(800_000, 1, Some(LONG_TEXT));
    println!("{} MiB for 800,000 mentions", (with - without) / (1024 * 1024));
    let limit = Admission::MOST_MENTION_BYTES..Admission::MOST_MENTION_BYTES + LAST_BYTES;
    assert!(limit.contains(&(with - without)), "{}", with - without);
    assert_eq!(known, 0, "there was room for more");
    assert_eq!(bytes_of(500_000, 10, Some(LONG_TEXT)).1, 1);

    // What is fine is forgotten.
    let fine = bytes_after_crawl(true, true) - bytes_after_crawl(true, false);
    let broken = bytes_after_crawl(false, true) - bytes_after_crawl(false, false);
    println!("{fine} bytes for 100 URLs that are fine, {broken} for as many that are not");
    assert!(fine < broken / 4, "{fine} and {broken}");

    let (few, many) = (bytes_of_ids(1), bytes_of_ids(10_001));
    println!("{few} bytes for the first page with ids, and {} for 10,000 more ids", many - few);
    assert!(few <= 1_000 && many - few <= 4 * 10_000, "{few}, {many}");
}
