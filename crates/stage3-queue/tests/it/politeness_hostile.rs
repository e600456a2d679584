//! Hostile answers of busy hosts: each table ends with all pages, within bounds that
//! are counted from the outside.

use std::time::Duration;

use crate::common::{Crawled, crawl, crawl_on, options, paths};
use crawl_core::{ErrorClass, Outcome};
use sim_net::{Fault, Request, Response, SimNet, not_found, page, response};

const A: &str = "http://10.0.0.1/";

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// A site of `pages` pages; each answer takes 100 ms.
fn site(request: &Request, pages: usize) -> Response {
    let response = match &*request.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(pages)),
        _ => page([""; 0]),
    };
    response.after(Duration::from_millis(100))
}

#[track_caller]
fn assert_all_pages(crawled: &Crawled, pages: usize, what: &str) {
    let complete = crawled.rows.iter().filter(|row| row.outcome == Outcome::Page).count();
    assert_eq!((complete, crawled.summary.todo), (pages + 1, 0), "{what}");
}

/// Values that a server may write in `Retry-After`: a busy answer is waited for at most a
/// minute, whatever it says.
#[test]
fn every_retry_after_is_survived() {
    let nines = "9".repeat(400);
    for value in [
        "Retry-After: -5\r\n",
        "Retry-After: -1e9\r\n",
        "Retry-After: 1.5\r\n",
        "Retry-After: 1e308\r\n",
        "Retry-After: inf\r\n",
        "Retry-After: NaN\r\n",
        "Retry-After: 0x10\r\n",
        "Retry-After: 18446744073709551616\r\n",
        "Retry-After: 86400\r\n",
        &format!("Retry-After: {nines}\r\n"),
        &format!("Retry-After: -{nines}\r\n"),
        &format!("Retry-After: 0.{nines}\r\n"),
        "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n",
        "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n",
        "Retry-After: Thu, 01 Jan 1970 00:00:00 GMT\r\n",
        "Retry-After: Fri, 32 Foo 99999 25:61:61 XYZ\r\n",
        "Retry-After: \u{fffd}\u{202e}soon\r\n",
        "Retry-After:\r\n",
        "Retry-After: 1\r\nRetry-After: 86400\r\n",
        "Retry-After: 86400\r\nRetry-After: 1\r\n",
        "Retry-After: 1, 86400\r\n",
    ] {
        for status in ["429 Too Many Requests", "503 Unavailable"] {
            let (headers, mut is_busy) = (value.to_owned(), true);
            let crawled = crawl(options(&[A]), move |request| match &*request.path {
                "/3" if is_busy => {
                    is_busy = false;
                    response(status, &headers, "")
                }
                _ => site(request, 20),
            });
            assert_all_pages(&crawled, 20, value);
            assert!(crawled.elapsed <= secs(65), "{value}: {:?}", crawled.elapsed);
            assert_eq!(crawled.requests.len(), 22 + 1, "{value}");
        }
    }
}

/// A longest wait without end counts as a year, whatever a server asks for.
#[test]
fn the_longest_wait_has_a_limit() {
    let mut options = options(&[A]);
    options.settings.max_wait = Duration::MAX;
    let mut is_busy = true;
    let crawled = crawl(options, move |request| match &*request.path {
        "/3" if std::mem::take(&mut is_busy) => {
            response("503 No", "Retry-After: 99999999999999999999\r\n", "")
        }
        _ => site(request, 5),
    });
    assert_all_pages(&crawled, 5, "a year");
    assert!(crawled.elapsed <= secs(366 * 24 * 3600), "{:?}", crawled.elapsed);
}

/// A host that answers every other request with 429 gives all its pages.
#[test]
fn alternating_answers_lose_no_page() {
    for (status, headers) in
        [("429 Too Many", ""), ("503 No", ""), ("429 Too Many", "Retry-After: 1\r\n")]
    {
        let mut n = 0;
        let crawled = crawl(options(&[A]), move |request| {
            n += 1;
            if n > 2 && n % 2 == 0 {
                return response(status, headers, "");
            }
            site(request, 100)
        });
        assert_all_pages(&crawled, 100, headers);
        assert!(crawled.requests.len() <= 2 * 102, "{}", crawled.requests.len());
        assert!(crawled.elapsed <= secs(240), "{status} {headers}: {:?}", crawled.elapsed);
    }
}

/// A host that is busy for most of the time, again and again, gives all its pages.
#[test]
fn hosts_that_recover_and_relapse_lose_no_page() {
    for (well, busy) in [(10, 10), (5, 20), (10, 45), (15, 60)] {
        let crawled = crawl(options(&[A]), move |request| {
            // The root and the rules come first.
            let at = request.at.as_secs().saturating_sub(1) % (well + busy);
            if at >= well { response("503 No", "", "") } else { site(request, 2_000) }
        });
        assert_all_pages(&crawled, 2_000, &format!("{well} s and {busy} s"));
        assert!(crawled.elapsed <= secs(30 * 60), "{well} {busy}: {:?}", crawled.elapsed);
    }
}

/// A dead host is not asked for each of its URLs: 502 of them end within some
/// seconds, each with its row.
#[test]
fn a_dead_host_is_given_up() {
    let mut options = options(&[A]);
    (options.settings.external, options.settings.max_tries) = (true, 4);
    let dead: Vec<String> = (0..502).map(|n| format!("http://10.0.0.0/{n}")).collect();
    let crawled = crawl(options, move |request| match &*request.path {
        "/" => page(&dead),
        _ => not_found(),
    });
    let failed = crawled.rows.iter().filter(|row| row.outcome == Outcome::Failed);
    assert!(failed.clone().all(|row| row.error.as_ref().unwrap().class == ErrorClass::Connect));
    assert_eq!((failed.count(), crawled.requests.len()), (502, 2));
    assert!(crawled.elapsed <= secs(10), "{:?}", crawled.elapsed);
}

/// The same for a host that swallows connections, after it has answered.
#[test]
fn a_host_that_swallows_connections_is_given_up() {
    let mut options = options(&[A]);
    (options.settings.max_tries, options.settings.connect_timeout) = (4, secs(2));
    let net = SimNet::new(|request: &Request| {
        let response = site(request, 60);
        Response { closes: true, ..response }
    });
    net.go_down(Duration::from_millis(250), Fault::Swallow);
    let crawled = crawl_on(&net, options);
    let failed = crawled.rows.iter().filter(|row| row.outcome == Outcome::Failed).count();
    assert_eq!((failed, crawled.rows.len()), (60, 61));
    assert!(crawled.elapsed <= secs(20), "{:?}", crawled.elapsed);
}
