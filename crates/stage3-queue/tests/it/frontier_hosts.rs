//! The hosts of a frontier, step by step: their rules, the memory for them, and hosts
//! that are busy. The test is the worker.

use std::collections::HashMap;
use std::pin::pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::common::{THROTTLED, options};
use crawl_core::{ErrorClass, FetchError, Finished, Options, Row, Visit};
use serde_json::json;
use stage2_coroutines::{Coroutine, Runtime, sleep};
use stage3_queue::{
    Claim, Frontier, Gate, Health, JobResult, JoinableQueue, LocalClaim, LocalFrontier, Reporting,
    Rules, Seeds,
};
use test_support::event_loops::virtual_loop;
use url::Url;
use web::Address;
use web::robots::Robots;

const A: &str = "http://10.0.0.1/";

/// The longest wait for a busy host.
const MAX_WAIT: Duration = Duration::from_secs(60);

const MIB: usize = 1 << 20;

/// Returns rules that take so many bytes, or as many as one rule takes at least.
fn robots_of(size: usize) -> Robots {
    let of = |text: String| -> Robots {
        let rule = json!({"pattern": {"octets": 1, "text": text}, "allows": true});
        let rules = if size > 0 { vec![rule] } else { Vec::new() };
        serde_json::from_value(json!({"rules": rules, "crawl_delay": null})).unwrap()
    };
    let least = of(String::new()).memory();
    of("/".repeat(size.saturating_sub(least)))
}

/// Polls a coroutine once.
fn poll_once<C: Coroutine>(coroutine: C) -> Poll<C::Output> {
    pin!(coroutine).poll(&mut Context::from_waker(Waker::noop()))
}

/// Completes a coroutine that does not wait.
fn now<C: Coroutine>(coroutine: C) -> C::Output {
    match poll_once(coroutine) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the local frontier waits for nothing here"),
    }
}

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

/// A frontier, and the only one who takes its jobs.
struct Worker {
    runtime: Runtime,
    frontier: LocalFrontier,
    rows: Arc<Mutex<Vec<Row>>>,
}

/// A claim on a URL, and its visit.
type Fetch = (LocalClaim, Visit);

impl Worker {
    fn new(options: Options) -> Self {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
        let sink = Arc::clone(&rows);
        let sink = Box::new(move |row| sink.lock().unwrap().push(row));
        let q = JoinableQueue::new(&event_loop);
        let frontier = LocalFrontier::new(&event_loop, q, options, sink);
        Self { runtime, frontier, rows }
    }

    fn sleep(&self, duration: Duration) {
        self.runtime.run_until_complete(sleep(self.runtime.event_loop(), duration)).unwrap();
    }

    /// Takes a claim, if a job may start now.
    fn claim(&self) -> Option<LocalClaim> {
        match poll_once(self.frontier.next()) {
            Poll::Ready(claim) => Some(claim),
            Poll::Pending => None,
        }
    }

    /// Begins to fetch a URL that may be asked now.
    fn fetch(&self) -> Fetch {
        let claim = self.claim().expect("a URL may be asked");
        assert!(!claim.is_for_rules());
        let visit = claim.visit();
        (claim, visit)
    }

    /// Ends a fetch: the server is busy.
    fn busy(&self, (claim, mut visit): Fetch) {
        visit.request(&Options::new(Vec::new()), true);
        let response = b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n";
        assert!(visit.receive(response).is_break());
        self.frontier.record_attempt(&visit, None);
        visit.judge(Ok(()));
        let finished = visit.finish(self.runtime.event_loop().now());
        if claim.may_defer(&THROTTLED) {
            now(self.frontier.defer(claim, THROTTLED));
        } else {
            now(self.frontier.complete(claim, JobResult::Url(Box::new(finished))));
        }
    }

    /// Asks for the rules of a site, and does not wait for them.
    fn rules(&self, site: &str) -> Poll<Option<Rc<Rules>>> {
        poll_once(self.frontier.rules(&url(site)))
    }

    /// Returns true if the rules of a site are known. If not, they are fetched next.
    fn knows_rules(&self, site: &str) -> bool {
        matches!(self.rules(site), Poll::Ready(Some(_)))
    }

    /// Ends the claim on the robots.txt of a site: its rules take about so many bytes.
    fn set_rules(&self, site: &str, size: usize) {
        let claim = self.claim().expect("a robots.txt may be asked");
        assert_eq!(*claim.as_ref().url, *format!("{site}robots.txt"));
        assert!(claim.is_for_rules());
        let rules = Rules::Robots { robots: robots_of(size), reason: String::new() };
        now(self.frontier.complete(claim, JobResult::Rules(Box::new(rules))));
    }

