//! Crawls with many concurrent tasks.

use std::sync::Barrier;
use std::time::Duration;

use demo_site::Latency;

use crate::common::{
    Stage, demo_site, expect_all_of, expect_requested_once, links, options, page, serve,
};

/// Checks that every page is requested once, with up to 500 fetches in flight.
fn crawl_two_thousand_pages(stage: Stage) {
    const MAX_TASKS: usize = 500;
    let site = demo_site(2_000, |site| {
        site.page_size = 0;
        // So that requests overlap, even where a busy machine makes a thousand a second.
        site.latency = Latency::Fixed(Duration::from_millis(100));
    });
    let mut options = options(site.root());
    options.max_tasks = Some(MAX_TASKS);
    let crawled = stage.crawl(options);
    expect_all_of(&site, &crawled);
    expect_requested_once(&site);
    // The upper bound is checked for every crawl, in `Crawled`.
    assert!(crawled.summary.peak_in_flight > MAX_TASKS as u64 / 2, "{stage:?}");
    assert!(site.peak_in_flight() <= MAX_TASKS);
    assert!(site.peak_in_flight() > MAX_TASKS / 5, "{}", site.peak_in_flight());
}

#[test]
fn threads_fetch_two_thousand_pages_once() {
    crawl_two_thousand_pages(Stage::Threads);
}

#[test]
fn callbacks_fetch_two_thousand_pages_once() {
    crawl_two_thousand_pages(Stage::Callbacks);
}

#[test]
fn coroutines_fetch_two_thousand_pages_once() {
    crawl_two_thousand_pages(Stage::Coroutines);
}

#[test]
fn the_queue_fetches_two_thousand_pages_once() {
    crawl_two_thousand_pages(Stage::Queue);
}

/// Three hundred pages arrive at the same moment, each with a link to the same
/// page. That page has one row, and exactly one page counts it as new.
#[test]
fn a_page_that_three_hundred_pages_link_to_is_fetched_once() {
    const PAGES: usize = 300;
    let paths = || (0..PAGES).map(|n| format!("/{n}"));
    for stage in Stage::ALL {
        let all_arrived = Barrier::new(PAGES);
        let site = serve(move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            "/target" => reply.page(""),
            _ => {
                all_arrived.wait();
                reply.page(links(["/target"]));
            }
        });
        let mut options = options(site.url("/"));
        options.max_tasks = Some(PAGES);
        let crawled = stage.crawl(options);
        let root = ("/".to_owned(), page(links(paths()), PAGES as u32));
        let target = ("/target".to_owned(), page("", 0));
        let pages = paths().map(|path| (path, page(links(["/target"]), 1)));
        crawled.expect(pages.chain([root, target]));
        assert_eq!(site.hits("/target"), 1, "{stage:?}");
        assert_eq!(site.peak_in_flight(), PAGES, "{stage:?}");
        let finders = paths().filter(|path| crawled.row(path).num_new_urls == 1);
        assert_eq!(finders.count(), 1, "{stage:?}");
        let (_, referrers) = crawled.summary.admission.referrers(&site.url("/target"));
        assert_eq!(referrers, PAGES as u32, "{stage:?}");
    }
}

/// Exactly `max_pages` pages are requested, and the others remain to do.
#[test]
fn max_pages_is_an_exact_limit() {
    for stage in Stage::ALL {
        for max_pages in [0, 1, 100] {
            let site = demo_site(500, |_| ());
            let mut options = options(site.root());
            options.max_tasks = Some(50);
            options.max_pages = Some(max_pages);
            let crawled = stage.crawl(options);
            assert_eq!(crawled.summary.done, max_pages, "{stage:?}");
            assert_eq!(site.requests(), max_pages, "{stage:?}");
            assert!(crawled.summary.todo > 0, "{stage:?}");
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
