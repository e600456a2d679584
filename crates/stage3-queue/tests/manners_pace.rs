//! How often a host is asked, and how the workers are shared out.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::HashMap;
use std::time::Duration;

use common::village::{Answer, Asked, Crawled, answer, crawl, not_found, page, silence, text};
use common::{class, options, paths};
use crawl_core::{ErrorClass, Outcome};

const A: &str = "http://10.0.0.1/";
const B: &str = "http://10.0.0.2/";

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A site of so many pages, all linked from the first.
fn site(pages: usize) -> impl Fn(&Asked) -> Answer {
    move |asked| match &*asked.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(pages)),
        _ => page([""; 0]),
    }
}

#[track_caller]
fn assert_apart(crawled: &Crawled, host: &str, pause: Duration) {
    let asked = crawled.asked_of(host);
    for pair in asked.windows(2) {
        assert!(pair[1].1 - pair[0].1 >= pause, "{pair:?}");
    }
    // And no longer than that: a timer and a connection take no time here.
    let last = asked.last().unwrap().1;
    assert_eq!(last, pause * (asked.len() as u32 - 1));
}

#[test]
fn a_delay_is_between_all_requests_to_a_host() {
    let mut options = options(&[A]);
    options.delay = secs(3);
    let crawled = crawl(options, site(20));
    assert_eq!((crawled.asked.len(), crawled.rows.len()), (22, 21));
    assert_apart(&crawled, "10.0.0.1", secs(3));
    // A loop that has to wait for a minute sleeps.
    assert!(crawled.stats.polls < 22 * 12, "{:?}", crawled.stats);
}

/// It does not matter how long the answers take.
#[test]
fn slow_answers_do_not_add_to_the_delay() {
    let mut options = options(&[A]);
    options.delay = secs(1);
    let crawled = crawl(options, |asked| match &*asked.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(20)),
        _ => page([""; 0]).after(secs(4)),
    });
    assert_apart(&crawled, "10.0.0.1", secs(1));
}

#[test]
fn tries_and_redirects_keep_the_distance() {
    let mut options = options(&[A]);
    options.max_tries = 3;
    options.delay = secs(5);
    let nothing = || Answer { after: secs(0), bytes: Vec::new() };
    let crawled = crawl(options, move |asked| match &*asked.path {
        "/robots.txt" => common::village::redirect("/rules"),
        "/rules" => not_found(),
        "/" => common::village::redirect("/home"),
        _ => nothing().after(secs(100)),
    });
    assert_eq!(crawled.times("/home"), 3);
    for pair in crawled.asked_of("10.0.0.1").windows(2) {
        assert!(pair[1].1 - pair[0].1 >= secs(5), "{pair:?}");
    }
}

#[test]
fn a_rate_is_for_each_host() {
    let mut options = options(&[A, B]);
    options.rate_limit = Some(4);
    let crawled = crawl(options, site(20));
    for host in ["10.0.0.1", "10.0.0.2"] {
        assert_eq!(crawled.asked_of(host).len(), 22);
        assert_apart(&crawled, host, millis(250));
    }
}

/// http and https of one name are one host, for which one pace counts.
#[test]
fn crawl_delay_is_obeyed_up_to_a_limit() {
    for (rule, pause) in [("2.5", millis(2_500)), ("86400", secs(30))] {
        let crawled = crawl(options(&[A]), move |asked| match &*asked.path {
            "/robots.txt" => text(format!("User-agent: *\nCrawl-delay: {rule}")),
            "/" => page(paths(10)),
            _ => page([""; 0]),
        });
        assert_eq!(crawled.rows.len(), 11);
        assert_apart(&crawled, "10.0.0.1", pause);
    }
}

/// Whoever waits for his turn has all the time of a fetch afterwards.
#[test]
fn the_deadline_begins_with_the_request() {
    let mut options = options(&[A]);
    options.delay = secs(60);
    options.timeout = secs(10);
    let crawled = crawl(options, |asked| match &*asked.path {
        "/robots.txt" => not_found(),
        "/" => page(paths(5)),
        _ => page([""; 0]).after(secs(9)),
    });
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page), "{:#?}", crawled.rows);
    assert!(crawled.rows.iter().all(|row| row.elapsed_ms < 10_000));
}

/// What a limit leaves out does not wait for its turn.
#[test]
fn a_limit_on_pages_ends_the_waiting() {
    let mut options = options(&[A]);
    options.delay = secs(3);
    options.max_pages = Some(4);
    let crawled = crawl(options, site(1_000));
    assert_eq!((crawled.rows.len(), crawled.ending.todo), (4, 997));
    assert!(crawled.took <= secs(15), "{:?}", crawled.took);
}

