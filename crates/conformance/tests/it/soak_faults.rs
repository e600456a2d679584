//! The soak of faults: a site of 50,000 pages on the simulated network, of which many
//! are busy, silent, cut, moved or missing. At the end the rows are what the server
//! knows.

use std::collections::BTreeMap;
use std::env;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crawl_core::{ErrorClass, Options, Outcome, Row};
use sim_net::{Request, Response, SimNet, hang_up, not_found, redirect, response, silence, text};
use stage2_coroutines::{Inspect, runtime_on};
use stage3_queue::Crawler;

const ROOT: &str = "http://10.0.0.1/";

/// The values of `Retry-After` of busy pages.
const RETRY_AFTER: [&str; 8] = [
    "",
    "Retry-After: 1\r\n",
    "Retry-After: -1\r\n",
    "Retry-After: 1e308\r\n",
    "Retry-After: 86400\r\n",
    "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n",
    "Retry-After: soon\r\n",
    "Retry-After: 2\r\nRetry-After: 99999999999999999999\r\n",
];

/// The fault of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// So many busy answers before the right one, the first with 429 or 503.
    Busy(u32),
    /// So many connections are closed before the right answer.
    HangsUp(u32),
    /// The connection is always closed.
    Dead,
    /// The body is cut, each time.
    Cut,
    /// The head is no HTTP, each time.
    NoHttp,
    /// The coding of the body is damaged.
    BadCoding,
    /// Nothing is ever answered.
    Silent,
    Missing,
    Error,
    /// A redirect to the page of a number.
    Moved(u64),
    /// A redirect off the site.
    MovedAway,
    /// A redirect to itself.
    Loop,
    /// No page, although the server has it.
    Text,
    Slow,
}

