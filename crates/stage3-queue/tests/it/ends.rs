//! The ends of a crawl: the same rows whatever the order of the responses, and an end
//! of what has none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Crawled, class, crawl, options};
use asyncio::prelude::*;
use crawl_core::{CrawlSummary, ErrorClass, Options, Outcome, Row, StopReason};
use sim_net::{Request, Response, SimNet, not_found, page, redirect, response, silence, text};
use stage2_coroutines::runtime_on;
use stage3_queue::Crawler;

const A: &str = "http://10.0.0.1/";

/// A deterministic generator of numbers (an LCG), for graphs and delays.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// The number of pages of a graph.
const PAGES: u64 = 300;

/// Returns the targets of a page. A target from `PAGES` on is a redirect to the page
/// with that number less `PAGES`.
fn targets(graph: u64, page: u64) -> Vec<u64> {
    let mut state = graph * 1_000_003 + page;
    random(&mut state);
    (0..3).map(|_| random(&mut state) % (2 * PAGES)).collect()
}

/// Answers for a graph, each after a time that depends on the seed.
fn graph(graph: u64, mut seed: u64) -> impl FnMut(&Request) -> Response {
    move |request| {
        let after = Duration::from_millis(random(&mut seed) % 500);
        let response = match request.path.trim_start_matches('/').parse::<u64>() {
            Ok(n) if n >= PAGES => redirect(&format!("/{}", n - PAGES)),
            Ok(n) => page(targets(graph, n).iter().map(|target| format!("/{target}"))),
            Err(_) if request.path == "/" => page(["/0"]),
            Err(_) => not_found(),
        };
        response.after(after)
    }
}

/// Returns the depth of each URL of a graph, by a search in the order of depth (0-1
/// BFS, since a redirect is no click).
fn depths(graph: u64, max_depth: u32) -> BTreeMap<String, u32> {
    let mut depths = BTreeMap::from([(A.to_owned(), 0)]);
    let mut todo = VecDeque::from([(0, 1)]);
    while let Some((n, depth)) = todo.pop_front() {
        let known = depths.entry(format!("{A}{n}")).or_insert(u32::MAX);
        if depth > max_depth || *known <= depth {
            if *known == u32::MAX {
                depths.remove(&format!("{A}{n}"));
            }
            continue;
        }
        *known = depth;
        if n >= PAGES {
            todo.push_front((n - PAGES, depth));
        } else {
            todo.extend(targets(graph, n).into_iter().map(|target| (target, depth + 1)));
        }
    }
    depths
}

fn depths_of(rows: &[Row]) -> BTreeMap<String, u32> {
    rows.iter().map(|row| (row.url.to_string(), row.depth)).collect()
}

/// With a limit on depth, neither rows nor depths depend on the order of responses.
#[test]
fn the_limit_on_depth_gives_the_same_rows_in_any_order() {
    for number in 0..6 {
        for max_depth in [0, 1, 3, 5] {
            let expected = depths(number, max_depth);
            for seed in 0..4 {
                let mut options = options(&[A]);
                options.settings.max_depth = Some(max_depth);
                options.max_tasks = Some(if seed == 0 { 1 } else { 50 });
                let crawled = crawl(options, graph(number, seed));
                assert_eq!(depths_of(&crawled.rows), expected, "{number} {max_depth} {seed}");
            }
        }
    }
}

/// The cost of levels: at the end of each, the slowest response is waited for.
#[test]
fn a_level_costs_at_most_its_slowest_response() {
    let elapsed = |max_depth| {
        let (mut options, mut seed) = (options(&[A]), 1);
        options.settings.max_depth = max_depth;
        let tree = move |request: &Request| {
            distinct(request, 3_000).after(Duration::from_millis(random(&mut seed) % 500))
        };
        let crawled = crawl(options, tree);
        assert_eq!(crawled.rows.len(), 1 + 1_111);
        crawled.elapsed
    };
    let (without, with) = (elapsed(None), elapsed(Some(9)));
    println!("without levels {without:?}, with levels {with:?}");
    // The root, and four levels of pages below it.
    assert!(with <= without + 5 * Duration::from_millis(500), "{without:?} {with:?}");
}

