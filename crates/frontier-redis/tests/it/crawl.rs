//! One worker, and several on threads: the same rows as in one process.

use std::collections::HashSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use asyncio::prelude::*;
use crawl_core::{
    CrawlSummary, HostOptions, HostPattern, Options, Row, Settings, StopReason, UncheckedReason,
};
use demo_site::scripted::Server;
use demo_site::{DemoSite, Latency, SiteOptions};
use frontier_redis::{RedisFrontier, RedisOptions, delete, report, status, work};
use stage2_coroutines::{Task, system_runtime};
use stage3_queue::{Frontier, Reporting, ShutdownHandle};
use test_support::settings::{by_name, changed, with_one_changed};

use crate::losses::{is_soon, join_and_leave};
use crate::redis::Redis;
use crate::worker::{assert_same, journal, options, run, run_with, witness};

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn one_worker_finds_what_a_crawl_in_one_process_finds() {
    let redis = Redis::start();
    let site = DemoSite::start(SiteOptions::default()).unwrap();
    let mut wanted = options(&site.root());
    wanted.settings.robots = true;
    wanted.settings.check.fragments = true;
    let expected = witness(wanted.clone());
    let (summary, rows) = run(redis.options("one"), wanted.clone());
    assert!(summary.stopped.is_none());
    // Missing fragments are in the report only.
    let missing = expected.keys().filter(|url| url.contains('#')).count();
    assert!(missing > 0);
    assert_eq!(rows.len(), expected.len() - missing);
    assert_same(&journal(&redis.options("one")), &expected);
    // Done: a second worker has nothing to do.
    let requests = site.requests();
    let (_, rows) = run(redis.options("one"), wanted);
    assert_eq!((rows.len(), site.requests()), (0, requests));
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn four_workers_and_four_partitions_ask_each_url_once() {
    let redis = Redis::start();
    let latency = Latency::Fixed(Duration::from_millis(5));
    let site = DemoSite::start(SiteOptions { pages: 1_000, latency, ..SiteOptions::default() });
    let site = site.unwrap();
    let expected = witness(options(&site.root()));
    let before = site.all_hits();
    let workers: Vec<_> = (0..4)
        .map(|_| {
            let (mut redis, root) = (redis.options("four"), site.root());
            redis.on_step = None;
            let (server, name) = (redis.server.clone(), redis.name.clone());
            thread::spawn(move || {
                let mut redis = frontier_redis::RedisOptions::new(server, &name);
                redis.partitions = Some(4);
                run(redis, options(&root)).1.len()
            })
        })
        .collect();
    let rows: Vec<usize> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
    assert_eq!(rows.iter().sum::<usize>(), expected.len(), "{rows:?}");
    assert!(rows.iter().all(|rows| *rows > 0), "each has worked: {rows:?}");
    assert_same(&journal(&redis.options("four")), &expected);
    for (path, hits) in site.all_hits() {
        assert_eq!(hits, 2 * before[&path], "{path}");
    }
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_that_is_stopped_gives_its_leases_back() {
    let redis = Redis::start();
    let latency = Latency::Fixed(Duration::from_secs(5));
    let site = DemoSite::start(SiteOptions { latency, ..SiteOptions::default() }).unwrap();
    let mut redis_options = redis.options("stopped");
    redis_options.lease = Duration::from_secs(60);
    let shutdown = ShutdownHandle::new();
    let (summary, rows) = thread::scope(|scope| {
        let (asked, site) = (shutdown.clone(), &site);
        scope.spawn(move || {
            is_soon(|| site.requests() > 0);
            (0..2).for_each(|_| asked.stop(StopReason::Signal(2)));
        });
        run_with(redis_options.clone(), options(&site.root()), shutdown)
    });
    assert!(site.requests() > 0, "no lease was taken");
    assert!(matches!(summary.stopped, Some(StopReason::Signal(2))));
    assert_eq!(rows.len(), 0);
    site.release().unwrap();
    // It need not wait for the end of the lease.
    let expected = witness(options(&site.root()));
    let (_, rows) = run(redis_options.clone(), options(&site.root()));
    assert_eq!(rows.len(), expected.len());
    assert_same(&journal(&redis_options), &expected);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_crawl_has_a_state_and_can_be_deleted() {
    let redis = Redis::start();
    let site = DemoSite::start(SiteOptions::default()).unwrap();
    let (summary, _) = run(redis.options("state"), options(&site.root()));
    run(redis.options("other"), options(&site.root()));
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let wait = Duration::from_secs(20);
    let of_state = redis.options("state");
    let state = status(&event_loop, &of_state);
    let state = runtime.run_sync(state, wait).unwrap().unwrap();
    assert!(state.is_done() && state.done() == summary.done, "{state}");
    assert!(state.to_string().contains("0 workers"), "{state}");
    let deleting = delete(&event_loop, &of_state);
    runtime.run_sync(deleting, wait).unwrap().unwrap();
    let state = status(&event_loop, &of_state);
    let error = runtime.run_sync(state, wait).unwrap().unwrap_err();
    assert!(error.to_string().contains("there is no crawl 'state'"), "{error}");
    run(redis.options("other"), options(&site.root()));
    let keys = redis.command(&["EVAL", "return #redis.call('KEYS', '{state*')", "0"]);
    assert_eq!(keys, "0");
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_with_other_settings_is_refused() {
    let redis = Redis::start();
    let site = DemoSite::start(SiteOptions::default()).unwrap();
    run(redis.options("settings"), options(&site.root()));
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let open = |options| {
        let opening = frontier_redis::RedisFrontier::open(
            &event_loop,
            redis.options("settings"),
            options,
            Box::new(drop),
            ShutdownHandle::new(),
        );
        runtime.run_sync(opening, Duration::from_secs(20)).unwrap()
    };
    let mut other = options(&site.root());
    other.settings.delay = Duration::from_secs(1);
    let error = open(other).err().unwrap().to_string();
    assert!(error.contains("--delay is 0.0 there and 1.0 here"), "{error}");
    let mut deep = options(&site.root());
    deep.settings.max_depth = Some(1);
    let error = open(deep).err().unwrap().to_string();
    assert!(error.contains("--max-depth is not supported"), "{error}");
    let mut following = options(&site.root());
    following.settings.follow_root = true;
    let error = open(following).err().unwrap().to_string();
    assert!(error.contains("--follow-root is not supported"), "{error}");
    let mut paced = options(&site.root());
    paced.settings.external_rate = Some(1);
    let error = open(paced).err().unwrap().to_string();
    assert!(error.contains("--external-rate is not supported"), "{error}");
    let mut single = options(&site.root());
    single.settings.hosts = vec![HostOptions::new(HostPattern::parse("a.test").unwrap())];
    let error = open(single).err().unwrap().to_string();
    assert!(error.contains("a setting for a host is not supported"), "{error}");
    redis.command(&["HSET", "{settings:0}:crawl", "format", "0, 0.0.1"]);
    let error = open(options(&site.root())).err().unwrap().to_string();
    assert!(error.contains("another version (0, 0.0.1"), "{error}");
    // It can be deleted all the same.
    let of_settings = redis.options("settings");
    runtime.run_sync(delete(&event_loop, &of_settings), Duration::from_secs(20)).unwrap().unwrap();
    let keys = redis.command(&["EVAL", "return #redis.call('KEYS', '*')", "0"]);
    assert_eq!(keys, "0");
}

/// Each setting is either shared by all workers, or refused.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_that_joins_has_all_settings_of_the_crawl() {
    let redis = Redis::start();
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let open = |name: &str, settings: Settings| {
        let mut options = Options::new(Vec::new());
        options.settings = settings;
        let (redis, sink) = (redis.options(name), Box::new(drop));
        let opening = RedisFrontier::open(&event_loop, redis, options, sink, ShutdownHandle::new());
        let opened = runtime.run_sync(opening, Duration::from_secs(20)).unwrap();
        opened.map_err(|error| error.to_string())
    };
    let root = "http://b.test/".parse().unwrap();
    open("usual", Settings::new(vec![root])).unwrap();
    let (mut shared, mut refused) = (changed(), Vec::new());
    for name in by_name(&shared).keys() {
        let error = open("usual", with_one_changed(name)).err().unwrap();
        assert!(!error.contains("s3cret"), "{error}");
        if error.contains("is not supported by a frontier on Redis") {
            refused.push(name.clone());
        } else {
            let is_named = error.contains(&format!("has other settings: {name} is "));
            assert!(is_named, "{name}: {error}");
        }
    }
    let expected = ["--external-rate", "--follow-root", "--max-depth", "--one-page", "--sitemap"];
    assert_eq!(refused, [&expected[..], &["hosts in crawl.toml"]].concat());
    shared.external_rate = None;
    shared.follow_root = false;
    shared.max_depth = None;
    shared.one_page = false;
    shared.sitemap = false;
    shared.hosts = Vec::new();
    open("changed", shared.clone()).unwrap();
    let joined = open("changed", Settings::new(Vec::new())).unwrap();
    assert_eq!(by_name(&joined.options().settings), by_name(&shared));
}

/// A worker moves the journal to a file while it crawls. A report from the file and from
/// Redis has each URL once; one without the file says what it lacks. No other file is
/// touched.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn the_journal_moves_to_a_file() {
    let redis = Redis::start();
    let latency = Latency::Fixed(Duration::from_millis(20));
    let site = DemoSite::start(SiteOptions { pages: 400, latency, ..SiteOptions::default() });
    let site = site.unwrap();
    let expected = witness(options(&site.root()));
    let mut of_moved = redis.options("moved");
    of_moved.partitions = Some(2);
    of_moved.journal_age = Duration::from_millis(200);
    of_moved.journal = vec![redis.folder.join("journal")];
    run(of_moved.clone(), options(&site.root()));
    let left = |partition| -> usize {
        redis.command(&["XLEN", &format!("{{moved:{partition}}}:journal")]).parse().unwrap()
    };
    let left = left(0) + left(1);
    assert!(left < expected.len() * 3 / 4, "{left} of {} are left", expected.len());
    // A crash has left the last record in both, and a line that was cut short.
    let path = &of_moved.journal[0];
    let mut text = std::fs::read_to_string(path).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    text += &format!("{last}\n{}", &last[..20]);
    std::fs::write(path, text).unwrap();
    assert_same(&journal(&of_moved), &expected);
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let (without, mut rows) = (redis.options("moved"), 0);
    let mut count = |_| rows += 1;
    let reporting = report(&event_loop, &without, &mut count);
    let error = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap_err();
    assert!(error.to_string().contains("records are in a file"), "{error}");
    let foreign = redis.folder.join("foreign");
    std::fs::write(&foreign, "precious\n").unwrap();
    for (path, why) in [
        (foreign.clone(), "not a journal of this crawl"),
        ("/dev/zero".into(), "not a regular file"),
    ] {
        of_moved.journal = vec![path];
        let shutdown = ShutdownHandle::new();
        let open = RedisFrontier::open(
            &event_loop,
            of_moved.clone(),
            options(&site.root()),
            Box::new(drop),
            shutdown,
        );
        let opened = runtime.run_sync(open, Duration::from_secs(20)).unwrap();
        let error = opened.err().unwrap().to_string();
        assert!(error.contains(why), "{error}");
        let mut count = |_| ();
        let reporting = report(&event_loop, &of_moved, &mut count);
        let error = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "precious\n");
}

/// A crawl that is begun again with the same name and settings is another one: the files of
/// the first are not those of its journal.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_journal_is_of_one_crawl() {
    let redis = Redis::start();
    let site = DemoSite::start(SiteOptions::default()).unwrap();
    let mut nightly = redis.options("nightly");
    nightly.journal = vec![redis.folder.join("journal")];
    run(nightly.clone(), options(&site.root()));
    assert!(!journal(&nightly).is_empty());
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let wait = Duration::from_secs(20);
    runtime.run_sync(delete(&event_loop, &nightly), wait).unwrap().unwrap();
    run(redis.options("nightly"), options(&site.root()));
    let mut ignore = drop;
    let reporting = report(&event_loop, &nightly, &mut ignore);
    let error = runtime.run_sync(reporting, wait).unwrap().unwrap_err();
    assert!(error.to_string().contains("not a journal of this crawl"), "{error}");
}

/// Starts a server of a page with so many links to others.
fn list(count: usize) -> Server {
    let links: String = (0..count).map(|n| format!("<a href=/{n}>x</a>")).collect();
    let start = Server::start(move |request, reply| match request.path() {
        "/" => reply.page(&links),
        _ => reply.page("x"),
    });
    start.unwrap()
}

/// A record is moved to the file when the file is read already, and Redis not yet.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_report_finds_what_is_moved_meanwhile() {
    let redis = Redis::start();
    let site = list(300);
    let (mut moving, file) = (redis.options("moving"), redis.folder.join("journal"));
    run(moving.clone(), options(&site.url("/")));
    moving.journal = vec![file.clone()];
    join_and_leave(moving.clone(), Options::new(Vec::new()));
    // Records are read 50 at a time.
    let script = "local key = '{moving:0}:journal'
        local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
        redis.call('XDEL', key, last[1])
        redis.call('HINCRBY', '{moving:0}', 'moved', 1)
        return last[2][2]";
    let mut rows = Vec::new();
    let mut sink = |row: Row| {
        if rows.is_empty() {
            let record = redis.command(&["EVAL", script, "0"]);
            let mut file = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
            file.write_all(format!("{record}\n").as_bytes()).unwrap();
        }
        rows.push(row.url.to_string());
    };
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let reporting = report(&event_loop, &moving, &mut sink);
    runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap();
    assert_eq!((rows.len(), rows.into_iter().collect::<HashSet<_>>().len()), (301, 301));
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_report_says_that_the_crawl_is_not_done() {
    let redis = Redis::start();
    let site = list(3);
    let mut first = options(&site.url("/"));
    first.max_pages = Some(1);
    run(redis.options("begun"), first);
    let left_out = || {
        let (runtime, begun) = (system_runtime().unwrap(), redis.options("begun"));
        let event_loop = runtime.event_loop().clone();
        let mut ignore = drop;
        let reporting = report(&event_loop, &begun, &mut ignore);
        let summary = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap();
        summary.left_out()
    };
    assert_eq!(left_out().as_deref(), Some("3 URLs left to do: the crawl is not done yet"));
    run(redis.options("begun"), Options::new(Vec::new()));
    assert_eq!(left_out(), None);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_style_sheet_has_the_urls_that_it_names() {
    let redis = Redis::start();
    let css = [("Content-Type", "text/css")];
    let site = Server::start(move |request, reply| match request.path() {
        "/" => reply.page("<link rel=stylesheet href=/style.css>"),
        "/style.css" => reply.status(200, "OK", &css, "a { background: url(/1.png), url(/2.png) }"),
        _ => reply.page("x"),
    });
    let site = site.unwrap();
    let mut wanted = options(&site.url("/"));
    (wanted.settings.check.styles, wanted.settings.check.images) = (true, true);
    let (_, rows) = run(redis.options("style"), wanted);
    let style = rows.iter().find(|row| row.url.ends_with("/style.css")).unwrap();
    assert_eq!((style.num_urls, style.num_new_urls), (2, 2));
}

/// Runs a worker whose crawl is deleted while it fetches, or is another one then, and returns
/// the reason for which it ends.
fn reason_of_end(redis: &Redis, with_journal: bool, change_of_record: Option<&[&str]>) -> String {
    let is_over = Arc::new(AtomicBool::new(false));
    let may_answer = Arc::clone(&is_over);
    let site = Server::start(move |_, reply| {
        while !may_answer.load(Ordering::SeqCst) && !reply.is_over() {
            reply.sleep(Duration::from_millis(5));
        }
        reply.page("x");
    });
    let site = site.unwrap();
    let (url, path, root) = (redis.url(), redis.folder.join("journal"), site.url("/"));
    let working = thread::spawn(move || {
        let server = frontier_redis::Server::parse(&url).unwrap();
        let mut redis = frontier_redis::RedisOptions::new(server, "anew");
        redis.lease = Duration::from_secs(2);
        redis.journal.extend(with_journal.then_some(path));
        redis.journal_age = Duration::from_millis(200);
        run(redis, options(&root)).0.stopped
    });
    assert!(is_soon(|| site.requests() > 0));
    if let Some(change) = change_of_record {
        // In one step: the worker may not see that there is none in between.
        let script = "for _, key in ipairs(redis.call('KEYS', '{anew:*')) do
              if key ~= KEYS[1] then redis.call('DEL', key) end
            end
            return redis.call(unpack(ARGV))";
        let script = ["EVAL", script, "1", "{anew:0}:crawl"];
        redis.command(&[&script, change].concat());
    } else {
        let (runtime, anew) = (system_runtime().unwrap(), redis.options("anew"));
        let event_loop = runtime.event_loop().clone();
        let deleting = delete(&event_loop, &anew);
        runtime.run_sync(deleting, Duration::from_secs(20)).unwrap().unwrap();
    }
    // Otherwise it would wait forever.
    is_soon(|| working.is_finished());
    is_over.store(true, Ordering::SeqCst);
    let stopped = working.join().unwrap();
    let Some(StopReason::Frontier(error)) = stopped else { panic!("{stopped:?}") };
    error.to_string()
}

/// A worker ends when its crawl was deleted and begun anew. It moves no record of the new one
/// to the file of the old one, and takes no job of it.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_ends_when_its_crawl_is_begun_anew() {
    for with_journal in [true, false] {
        let anew = ["HSET", "{anew:0}:crawl", "id", "another"];
        let error = reason_of_end(&Redis::start(), with_journal, Some(&anew));
        assert!(error.contains("the crawl was started again"), "{error}");
    }
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_ends_when_its_crawl_is_deleted_and_does_not_begin_it_again() {
    let redis = Redis::start();
    let error = reason_of_end(&redis, false, None);
    assert!(error.contains("the crawl was deleted"), "{error}");
    assert_eq!(redis.command(&["EXISTS", "{anew:0}:crawl"]), "0");
    // A deletion has only begun.
    let redis = Redis::start();
    let error = reason_of_end(&redis, false, Some(&["HDEL", "{anew:0}:crawl", "id"]));
    assert!(error.contains("the crawl was deleted"), "{error}");
    assert_eq!(redis.command(&["EXISTS", "{anew:0}:seen"]), "0");
    // Its mark counts, whatever else is there.
    let mark = ["HSET", "{anew:0}:crawl", "format", "deleted"];
    let error = reason_of_end(&Redis::start(), false, Some(&mark));
    assert!(error.contains("the crawl was deleted"), "{error}");
}

/// A deletion that was interrupted can be repeated, since the crawl is still there.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn the_record_of_a_crawl_is_deleted_last() {
    let (redis, site) = (Redis::start(), list(20));
    let mut many = redis.options("many");
    many.partitions = Some(16);
    run(many.clone(), options(&site.url("/")));
    let (runtime, wait) = (system_runtime().unwrap(), Duration::from_secs(20));
    let event_loop = runtime.event_loop().clone();
    let commands = redis.monitor();
    runtime.run_sync(delete(&event_loop, &many), wait).unwrap().unwrap();
    let lines = commands.lines();
    let unlinks: Vec<_> = lines.iter().filter(|line| line.contains("\"UNLINK\"")).collect();
    let of_record = unlinks.iter().position(|line| line.contains("\"{many:0}:crawl\""));
    assert!(unlinks.len() > 3 && of_record == Some(unlinks.len() - 1), "{unlinks:?}");
    // It was marked before, so that no worker joins.
    let mark = lines.iter().position(|line| line.contains("\"HSET\" \"{many:0}:crawl\""));
    let first = lines.iter().position(|line| line.contains("\"UNLINK\""));
    assert!(mark.is_some() && mark < first, "{mark:?} {first:?}");
    redis.command(&["HSET", "{many:0}:crawl", "format", "deleted"]);
    let error = runtime.run_sync(status(&event_loop, &many), wait).unwrap().unwrap_err();
    assert!(error.to_string().contains("is being deleted"), "{error}");
    // What a worker has put in meanwhile is deleted without it.
    redis.command(&["SADD", "{many:3}:seen", "x"]);
    runtime.run_sync(delete(&event_loop, &many), wait).unwrap().unwrap();
    assert_eq!(redis.command(&["EXISTS", "{many:3}:seen"]), "0");
    let error = runtime.run_sync(delete(&event_loop, &many), wait).unwrap().unwrap_err();
    assert!(error.to_string().contains("there is no crawl 'many'"), "{error}");
}

/// Stops a worker so often while Redis is about to run its call for a further claim, and
/// returns the number of requests that it has made. It keeps no lease.
fn requests_of_one_that_is_stopped(times: u32) -> u64 {
    /// A line of what Redis tells, when the call of one client waits.
    const BLOCKED: &str = "blocked_clients:1";
    let redis = Arc::new(Redis::start());
    let shutdown = ShutdownHandle::new();
    // The site outlives no test, but may outlive the server.
    let (stop, server) = (shutdown.clone(), Arc::downgrade(&redis));
    let links: String = (0..5).map(|n| format!("<a href=/{n}>x</a>")).collect();
    let site = Server::start(move |request, reply| {
        if request.path() != "/0" {
            return reply.page(&links);
        }
        let Some(redis) = server.upgrade() else { return };
        redis.command(&["CLIENT", "PAUSE", "20000", "WRITE"]);
        // The other task asks for a job meanwhile.
        let has_asked = is_soon(|| redis.command(&["INFO", "clients"]).contains(BLOCKED));
        (0..times).for_each(|_| stop.stop(StopReason::Signal(2)));
        reply.sleep(Duration::from_millis(200));
        redis.command(&["CLIENT", "UNPAUSE"]);
        reply.page("x");
        assert!(has_asked, "the other task has not asked for a job");
    });
    let site = site.unwrap();
    let mut wanted = options(&site.url("/"));
    (wanted.settings.delay, wanted.max_tasks) = (Duration::from_millis(40), Some(2));
    let mut of_stopped = redis.options("claims");
    of_stopped.lease = Duration::from_secs(60);
    run_with(of_stopped, wanted, shutdown);
    assert_eq!(redis.command(&["ZCARD", "{claims:0}:leases"]), "0");
    site.requests()
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_job_that_is_claimed_after_a_stop_is_given_back() {
    assert_eq!(requests_of_one_that_is_stopped(1), 2);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_job_that_is_claimed_while_a_worker_leaves_is_given_back() {
    assert_eq!(requests_of_one_that_is_stopped(2), 2);
}

/// A report has the rows of a crawl in one process, and counts each of them once.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_report_counts_its_rows() {
    let redis = Redis::start();
    let site = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/old>x</a><a href=/other>x</a><a href=/1/2/3/4>x</a>"),
        "/old" => reply.status(301, "Moved Permanently", &[("Location", "/new")], ""),
        _ => reply.page("<a href=/old>x</a>"),
    });
    let site = site.unwrap();
    let mut wanted = options(&site.url("/"));
    wanted.settings.traps.segments = 3;
    run(redis.options("counts"), wanted.clone());
    let (runtime, mut of_counts) = (system_runtime().unwrap(), redis.options("counts"));
    let event_loop = runtime.event_loop().clone();
    let mut report_of = |keep_redirects: bool| {
        of_counts.keep_redirects = keep_redirects;
        let mut rows = Vec::new();
        let mut sink = |row| rows.push(row);
        let reporting = report(&event_loop, &of_counts, &mut sink);
        let summary = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap();
        (summary, rows)
    };
    let (summary, rows) = report_of(false);
    assert_eq!((rows.len(), summary.done), (5, 5), "{rows:?}");
    let old = site.url("/old");
    let row = rows.iter().find(|row| *row.url == *old).unwrap();
    assert_eq!((row.num_new_urls, witness(wanted)[&old].num_new_urls), (0, 0));
    let (with_redirects, _) = report_of(true);
    let links = |summary: &CrawlSummary| summary.admission.referrers(&old).0.len();
    assert_eq!((links(&summary), links(&with_redirects)), (1, 3));
}

