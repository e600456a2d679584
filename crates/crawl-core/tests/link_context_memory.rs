//! Tests of the memory for link contexts and for fragments. This is a program of
//! its own, since it counts every byte.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "it/site.rs"]
mod site;

use std::alloc::System;

use crawl_core::{Admission, Decision, Job, Options, Via};
use encoding_rs::UTF_8;
use site::{Reply, crawl, options, page};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use url::Url;
use web::BaseUrl;
use web::links::{Element, Link, Position};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TEXT: &str = "the text of a link";

/// A text of the maximum length.
const LONG_TEXT: &str =
    "a text as long as any may be, which says what there is to be said of a URL, yes!";

/// The maximum by which the stored link contexts may exceed the limit: their last segment
/// is partly unused, and each has the number of its URL beside it. With the limit, this is
/// at least 5 % above what was measured.
const LAST_BYTES: usize = 8 * 1024 * 1024;

fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// Admits `count` URLs, each of which is linked to from `links` pages before it
/// is requested. The links have this text and a position, or no link context.
/// Returns the bytes this takes, and the number of stored link contexts of the
/// last URL.
fn bytes_of(count: usize, links: usize, text: Option<&str>) -> (usize, usize) {
    let root = Url::parse("http://site.test/").unwrap();
    let mut base_url = BaseUrl::new(&root, UTF_8);
    let mut jobs: Vec<Job> = Vec::with_capacity(count);
    let position = text.map(|_| Position { line: 1_000, column: 10 });
    let text = text.unwrap_or_default();
    let link = Link { href: "", element: Element::A, position, text, nofollow: false };
    let before = live_bytes();
    let mut admission = Admission::new(&Options::new(vec![root.clone()]));
    let Decision::Admitted(job) = admission.admit(base_url.join("/").unwrap(), Via::Root) else {
        panic!("the root is outside");
    };
    jobs.push(job);
    while jobs.len() < count {
        let new = jobs.len();
        for n in new.saturating_sub(links - 1).max(1)..=new {
            let via = Via::Element(&jobs[new - 1], link);
            let decision = admission.admit(base_url.join(&format!("/page/{n}")).unwrap(), via);
            if let Decision::Admitted(job) = decision {
                jobs.push(job);
            }
        }
    }
    let bytes = live_bytes() - before;
    let (first, _) = admission.referrers(&jobs[count - 1].url);
    (bytes, first.iter().filter(|referrer| referrer.context.is_some()).count())
}

/// Returns the bytes that are in use after a crawl of a page with links to a
/// hundred others, which all exist or are all missing.
fn bytes_after_crawl(are_there: bool, link_contexts: bool) -> usize {
    let mut options = options("http://site.test/");
    options.link_contexts = link_contexts;
    let html: String = (0..100).map(|n| format!("<a href=/{n}>{TEXT}</a>\n")).collect();
    let before = live_bytes();
    let crawled = crawl(&options, |_, url| match url.path() {
        "/" => page(html.clone()),
        _ if are_there => page(html.clone()),
        _ => Reply::Status(404),
    });
    let summary = crawled.summary;
    drop((crawled.rows, crawled.requests));
    let bytes = live_bytes() - before;
    drop(summary);
    bytes
}

/// Returns the additional bytes that are in use after a crawl of a page with this
/// number of ids if fragments are checked.
fn bytes_of_ids(ids: usize) -> usize {
    let html: String = (0..ids).map(|n| format!("<p id=paragraph-{n}>")).collect();
    let kept = [false, true].map(|fragments| {
        let mut options = options("http://site.test/");
        options.settings.check.fragments = fragments;
        let before = live_bytes();
        let crawled = crawl(&options, |_, _| page(html.clone()));
        let summary = crawled.summary;
        drop((crawled.rows, crawled.requests));
        let bytes = live_bytes() - before;
        drop(summary);
        bytes
    });
    kept[1] - kept[0]
}

#[test]
fn link_contexts_use_a_limited_amount_of_memory() {
    // A few URLs: the memory for one link context.
    let (without, _) = bytes_of(10_000, 1, None);
    let (one, with_context) = bytes_of(10_000, 1, Some(TEXT));
    assert_eq!(with_context, 1);
    let (ten_without, _) = bytes_of(10_000, 10, None);
    let (ten, _) = bytes_of(10_000, 10, Some(TEXT));
    let first = (one - without) / 10_000;
    let next = (ten - ten_without - (one - without)) / 90_000;
    println!("{first} bytes for the first mention of a URL, {next} for others");
    assert!(first <= 30 + TEXT.len(), "{first}");
    assert!(next <= 10, "{next}: the same text is there already");

    // Many URLs: the limit for all. The first link context of each URL has
    // priority over the others.
    let (without, _) = bytes_of(800_000, 1, None);
    let (with, with_context) = bytes_of(800_000, 1, Some(LONG_TEXT));
    println!("{} MiB for 800,000 mentions", (with - without) / (1024 * 1024));
    let limit = Admission::MAX_LINK_CONTEXT_BYTES..Admission::MAX_LINK_CONTEXT_BYTES + LAST_BYTES;
    assert!(limit.contains(&(with - without)), "{}", with - without);
    assert_eq!(with_context, 0, "there was room for more");
    assert_eq!(bytes_of(500_000, 5, Some(LONG_TEXT)).1, 1);

    // The link contexts of fine URLs are forgotten.
    let fine = bytes_after_crawl(true, true) - bytes_after_crawl(true, false);
    let broken = bytes_after_crawl(false, true) - bytes_after_crawl(false, false);
    println!("{fine} bytes for 100 URLs that are fine, {broken} for as many that are not");
    assert!(fine < broken / 4, "{fine} and {broken}");

    let (few, many) = (bytes_of_ids(1), bytes_of_ids(10_001));
    println!("{few} bytes for the first page with ids, and {} for 10,000 more ids", many - few);
    // An id takes four bytes, the size of a hash.
    assert!(few <= 1_000 && many - few <= 42_000, "{few}, {many}");
}