/// Ten workers; one host is slow, the other is not, and they come in turn.
fn one_slow_host(pages: usize, answer_of_b: Duration) -> Crawled {
    let mut options = options(&[A, B]);
    options.timeout = secs(100);
    options.read_timeout = secs(100);
    crawl(options, move |asked| match (&*asked.host, &*asked.path) {
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
    // With five workers it takes 20 s.
    let last = crawled.asked_of("10.0.0.2").last().unwrap().1;
    assert!(last <= secs(21), "{last:?}");
    // The slow one has five workers in the meantime, and all ten afterwards.
    let slow = crawled.asked_of("10.0.0.1");
    let by = |second| slow.iter().filter(|(_, at)| *at <= secs(second)).count() - 2;
    assert_eq!((by(1), by(19), by(20)), (5, 5, 15));
    assert!(crawled.took <= secs(20 * 12), "{:?}", crawled.took);
}

#[test]
fn a_host_alone_has_all_workers() {
    let crawled = crawl(options(&[A]), |asked| site(100)(asked).after(secs(1)));
    assert_eq!(crawled.took, secs(1 + 1 + 10));
}

/// Somebody who sleeps most of the time finds a worker when he wakes up.
#[test]
fn a_sleeper_does_not_wait_for_the_others() {
    let mut options = options(&[A, B]);
    options.timeout = secs(100);
    options.read_timeout = secs(100);
    let crawled = crawl(options, |asked| match (&*asked.host, &*asked.path) {
        ("10.0.0.2", "/robots.txt") => text("User-agent: *\nCrawl-delay: 2"),
        (_, "/robots.txt") => not_found(),
        (_, "/") => page(paths(20)),
        ("10.0.0.1", _) => page([""; 0]).after(secs(30)),
        _ => page([""; 0]),
    });
    assert_apart(&crawled, "10.0.0.2", secs(2));
}

/// A robots.txt that does not come holds up its own site only.
#[test]
fn silence_of_one_host_is_not_everybodys() {
    let mut options = options(&[A, B]);
    options.max_tasks = Some(2);
    let crawled = crawl(options, |asked| match (&*asked.host, &*asked.path) {
        ("10.0.0.1", _) => silence(),
        _ => site(30)(asked).after(millis(100)),
    });
    let last = crawled.asked_of("10.0.0.2").last().unwrap().1;
    assert!(last <= millis(3_200), "{last:?}");
}

#[test]
fn one_worker_serves_many_hosts() {
    let roots: Vec<String> = (1..=50).map(|n| format!("http://10.0.1.{n}/")).collect();
    let roots: Vec<&str> = roots.iter().map(String::as_str).collect();
    for tasks in [1, 2, 7] {
        let mut options = options(&roots);
        options.max_tasks = Some(tasks);
        options.delay = secs(1);
        let crawled = crawl(options, site(5));
        assert_eq!(crawled.rows.len(), 300);
        assert_eq!(crawled.asked.len(), 350);
        assert!(crawled.ending.peak_in_flight <= tasks as u64);
        // Seven requests to each, all hosts side by side.
        assert!(crawled.took <= secs(9), "{tasks}: {:?}", crawled.took);
    }
}

/// Every third request is one too many.
fn third_is_too_many(status: &'static str, headers: &'static str) -> Crawled {
    let mut requests = 0;
    crawl(options(&[A]), move |asked| {
        requests += 1;
        if requests % 3 == 0 { answer(status, headers, "") } else { site(60)(asked) }
    })
}

#[test]
fn a_site_that_is_soon_tired_is_crawled_completely() {
    for (status, headers) in [
        ("429 Too Many Requests", "Retry-After: 1\r\n"),
        ("503 Service Unavailable", "Retry-After: 1\r\n"),
        ("429 Too Many Requests", ""),
    ] {
        let crawled = third_is_too_many(status, headers);
        assert_eq!(crawled.rows.len(), 61);
        for row in &crawled.rows {
            assert_eq!((row.outcome, row.tries), (Outcome::Page, 1), "{row:?}");
        }
        assert_eq!(crawled.times("/robots.txt"), 1);
        let requests = crawled.asked.len();
        assert!((90..150).contains(&requests), "{requests}");
        // Nobody waits in a hurry.
        let stats = crawled.stats;
        assert!(stats.polls < 20 * requests as u64, "{stats:?} for {requests} requests");
        assert!(stats.ticks < 10 * requests as u64, "{stats:?} for {requests} requests");
    }
}

/// When the answer says so, nobody asks that host again before; others are
/// asked all the same.
#[test]
fn retry_after_is_for_the_whole_host() {
    let mut is_tired = true;
    let crawled = crawl(options(&[A, B]), move |asked| match (&*asked.host, &*asked.path) {
        ("10.0.0.1", "/7") if std::mem::take(&mut is_tired) => {
            answer("429 Too Many Requests", "Retry-After: 40\r\n", "").after(secs(1))
        }
        _ => site(100)(asked).after(secs(1)),
    });
    let asked = crawled.asked_of("10.0.0.1");
    let refused = asked.iter().find(|(path, _)| *path == "/7").unwrap().1 + secs(1);
    let between = asked.iter().filter(|(_, at)| refused < *at && *at < refused + secs(40));
    assert_eq!(between.count(), 0, "{asked:?}");
    assert!(asked.iter().any(|(path, at)| *path == "/7" && *at == refused + secs(40)));
    let others = crawled.asked_of("10.0.0.2");
    assert!(others.iter().filter(|(_, at)| refused < *at && *at < refused + secs(39)).count() > 50);
    assert!(crawled.rows.iter().all(|row| row.outcome == Outcome::Page));
}

/// Half as many at a time as before, and slowly more again.
#[test]
fn a_tired_host_is_asked_less_at_a_time() {
    let mut is_tired = true;
    let crawled = crawl(options(&[A]), move |asked| match &*asked.path {
        "/0" if std::mem::take(&mut is_tired) => {
            answer("429 Too Many Requests", "Retry-After: 5\r\n", "").after(secs(1))
        }
        _ => site(200)(asked).after(secs(1)),
    });
    let mut per_second: HashMap<u64, usize> = HashMap::new();
    for (_, at) in crawled.asked_of("10.0.0.1") {
        *per_second.entry(at.as_secs()).or_default() += 1;
    }
    let at = |second| per_second.get(&second).copied().unwrap_or(0);
    // robots.txt, the root, ten pages; then the pause.
    assert_eq!([at(0), at(1), at(2), at(3)], [1, 1, 10, 0]);
    assert_eq!([at(8), at(9), at(10)], [5, 5, 6]);
    assert!(at(20) > at(10), "{per_second:?}");
    assert_eq!(crawled.rows.len(), 201);
}

#[test]
fn a_date_will_do_and_nonsense_is_none() {
    for value in ["Fri, 31 Dec 2100 23:59:59 GMT", "soon", "-5", "0", "999999999999999999999"] {
        let mut is_tired = true;
        let crawled = crawl(options(&[A]), move |asked| match &*asked.path {
            "/" if std::mem::take(&mut is_tired) => {
                answer("429 Too Many Requests", &format!("Retry-After: {value}\r\n"), "")
            }
            _ => site(0)(asked),
        });
        assert_eq!(crawled.row(A).outcome, Outcome::Page, "{value}");
        let pause = if value.len() > 10 { secs(60) } else { secs(1) };
        assert_eq!(crawled.took, pause, "{value}");
    }
}

/// A URL that is never answered comes a few times, and then is told; it is not
/// broken. What works works.
#[test]
fn one_page_that_has_never_time() {
    let crawled = crawl(options(&[A]), |asked| match &*asked.path {
        "/3" => answer("429 Too Many Requests", "Retry-After: 1\r\n", ""),
        _ => site(10)(asked),
    });
    assert_eq!(crawled.rows.len(), 11);
    let row = crawled.row("http://10.0.0.1/3");
    assert_eq!((row.outcome, row.status), (Outcome::Skipped, Some(429)));
    assert_eq!(class(row), Some(ErrorClass::RateLimited));
    assert!(!row.is_broken());
    assert_eq!(crawled.times("/3"), 6);
}

/// A host that never has time is given up, and it does not take long.
#[test]
fn a_site_that_has_never_time() {
    for (status, outcome) in [("429 No", Outcome::Skipped), ("503 No", Outcome::HttpError)] {
        let crawled = crawl(options(&[A]), move |asked| match &*asked.path {
            "/robots.txt" | "/" => site(1_000)(asked),
            _ => answer(status, "Retry-After: 30\r\n", ""),
        });
        assert_eq!(crawled.rows.len(), 1_001);
        let pages = crawled.rows.iter().filter(|row| row.status == Some(200));
        assert_eq!(pages.count(), 1);
        let answered = crawled.rows.iter().filter(|row| row.status.is_some_and(|s| s != 200));
        assert!(answered.clone().count() < 10);
        assert!(answered.clone().all(|row| row.outcome == outcome));
        let given_up = crawled.rows.iter().filter(|row| row.status.is_none());
        assert!(given_up.clone().count() > 990);
        assert!(given_up.clone().all(|row| class(row) == Some(ErrorClass::RateLimited)));
        assert!(crawled.took <= secs(30 * 11), "{:?}", crawled.took);
        assert!(crawled.asked.len() < 40, "{}", crawled.asked.len());
    }
}

/// A 503 that does not say when to come back is an answer.
#[test]
fn out_of_order_is_not_out_of_time() {
    let crawled = crawl(options(&[A]), |asked| match &*asked.path {
        "/1" => answer("503 Oops", "", ""),
        _ => site(2)(asked),
    });
    let row = crawled.row("http://10.0.0.1/1");
    assert_eq!((row.outcome, row.status, row.tries), (Outcome::HttpError, Some(503), 1));
    assert_eq!(crawled.times("/1"), 1);
    assert_eq!(crawled.took, secs(0));
}

/// robots.txt may be put off like everything else.
#[test]
fn robots_txt_comes_again() {
    let mut times = 0;
    let crawled = crawl(options(&[A]), move |asked| {
        if asked.path == "/robots.txt" {
            times += 1;
            if times < 4 {
                return answer("429 Too Many Requests", "Retry-After: 10\r\n", "");
            }
            return text("User-agent: *\nDisallow: /1");
        }
        site(10)(asked)
    });
    assert_eq!(crawled.rows.len(), 11);
    assert_eq!(class(crawled.row("http://10.0.0.1/1")), Some(ErrorClass::Robots));
    assert_eq!((crawled.times("/robots.txt"), crawled.took), (4, secs(30)));
}
