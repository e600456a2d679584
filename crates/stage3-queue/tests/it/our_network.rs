//! A machine without DNS or without a route: what fails because of us is no fault of a site.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{class, options, paths};
use crawl_core::{CrawlSummary, ErrorClass, ExternalVerdict, Options, Outcome, Row};
use sim_net::{SimNet, not_found, page};
use stage2_coroutines::runtime_on;
use stage3_queue::Crawler;
use transport::Immediate;

const SITE: &str = "http://site.test/";

/// A crawl, and the number of lookups of each name.
struct Crawled {
    rows: HashMap<String, Row>,
    summary: CrawlSummary,
    lookups: HashMap<String, u32>,
    elapsed: Duration,
}

/// Crawls a site whose root links to `links`. `fails` says if a name server gives no answer for
/// a name, which was looked up so many times before.
fn crawl_with_dns(
    options: Options,
    links: Vec<String>,
    fails: impl Fn(&str, u32) -> bool + Send + Sync + 'static,
) -> Crawled {
    let net = SimNet::new(move |request| match &*request.path {
        "/" => page(links.clone()),
        "/robots.txt" => not_found(),
        _ => page([""; 0]),
    });
    let lookups: Arc<Mutex<HashMap<String, u32>>> = Arc::default();
    let count = Arc::clone(&lookups);
    let lookup = move |name: &str, port: u16| -> io::Result<Vec<SocketAddr>> {
        let mut counts = count.lock().unwrap();
        let times = counts.entry(name.to_owned()).or_default();
        *times += 1;
        if fails(name, *times - 1) {
            let reason = "failed to lookup address information: \
                          Temporary failure in name resolution";
            return Err(io::Error::other(reason));
        }
        if name.starts_with("gone") {
            return Err(io::Error::other("Name or service not known"));
        }
        Ok(vec![([10, 0, 0, 1], port).into()])
    };
    let runtime = runtime_on(net.clone(), Arc::new(Immediate(lookup)));
    let mut rows = HashMap::new();
    let crawler = Crawler::builder(options).on_row(|row| {
        assert!(rows.insert(row.url.to_string(), row).is_none());
    });
    let summary = crawler.run_on(runtime).unwrap();
    let lookups = lookups.lock().unwrap().clone();
    Crawled { rows, summary, lookups, elapsed: net.elapsed() }
}

fn checking(root: &str, robots: bool) -> Options {
    let mut options = options(&[root]);
    options.settings.external = true;
    options.settings.robots = robots;
    options.settings.max_tries = 4;
    options
}

/// The name server is away for two seconds: nothing is lost.
#[test]
fn names_without_an_answer_are_looked_up_once_more_at_the_end() {
    for robots in [true, false] {
        let links = ["http://away.test/1", "http://away.test/2", "http://other.test/"];
        let links = links.map(str::to_owned).into_iter().chain(paths(20)).collect();
        let crawled = crawl_with_dns(checking(SITE, robots), links, |name, times| {
            name == "away.test" && times < 6
        });
        assert_eq!(crawled.rows.len(), 24);
        for row in crawled.rows.values() {
            assert_eq!((row.status, row.verdict), (Some(200), None), "{row:?}");
        }
        assert_eq!(crawled.summary.problem, None);
        assert!(crawled.elapsed < Duration::from_secs(7), "{:?}", crawled.elapsed);
    }
    // The site itself.
    let crawled = crawl_with_dns(checking(SITE, true), paths(5), |_, times| times < 4);
    assert_eq!(crawled.rows.len(), 6);
    assert!(crawled.rows.values().all(|row| row.outcome == Outcome::Page));
}

/// A name that keeps failing while others are resolved is broken, with a class of its own.
#[test]
fn one_name_that_never_has_an_answer_is_broken() {
    for robots in [true, false] {
        let links = (0..30).map(|n| format!("http://away.test/{n}"));
        let links = links.chain(["http://gone.test/".to_owned()]).chain(paths(5)).collect();
        let crawled = crawl_with_dns(checking(SITE, robots), links, |name, _| name == "away.test");
        assert_eq!(crawled.rows.len(), 37);
        for n in 0..30 {
            let row = &crawled.rows[&format!("http://away.test/{n}")];
            let is = (class(row), row.verdict, row.is_broken());
            let expected = (Some(ErrorClass::DnsTemporary), Some(ExternalVerdict::Dead), true);
            assert_eq!(is, expected, "{row:?}");
        }
        assert_eq!(class(&crawled.rows["http://gone.test/"]), Some(ErrorClass::Dns));
        assert_eq!((crawled.summary.problem.as_deref(), crawled.summary.todo), (None, 0));
        assert!(crawled.elapsed < Duration::from_secs(20), "{:?}", crawled.elapsed);
        if robots {
            // For its robots.txt, twice.
            assert_eq!(crawled.lookups["away.test"], 8);
        }
    }
}

/// Without DNS, nothing was checked: that is said, and nothing is called broken.
#[test]
fn a_machine_without_dns_has_a_problem() {
    for robots in [true, false] {
        let root = "http://10.0.0.1/";
        let links = ["http://a.test/", "http://b.test/x", "http://b.test/y"].map(str::to_owned);
        let crawled = crawl_with_dns(checking(root, robots), links.to_vec(), |_, _| true);
        assert_eq!(
            crawled.summary.problem.as_deref(),
            Some("3 links not checked: this machine has no DNS (no network)")
        );
        let broken = crawled.rows.values().find(|row| row.is_broken());
        assert!(broken.is_none(), "{broken:?}");
        assert_eq!(crawled.rows.len(), 4);
    }
}

/// The user wants one attempt.
#[test]
fn with_one_attempt_no_name_is_looked_up_again() {
    let mut options = checking(SITE, false);
    options.settings.max_tries = 1;
    let links = vec!["http://away.test/".to_owned()];
    let crawled = crawl_with_dns(options, links, |name, _| name == "away.test");
    assert_eq!(crawled.lookups["away.test"], 1);
}