fn nofollow(summary: &CrawlSummary) -> u64 {
    summary.unchecked.count(UncheckedReason::Nofollow)
}

/// The records say it as well as the workers that have asked the pages.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_report_tells_what_pages_leave_out() {
    let redis = Redis::start();
    let xml = [("Content-Type", "text/xml")];
    let site = Server::start(move |request, reply| match request.path() {
        // The second entry has no end.
        "/map" => reply.status(200, "OK", &xml, "<urlset><url><loc>/1</loc></url><url></urlset>"),
        "/1" => reply.page("<a rel=nofollow href=/2>x</a>"),
        _ => reply.status(404, "Not Found", &[], ""),
    });
    let site = site.unwrap();
    let mut wanted = options(&site.url("/map"));
    wanted.settings.robots = true;
    let (of_worker, _) = run(redis.options("lacks"), wanted);
    // One for the entry without an end, and one for the relative entry.
    assert_eq!((nofollow(&of_worker), of_worker.warnings.len()), (1, 2));
    let (runtime, of_lacks) = (system_runtime().unwrap(), redis.options("lacks"));
    let event_loop = runtime.event_loop().clone();
    let mut ignore = drop;
    let reporting = report(&event_loop, &of_lacks, &mut ignore);
    let summary = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap();
    assert_eq!(nofollow(&summary), nofollow(&of_worker));
    assert_eq!(summary.warnings, of_worker.warnings);
}