/// Returns a number that depends on a seed and on a page.
fn mix(seed: u64, page: u64) -> u64 {
    // SplitMix64.
    let mut z = seed.wrapping_add(page.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn retry_after(seed: u64, page: u64) -> &'static str {
    RETRY_AFTER[mix(!seed, page) as usize % RETRY_AFTER.len()]
}

/// Returns one of the pages behind `page`, so that redirects make no circle; the root if
/// there is none.
fn later_page(n: u64, page: u64, pages: u64) -> u64 {
    n.checked_rem((pages - page).saturating_sub(1)).map_or(0, |n| page + 1 + n)
}

fn fault(seed: u64, page: u64, pages: u64) -> Fault {
    let n = mix(seed, page);
    match n % 1000 {
        // Long waits are cut to one minute in all, after which the answer counts.
        0..20 if retry_after(seed, page).contains("99") => Fault::Busy(1),
        0..20 if retry_after(seed, page).contains("86400") => Fault::Busy(1),
        0..20 => Fault::Busy(1 + (n >> 20) as u32 % 3),
        20..30 => Fault::HangsUp(1 + (n >> 20) as u32 % 3),
        30..35 => Fault::Dead,
        35..40 => Fault::Cut,
        40..45 => Fault::NoHttp,
        45..50 => Fault::BadCoding,
        50..52 => Fault::Silent,
        52..80 => Fault::Missing,
        80..90 => Fault::Error,
        90..120 => Fault::Moved(later_page(n >> 20, page, pages)),
        120..125 => Fault::MovedAway,
        125..130 => Fault::Loop,
        130..150 => Fault::Text,
        150..160 => Fault::Slow,
        _ => Fault::None,
    }
}

/// Returns the pages that a page links to: each page has one that links to it, and
/// some have more. The first thousand are well, so that the site is not cut off.
fn children(seed: u64, page: u64, pages: u64) -> impl Iterator<Item = u64> {
    let cross = mix(!seed, page) % pages;
    (10 * page + 1..=10 * page + 10).chain([cross]).filter(move |child| *child < pages)
}

fn answer(seed: u64, pages: u64, page: u64, times: u32) -> Response {
    let links: String =
        children(seed, page, pages).map(|n| format!("<a href=/{n}>{n}</a>")).collect();
    let html = format!("<title>Page {page}</title>{links}");
    let right = || response("200 OK", "Content-Type: text/html\r\n", &html);
    match fault_of(seed, page, pages) {
        Fault::None => right(),
        Fault::Busy(busy) if times < busy => {
            let status = ["429 Too Many Requests", "503 Unavailable"][page as usize % 2];
            response(status, retry_after(seed, page), "later")
        }
        Fault::HangsUp(failures) if times < failures => hang_up(),
        Fault::Busy(_) | Fault::HangsUp(_) => right(),
        Fault::Dead => hang_up(),
        Fault::Cut => {
            let mut response = right();
            response.bytes.pop();
            Response { closes: true, ..response }
        }
        Fault::NoHttp => Response { bytes: b"HTTP/9 what\r\n\r\n".into(), closes: true, ..right() },
        Fault::BadCoding => {
            response("200 OK", "Content-Type: text/html\r\nContent-Encoding: gzip\r\n", "none")
        }
        Fault::Silent => silence(),
        Fault::Missing => not_found(),
        Fault::Error => response("500 Oops", "", "oops"),
        Fault::Moved(to) => redirect(&format!("/{to}")),
        Fault::MovedAway => redirect("http://10.0.0.9/"),
        Fault::Loop => redirect(&format!("/{page}")),
        Fault::Text => text("no page"),
        Fault::Slow => right().after(Duration::from_secs(10)),
    }
}

/// The root of the site has no fault.
fn fault_of(seed: u64, page: u64, pages: u64) -> Fault {
    if page == 0 { Fault::None } else { fault(seed, page, pages) }
}

/// The fields of a row that the server knows.
type Known = (Outcome, Option<u16>, Option<ErrorClass>);

/// Returns the rows that follow from what the server knows.
fn expected(seed: u64, pages: u64) -> BTreeMap<u64, Known> {
    let (mut rows, mut todo) = (BTreeMap::new(), vec![0]);
    while let Some(page) = todo.pop() {
        if rows.contains_key(&page) {
            continue;
        }
        let failed = |status, class| (Outcome::Failed, status, Some(class));
        let known = match fault_of(seed, page, pages) {
            Fault::None | Fault::Busy(_) | Fault::HangsUp(_) | Fault::Slow => {
                todo.extend(children(seed, page, pages));
                (Outcome::Page, Some(200), None)
            }
            Fault::Dead => failed(None, ErrorClass::Closed),
            // What has come of it is searched: all but its last byte.
            Fault::Cut => {
                todo.extend(children(seed, page, pages));
                failed(Some(200), ErrorClass::Truncated)
            }
            Fault::NoHttp => failed(None, ErrorClass::Protocol),
            Fault::BadCoding => failed(Some(200), ErrorClass::Decode),
            Fault::Silent => failed(None, ErrorClass::Timeout),
            Fault::Missing => (Outcome::HttpError, Some(404), None),
            Fault::Error => (Outcome::HttpError, Some(500), None),
            Fault::Moved(to) => {
                todo.push(to);
                (Outcome::Redirect, Some(302), None)
            }
            Fault::MovedAway => (Outcome::Redirect, Some(302), None),
            Fault::Loop => (Outcome::HttpError, Some(302), Some(ErrorClass::RedirectLoop)),
            Fault::Text => (Outcome::Other, Some(200), None),
        };
        rows.insert(page, known);
    }
    rows
}

/// Crawls the site once, and compares its rows with what the server knows.
fn run(seed: u64, pages: u64) {
    let mut times: BTreeMap<u64, u32> = BTreeMap::new();
    let mut order = seed;
    let net = SimNet::new(move |request: &Request| {
        if request.path == "/robots.txt" {
            return not_found();
        }
        let page = request.path[1..].parse().unwrap_or(0);
        let times = times.entry(page).or_default();
        *times += 1;
        order = mix(order, page);
        let response = answer(seed, pages, page, *times - 1);
        let after = response.after.max(Duration::from_millis(order % 300));
        response.after(after)
    });
    let no_names = |host: &str, _| panic!("{host} is looked up");
    let runtime = runtime_on(net, Arc::new(no_names));
    let event_loop = runtime.event_loop().clone();
    let mut options = Options::new(vec![ROOT.parse().unwrap()]);
    options.max_tasks = Some(1 + mix(seed, 1) as usize % 100);
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let sink = Box::new(move |row: Row| sink.lock().unwrap().push(row));
    let crawler = Crawler::new(&event_loop, options, sink);
    let summary = runtime.run_until_complete(crawler.crawl()).unwrap();
    drop(crawler);
    drop(runtime);
    assert_eq!((summary.todo, event_loop.connections()), (0, 0), "seed {seed}");
    let mut actual = BTreeMap::new();
    for row in std::mem::take(&mut *rows.lock().unwrap()) {
        let page = row.url.strip_prefix(ROOT).unwrap().parse().unwrap_or(0);
        let known = (row.outcome, row.status, row.error.map(|error| error.class));
        // The root and the page 0 are two URLs of the same page.
        let before = actual.insert((page, row.url.ends_with('/')), known);
        assert_eq!(before, None, "seed {seed}: two rows of {page}");
    }
    assert_eq!(actual.remove(&(0, true)), Some((Outcome::Page, Some(200), None)));
    let expected = expected(seed, pages);
    // Nothing may link to the page 0.
    for (page, known) in &expected {
        let actual = actual.remove(&(*page, false));
        if *page > 0 || actual.is_some() {
            let fault = fault_of(seed, *page, pages);
            assert_eq!(actual, Some(*known), "seed {seed}, page {page}: {fault:?}");
        }
    }
    assert!(actual.is_empty(), "seed {seed}: {actual:?}");
    #[expect(clippy::print_stdout, reason = "the log of the soak")]
    {
        println!("seed {seed}: {} rows as the server knows them", expected.len());
    }
}

#[test]
fn a_site_with_all_faults_has_the_rows_that_the_server_knows() {
    for seed in 0..4 {
        run(seed, 600);
    }
}

/// Runs for `SOAK_MINUTES`, 30 unless told.
#[test]
#[ignore = "takes half an hour: a part of .ci/soak"]
fn fifty_thousand_pages_with_all_faults_for_half_an_hour() {
    let minutes = env::var("SOAK_MINUTES").map_or(30, |minutes| minutes.parse().unwrap());
    let (begun, mut seed) = (Instant::now(), 1_000);
    while begun.elapsed() < Duration::from_secs(60 * minutes) {
        run(seed, 50_000);
        seed += 1;
    }
}