    /// Fetches the robots.txt of a site without jobs.
    fn fetch_rules(&self, site: &str, size: usize) {
        assert!(self.rules(site).is_pending());
        self.set_rules(site, size);
    }
}

/// A claim that is dropped gives its URL back: it comes next, not in a later run.
#[test]
fn a_url_whose_claim_is_dropped_is_asked_again() {
    let mut options = options(&[A]);
    options.settings.robots = false;
    let worker = Worker::new(options);
    drop(worker.fetch());
    let (claim, _) = worker.fetch();
    assert_eq!(&*claim.as_ref().url, A);
    drop(claim);
    assert_eq!(worker.frontier.end().todo, 1);
}

/// A task that waits for the rules of a site does not wait forever.
#[test]
fn rules_do_not_come_any_more_once_the_frontier_is_stopped() {
    let worker = Worker::new(options(&[]));
    assert!(worker.rules(A).is_pending());
    worker.frontier.stop();
    assert!(matches!(worker.rules(A), Poll::Ready(None)));
    assert!(matches!(worker.rules("http://10.0.0.2/"), Poll::Ready(None)));
}

#[test]
fn no_robots_txt_is_asked_for_once_the_frontier_is_stopped() {
    let mut options = options(&[A]);
    options.settings.robots = true;
    let worker = Worker::new(options);
    worker.frontier.stop();
    assert!(worker.claim().is_none());
    assert_eq!(worker.frontier.end().todo, 1);
}

/// A robots.txt for which no task waits any more is not asked again.
#[test]
fn rules_of_which_the_claim_is_dropped_are_fetched_only_if_wanted() {
    let mut options = options(&[]);
    options.settings.robots = true;
    let worker = Worker::new(options);
    assert!(worker.rules(A).is_pending());
    let claim = worker.claim().unwrap();
    assert!(claim.is_for_rules() && worker.rules(A).is_pending());
    drop(claim);
    assert!(worker.claim().is_none());
    assert!(poll_once(worker.frontier.join()).is_ready());
    worker.fetch_rules(A, 0);
    assert!(worker.knows_rules(A));
}

/// Rules take at most 64 MiB. Above that, those of a host without work are dropped as
/// soon as the task has them that waits for them, and others are kept.
#[test]
fn the_memory_for_rules_has_a_limit() {
    let mut options = options(&[A]);
    options.settings.robots = true;
    let worker = Worker::new(options);
    worker.set_rules(A, 40 * MIB);
    let (claim, visit) = worker.fetch();
    let [b, c] = ["http://10.0.0.2/", "http://10.0.0.3/"];
    worker.fetch_rules(b, 24 * MIB);
    // What was dropped is not counted any more.
    for _ in 0..3 {
        worker.fetch_rules(c, 1);
        assert!(worker.knows_rules(c));
    }
    assert!(worker.knows_rules(A) && worker.knows_rules(b));
    worker.fetch_rules(c, 0);
    assert!(worker.knows_rules(c));

    // Those of a host that is given up take none.
    let error = FetchError::new(ErrorClass::Connect, "refused");
    assert_eq!(worker.frontier.record_attempt(&visit, Some(&error)), Health::Alive);
    worker.sleep(Duration::from_secs(5));
    while worker.frontier.record_attempt(&visit, Some(&error)) == Health::Alive {}
    let d = "http://10.0.0.4/";
    worker.fetch_rules(d, 40 * MIB);
    assert!(worker.knows_rules(d));
    drop(claim);
}

/// However large the rules of a host are, they are kept while it has work.
#[test]
fn rules_of_a_host_with_work_are_kept() {
    let mut options = options(&[A]);
    options.settings.robots = true;
    let worker = Worker::new(options);
    worker.set_rules(A, 65 * MIB);
    let _fetch = worker.fetch();
    assert!(worker.knows_rules(A));
}

/// Rules that hosts with work keep have a limit, too: above 256 MiB, another host waits for
/// its own until some have no more work.
#[test]
fn hosts_that_sleep_with_large_rules_do_not_fill_the_memory() {
    crawl_with_large_rules(["http", "http"], "http");
}

/// Small rules of one origin of a host do not let it have large ones of the other.
#[test]
fn a_host_with_one_known_origin_is_held_back_too() {
    crawl_with_large_rules(["http", "https", "https"], "https");
}

/// Else all hosts would wait for each other's memory.
#[test]
fn a_host_that_needs_other_rules_gives_its_own_back() {
    crawl_with_large_rules(["http", "https"], "http");
}

