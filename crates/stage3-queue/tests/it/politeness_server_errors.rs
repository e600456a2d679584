//! Servers that fail at a request: what answers 500, 502 or 504 is requested once more, behind
//! the other pages of its host.

use std::collections::HashMap;
use std::time::Duration;

use crate::common::{Crawled, crawl, options, paths};
use crawl_core::{Options, Outcome};
use sim_net::{Request, Response, not_found, page, response, text};

const A: &str = "http://10.0.0.1/";

/// The statuses of a server, or of a proxy before it, that may be over in a moment.
const STATUSES: [u16; 13] = [425, 500, 502, 504, 520, 521, 522, 523, 524, 525, 526, 527, 502];

fn with_retries(roots: &[&str]) -> Options {
    let mut options = options(roots);
    options.settings.max_tries = 4;
    options
}

/// Crawls a site; `failure` says how to answer a request for a path, of which there were so many
/// before.
fn crawl_failing(
    options: Options,
    pages: usize,
    failure: impl Fn(&Request, u32) -> Option<Response> + 'static,
) -> Crawled {
    let mut counts: HashMap<String, u32> = HashMap::new();
    crawl(options, move |request| {
        let count = counts.entry(request.path.clone()).or_default();
        *count += 1;
        failure(request, *count - 1).unwrap_or_else(|| match &*request.path {
            "/" => page(paths(pages)),
            "/robots.txt" => text("User-agent: *\nDisallow: /forbidden\n"),
            "/sitemap.xml" => text(format!("{A}named\n")),
            _ => page([""; 0]),
        })
    })
}

fn fails(status: u16) -> Option<Response> {
    Some(response(&format!("{status} Oops"), "", "oops"))
}

#[test]
fn a_page_whose_server_fails_once_is_requested_again_after_the_others() {
    for status in STATUSES {
        let crawled = crawl_failing(with_retries(&[A]), 30, move |request, times| {
            let is_first = request.path == "/3" && times == 0;
            if is_first { fails(status) } else { None }
        });
        let row = crawled.row(&format!("{A}3"));
        assert_eq!((row.outcome, row.status, row.tries), (Outcome::Page, Some(200), 2), "{status}");
        assert_eq!(crawled.requests.len(), 33, "{status}");
        assert_eq!(crawled.requests.last().unwrap().path, "/3", "{status}");
        // Nothing waits but this page.
        assert!(crawled.elapsed <= Duration::from_secs(1), "{status}: {:?}", crawled.elapsed);
    }
}

#[test]
fn other_statuses_and_one_attempt_are_final() {
    let statuses = [400, 404, 410, 501, 505, 511, 528];
    let cases = statuses.map(|status| (status, 4)).into_iter().chain([(502, 1)]);
    for (status, max_tries) in cases {
        let mut options = with_retries(&[A]);
        options.settings.max_tries = max_tries;
        let crawled = crawl_failing(options, 5, move |request, _| match &*request.path {
            "/3" => fails(status),
            _ => None,
        });
        let row = crawled.row(&format!("{A}3"));
        assert_eq!((row.outcome, row.status, row.tries), (Outcome::HttpError, Some(status), 1));
        assert_eq!(crawled.num_requests("/3"), 1, "{status}");
    }
}

/// All of them recover: an error of the server limits neither the places of its host nor the
/// number of further attempts, unless these fail, too.
#[test]
fn a_failure_of_all_pages_that_is_over_leaves_no_trace() {
    let crawled = crawl_failing(with_retries(&[A]), 100, |request, times| match &*request.path {
        "/robots.txt" => None,
        _ if times == 0 => fails(502),
        _ => None,
    });
    assert_eq!(crawled.rows.len(), 101);
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page && row.tries == 2));
    assert_eq!(crawled.requests.len(), 203);
    assert!(crawled.elapsed <= Duration::from_secs(3), "{:?}", crawled.elapsed);
}

