//! Busy pages and dead hosts: what answers 429 or 503 is asked again behind the
//! other pages of its host, and a host that does not answer is given up.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use crate::common::{Crawled, class, crawl, crawl_on, options, paths};
use crawl_core::{ErrorClass, ExternalVerdict, Outcome};
use sim_net::{Fault, Request, Response, SimNet, not_found, page, response, silence};
use stage2_coroutines::{Task, runtime_on, sleep};
use stage3_queue::Crawler;

const A: &str = "http://10.0.0.1/";

/// The greatest wait for a busy host, by default.
const MAX_WAIT: Duration = Duration::from_secs(60);

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A site whose root links to `pages` pages; each answer takes 100 ms.
fn site(request: &Request, pages: usize) -> Response {
    let response = match &*request.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(pages)),
        _ => page([""; 0]),
    };
    response.after(millis(100))
}

/// Returns the number of a page, as in its path.
fn number(request: &Request) -> usize {
    request.path.trim_start_matches('/').parse().unwrap_or(usize::MAX)
}

/// Returns the time from the beginning to the last answer of a page from number
/// `from` on.
fn last_answer(crawled: &Crawled, from: usize) -> Duration {
    let requests = crawled.requests.iter().filter(|request| number(request) >= from);
    requests.map(|request| request.at).max().unwrap() + millis(100)
}

/// A host of another site that says when to come again is left until then: no worker waits
/// for it.
#[test]
fn a_head_that_is_told_to_come_later_holds_no_worker() {
    let mut options = options(&[A]);
    options.settings.external = true;
    let others: Vec<String> = (2..22).map(|n| format!("http://10.0.0.{n}/x")).collect();
    let crawled = crawl(options, move |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/") => page(others.iter().cloned().chain(paths(50))),
        ("10.0.0.1", _) => site(request, 50),
        (_, "/robots.txt") => not_found(),
        _ => response("503 Busy", "Retry-After: 60\r\n", ""),
    });
    let last = crawled.requests_to("10.0.0.1").last().unwrap().1;
    assert!(last < secs(5), "{last:?}");
}

/// A link to another site that is throttled is blocked, and not broken, whatever its server
/// would answer later: one request is enough, and the crawl does not wait for a second one.
#[test]
fn a_throttled_link_to_another_site_is_requested_once() {
    for headers in ["", "Retry-After: 30\r\n"] {
        let mut options = options(&[A]);
        (options.settings.external, options.settings.max_tries) = (true, 4);
        let crawled = crawl(options, move |request| match (&*request.host, &*request.path) {
            ("10.0.0.1", "/") => page(["http://10.0.0.2/x"]),
            (_, "/robots.txt") => not_found(),
            _ => response("429 Too Many Requests", headers, ""),
        });
        let row = crawled.row("http://10.0.0.2/x");
        assert_eq!(row.verdict, Some(ExternalVerdict::Blocked));
        assert_eq!((row.tries, crawled.num_requests("/x")), (1, 1), "{headers}");
        assert_eq!(crawled.elapsed, Duration::ZERO, "{headers}");
    }
}

/// A host that is busy three times is not given up because the only worker waits for
/// another host between its answers.
#[test]
fn a_host_is_not_given_up_while_the_crawler_has_other_things_to_do() {
    const B: &str = "http://10.0.0.2/";
    let mut options = options(&[B, A]);
    (options.max_tasks, options.settings.max_tries) = (Some(1), 4);
    let mut busy = 3;
    let crawled = crawl(options, move |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/") => page(paths(6)),
        ("10.0.0.1", path) if path != "/robots.txt" => silence(),
        ("10.0.0.2", _) if busy > 0 => {
            busy -= 1;
            response("503 No", "Retry-After: 1\r\n", "")
        }
        ("10.0.0.2", "/") => page(paths(3)),
        _ => not_found(),
    });
    let silent = crawled.rows.iter().filter(|row| class(row) == Some(ErrorClass::Timeout)).count();
    assert_eq!((crawled.summary.todo, silent), (0, 6));
    assert_eq!(crawled.row(B).outcome, Outcome::Page);
    // Longer than the host may be busy.
    assert!(crawled.elapsed > 2 * MAX_WAIT, "{:?}", crawled.elapsed);
}