/// Jobs of later levels count as left to do when a limit ends the crawl.
#[test]
fn a_level_that_never_begins_is_left_to_do() {
    for max_pages in 1..40 {
        let mut options = options(&[A]);
        (options.settings.max_depth, options.max_pages) = (Some(4), Some(max_pages));
        let crawled = crawl(options, graph(1, max_pages));
        assert_eq!(crawled.rows.len() as u64, max_pages);
        assert!(crawled.summary.todo > 0);
    }
}

/// A host that is busy all the time does not keep the levels of others from their
/// beginning.
#[test]
fn a_busy_host_does_not_hold_up_a_level() {
    let mut options = options(&[A, "http://10.0.0.2/"]);
    options.settings.max_depth = Some(3);
    let mut healthy = graph(1, 1);
    let crawled = crawl(options, move |request| match (&*request.host, &*request.path) {
        ("10.0.0.2", "/robots.txt") => not_found(),
        ("10.0.0.2", "/") => page((0..30).map(|n| format!("/{n}"))),
        ("10.0.0.2", _) => response("503 No", "", ""),
        _ => healthy(request),
    });
    let rows: Vec<Row> =
        crawled.rows.iter().filter(|row| row.url.starts_with(A)).cloned().collect();
    assert_eq!(depths_of(&rows), depths(1, 3));
}

/// Seeds of sitemaps are one click away, however late they come.
#[test]
fn seeds_belong_to_the_first_level() {
    for late in [0, 5] {
        let mut options = options(&[A]);
        (options.settings.sitemap, options.settings.max_depth) = (true, Some(3));
        let crawled = crawl(options, move |request| match &*request.path {
            "/sitemap.xml" => text(format!("{A}c")).after(Duration::from_secs(late)),
            "/" => page(["/a"]),
            "/a" => page(["/b"]),
            "/b" => page(["/c"]),
            "/c" => page(["/d"]),
            "/d" => page(["/e"]),
            "/e" => page(["/f"]),
            _ => not_found(),
        });
        let depths: Vec<_> = depths_of(&crawled.rows).into_values().collect();
        assert_eq!(depths, [0, 1, 2, 1, 2, 3], "{late}");
    }
}

/// Runs with a journal, as often as `max_pages` has limits.
fn in_runs(
    name: &str,
    options: &Options,
    max_pages: &[Option<u64>],
    answer: impl Fn(&Request) -> Response + Clone + 'static,
) -> Vec<(Vec<Row>, CrawlSummary)> {
    let path: PathBuf = std::env::temp_dir().join(format!("ends-{name}-{}", std::process::id()));
    let run = |max_pages: &Option<u64>| {
        let no_names = |host: &str, _| panic!("{host} is looked up");
        let net = SimNet::new(answer.clone());
        let runtime = runtime_on(net, Arc::new(no_names));
        let _event_loop = runtime.event_loop().clone();
        let mut rows = Vec::new();
        let options = Options { max_pages: *max_pages, ..options.clone() };
        let crawler = Crawler::builder(options).journal(&path);
        let summary = crawler.on_row(|row| rows.push(row)).run_on(runtime).unwrap();
        (rows, summary)
    };
    let runs = max_pages.iter().map(run).collect();
    fs::remove_file(&path).unwrap();
    runs
}

/// A crawl that is resumed in the middle of a level has the rows of a whole one.
#[test]
fn a_resumed_crawl_has_the_same_levels() {
    let answer = |request: &Request| graph(2, request.at.as_millis() as u64)(request);
    for first in [1, 7, 20, 60] {
        let mut options = options(&[A]);
        options.settings.max_depth = Some(4);
        let runs = in_runs("levels", &options, &[Some(first), None], answer);
        assert_eq!(depths_of(&runs[1].0), depths(2, 4), "{first}");
    }
}

