//! Rate limit, backoff and fair shares: how often each host is asked, and how the
//! hosts share the workers.

use std::collections::HashMap;
use std::time::Duration;

use crate::common::{Crawled, class, crawl, options, paths};
use crawl_core::{ErrorClass, HostOptions, HostPattern, Outcome};
use sim_net::{Request, Response, hang_up, not_found, page, redirect, response, silence, text};

const A: &str = "http://10.0.0.1/";
const B: &str = "http://10.0.0.2/";

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A site of `pages` pages, all linked from the root.
fn site(pages: usize) -> impl Fn(&Request) -> Response {
    move |request| match &*request.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(pages)),
        _ => page([""; 0]),
    }
}

/// Checks that the requests to a host are exactly `pause` apart.
#[track_caller]
fn assert_apart(crawled: &Crawled, host: &str, pause: Duration) {
    let requests = crawled.requests_to(host);
    for pair in requests.windows(2) {
        assert!(pair[1].1 - pair[0].1 >= pause, "{pair:?}");
    }
    // And not longer than that: timers and connections take no virtual time.
    let last = requests.last().unwrap().1;
    assert_eq!(last, pause * (requests.len() as u32 - 1));
}

#[test]
fn all_requests_to_a_host_are_a_delay_apart() {
    let mut options = options(&[A]);
    options.settings.delay = secs(3);
    let crawled = crawl(options, site(20));
    assert_eq!((crawled.requests.len(), crawled.rows.len()), (22, 21));
    assert_apart(&crawled, "10.0.0.1", secs(3));
    // The loop sleeps while it waits, and does not poll in vain.
    assert!(crawled.stats.polls < 22 * 12, "{:?}", crawled.stats);
}

/// Otherwise a try that has failed would wait until all others are done.
#[test]
fn a_retry_is_not_overtaken_by_the_queue_of_its_host() {
    let mut options = options(&[A]);
    (options.settings.delay, options.settings.max_tries) = (secs(1), 2);
    let mut is_first = true;
    let crawled = crawl(options, move |request| match &*request.path {
        "/3" if std::mem::take(&mut is_first) => hang_up(),
        _ => site(100)(request),
    });
    let requests = crawled.requests_to("10.0.0.1");
    let asked: Vec<Duration> =
        requests.iter().filter(|(path, _)| *path == "/3").map(|(_, at)| *at).collect();
    assert!(asked.len() == 2 && asked[1] - asked[0] <= secs(5), "{asked:?}");
    assert_apart(&crawled, "10.0.0.1", secs(1));
}

/// A pause takes the turn of a retry away. Otherwise it would start with the next URL.
#[test]
fn a_retry_takes_another_turn_after_a_pause() {
    let mut options = options(&[A]);
    (options.settings.delay, options.settings.max_tries) = (millis(500), 2);
    let (mut is_first, mut is_busy) = (true, true);
    let crawled = crawl(options, move |request| match &*request.path {
        "/3" if std::mem::take(&mut is_first) => hang_up(),
        // It is told when the retry waits for its turn.
        "/2" if std::mem::take(&mut is_busy) => {
            response("429 Busy", "Retry-After: 2\r\n", "").after(millis(800))
        }
        _ => site(20)(request),
    });
    assert_eq!((crawled.num_requests("/3"), crawled.num_requests("/2")), (2, 2));
    for pair in crawled.requests_to("10.0.0.1").windows(2) {
        assert!(pair[1].1 - pair[0].1 >= millis(500), "{pair:?}");
    }
}

/// The pace of other hosts is not for one to which a root redirects.
#[test]
fn a_site_that_a_root_leads_to_has_the_pace_of_a_site() {
    let mut options = options(&[A]);
    (options.settings.follow_root, options.settings.external, options.settings.external_rate) =
        (true, true, Some(1));
    let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
        (_, "/robots.txt") => not_found(),
        ("10.0.0.1", _) => redirect(B),
        ("10.0.0.2", "/") => page(paths(20).into_iter().chain(["http://10.0.0.3/".to_owned()])),
        _ => page([""; 0]),
    });
    assert_eq!(crawled.requests_to("10.0.0.2").len(), 22);
    let last = |host| crawled.requests_to(host).last().unwrap().1;
    assert!(last("10.0.0.2") < secs(1) && last("10.0.0.3") >= secs(1), "{:?}", crawled.requests);
}

/// The delay counts from the start of one request to the start of the next.
#[test]
fn slow_answers_do_not_add_to_the_delay() {
    let mut options = options(&[A]);
    options.settings.delay = secs(1);
    let crawled = crawl(options, |request| match &*request.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(20)),
        _ => page([""; 0]).after(secs(4)),
    });
    assert_apart(&crawled, "10.0.0.1", secs(1));
}