/// Pages that are always busy cost the others at most the longest wait, whatever
/// they ask for and however many there are.
#[test]
fn busy_pages_do_not_keep_the_others() {
    const PAGES: usize = 203;
    for tasks in [1, 10] {
        let mut options = options(&[A]);
        options.max_tasks = Some(tasks);
        let healthy = crawl(options.clone(), |request| site(request, PAGES));
        for busy in [3, 5, 20] {
            for status in ["429 Too Many Requests", "503 Service Unavailable"] {
                for retry_after in
                    ["", "Retry-After: 1\r\n", "Retry-After: 3600\r\n", "Retry-After: 86400\r\n"]
                {
                    let crawled =
                        crawl(options.clone(), move |request| match number(request) < busy {
                            true => response(status, retry_after, "").after(millis(100)),
                            false => site(request, PAGES),
                        });
                    let case = format!("-j {tasks}, {busy} times {status}, {retry_after:?}");
                    let took = last_answer(&crawled, busy);
                    assert_eq!(crawled.rows.len(), PAGES + 1, "{case}");
                    assert!(took <= healthy.elapsed + MAX_WAIT, "{case}: {took:?}");
                    assert!(
                        crawled.elapsed <= healthy.elapsed + MAX_WAIT * 3,
                        "{case}: {:?}",
                        crawled.elapsed
                    );
                    let pages = crawled.rows.iter().filter(|row| row.outcome == Outcome::Page);
                    assert_eq!(pages.count(), PAGES + 1 - busy, "{case}");
                    for n in 0..busy {
                        let row = crawled.row(&format!("{A}{n}"));
                        let expected = match status.starts_with("429") {
                            true => (Outcome::Skipped, Some(429)),
                            false => (Outcome::HttpError, Some(503)),
                        };
                        assert_eq!((row.outcome, row.status), expected, "{case}");
                        assert!(
                            (2..=10).contains(&crawled.num_requests(&format!("/{n}"))),
                            "{case}"
                        );
                    }
                    assert!(crawled.summary.busy_hosts.is_empty(), "{case}");
                }
            }
        }
    }
}

/// One 429, one 503 and one URL that never answers on a site of 350: the others are
/// done in at most twice the time.
#[test]
fn a_busy_and_a_silent_page_do_not_slow_down_the_others() {
    const PAGES: usize = 350;
    for tasks in [3, 10, 50] {
        for positions in
            [[0, 1, 2], [0, 100, 200], [2, 0, 1], [300, 20, 10], [4, 60, 30], [5, 7, 0]]
        {
            for (retry_after, pause) in [("", secs(0)), ("Retry-After: 1\r\n", secs(2))] {
                let mut options = options(&[A]);
                options.max_tasks = Some(tasks);
                options.settings.max_tries = 4;
                let healthy = crawl(options.clone(), |request| site(request, PAGES)).elapsed;
                let mut was_busy = [false; 2];
                let crawled = crawl(options, move |request| {
                    let [busy, unavailable, silent] = positions;
                    let n = number(request);
                    if n == busy && !std::mem::replace(&mut was_busy[0], true) {
                        response("429 Too Many Requests", retry_after, "").after(millis(100))
                    } else if n == unavailable && !std::mem::replace(&mut was_busy[1], true) {
                        response("503 Service Unavailable", retry_after, "").after(millis(100))
                    } else if n == silent {
                        silence()
                    } else {
                        site(request, PAGES)
                    }
                });
                let others = crawled.requests.iter().filter(|r| !positions.contains(&number(r)));
                let took = others.map(|request| request.at).max().unwrap() + millis(100);
                assert!(
                    took <= healthy * 2 + pause,
                    "-j {tasks}, {positions:?}: {took:?} instead of {healthy:?}"
                );
                let failed: Vec<_> =
                    crawled.rows.iter().filter(|r| r.outcome != Outcome::Page).collect();
                assert_eq!((crawled.rows.len(), failed.len()), (PAGES + 1, 1), "{failed:#?}");
                assert_eq!(class(failed[0]), Some(ErrorClass::Timeout));
            }
        }
    }
}

/// A host that goes down in the middle is given up soon, and the rest of its URLs
/// get their rows with that reason.
#[test]
fn a_host_that_dies_is_given_up() {
    const PAGES: usize = 600;
    for (tasks, fault) in
        [(10, Fault::Refuse), (1, Fault::Refuse), (10, Fault::Swallow), (50, Fault::Swallow)]
    {
        let mut options = options(&[A]);
        options.max_tasks = Some(tasks);
        options.settings.max_tries = 4;
        (options.settings.connect_timeout, options.settings.read_timeout) = (secs(3), secs(4));
        let healthy = crawl(options.clone(), |request| site(request, PAGES)).elapsed;
        let net = SimNet::new(|request| site(request, PAGES));
        net.go_down(healthy / 2, fault);
        let crawled = crawl_on(&net, options);
        let case = format!("-j {tasks}, {fault:?}");
        assert!(
            crawled.elapsed <= healthy + secs(10),
            "{case}: {:?} instead of {healthy:?}",
            crawled.elapsed
        );
        assert_eq!(crawled.rows.len(), PAGES + 1, "{case}");
        let pages = crawled.rows.iter().filter(|row| row.outcome == Outcome::Page).count();
        assert!((200..400).contains(&pages), "{case}: {pages}");
        let failed: Vec<_> =
            crawled.rows.iter().filter(|row| row.outcome == Outcome::Failed).collect();
        assert_eq!(failed.len(), PAGES + 1 - pages);
        let given_up = failed.iter().filter(|row| {
            row.error
                .as_ref()
                .unwrap()
                .message
                .starts_with("10.0.0.1 was given up, it does not answer: ")
        });
        assert!(given_up.count() >= failed.len() / 3, "{case}: {:#?}", failed.last());
    }
}

