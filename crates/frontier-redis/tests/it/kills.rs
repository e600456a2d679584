//! Workers that are killed, and servers that are.

use std::collections::BTreeMap;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::Row;
use demo_site::scripted::Server;
use demo_site::{DemoSite, Latency, SiteOptions};
use frontier_redis::{RedisOptions, Step};

use crate::redis::{LOSE, Redis, start_cluster};
use crate::worker::{assert_same, journal, options, run, soak_size, spawn, watchdog, witness};

fn size() -> (u32, u32) {
    soak_size().unwrap_or((1_500, 6))
}

/// Starts a site whose crawl by four workers lasts longer than the kills, a second each.
fn site(pages: u32, seconds: u32) -> DemoSite {
    // Ten tasks in each of four workers.
    let latency = Duration::from_millis(u64::from(seconds) * 1_000 * 40 / u64::from(pages));
    let latency = Latency::Fixed(latency);
    DemoSite::start(SiteOptions { pages, latency, ..SiteOptions::default() }).unwrap()
}

/// Waits for a worker that is left alone.
fn join(mut worker: Child) {
    let begun = Instant::now();
    loop {
        if let Some(status) = worker.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return;
        }
        if begun.elapsed() > watchdog() {
            worker.kill().unwrap();
            panic!("join does not return");
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Asserts that each URL has its row, and that a URL was requested more often than in one
/// process only if its lease was broken.
fn check(site: &DemoSite, redis: &Redis, options: &RedisOptions, expected: &BTreeMap<String, Row>) {
    assert_same(&journal(options), expected);
    let broken = redis.command(&["HGET", &format!("{{{}:0}}", options.name), "broken"]);
    let broken: u64 = broken.parse().unwrap_or(0);
    let twice: u64 = site.all_hits().values().map(|hits| hits - 1).sum();
    // Those whose server has failed are requested once more anyway.
    let again = expected.values().filter(|row| row.tries > 1).count() as u64;
    let twice = twice.saturating_sub(again);
    assert!(twice <= broken, "{twice} requests too many, {broken} broken leases");
}

/// Four workers; each second, one is killed and a new one takes its place.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn killed_workers_lose_nothing() {
    let (pages, kills) = size();
    let redis = Redis::start();
    let expected = {
        let site = site(pages, 1);
        witness(options(&site.root()))
    };
    let site = site(pages, kills);
    let expected = of_site(expected, &site);
    let start = || spawn(&redis.url(), "kills", &site.root(), None);
    let mut workers: Vec<Child> = (0..4).map(|_| start()).collect();
    for n in 0..kills {
        thread::sleep(Duration::from_secs(1));
        let place = (n * 7 % 4) as usize;
        assert!(workers[place].try_wait().unwrap().is_none(), "the site is too small");
        workers[place].kill().unwrap();
        workers[place].wait().unwrap();
        workers[place] = start();
    }
    workers.into_iter().for_each(join);
    check(&site, &redis, &redis.options("kills"), &expected);
}

/// Returns rows as those of a site with the same pages on another port.
fn of_site(rows: BTreeMap<String, Row>, site: &DemoSite) -> BTreeMap<String, Row> {
    let at_site = |url: &str| {
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        site.url(&format!("/{path}"))
    };
    let of_site = |(url, mut row): (String, Row)| {
        let at_host = |url: String| if url.contains("127.0.0.1") { at_site(&url) } else { url };
        row.next_url = row.next_url.map(at_host);
        (at_site(&url), row)
    };
    rows.into_iter().map(of_site).collect()
}

/// A worker ends itself at one step of a job after the other; the next one goes on.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_may_die_at_any_step() {
    let redis = Redis::start();
    let site = DemoSite::start(SiteOptions::default()).unwrap();
    let expected = witness(options(&site.root()));
    let before: u64 = site.all_hits().values().sum();
    for step in [Step::Claimed, Step::ChildrenPut, Step::Completing] {
        let name = format!("{step:?}");
        for n in [1, 2, 15] {
            let mut worker = spawn(&redis.url(), &name, &site.root(), Some((step, n)));
            let begun = Instant::now();
            while worker.try_wait().unwrap().is_none() {
                assert!(begun.elapsed() < watchdog(), "it is alive");
                thread::sleep(Duration::from_millis(5));
            }
        }
        run(redis.options(&name), options(&site.root()));
        assert_same(&journal(&redis.options(&name)), &expected);
    }
    let requests: u64 = site.all_hits().values().sum();
    assert!(requests > before * 4, "all were crawled: {requests}, {before}");
}