/// Jobs that are completed while a report is read are not in it, and it says so.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_report_does_not_count_what_it_has_not_read() {
    let redis = Redis::start();
    let site = list(3);
    let mut first = options(&site.url("/"));
    first.max_pages = Some(1);
    run(redis.options("meanwhile"), first);
    let (runtime, meanwhile) = (system_runtime().unwrap(), redis.options("meanwhile"));
    let event_loop = runtime.event_loop().clone();
    let mut complete = |_| drop(redis.command(&["HINCRBY", "{meanwhile:0}", "done", "3"]));
    let reporting = report(&event_loop, &meanwhile, &mut complete);
    let summary = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap();
    let left_out = summary.left_out();
    assert_eq!(left_out.as_deref(), Some("3 URLs left to do: the crawl is not done yet"));
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_summary_has_at_most_a_hundred_warnings_and_counts_the_others() {
    let redis = Redis::start();
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let (of_warnings, wanted) = (redis.options("warnings"), options("http://a.test/"));
    let (sink, shutdown) = (Box::new(drop), ShutdownHandle::new());
    let opening = RedisFrontier::open(&event_loop, of_warnings, wanted, sink, shutdown);
    let frontier = runtime.run_sync(opening, Duration::from_secs(20)).unwrap().unwrap();
    (0..200).for_each(|n| frontier.warn(format!("{n}")));
    let warnings = frontier.end().warnings;
    assert_eq!(warnings.len(), 101);
    assert_eq!(warnings[100], "100 more warnings are not shown");
    drop(runtime);
}