/// Crawls six hosts with a root for each of these schemes. The rules of the origins with
/// schemes that begin with `large` are large.
fn crawl_with_large_rules<const N: usize>(schemes: [&str; N], large: &str) {
    let root = |n| format!("{}://10.0.0.{}/{n}", schemes[n / 6], n % 6 + 1);
    let roots: Vec<String> = (0..6 * N).map(root).collect();
    let mut options = options(&roots.iter().map(String::as_str).collect::<Vec<_>>());
    (options.settings.robots, options.max_tasks) = (true, Some(1));
    options.settings.delay = Duration::from_secs(30);
    let worker = Worker::new(options);
    // The numbers of roots that large rules are kept for, of each origin.
    let (robots, mut todo) = (robots_of(65 * MIB), HashMap::new());
    // Far more rounds than it takes.
    for _ in 0..1_000 {
        let Some(claim) = worker.claim() else {
            worker.sleep(Duration::from_secs(1));
            continue;
        };
        let origin = url(&claim.as_ref().url).origin().ascii_serialization();
        if claim.is_for_rules() {
            let is_large = origin.starts_with(large);
            if is_large {
                let num_roots = roots.iter().filter(|root| root.starts_with(&*origin)).count();
                assert_eq!(todo.insert(origin, num_roots), None, "its rules were not dropped");
                assert!(todo.len() <= 4, "{todo:?}");
            }
            let robots = if is_large { robots.clone() } else { Robots::default() };
            let rules = Rules::Robots { robots, reason: String::new() };
            now(worker.frontier.complete(claim, JobResult::Rules(Box::new(rules))));
        } else {
            todo.entry(origin).and_modify(|left| *left -= 1);
            todo.retain(|_, left| *left > 0);
            let finished = Finished::with_panic(&claim, "a test");
            now(worker.frontier.complete(claim, JobResult::Url(Box::new(finished))));
        }
    }
    assert!(poll_once(worker.frontier.join()).is_ready());
    assert_eq!(worker.rows.lock().unwrap().len(), roots.len());
}