/// A worker that was paused comes back after its leases have ended, and others have done
/// its work.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_paused_worker_changes_nothing() {
    let redis = Redis::start();
    let latency = Latency::Fixed(Duration::from_millis(1_000));
    let site = DemoSite::start(SiteOptions { pages: 60, latency, ..SiteOptions::default() });
    let site = site.unwrap();
    let paused = spawn(&redis.url(), "paused", &site.root(), None);
    let signal = |name: &str| {
        let id = paused.id().to_string();
        std::process::Command::new("kill").args([name, &id]).status().unwrap();
    };
    // In the midst of its fetches, however long it took to start: the root is done, and its
    // links are asked.
    let begun = Instant::now();
    while site.all_hits().len() < 2 {
        assert!(begun.elapsed() < watchdog(), "it does not begin");
        thread::sleep(Duration::from_millis(10));
    }
    signal("-STOP");
    let last_lease = "return redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]";
    let end = redis.command(&["EVAL", last_lease, "1", "{paused:0}:leases"]);
    site.release().unwrap();
    run(redis.options("paused"), options(&site.root()));
    let time = "local t = redis.call('TIME') return t[1] .. ('%06d'):format(t[2])";
    let (now, end): (u64, u64) =
        (redis.command(&["EVAL", time, "0"]).parse().unwrap(), end.parse().unwrap());
    assert!(now >= end, "it ended {} us before the leases of the other", end - now);
    let rows = journal(&redis.options("paused"));
    let done = redis.command(&["HGET", "{paused:0}", "done"]);
    signal("-CONT");
    join(paused);
    assert_eq!(journal(&redis.options("paused")), rows);
    assert_eq!(redis.command(&["HGET", "{paused:0}", "done"]), done);
    let broken: u32 = redis.command(&["HGET", "{paused:0}", "broken"]).parse().unwrap();
    assert!(broken > 0);
}

/// Kills one of these servers after the other while two workers crawl, cuts its
/// append-only file at a random moment of the last second, and starts it again.
fn kill_servers(servers: &mut [Redis], url: &str, options: &RedisOptions) {
    let (pages, kills) = size();
    let expected = {
        let site = site(pages, 1);
        witness(crate::worker::options(&site.root()))
    };
    let site = site(pages, kills);
    let expected = of_site(expected, &site);
    let workers: Vec<_> = (0..4).map(|_| spawn(url, &options.name, &site.root(), None)).collect();
    let mut random = 0x9E37_79B9_u64;
    for n in 0..kills as usize {
        let count = servers.len();
        let server = &mut servers[n % count];
        thread::sleep(Duration::from_millis(300));
        let (file, before) = (server.append_only_file(), server.appended());
        thread::sleep(Duration::from_millis(700));
        server.kill();
        let after = server.appended();
        // A server whose file has grown much begins another one by itself.
        let before = if server.append_only_file() == file { before } else { 0 };
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let cut = (random >> 33) % (after - before + 1);
        server.cut(after - cut);
        let file = server.append_only_file();
        server.start_again();
        // The workers have the file written anew. Until then, what is left in it of a
        // transaction would be run by the next start.
        let begun = Instant::now();
        while server.append_only_file() == file || server.is_rewriting() {
            assert!(begun.elapsed() < Duration::from_secs(20), "the file is not written anew");
            thread::sleep(Duration::from_millis(20));
        }
    }
    workers.into_iter().for_each(join);
    // Journals are read through the first server.
    assert_same(&journal(options), &expected);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_server_that_loses_its_last_second_loses_no_url() {
    let mut servers = [Redis::start()];
    let (url, options) = (servers[0].url(), servers[0].options("cut"));
    kill_servers(&mut servers, &url, &options);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_node_of_a_cluster_that_loses_its_last_second_loses_no_url() {
    let mut servers = start_cluster();
    let (url, options) = (servers[0].url(), servers[0].options("cut"));
    kill_servers(&mut servers, &url, &options);
}

/// Pages on one partition lead to pages on others, which lose everything: as nodes of a
/// cluster that come back empty. The links of what is left in the journal are put in again.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn children_that_other_nodes_have_lost_are_put_in_again() {
    let redis = Redis::start();
    let others = [(); 4].map(|()| Server::start(|_, reply| reply.page("x")).unwrap());
    let links: String =
        others.iter().map(|o| format!("<a href={}>x</a>", o.url("/child"))).collect();
    let first = Server::start(move |_, reply| reply.page(&links)).unwrap();
    let mut wanted = options(&first.url("/"));
    let others = others.iter().map(|other| other.url("/").parse().unwrap());
    wanted.settings.roots = wanted.settings.roots.iter().cloned().chain(others).collect();
    let mut lost = redis.options("lost");
    lost.partitions = Some(64);
    run(lost.clone(), wanted.clone());
    let expected = journal(&lost);
    assert_eq!(expected.len(), 9);
    // The partition of the first host keeps what it has, and so does the record of the crawl.
    let deleted = redis.command(&["EVAL", LOSE, "0", &first.address().to_string()]);
    assert!(deleted.parse::<u32>().unwrap() > 8, "{deleted}");
    assert!(journal(&lost).len() < expected.len());
    // A worker that joins, with no roots of its own.
    let mut joining = wanted;
    joining.settings.roots = [].into();
    run(lost.clone(), joining);
    assert_same(&journal(&lost), &expected);
    assert_eq!(first.hits("/"), 1);
}