/// The sink gets no more rows, the crawl ends, and the panic is passed on.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_sink_that_panics_ends_the_crawl() {
    let redis = Redis::start();
    let site = list(30);
    let mut wanted = options(&site.url("/"));
    wanted.max_tasks = Some(2);
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let watch = (Duration::from_secs(1), |_: &_| ());
    let sink = Box::new(|row: Row| panic!("no room for {}", row.url));
    let of_sink = redis.options("sink");
    let working = work(&event_loop, of_sink, wanted, sink, ShutdownHandle::new(), watch);
    let run = || runtime.run_sync(working, Duration::from_secs(20)).map(|_| ());
    let panic = catch_unwind(AssertUnwindSafe(run)).expect_err("the panic is lost");
    let message = panic.downcast_ref::<String>().expect("a text");
    assert_eq!(*message, format!("no room for {}", site.url("/")));
    assert!(site.requests() < 30);
}

/// The record of a page with many links has megabytes.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn large_records_are_read_a_few_at_a_time() {
    let redis = Redis::start();
    let site = list(3);
    run(redis.options("large"), options(&site.url("/")));
    // Behind a record there may be spaces.
    let script = "local record = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1][2][2]
        for _ = 1, 20 do
          redis.call('XADD', KEYS[1], '*', 'r', record .. (' '):rep(1048576))
        end
        return 'OK'";
    redis.command(&["EVAL", script, "1", "{large:0}:journal"]);
    let (server, most) = redis.afar(Duration::ZERO);
    assert_eq!(journal(&RedisOptions::new(server, "large")).len(), 4);
    let most = most.load(Ordering::SeqCst);
    assert!(most < 3 << 20, "{most} bytes in one reply");
}