/// A URL that a link and a sitemap lead to has the depth of the sitemap, also in a crawl
/// that is resumed, which reads the sitemap once more.
#[test]
fn a_resumed_crawl_has_the_levels_of_its_sitemap() {
    let answer = |request: &Request| match &*request.path {
        "/sitemap.xml" => text(format!("{A}c")).after(Duration::from_secs(1)),
        "/" => page(["/a"]),
        "/a" => page(["/b"]),
        "/b" => page(["/c"]),
        "/c" => page(["/d"]),
        "/d" => page(["/e"]),
        _ => not_found(),
    };
    let mut options = options(&[A]);
    (options.settings.sitemap, options.settings.max_depth, options.max_tasks) =
        (true, Some(3), Some(1));
    for first in 1..=5 {
        let runs = in_runs("sitemap", &options, &[Some(first), None], answer);
        let depths: Vec<_> = depths_of(&runs[1].0).into_values().collect();
        assert_eq!(depths, [0, 1, 2, 1, 2, 3], "{first}");
    }
}

/// A URL that a sitemap has named before a page has none, also in a crawl that is resumed,
/// which replays the page first.
#[test]
fn a_resumed_crawl_has_the_referrers_of_its_sitemap() {
    let answer = |request: &Request| match &*request.path {
        "/sitemap.xml" => text(format!("{A}x")),
        "/" => page(["/x", "/y"]).after(Duration::from_secs(1)),
        "/x" => page([""; 0]).after(Duration::from_secs(2)),
        _ => not_found(),
    };
    let mut options = options(&[A]);
    options.settings.sitemap = true;
    for (rows, _) in in_runs("referrers", &options, &[None, None], answer) {
        let referrers: BTreeMap<_, _> =
            rows.iter().map(|row| (&*row.url, row.referrer.as_deref())).collect();
        let expected = [(A, None), ("http://10.0.0.1/x", None), ("http://10.0.0.1/y", Some(A))];
        assert_eq!(referrers, BTreeMap::from(expected));
    }
}

/// A journal that no later run would take is not begun.
#[test]
fn roots_that_are_too_long_for_a_journal_are_refused_at_once() {
    let long = format!("{A}{}", "a".repeat(1 << 20));
    let options = options(&[&*long; 65]);
    let path = std::env::temp_dir().join(format!("long-{}.journal", std::process::id()));
    let no_names = |host: &str, _| panic!("{host} is looked up");
    let runtime = runtime_on(SimNet::new(|_| not_found()), Arc::new(no_names));
    let _event_loop = runtime.event_loop().clone();
    let result = Crawler::builder(options).journal(&path).run_on(runtime);
    let length = fs::metadata(&path).unwrap().len();
    fs::remove_file(&path).unwrap();
    let error = result.unwrap_err().to_string();
    assert!(
        error.ends_with(": the start URLs and other settings have more than 67108864 bytes"),
        "{error}"
    );
    assert_eq!(length, 0);
}

/// Only a run that has finished something leaves a journal that may be done.
#[test]
fn a_new_journal_without_a_root_to_ask_is_not_said_to_be_done() {
    let path = std::env::temp_dir().join(format!("ends-new-{}", std::process::id()));
    let warnings = |options: Options| {
        let no_names = |host: &str, _| panic!("{host} is looked up");
        let runtime = runtime_on(SimNet::new(|_| not_found()), Arc::new(no_names));
        let _event_loop = runtime.event_loop().clone();
        let mut warnings = 0;
        let crawler = Crawler::builder(options).journal(&path);
        crawler.on_warning(|_| warnings += 1).run_on(runtime).unwrap();
        warnings
    };
    let mut excluded = options(&[A]);
    excluded.settings.exclude = vec![".".parse().unwrap()];
    assert_eq!([warnings(excluded.clone()), warnings(excluded)], [0, 0]);
    fs::remove_file(&path).unwrap();
    assert_eq!([warnings(options(&[A])), warnings(options(&[A]))], [0, 1]);
    fs::remove_file(&path).unwrap();
}

