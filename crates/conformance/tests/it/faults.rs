//! Fault injection: crawls through a proxy on which one response in five is cut,
//! damaged, delayed or lost.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use crawl_core::{ErrorClass, Options, Outcome, Row};
use demo_site::DemoSite;

use crate::common::fault_proxy::FaultProxy;
use crate::common::faults::FaultPlan;
use crate::common::tls::{secure_options, valid_server_config};
use crate::common::{Crawled, Stage, demo_site, options};

const PAGES: u32 = 500;
/// Enough pages to see the row of each kind of failure, and all connections that are reset.
const FEW_PAGES: u32 = 300;
const SEED: u64 = 6;
const RESET_CONNECTIONS: u64 = 20;
/// The timeout for a silent server. A response takes much less, even while
/// eight crawls of fifty connections share a busy machine.
const READ_TIMEOUT: Duration = Duration::from_secs(4);

/// A site without faults, with the size and the number of links of each page.
struct CleanSite {
    server: DemoSite,
    pages: BTreeMap<String, (Option<u64>, u32)>,
}

impl CleanSite {
    fn new(pages: u32) -> Self {
        let server = demo_site(pages, |site| site.page_size = 0);
        let crawled = Stage::Queue.crawl(options(server.root()));
        let page = |row: &Row| (path(row), (row.size, row.num_urls));
        let pages_by_path: BTreeMap<_, _> = crawled.rows().values().map(page).collect();
        assert_eq!(pages_by_path.len(), pages as usize);
        Self { server, pages: pages_by_path }
    }
}

static SITE: LazyLock<CleanSite> = LazyLock::new(|| CleanSite::new(PAGES));
static SMALL_SITE: LazyLock<CleanSite> = LazyLock::new(|| CleanSite::new(FEW_PAGES));

fn path(row: &Row) -> String {
    let url: url::Url = row.url.parse().unwrap();
    url.path().to_owned()
}

fn plan(is_secure: bool) -> FaultPlan {
    FaultPlan { seed: SEED, reset_connections: RESET_CONNECTIONS, is_secure }
}

fn crawl(stage: Stage, site: &CleanSite, plan: FaultPlan, max_tries: u32) -> (FaultProxy, Crawled) {
    let tls = plan.is_secure.then(valid_server_config);
    let proxy = FaultProxy::start(site.server.address(), plan, tls);
    let mut options: Options = secure_options(proxy.url("/"));
    options.max_tasks = Some(50);
    options.settings.max_tries = max_tries;
    options.settings.read_timeout = READ_TIMEOUT;
    let crawled = stage.crawl(options);
    (proxy, crawled)
}

/// Checks that with enough tries every page is found complete.
fn check_every_page(stage: Stage, is_secure: bool) {
    let (site, plan) = (&*SITE, plan(is_secure));
    // As many tries as there could be faults on one page.
    let max_tries = FaultPlan::MAX_PER_PATH + RESET_CONNECTIONS as u32 + 1;
    let (proxy, crawled) = crawl(stage, site, plan, max_tries);
    assert_eq!(crawled.rows().len(), site.pages.len(), "{stage:?}");
    let attempts = proxy.attempts();
    let (mut tries, mut failed) = (0, 0);
    for row in crawled.rows().values() {
        let path = path(row);
        assert_eq!((row.outcome, row.status), (Outcome::Page, Some(200)), "{stage:?}: {row:?}");
        assert_eq!((row.size, row.num_urls), site.pages[&path], "{stage:?}: {row:?}");
        // All attempts that were planned to fail did, and the first one that
        // succeeded was the last.
        assert_eq!(attempts[&path], 1 + plan.failed_attempts(&path), "{stage:?}: {row:?}");
        tries += u64::from(row.tries);
        failed += u64::from(plan.failed_attempts(&path));
    }
    let pages = site.pages.len() as u64;
    assert!(failed > pages / 10, "{failed} attempts were lost");
    if stage != Stage::Queue {
        // A stage that keeps connections may find one closed. Sending the
        // request again is not counted as a try.
        let total = pages + failed + RESET_CONNECTIONS;
        assert_eq!((tries, proxy.connections()), (total, total), "{stage:?}");
    }
}

/// Checks that with one try every failure is a row, and that a cut response is
/// no page.
fn check_every_failure(stage: Stage, is_secure: bool) {
    let (site, plan) = (&*SMALL_SITE, plan(is_secure));
    let (proxy, crawled) = crawl(stage, site, plan, 1);
    let mut failed = 0;
    for row in crawled.rows().values() {
        let path = path(row);
        if row.outcome == Outcome::Page {
            assert_eq!((row.size, row.num_urls), site.pages[&path], "{stage:?}: {row:?}");
            continue;
        }
        failed += 1;
        assert_eq!((row.outcome, row.tries), (Outcome::Failed, 1), "{stage:?}: {row:?}");
        let class = row.error.as_ref().unwrap().class;
        let expected = match row.status {
            Some(_) => &[ErrorClass::Truncated, ErrorClass::Timeout][..],
            None => &[
                ErrorClass::Connect,
                ErrorClass::Closed,
                // Cut in the middle of the head.
                ErrorClass::Truncated,
                ErrorClass::Timeout,
            ],
        };
        assert!(expected.contains(&class), "{stage:?}: {row:?}");
        // What has come of a page is searched.
        assert!(row.status.is_some() || row.num_urls == 0, "{stage:?}: {row:?}");
    }
    assert!(failed > crawled.rows().len() / 20, "{stage:?}: {failed} were lost");
    if stage != Stage::Queue {
        let is_failed = |path: &String| plan.failed_attempts(path) > 0;
        let planned = proxy.attempts().keys().filter(|path| is_failed(path)).count();
        assert_eq!(failed, planned + RESET_CONNECTIONS as usize, "{stage:?}");
    }
}

/// Runs a check on all stages in parallel, because they mostly wait.
fn every_stage(check: fn(Stage, bool), is_secure: bool) {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            scope.spawn(move || check(stage, is_secure));
        }
    });
}

#[test]
fn every_page_is_found_in_the_end() {
    every_stage(check_every_page, false);
}

#[test]
fn every_page_is_found_in_the_end_over_tls() {
    every_stage(check_every_page, true);
}

#[test]
fn every_failure_is_a_row() {
    every_stage(check_every_failure, false);
}

#[test]
fn every_failure_is_a_row_over_tls() {
    every_stage(check_every_failure, true);
}
