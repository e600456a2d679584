//! Workers: on a thread of the test, or in a process of their own that can be killed.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use asyncio::prelude::*;
use crawl_core::{CrawlSummary, Options, Row};
use frontier_redis::{RedisOptions, Server, Step, report, work};
use stage2_coroutines::system_runtime;
use stage3_queue::ShutdownHandle;

/// Pages of the site, and number of kills, as the soak sets them: 20,000 and 30.
pub(crate) fn soak_size() -> Option<(u32, u32)> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    Some((number("FRONTIER_TEST_PAGES")?, number("FRONTIER_TEST_KILLS")?))
}

/// Returns the time in which each crawl of these tests must end: a minute, and three seconds
/// for each kill that the soak asks for.
pub(crate) fn watchdog() -> Duration {
    let (_, kills) = soak_size().unwrap_or_default();
    Duration::from_secs(u64::from(60 + 3 * kills))
}

/// Returns the options of a crawl from this root.
pub(crate) fn options(root: &str) -> Options {
    let mut options = Options::new(vec![root.parse().unwrap()]);
    options.settings.robots = false;
    options
}

/// Runs one worker on this thread until it ends, and returns its summary and its rows.
pub(crate) fn run(redis: RedisOptions, options: Options) -> (CrawlSummary, Vec<Row>) {
    run_with(redis, options, ShutdownHandle::new())
}

pub(crate) fn run_with(
    redis: RedisOptions,
    options: Options,
    shutdown: ShutdownHandle,
) -> (CrawlSummary, Vec<Row>) {
    let rows: Arc<Mutex<Vec<Row>>> = Arc::default();
    let taken = Arc::clone(&rows);
    let sink = Box::new(move |row| taken.lock().unwrap().push(row));
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let watch = (Duration::from_secs(1), |_: &_| ());
    let working = work(&event_loop, redis, options, sink, shutdown, watch);
    let summary = runtime.run_sync(working, watchdog()).expect("the crawl hangs").unwrap();
    drop(runtime);
    let rows = std::mem::take(&mut *rows.lock().unwrap());
    (summary, rows)
}

/// Returns the rows in the journal by their URLs.
///
/// # Panics
/// When a URL has two rows.
pub(crate) fn journal(redis: &RedisOptions) -> BTreeMap<String, Row> {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let mut rows = BTreeMap::new();
    let mut sink = |row: Row| {
        let url = row.url.to_string();
        assert!(rows.insert(url.clone(), row).is_none(), "two rows of {url}");
    };
    runtime.run_sync(report(&event_loop, redis, &mut sink), watchdog()).unwrap().unwrap();
    drop(runtime);
    rows
}

/// Returns the rows of an undisturbed crawl in one process.
pub(crate) fn witness(options: Options) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    stage3_queue::Crawler::builder(options)
        .on_row(|row| drop(rows.insert(row.url.to_string(), row)))
        .run()
        .unwrap();
    rows
}

/// Asserts that two crawls have found the same: the same URLs with the same results. The
/// numbers of new URLs may differ, since a URL may be found through a link or a redirect
/// first.
pub(crate) fn assert_same(found: &BTreeMap<String, Row>, witness: &BTreeMap<String, Row>) {
    let missing: Vec<_> = witness.keys().filter(|url| !found.contains_key(*url)).collect();
    let surplus: Vec<_> = found.keys().filter(|url| !witness.contains_key(*url)).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing {missing:?}, surplus {surplus:?}");
    for (url, row) in found {
        let other = &witness[url];
        let of =
            |row: &Row| (row.status, row.outcome, row.next_url.clone(), row.num_urls, row.size);
        assert_eq!(of(row), of(other), "{url}");
    }
}

/// The variables that make a process of this test program a worker.
const URL: &str = "FRONTIER_TEST_REDIS";
const CRAWL: &str = "FRONTIER_TEST_CRAWL";
const ROOT: &str = "FRONTIER_TEST_ROOT";
const DIES_AT: &str = "FRONTIER_TEST_DIES_AT";

/// Starts a worker in a process of its own. With `dies_at`, it kills itself when it
/// reaches this step for the nth time.
pub(crate) fn spawn(url: &str, crawl: &str, root: &str, dies_at: Option<(Step, u32)>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker::a_worker_of_another_test", "--ignored", "--nocapture"]);
    command.env(URL, url).env(CRAWL, crawl).env(ROOT, root);
    if let Some((step, n)) = dies_at {
        command.env(DIES_AT, format!("{step:?} {n}"));
    }
    command.stdout(Stdio::inherit()).stderr(Stdio::inherit()).spawn().unwrap()
}

#[test]
#[ignore = "runs in the processes of other tests"]
fn a_worker_of_another_test() {
    let get = |name| std::env::var(name).ok();
    let (Some(url), Some(crawl), Some(root)) = (get(URL), get(CRAWL), get(ROOT)) else { return };
    let mut redis = RedisOptions::new(Server::parse(&url).unwrap(), &crawl);
    redis.lease = Duration::from_secs(2);
    if let Some(dies_at) = get(DIES_AT) {
        let (step, n) = dies_at.split_once(' ').unwrap();
        let (step, n) = (step.to_owned(), n.parse::<u32>().unwrap());
        let count = std::cell::Cell::new(0);
        redis.on_step = Some(std::rc::Rc::new(move |at| {
            if format!("{at:?}") == step {
                count.set(count.get() + 1);
                if count.get() == n {
                    let id = std::process::id().to_string();
                    Command::new("kill").args(["-9", &id]).status().unwrap();
                }
            }
        }));
    }
    let (summary, _) = run(redis, options(&root));
    assert!(summary.stopped.is_none(), "{:?}", summary.stopped);
}