/// A worker that stops gives back what it has, and takes itself out of the lists, in all
/// partitions at a time: the server may be far away.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_with_many_partitions_leaves_all_of_them() {
    let redis = Redis::start();
    let mut wanted = options("http://0.test/");
    wanted.settings.roots =
        (0..100).map(|n| format!("http://{n}.test/").parse().unwrap()).collect();
    let many = RedisOptions { partitions: Some(64), ..redis.options("many") };
    let afar = redis.afar(Duration::from_millis(40)).0;
    let count = |what: &str| {
        let script = format!("return #redis.call('KEYS', '{{many:*:{what}')");
        redis.command(&["EVAL", &script, "0"])
    };
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let open = |redis| {
        let (sink, shutdown) = (Box::new(drop), ShutdownHandle::new());
        RedisFrontier::open(&event_loop, redis, wanted.clone(), sink, shutdown)
    };
    let working = async {
        // It is begun from nearby: that takes calls for each partition.
        open(many).await.unwrap().close().await;
        let frontier = open(RedisOptions::new(afar, "many")).await.unwrap();
        let claim = |_| {
            let frontier = frontier.clone();
            Task::spawn(&event_loop, async move { frontier.next().await })
        };
        let mut claims = Vec::new();
        for claim in (0..100).map(claim).collect::<Vec<_>>() {
            claims.push(claim.await.unwrap());
        }
        assert_eq!(count("workers"), "64");
        drop(claims);
        frontier.close().await;
    };
    runtime.run_sync(working, Duration::from_secs(60)).expect("it does not end");
    assert_eq!((count("workers"), count("leases")), ("0".to_owned(), "0".to_owned()));
}