/// A site that is out of order is not requested twice, page by page.
#[test]
fn after_ten_attempts_in_vain_there_are_no_more() {
    for tasks in [1, 10] {
        let mut options = with_retries(&[A]);
        options.max_tasks = Some(tasks);
        let crawled = crawl_failing(options, 200, |request, _| match &*request.path {
            "/" | "/robots.txt" => None,
            _ => fails(504),
        });
        assert_eq!(crawled.rows.len(), 201);
        let failed = crawled.rows.iter().filter(|row| row.status == Some(504));
        let failed: Vec<_> = failed.filter(|row| row.outcome == Outcome::HttpError).collect();
        assert_eq!(failed.len(), 200);
        let sent: u32 = failed.iter().map(|row| row.tries).sum();
        assert_eq!(sent as usize + 2, crawled.requests.len(), "{tasks}");
        // Those that were on their way when the tenth had failed.
        let again = crawled.requests.len() - 202;
        assert!((10..10 + tasks).contains(&again), "{tasks}: {again}");
        assert_eq!((crawled.summary.todo, crawled.summary.busy_hosts.len()), (0, 0));
    }
}

#[test]
fn a_robots_txt_whose_server_fails_once_is_requested_again() {
    let is_robots = |request: &Request| request.path == "/robots.txt";
    let crawled = crawl_failing(with_retries(&[A]), 5, move |request, times| {
        if is_robots(request) && times == 0 { fails(502) } else { None }
    });
    assert_eq!(crawled.rows.len(), 6);
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page), "{:#?}", crawled.rows);
    assert_eq!(crawled.num_requests("/robots.txt"), 2);

    let crawled =
        crawl_failing(
            with_retries(&[A]),
            5,
            move |request, _| {
                if is_robots(request) { fails(500) } else { None }
            },
        );
    assert_eq!(crawled.row(A).outcome, Outcome::Skipped);
    assert_eq!((crawled.rows.len(), crawled.num_requests("/robots.txt")), (1, 2));
}

#[test]
fn a_sitemap_whose_server_fails_once_is_requested_again() {
    for (failures, requests, has_named) in [(1, 2, true), (9, 2, false)] {
        let mut options = with_retries(&[A]);
        options.settings.sitemap = true;
        let crawled = crawl_failing(options, 5, move |request, times| {
            if request.path == "/sitemap.xml" && times < failures { fails(502) } else { None }
        });
        let named = crawled.rows.iter().any(|row| row.url.ends_with("/named"));
        assert_eq!((named, crawled.num_requests("/sitemap.xml")), (has_named, requests));
        assert_eq!(crawled.summary.warnings.is_empty(), has_named);
    }
}

/// A page may fail first and be throttled then, or the other way round.
#[test]
fn a_failure_and_a_throttled_answer_do_not_mix() {
    for statuses in [[500, 503, 200], [503, 500, 200], [503, 500, 500], [500, 429, 500]] {
        let crawled = crawl_failing(with_retries(&[A]), 5, move |request, times| {
            match (&*request.path, statuses[(times as usize).min(2)]) {
                ("/3", 200) | (_, 200) => None,
                ("/3", status) => fails(status),
                _ => None,
            }
        });
        let row = crawled.row(&format!("{A}3"));
        assert_eq!((row.status, row.tries), (Some(statuses[2]), 3), "{statuses:?}");
        assert_eq!(crawled.num_requests("/3"), 3, "{statuses:?}");
    }
}

/// A crawl that ends early has left the page to do, and not lost it.
#[test]
fn a_page_that_waits_for_its_second_attempt_is_left_to_do() {
    let mut options = with_retries(&[A]);
    options.max_time = Some(Duration::from_millis(500));
    let crawled = crawl_failing(options, 5, |request, _| match &*request.path {
        "/3" => fails(500),
        _ => None,
    });
    assert_eq!((crawled.rows.len(), crawled.summary.todo), (5, 1));
}

/// The verdict on a link to another site is "unsure" in any case.
#[test]
fn links_to_other_sites_get_no_further_attempt() {
    let mut options = with_retries(&[A]);
    options.settings.external = true;
    let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/") => page(["http://10.0.0.2/x"]),
        (_, "/robots.txt") => not_found(),
        _ => response("500 Oops", "", ""),
    });
    // `HEAD` and `GET`.
    assert_eq!((crawled.row("http://10.0.0.2/x").tries, crawled.num_requests("/x")), (2, 2));
}