/// The time in which it was not asked is not the host's, and it is not told as a wait for it.
#[test]
fn a_host_that_was_held_back_is_not_given_up_for_it() {
    let roots: Vec<String> = (1..=6).map(|n| format!("http://10.0.0.{n}/")).collect();
    let mut options = options(&roots.iter().map(String::as_str).collect::<Vec<_>>());
    (options.settings.robots, options.settings.max_wait) = (true, MAX_WAIT);
    let worker = Worker::new(options);
    let claim_of_rules = |host: usize| {
        let claim = worker.claim().expect("a robots.txt may be asked");
        assert_eq!(*claim.as_ref().url, *format!("{}robots.txt", roots[host]));
        claim
    };
    let is_busy = |claim: LocalClaim| {
        let mut visit = claim.visit();
        visit.request(&Options::new(Vec::new()), true);
        assert!(visit.receive(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n").is_break());
        worker.frontier.record_attempt(&visit, None);
        now(worker.frontier.defer(claim, THROTTLED));
        worker.frontier.is_given_up(Address::of_normalised(&roots[0]))
    };
    let busy = claim_of_rules(0);
    let large: Vec<_> = (1..6).map(claim_of_rules).collect();
    assert!(!is_busy(busy));
    for claim in large {
        let rules = Rules::Robots { robots: robots_of(65 * MIB), reason: String::new() };
        now(worker.frontier.complete(claim, JobResult::Rules(Box::new(rules))));
    }
    let of_others: Vec<_> = (1..6).map(|_| worker.fetch()).collect();
    for _ in 0..180 {
        worker.sleep(Duration::from_secs(1));
        assert!(worker.claim().is_none(), "there is no memory for its rules");
        assert_eq!(worker.frontier.waits(), []);
    }
    for (claim, _) in of_others {
        let finished = Finished::with_panic(&claim, "a test");
        now(worker.frontier.complete(claim, JobResult::Url(Box::new(finished))));
    }
    worker.sleep(Duration::from_secs(1));
    assert!(!is_busy(claim_of_rules(0)));
}

/// The rules of a host that is given up while they are fetched are dropped like others.
#[test]
fn rules_for_a_host_that_was_given_up_take_no_memory() {
    let roots = [A, "http://10.0.0.1/1", "https://10.0.0.1/2", "http://10.0.0.3/"];
    let mut options = options(&roots);
    (options.settings.robots, options.max_tasks) = (true, Some(6));
    options.settings.max_wait = MAX_WAIT;
    let worker = Worker::new(options);
    worker.set_rules(A, 0);
    // While another host has work, the URLs of the busy one are not asked once more.
    let _of_another = worker.claim().unwrap();
    let [first, second] = [worker.fetch(), worker.fetch()];
    let of_https = worker.claim().unwrap();
    assert!(of_https.is_for_rules());
    worker.busy(first);
    worker.sleep(2 * MAX_WAIT);
    worker.busy(second);
    let rules = Rules::Robots { robots: robots_of(65 * MIB), reason: String::new() };
    now(worker.frontier.complete(of_https, JobResult::Rules(Box::new(rules))));
    let b = "http://10.0.0.2/";
    worker.fetch_rules(b, 1);
    assert!(worker.knows_rules(b) && worker.knows_rules(b), "there is memory for them");
}

/// Returns a frontier whose host is given up: two of its URLs were asked, and were busy
/// all the time. One of them was asked again, and can be claimed.
fn with_a_busy_host() -> Worker {
    let mut options = options(&[A, "http://10.0.0.1/1"]);
    (options.settings.robots, options.max_tasks) = (true, Some(2));
    options.settings.max_wait = MAX_WAIT;
    let worker = Worker::new(options);
    worker.set_rules(A, 0);
    let [first, second] = [worker.fetch(), worker.fetch()];
    worker.busy(first);
    worker.sleep(2 * MAX_WAIT);
    worker.busy(second);
    worker
}

/// The rules of the other origin of a busy host are not asked for: nothing would wait
/// for them.
#[test]
fn rules_of_a_busy_host_do_not_come_any_more() {
    let worker = with_a_busy_host();
    assert!(worker.knows_rules(A));
    assert!(matches!(worker.rules("https://10.0.0.1/"), Poll::Ready(None)));
}

/// URLs that were asked before their host was given up are asked once more, with short
/// pauses, and get their rows. So a host with no other URLs is not named in the end.
#[test]
fn a_busy_host_of_which_nothing_is_left_is_not_named() {
    let worker = with_a_busy_host();
    worker.busy(worker.fetch());
    worker.busy(worker.fetch());
    assert!(worker.claim().is_none());
    worker.sleep(MAX_WAIT / 600 - Duration::from_millis(1));
    assert!(worker.claim().is_none());
    worker.sleep(Duration::from_millis(1));
    worker.busy(worker.fetch());
    assert!(poll_once(worker.frontier.join()).is_ready());
    let summary = worker.frontier.end();
    assert_eq!((worker.rows.lock().unwrap().len(), summary.todo), (2, 0));
    assert!(summary.busy_hosts.is_empty(), "{:?}", summary.busy_hosts);
}

/// The answers to requests that were in flight when a host was given up are busy, too.
/// The host is named all the same, with its URLs that are left to do.
#[test]
fn a_host_that_is_busy_once_more_is_still_named() {
    let mut options = options(&[A, "http://10.0.0.1/1", "http://10.0.0.1/2", "http://10.0.0.1/3"]);
    (options.settings.robots, options.max_tasks) = (false, Some(2));
    options.settings.max_wait = MAX_WAIT;
    let worker = Worker::new(options);
    let [first, second] = [worker.fetch(), worker.fetch()];
    worker.busy(first);
    worker.sleep(2 * MAX_WAIT);
    let third = worker.fetch();
    worker.busy(second);
    worker.busy(third);
    let summary = worker.frontier.end();
    let left: Vec<_> = summary.busy_hosts.iter().map(|host| (&*host.host, host.todo)).collect();
    assert_eq!(left, [("10.0.0.1", 1)]);
}

/// URLs of a busy host that come later are left to do, and the host is named.
#[test]
fn a_url_of_a_busy_host_is_left_to_do() {
    let worker = with_a_busy_host();
    now(worker.frontier.seed(&url("http://10.0.0.1/2")));
    let summary = worker.frontier.end();
    let left: Vec<_> = summary.busy_hosts.iter().map(|host| (&*host.host, host.todo)).collect();
    assert_eq!(left, [("10.0.0.1", 1)]);
}

/// Hosts that wait for the only worker get it in turn, for eight URLs each.
#[test]
fn hosts_share_a_worker_in_turns_of_eight() {
    let roots: Vec<String> = (0..40).map(|n| format!("http://10.0.0.{}/{n}", n % 2 + 1)).collect();
    let mut options = options(&roots.iter().map(String::as_str).collect::<Vec<_>>());
    (options.settings.robots, options.max_tasks) = (false, Some(1));
    let worker = Worker::new(options);
    let mut turns: Vec<(char, usize)> = Vec::new();
    for _ in 0..40 {
        let (claim, _) = worker.fetch();
        assert!(worker.claim().is_none());
        let host = char::from(claim.as_ref().url.as_bytes()["http://10.0.0.".len()]);
        match turns.last_mut() {
            Some((last, n)) if *last == host => *n += 1,
            _ => turns.push((host, 1)),
        }
        let finished = Finished::with_panic(&claim, "a test");
        now(worker.frontier.complete(claim, JobResult::Url(Box::new(finished))));
    }
    assert_eq!(turns, [('1', 8), ('2', 8), ('1', 8), ('2', 8), ('1', 4), ('2', 4)]);
}