#[test]
fn tries_and_redirects_keep_the_delay() {
    let mut options = options(&[A]);
    options.settings.max_tries = 3;
    options.settings.delay = secs(5);
    let nothing = || Response::default();
    let crawled = crawl(options, move |request| match &*request.path {
        "/robots.txt" => sim_net::redirect("/rules"),
        "/rules" => not_found(),
        "/" => sim_net::redirect("/home"),
        _ => nothing().after(secs(100)),
    });
    assert_eq!(crawled.num_requests("/home"), 3);
    for pair in crawled.requests_to("10.0.0.1").windows(2) {
        assert!(pair[1].1 - pair[0].1 >= secs(5), "{pair:?}");
    }
}

/// A server may close a kept connection at the moment of the next request, which is
/// then made again on a new connection. That is a further request to the host.
#[test]
fn a_request_that_is_made_again_keeps_the_delay() {
    let mut options = options(&[A]);
    options.settings.delay = secs(1);
    options.settings.max_tries = 4;
    let mut n = 0;
    let crawled = crawl(options, move |request| {
        n += 1;
        if n % 3 == 0 { sim_net::hang_up() } else { site(20)(request) }
    });
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page), "{:#?}", crawled.rows);
    assert!(crawled.requests.len() >= 30, "{}", crawled.requests.len());
    for pair in crawled.requests_to("10.0.0.1").windows(2) {
        assert!(pair[1].1 - pair[0].1 >= secs(1), "{pair:?}");
    }
}

#[test]
fn the_rate_limit_counts_per_host() {
    let mut options = options(&[A, B]);
    options.settings.rate_limit = Some(4);
    let crawled = crawl(options, site(20));
    for host in ["10.0.0.1", "10.0.0.2"] {
        assert_eq!(crawled.requests_to(host).len(), 22);
        assert_apart(&crawled, host, millis(250));
    }
}

/// A `Crawl-delay` of a day counts as thirty seconds.
#[test]
fn crawl_delay_is_obeyed_up_to_a_limit() {
    for (rule, pause) in [
        ("2.5", millis(2_500)),
        ("86400", secs(30)),
        ("1e308", secs(30)),
        ("inf", secs(30)),
        (&"9".repeat(400), secs(30)),
    ] {
        let rule = rule.to_owned();
        let crawled = crawl(options(&[A]), move |request| match &*request.path {
            "/robots.txt" => text(format!("User-agent: *\nCrawl-delay: {rule}")),
            "/" => page(paths(10)),
            _ => page([""; 0]),
        });
        assert_eq!(crawled.rows.len(), 11);
        assert_apart(&crawled, "10.0.0.1", pause);
    }
}

/// The time that a job waits for its host does not count against its timeouts.
#[test]
fn the_deadline_begins_with_the_request() {
    let mut options = options(&[A]);
    options.settings.delay = secs(60);
    options.settings.timeout = secs(10);
    let crawled = crawl(options, |request| match &*request.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(5)),
        _ => page([""; 0]).after(secs(9)),
    });
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page), "{:#?}", crawled.rows);
    assert!(crawled.rows.iter().all(|row| row.elapsed_ms < 10_000));
}

/// Jobs that a limit leaves out do not wait for their hosts.
#[test]
fn a_limit_on_pages_ends_the_waiting() {
    let mut options = options(&[A]);
    options.settings.delay = secs(3);
    options.max_pages = Some(4);
    let crawled = crawl(options, site(1_000));
    assert_eq!((crawled.rows.len(), crawled.summary.todo), (4, 997));
    assert!(crawled.elapsed <= secs(15), "{:?}", crawled.elapsed);
}

/// Crawls two hosts with ten workers. The first host is slow.
fn one_slow_host(pages: usize, answer_of_b: Duration) -> Crawled {
    let mut options = options(&[A, B]);
    options.settings.timeout = secs(100);
    options.settings.read_timeout = secs(100);
    crawl(options, move |request| match (&*request.host, &*request.path) {
        (_, "/robots.txt") => not_found(),
        (_, "/") => page(paths(pages)),
        ("10.0.0.1", _) => page([""; 0]).after(secs(20)),
        _ => page([""; 0]).after(answer_of_b),
    })
}

#[test]
fn a_slow_host_has_no_more_than_its_share() {
    let crawled = one_slow_host(100, secs(1));
    assert_eq!(crawled.rows.len(), 202);
    // The fast host needs 20 s with five workers.
    let last = crawled.requests_to("10.0.0.2").last().unwrap().1;
    assert!(last <= secs(21), "{last:?}");
    // The slow host has five workers in the meantime, and all ten afterwards.
    let slow = crawled.requests_to("10.0.0.1");
    let by = |second| slow.iter().filter(|(_, at)| *at <= secs(second)).count() - 2;
    assert_eq!((by(1), by(19), by(20)), (5, 5, 15));
    assert!(crawled.elapsed <= secs(20 * 12), "{:?}", crawled.elapsed);
}

