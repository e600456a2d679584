//! Many at a time.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::Barrier;
use std::time::Duration;

use common::{Stage, demo_site, expect_all_of, expect_asked_once, links, options, page, serve};
use demo_site::Latency;

/// Every page once, however many of those who ask are under way.
fn five_thousand_pages(stage: Stage) {
    const MAX_TASKS: usize = 500;
    let site = demo_site(5_000, |site| {
        site.page_size = 0;
        // So that requests meet.
        site.latency = Latency::Fixed(Duration::from_millis(20));
    });
    let mut options = options(site.root());
    options.max_tasks = Some(MAX_TASKS);
    let crawled = stage.crawl(options);
    expect_all_of(&site, &crawled);
    expect_asked_once(&site);
    // That it is not more is checked of every crawl.
    assert!(crawled.ending.peak_in_flight > MAX_TASKS as u64 / 2, "{stage:?}");
    assert!(site.peak_in_flight() <= MAX_TASKS);
    assert!(site.peak_in_flight() > MAX_TASKS / 5, "{}", site.peak_in_flight());
}

#[test]
fn five_thousand_pages_with_threads() {
    five_thousand_pages(Stage::Threads);
}

#[test]
fn five_thousand_pages_with_callbacks() {
    five_thousand_pages(Stage::Callbacks);
}

#[test]
fn five_thousand_pages_with_coroutines() {
    five_thousand_pages(Stage::Coroutines);
}

#[test]
fn five_thousand_pages_with_a_queue() {
    five_thousand_pages(Stage::Queue);
}

/// Three hundred pages arrive at the same moment, each with a link to the same
/// page. It has one row, and one of them was the first to find it.
#[test]
fn a_page_that_everybody_links_to() {
    const CROWD: usize = 300;
    let paths = || (0..CROWD).map(|n| format!("/{n}"));
    for stage in Stage::ALL {
        let all_there = Barrier::new(CROWD);
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            "/target" => reply.page(""),
            _ => {
                all_there.wait();
                reply.page(links(["/target"]));
            }
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(CROWD);
        let crawled = stage.crawl(options);
        let root = ("/".to_owned(), page(links(paths()), CROWD as u32));
        let target = ("/target".to_owned(), page("", 0));
        let crowd = paths().map(|path| (path, page(links(["/target"]), 1)));
        crawled.expect(crowd.chain([root, target]));
        assert_eq!(site.hits("/target"), 1, "{stage:?}");
        assert_eq!(site.peak_in_flight(), CROWD, "{stage:?}");
        let finders = paths().filter(|path| crawled.row(path).num_new_urls == 1);
        assert_eq!(finders.count(), 1, "{stage:?}");
        let (_, referrers) = crawled.ending.admission.referrers(&site.url("/target"));
        assert_eq!(referrers, CROWD as u32, "{stage:?}");
    }
}

/// The limit is kept to the page, and the crawl ends with work left to do.
#[test]
fn max_pages() {
    for stage in Stage::ALL {
        for max_pages in [0, 1, 100] {
            let site = demo_site(500, |_| ());
            let mut options = options(site.root());
            options.max_tasks = Some(50);
            options.max_pages = Some(max_pages);
            let crawled = stage.crawl(options);
            assert_eq!(crawled.ending.done, max_pages, "{stage:?}");
            assert_eq!(site.requests(), max_pages, "{stage:?}");
            assert!(crawled.ending.todo > 0, "{stage:?}");
        }
    }
}

#[test]
fn no_task_at_all_counts_as_one() {
    let server = serve(|request, reply| match request.path() {
        "/" => reply.page(links(["/a", "/b"])),
        _ => reply.page(""),
    });
    for stage in Stage::ALL {
        let mut options = options(server.url("/"));
        options.max_tasks = Some(0);
        let crawled = stage.crawl(options);
        assert_eq!(crawled.rows().len(), 3, "{stage:?}");
    }
}
