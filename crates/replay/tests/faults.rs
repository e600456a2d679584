//! A network on which one answer in five is cut, damaged or lost.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use common::faults::Plan;
use common::gateway::Gateway;
use common::tls::{good_server, secure_options};
use common::{Crawled, Stage, demo_site, options};
use crawl_core::{ErrorClass, Options, Outcome, Row};
use demo_site::DemoSite;

const PAGES: u32 = 2_000;
/// Enough of them to see how each loss is told.
const FEW_PAGES: u32 = 500;
const SEED: u64 = 6;
const BROKEN_GREETINGS: u64 = 20;
/// Of those who hear nothing more. It is much more than an answer takes while
/// eight crawls of fifty connections share a machine that is busy already.
const PATIENCE: Duration = Duration::from_secs(2);

/// A site, and what its pages are when nothing happens to them: their sizes
/// and how many links they have.
struct Site {
    site: DemoSite,
    whole: BTreeMap<String, (u64, u32)>,
}

impl Site {
    fn new(pages: u32) -> Self {
        let site = demo_site(pages, |site| site.page_size = 0);
        let crawled = Stage::Queue.crawl(options(site.root()));
        let of = |row: &Row| (path(row), (row.size, row.num_urls));
        let whole: BTreeMap<_, _> = crawled.rows().values().map(of).collect();
        assert_eq!(whole.len(), pages as usize);
        Self { site, whole }
    }
}

static SITE: LazyLock<Site> = LazyLock::new(|| Site::new(PAGES));
static SMALL_SITE: LazyLock<Site> = LazyLock::new(|| Site::new(FEW_PAGES));

fn path(row: &Row) -> String {
    let url: url::Url = row.url.parse().unwrap();
    url.path().to_owned()
}

fn plan(is_secure: bool) -> Plan {
    Plan { seed: SEED, broken_greetings: BROKEN_GREETINGS, is_secure }
}

fn crawl(stage: Stage, site: &Site, plan: Plan, max_tries: u32) -> (Gateway, Crawled) {
    let gateway = Gateway::before(site.site.address(), plan, plan.is_secure.then(good_server));
    let mut options: Options = secure_options(gateway.url("/"));
    options.max_tasks = Some(50);
    options.max_tries = max_tries;
    options.read_timeout = PATIENCE;
    let crawled = stage.crawl(options);
    (gateway, crawled)
}

/// With enough tries every page is found, and found whole.
fn every_page(stage: Stage, is_secure: bool) {
    let (site, plan) = (&*SITE, plan(is_secure));
    // All that can happen to one page, should it all happen to one page.
    let max_tries = Plan::MOST_PER_PATH + BROKEN_GREETINGS as u32 + 1;
    let (gateway, crawled) = crawl(stage, site, plan, max_tries);
    assert_eq!(crawled.rows().len(), site.whole.len(), "{stage:?}");
    let attempts = gateway.attempts();
    let (mut tries, mut lost) = (0, 0);
    for row in crawled.rows().values() {
        let path = path(row);
        assert_eq!((row.outcome, row.status), (Outcome::Page, Some(200)), "{stage:?}: {row:?}");
        assert_eq!((row.size, row.num_urls), site.whole[&path], "{stage:?}: {row:?}");
        // Each attempt was lost that was to be, and the first good one was
        // the last.
        assert_eq!(attempts[&path], 1 + plan.lost_attempts(&path), "{stage:?}: {row:?}");
        tries += u64::from(row.tries);
        lost += u64::from(plan.lost_attempts(&path));
    }
    let pages = site.whole.len() as u64;
    assert!(lost > pages / 10, "{lost} attempts were lost");
    if stage != Stage::Queue {
        // Whoever keeps connections may find one ended, which is no try.
        let total = pages + lost + BROKEN_GREETINGS;
        assert_eq!((tries, gateway.connections()), (total, total), "{stage:?}");
    }
}

/// With one try, what was lost is told, and what was cut is no page.
fn every_loss(stage: Stage, is_secure: bool) {
    let (site, plan) = (&*SMALL_SITE, plan(is_secure));
    let (gateway, crawled) = crawl(stage, site, plan, 1);
    let mut lost = 0;
    for row in crawled.rows().values() {
        let path = path(row);
        if row.outcome == Outcome::Page {
            assert_eq!((row.size, row.num_urls), site.whole[&path], "{stage:?}: {row:?}");
            continue;
        }
        lost += 1;
        assert_eq!((row.outcome, row.tries), (Outcome::Failed, 1), "{stage:?}: {row:?}");
        let class = row.error.as_ref().unwrap().class;
        let expected = match row.status {
            Some(_) => &[ErrorClass::Truncated, ErrorClass::Timeout][..],
            None => &[
                ErrorClass::Connect,
                ErrorClass::Closed,
                // In the middle of the head.
                ErrorClass::Truncated,
                ErrorClass::Timeout,
            ],
        };
        assert!(expected.contains(&class), "{stage:?}: {row:?}");
        assert_eq!(row.num_urls, 0, "{stage:?}: {row:?}");
    }
    assert!(lost > crawled.rows().len() / 20, "{stage:?}: {lost} were lost");
    if stage != Stage::Queue {
        let is_lost = |path: &String| plan.lost_attempts(path) > 0;
        let planned = gateway.attempts().keys().filter(|path| is_lost(path)).count();
        assert_eq!(lost, planned + BROKEN_GREETINGS as usize, "{stage:?}");
    }
}

/// Side by side, because most of what they do is wait.
fn every_stage(check: fn(Stage, bool), is_secure: bool) {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            scope.spawn(move || check(stage, is_secure));
        }
    });
}

#[test]
fn every_page_is_found_in_the_end() {
    every_stage(every_page, false);
}

#[test]
fn every_page_is_found_in_the_end_over_tls() {
    every_stage(every_page, true);
}

#[test]
fn every_loss_is_told() {
    every_stage(every_loss, false);
}

#[test]
fn every_loss_is_told_over_tls() {
    every_stage(every_loss, true);
}