#[test]
fn a_host_alone_has_all_workers() {
    let crawled = crawl(options(&[A]), |request| site(100)(request).after(secs(1)));
    assert_eq!(crawled.elapsed, secs(1 + 1 + 10));
}

/// A worker is kept free for a host that sleeps until its delay is over.
#[test]
fn a_host_with_a_delay_finds_a_free_worker_when_its_delay_is_over() {
    let mut options = options(&[A, B]);
    options.settings.timeout = secs(100);
    options.settings.read_timeout = secs(100);
    let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
        ("10.0.0.2", "/robots.txt") => text("User-agent: *\nCrawl-delay: 2"),
        (_, "/robots.txt") => not_found(),
        (_, "/") => page(paths(20)),
        ("10.0.0.1", _) => page([""; 0]).after(secs(30)),
        _ => page([""; 0]),
    });
    assert_apart(&crawled, "10.0.0.2", secs(2));
}

/// A robots.txt that never arrives delays its own site only.
#[test]
fn a_silent_host_does_not_delay_others() {
    let mut options = options(&[A, B]);
    options.max_tasks = Some(2);
    let crawled = crawl(options, |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", _) => silence(),
        _ => site(30)(request).after(millis(100)),
    });
    let last = crawled.requests_to("10.0.0.2").last().unwrap().1;
    assert!(last <= millis(3_200), "{last:?}");
}

#[test]
fn one_worker_serves_many_hosts() {
    let roots: Vec<String> = (1..=50).map(|n| format!("http://10.0.1.{n}/")).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    for tasks in [1, 2, 7] {
        let mut options = options(&roots);
        options.max_tasks = Some(tasks);
        options.settings.delay = secs(1);
        let crawled = crawl(options, site(5));
        assert_eq!(crawled.rows.len(), 300);
        assert_eq!(crawled.requests.len(), 350);
        assert!(crawled.summary.peak_in_flight <= tasks as u64);
        // Seven requests to each, all hosts side by side.
        assert!(crawled.elapsed <= secs(9), "{tasks}: {:?}", crawled.elapsed);
    }
}

/// Crawls a host that throttles every third request.
fn throttle_every_third(status: &'static str, headers: &'static str) -> Crawled {
    let mut requests = 0;
    crawl(options(&[A]), move |request| {
        requests += 1;
        if requests % 3 == 0 { response(status, headers, "") } else { site(60)(request) }
    })
}

#[test]
fn a_site_that_throttles_often_is_crawled_completely() {
    for (status, headers) in [
        ("429 Too Many Requests", "Retry-After: 1\r\n"),
        ("503 Service Unavailable", "Retry-After: 1\r\n"),
        ("429 Too Many Requests", ""),
    ] {
        let crawled = throttle_every_third(status, headers);
        assert_eq!(crawled.rows.len(), 61);
        for row in &crawled.rows {
            let path = row.url.strip_prefix("http://10.0.0.1").unwrap();
            let requests = crawled.num_requests(path);
            assert_eq!((row.outcome, row.tries as usize), (Outcome::Page, requests), "{row:?}");
        }
        assert_eq!(crawled.num_requests("/robots.txt"), 1);
        let requests = crawled.requests.len();
        assert!((90..150).contains(&requests), "{requests}");
        // Workers sleep while they wait, and do not poll in vain.
        let stats = crawled.stats;
        assert!(stats.polls < 20 * requests as u64, "{stats:?} for {requests} requests");
        assert!(stats.ticks < 10 * requests as u64, "{stats:?} for {requests} requests");
    }
}

/// After a `Retry-After` there is no request to that host before the time it
/// names. Other hosts are asked all the same.
#[test]
fn retry_after_applies_to_the_whole_host() {
    let mut throttles = true;
    let crawled = crawl(options(&[A, B]), move |request| match (&*request.host, &*request.path) {
        ("10.0.0.1", "/7") if std::mem::take(&mut throttles) => {
            response("429 Too Many Requests", "Retry-After: 40\r\n", "").after(secs(1))
        }
        _ => site(100)(request).after(secs(1)),
    });
    let requests = crawled.requests_to("10.0.0.1");
    let refused = requests.iter().find(|(path, _)| *path == "/7").unwrap().1 + secs(1);
    let between = requests.iter().filter(|(_, at)| refused < *at && *at < refused + secs(40));
    assert_eq!(between.count(), 0, "{requests:?}");
    // It is asked again behind the others.
    assert_eq!(requests.last().unwrap().0, "/7");
    let others = crawled.requests_to("10.0.0.2");
    assert!(others.iter().filter(|(_, at)| refused < *at && *at < refused + secs(39)).count() > 50);
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page));
}