/// A host is not given up because some of its pages never answer.
#[test]
fn silent_pages_are_no_dead_host() {
    let mut options = options(&[A]);
    options.settings.max_tries = 4;
    let crawled = crawl(options, |request| match number(request) < 12 {
        true => silence(),
        false => site(request, 100),
    });
    let pages = crawled.rows.iter().filter(|row| row.outcome == Outcome::Page);
    assert_eq!(pages.count(), 101 - 12);
}

/// URLs that were not asked because the host is busy all the time are left to do.
#[test]
fn a_host_that_is_always_busy_is_given_up_and_its_urls_are_left_to_do() {
    for (status, outcome) in [("429 No", Outcome::Skipped), ("503 No", Outcome::HttpError)] {
        for retry_after in ["", "Retry-After: 2\r\n", "Retry-After: 600\r\n"] {
            let crawled = crawl(options(&[A]), move |request| match &*request.path {
                "/robots.txt" | "/" => site(request, 1_000),
                _ => response(status, retry_after, "").after(millis(100)),
            });
            let case = format!("{status}, {retry_after:?}");
            let rows: Vec<_> =
                crawled.rows.iter().filter(|row| row.outcome != Outcome::Page).collect();
            assert!(rows.iter().all(|row| row.outcome == outcome), "{case}");
            assert!(rows.len() < 250, "{case}: {}", rows.len());
            assert_eq!(rows.len() + crawled.summary.todo as usize, 1_000, "{case}");
            assert_eq!(crawled.summary.busy_hosts.len(), 1, "{case}");
            let busy_host = &crawled.summary.busy_hosts[0];
            assert_eq!((&*busy_host.host, busy_host.todo), ("10.0.0.1", crawled.summary.todo));
            let left_out = crawled.summary.left_out().unwrap();
            assert!(left_out.contains("10.0.0.1 stayed busy"), "{left_out}");
            assert!(crawled.elapsed <= MAX_WAIT * 4, "{case}: {:?}", crawled.elapsed);
            assert!(crawled.requests.len() < 500, "{case}: {}", crawled.requests.len());
        }
    }
}

/// A site of which one page is busy at first, and comes back: all pages are fetched
/// and the busy one comes last.
#[test]
fn a_busy_page_goes_behind_the_others_of_its_host() {
    // By the server's clock, whatever this machine's is.
    let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                Retry-After: Sun, 06 Nov 1994 08:49:44 GMT\r\n";
    for (retry_after, wait) in [("", secs(1)), ("Retry-After: 7\r\n", secs(7)), (date, secs(7))] {
        let mut was_busy = 0;
        let crawled = crawl(options(&[A]), move |request| match &*request.path {
            "/0" if was_busy < 2 => {
                was_busy += 1;
                response("429 Too Many Requests", retry_after, "").after(millis(100))
            }
            _ => site(request, 300),
        });
        assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page));
        let asked: Vec<_> =
            crawled.requests.iter().filter(|r| r.path == "/0").map(|r| r.at).collect();
        assert_eq!(asked.len(), 3);
        assert!(asked[1] >= asked[0] + wait && asked[2] >= asked[1] + wait, "{asked:?}");
        assert_eq!(asked[2], crawled.requests.last().unwrap().at);
        assert!(asked[1] >= last_answer(&crawled, 1) - millis(200), "{asked:?}");
    }
}

/// `max_wait` caps every wait that a host asks for.
#[test]
fn max_wait_caps_every_wait() {
    let mut options = options(&[A]);
    options.settings.max_wait = secs(3);
    let crawled = crawl(options, |request| match number(request) < 3 {
        true => response("429 No", "Retry-After: 3600\r\n", "").after(millis(100)),
        false => site(request, 100),
    });
    assert_eq!(crawled.rows.len(), 101);
    assert!(crawled.elapsed <= secs(3 + 3 + 2), "{:?}", crawled.elapsed);
}