/// A name of a state, and the answers with which a crawl waits in it.
type State = (&'static str, fn(&Request) -> Response);

/// States in which a crawl waits for long.
const STATES: [State; 7] = [
    ("silent rules", |request| match &*request.path {
        "/robots.txt" => silence(),
        _ => page([""; 0]),
    }),
    ("busy rules", |request| match &*request.path {
        "/robots.txt" => response("503 No", "Retry-After: 86400\r\n", ""),
        _ => page([""; 0]),
    }),
    ("a delay", |request| match &*request.path {
        "/robots.txt" => text("User-agent: *\nCrawl-delay: 1e308"),
        _ => page(["/a", "/b", "/c"]),
    }),
    ("a busy page", |request| match &*request.path {
        "/a" => response("429 No", "Retry-After: 86400\r\n", ""),
        _ => page(["/a", "/b"]),
    }),
    ("a silent page", |request| match &*request.path {
        "/a" => silence(),
        _ => page(["/a", "/b"]),
    }),
    ("a silent sitemap", |request| match &*request.path {
        "/sitemap.xml" => silence(),
        _ => not_found(),
    }),
    ("a busy sitemap", |request| match &*request.path {
        "/sitemap.xml" => response("503 No", "Retry-After: 86400\r\n", ""),
        _ => not_found(),
    }),
];

/// A request to stop and the limit on time are heard at once, whatever the crawl waits
/// for. Fetches in flight have two seconds.
#[test]
fn a_stop_is_heard_in_every_state() {
    const AT: Duration = Duration::from_secs(3);
    for (state, answer) in STATES {
        for is_signal in [true, false] {
            let net = SimNet::new(answer);
            let no_names = |host: &str, _| panic!("{host} is looked up");
            let runtime = runtime_on(net.clone(), Arc::new(no_names));
            let event_loop = runtime.event_loop().clone();
            let mut options = options(&[A]);
            options.settings.sitemap = state.ends_with("sitemap");
            options.max_time = Some(AT).filter(|_| !is_signal);
            let crawler = Crawler::builder(options);
            let shutdown = crawler.shutdown_handle();
            if is_signal {
                event_loop.call_later(AT, move || shutdown.stop(StopReason::Signal(15)));
            }
            let summary = crawler.run_on(runtime).unwrap();
            let is_right = match summary.stopped {
                Some(StopReason::Signal(15)) => is_signal,
                Some(StopReason::MaxTime) => !is_signal,
                _ => false,
            };
            assert!(is_right, "{state}: {:?}", summary.stopped);
            let late = net.elapsed().saturating_sub(AT);
            assert!(late <= Duration::from_secs(2), "{state}: {late:?}");
        }
    }
}

/// A flat site that makes up names: each page has the same text, and links to pages
/// that no other page links to.
fn made_up(request: &Request) -> Response {
    let path = &*request.path;
    match path {
        "/robots.txt" => not_found(),
        "/legit" => page(["/legit2"]),
        "/legit2" => page([""; 0]),
        "/" => page(["/x0", "/legit"]),
        _ => {
            let n: u64 = path[2..].parse().unwrap();
            let html = format!("<h1>Shop</h1><a href=/x{}>next</a><a href=/>home</a>", n + 1);
            response("200 OK", "Content-Type: text/html\r\n", html)
        }
    }
}

/// Returns the rows of URLs that were taken for traps.
fn traps(rows: &[Row]) -> Vec<&Row> {
    rows.iter().filter(|row| class(row) == Some(ErrorClass::Trap)).collect()
}

/// A site that makes up names without end is noticed by what it says.
#[test]
fn pages_of_equal_content_have_an_end() {
    let crawled = crawl(options(&[A]), made_up);
    // The content of the first thousand is not looked at.
    let pages = crawled.rows.len();
    assert!((6_000..6_010).contains(&pages), "{pages}");
    let traps = traps(&crawled.rows);
    assert_eq!((traps.len(), traps[0].outcome), (1, Outcome::Skipped));
    let reason = &traps[0].error.as_ref().unwrap().message;
    let expected = "5000 pages with new links have the same content as http://10.0.0.1/x";
    assert!(reason.starts_with(expected), "{reason}");
    assert_eq!(
        crawled.summary.warnings,
        [format!("10.0.0.1: {reason}; other new links not followed: 1")]
    );
    assert_eq!(crawled.row("http://10.0.0.1/legit2").outcome, Outcome::Page);
}

/// A site of distinct pages of one template, all linked from others.
fn distinct(request: &Request, pages: u64) -> Response {
    let Ok(n) = request.path[1..].parse::<u64>() else {
        return if request.path == "/" { page(["/1"]) } else { not_found() };
    };
    let children = (10 * n..10 * n + 10).filter(|child| *child < pages);
    let links: String = children.map(|child| format!("<li><a href=/{child}>more</a>")).collect();
    let html = format!("<title>Page {n} of the site</title><h1>Same heading</h1>{links}");
    response("200 OK", "Content-Type: text/html\r\n", html)
}

fn crawl_distinct(pages: u64, equal_pages: u32) -> Crawled {
    let mut options = options(&[A]);
    options.settings.max_pages_per_host = None;
    options.settings.traps.equal_pages = equal_pages;
    crawl(options, move |request| distinct(request, pages))
}

/// Distinct pages are no trap, however many there are.
#[test]
fn distinct_pages_have_the_same_rows_without_the_check() {
    let [with, without] = [10, u32::MAX].map(|limit| crawl_distinct(3_000, limit));
    let urls = |crawled: &Crawled| -> BTreeSet<String> {
        crawled.rows.iter().map(|row| row.url.to_string()).collect()
    };
    assert_eq!(urls(&with), urls(&without));
    assert_eq!((traps(&with.rows).len(), &*with.summary.warnings), (0, &[][..]));
}

#[test]
#[ignore = "takes minutes: a soak"]
fn a_million_distinct_pages_are_no_trap() {
    let crawled = crawl_distinct(10_000_000, 5_000);
    assert!(crawled.rows.len() > 1_000_000, "{}", crawled.rows.len());
    assert_eq!((traps(&crawled.rows).len(), &*crawled.summary.warnings), (0, &[][..]));
}

/// The limit on the pages of a host: one row, one sentence, and other hosts go on.
#[test]
fn a_host_has_a_limit_of_pages() {
    let mut options = options(&[A, "http://10.0.0.2/"]);
    options.settings.max_pages_per_host = Some(10);
    let crawled = crawl(options, |request| match &*request.path {
        "/robots.txt" => not_found(),
        "/" => page((0..20).map(|n| format!("/{n}"))),
        _ => page(["/", "/a", "/b"]),
    });
    for host in ["10.0.0.1", "10.0.0.2"] {
        // The root counts, too.
        assert_eq!(crawled.requests_to(host).len(), 1 + 10);
    }
    let traps = traps(&crawled.rows);
    assert_eq!((traps.len(), crawled.rows.len()), (2, 22));
    let message = &traps[0].error.as_ref().unwrap().message;
    assert_eq!(message, "the host has more than 10 pages (--max-pages-per-host)");
    let warnings = &crawled.summary.warnings;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    let warning = "10.0.0.1 has more than 10 pages (--max-pages-per-host); other new links not \
                   followed: 29";
    assert!(warnings.iter().any(|other| other == warning), "{warnings:?}");
}

/// A resumed crawl counts on: the same rows, traps and sentences as in one run.
#[test]
fn a_resumed_crawl_reaches_the_same_ceilings() {
    for (name, equal_pages, per_host) in [("equal", 20, None), ("host", 5_000, Some(50))] {
        let mut options = options(&[A]);
        (options.settings.traps.equal_pages, options.settings.max_pages_per_host) =
            (equal_pages, per_host);
        let whole = in_runs(name, &options, &[None], made_up).remove(0);
        for first in [30, 51, 52] {
            let runs = in_runs(name, &options, &[Some(first), None, None], made_up);
            for (rows, summary) in &runs[1..] {
                assert_eq!(depths_of(rows), depths_of(&whole.0), "{name} {first}");
                assert_eq!(summary.warnings, whole.1.warnings, "{name} {first}");
                assert_eq!(traps(rows).len(), 1);
            }
        }
    }
}