/// The limit on requests at a time is halved, and grows slowly again.
#[test]
fn a_host_that_throttles_gets_fewer_requests_at_a_time() {
    let mut throttles = true;
    let crawled = crawl(options(&[A]), move |request| match &*request.path {
        "/0" if std::mem::take(&mut throttles) => {
            response("429 Too Many Requests", "Retry-After: 5\r\n", "").after(secs(1))
        }
        _ => site(200)(request).after(secs(1)),
    });
    let mut per_second: HashMap<u64, usize> = HashMap::new();
    for (_, at) in crawled.requests_to("10.0.0.1") {
        *per_second.entry(at.as_secs()).or_default() += 1;
    }
    let at = |second| per_second.get(&second).copied().unwrap_or(0);
    // First robots.txt, the root and ten pages; then the pause.
    assert_eq!([at(0), at(1), at(2), at(3)], [1, 1, 10, 0]);
    assert_eq!([at(8), at(9), at(10)], [5, 5, 6]);
    assert!(at(20) > at(10), "{per_second:?}");
    assert_eq!(crawled.rows.len(), 201);
}

/// Requests that are silent add to a limit that is reduced, but not to that of the user.
#[test]
fn a_slow_host_that_was_busy_keeps_its_own_limit() {
    let mut options = options(&[A]);
    options.max_tasks = Some(50);
    let host = HostPattern::parse("10.0.0.1").unwrap();
    options.settings.hosts = vec![HostOptions { max_tasks: Some(4), ..HostOptions::new(host) }];
    let mut is_busy = true;
    let crawled = crawl(options, move |request| match &*request.path {
        "/0" if std::mem::take(&mut is_busy) => response("429 Busy", "", "").after(secs(5)),
        "/robots.txt" | "/" => site(30)(request),
        _ => site(30)(request).after(secs(5)),
    });
    assert_eq!(crawled.rows.len(), 31);
    // Behind robots.txt and the root. Each of them takes five seconds.
    for five in crawled.requests_to("10.0.0.1")[2..].windows(5) {
        assert!(five[4].1 - five[0].1 >= secs(5), "{five:?}");
    }
}

#[test]
fn retry_after_may_be_a_date_and_nonsense_is_ignored() {
    for value in ["Fri, 31 Dec 2100 23:59:59 GMT", "soon", "-5", "0", "999999999999999999999"] {
        let mut throttles = true;
        let crawled = crawl(options(&[A]), move |request| match &*request.path {
            "/" if std::mem::take(&mut throttles) => {
                response("429 Too Many Requests", &format!("Retry-After: {value}\r\n"), "")
            }
            _ => site(0)(request),
        });
        assert_eq!(crawled.row(A).outcome, Outcome::Page, "{value}");
        let pause = if value.len() > 10 { secs(60) } else { secs(1) };
        assert_eq!(crawled.elapsed, pause, "{value}");
    }
}

/// A URL whose response is always 429 is asked a few times, and then gets its row;
/// it is not broken. The other pages are crawled.
#[test]
fn a_page_that_always_throttles_is_skipped_after_five_requests() {
    let crawled = crawl(options(&[A]), |request| match &*request.path {
        "/3" => response("429 Too Many Requests", "Retry-After: 1\r\n", ""),
        _ => site(10)(request),
    });
    assert_eq!(crawled.rows.len(), 11);
    let row = crawled.row("http://10.0.0.1/3");
    assert_eq!((row.outcome, row.status), (Outcome::Skipped, Some(429)));
    assert_eq!(class(row), Some(ErrorClass::RateLimited));
    assert!(!row.is_broken());
    assert_eq!(crawled.num_requests("/3"), 5);
}

/// The request for robots.txt may be throttled like any other.
#[test]
fn a_throttled_robots_txt_is_fetched_again() {
    let mut num_requests = 0;
    let crawled = crawl(options(&[A]), move |request| {
        if request.path == "/robots.txt" {
            num_requests += 1;
            if num_requests < 4 {
                return response("429 Too Many Requests", "Retry-After: 10\r\n", "");
            }
            return text("User-agent: *\nDisallow: /1");
        }
        site(10)(request)
    });
    assert_eq!(crawled.rows.len(), 11);
    assert_eq!(class(crawled.row("http://10.0.0.1/1")), Some(ErrorClass::Robots));
    assert_eq!((crawled.num_requests("/robots.txt"), crawled.elapsed), (4, secs(30)));
}