/// Other hosts are crawled while one is busy.
#[test]
fn a_busy_host_keeps_no_other_host() {
    let roots = [A, "http://10.0.0.2/"];
    for tasks in [1, 2, 10] {
        let mut options = options(&roots);
        options.max_tasks = Some(tasks);
        let alone = crawl(options.clone(), |request| site(request, 100));
        let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
            ("10.0.0.1", "/robots.txt" | "/") => site(request, 100),
            ("10.0.0.1", _) => response("429 No", "Retry-After: 3600\r\n", "").after(millis(100)),
            _ => site(request, 100),
        });
        let last = crawled.requests_to("10.0.0.2").last().unwrap().1;
        assert!(last <= alone.elapsed, "-j {tasks}: {last:?} of {:?}", alone.elapsed);
    }
}

/// A host may recover and relapse: in the end all its pages are fetched.
#[test]
fn a_host_that_recovers_and_relapses_is_crawled_completely() {
    let crawled = crawl(options(&[A]), |request| match request.at.as_secs() / 20 % 2 {
        1 => response("503 No", "", "").after(millis(100)),
        _ => site(request, 3_000),
    });
    let pages = crawled.rows.iter().filter(|row| row.outcome == Outcome::Page);
    assert_eq!((pages.count(), crawled.summary.todo), (3_001, 0), "{:?}", crawled.elapsed);
}

/// URLs that were not asked are in no row of the journal: a resumed run asks them.
#[test]
fn a_resumed_crawl_asks_what_was_left_to_do() {
    let path = std::env::temp_dir().join(format!("busy-{}.journal", std::process::id()));
    let run = |answer: fn(&Request) -> Response| {
        let net = SimNet::new(answer);
        let no_names = |host: &str, _| panic!("{host} is looked up");
        let runtime = runtime_on(net.clone(), Arc::new(no_names));
        let _event_loop = runtime.event_loop().clone();
        let mut rows = Vec::new();
        let crawler = Crawler::builder(options(&[A])).journal(&path);
        let summary = crawler.on_row(|row| rows.push(row)).run_on(runtime).unwrap();
        (rows, summary)
    };
    let (rows, summary) = run(|request| match &*request.path {
        "/robots.txt" | "/" => site(request, 1_000),
        _ => response("503 No", "", "").after(millis(100)),
    });
    let asked = rows.len();
    assert_eq!(asked as u64 + summary.todo, 1_001);
    assert!(asked < 300, "{asked}");
    let (rows, summary) = run(|request| site(request, 1_000));
    std::fs::remove_file(&path).unwrap();
    assert_eq!((rows.len(), summary.todo), (1_001, 0));
    let pages = rows.iter().filter(|row| row.outcome == Outcome::Page);
    assert_eq!(pages.count(), 1_002 - asked);
}

/// Every wait has a name: the host, the time and the reason.
#[test]
fn waits_have_names() {
    let net = SimNet::new(|request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/1") => response("503 No", "Retry-After: 30\r\n", ""),
        _ => site(request, 3),
    });
    let no_names = |host: &str, _| panic!("{host} is looked up");
    let runtime = runtime_on(net, Arc::new(no_names));
    let event_loop = runtime.event_loop().clone();
    let mut options = options(&[A, "http://10.0.0.2/"]);
    options.settings.delay = secs(2);
    let crawler = Crawler::new(&event_loop, options, Box::new(drop));
    let crawling = Task::spawn(&event_loop, {
        let crawler = Rc::clone(&crawler);
        async move { crawler.crawl().await }
    });
    let (mut seen, mut num_idle) = (HashSet::new(), 0);
    runtime
        .run_until_complete(async {
            while !crawling.future().done() {
                sleep(&event_loop, millis(300)).await;
                let now = event_loop.now();
                for wait in crawler.waits() {
                    assert!(wait.until > now && wait.until <= now + secs(30), "{wait:?}");
                    seen.insert((wait.host.to_string(), wait.reason.to_string()));
                }
                // The crawl as a whole waits while nothing is fetched: for the first host.
                let progress = crawler.progress();
                let first = crawler.waits().iter().map(|wait| wait.until).min();
                let first = first.filter(|_| progress.in_flight == 0);
                assert_eq!(progress.waits_for.map(|wait| wait.until), first);
                num_idle += usize::from(first.is_some());
            }
        })
        .unwrap();
    assert_ne!(num_idle, 0);
    let delay = "delay between requests";
    let expected = [("10.0.0.1", delay), ("10.0.0.1", "rate limited (503)"), ("10.0.0.2", delay)];
    let expected = expected.map(|(host, reason)| (host.to_owned(), reason.to_owned()));
    assert_eq!(seen, HashSet::from(expected));
}
