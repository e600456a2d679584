//! Politeness over all workers together.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use asyncio::prelude::*;
use crawl_core::{ErrorClass, FetchError, Options, Outcome, StopReason};
use demo_site::scripted::{Reply, Request, Server};
use frontier_redis::{RedisOptions, report};
use stage2_coroutines::system_runtime;
use stage3_queue::{Rules, ShutdownHandle};

use crate::losses::is_soon;
use crate::redis::Redis;
use crate::worker::{journal, options, run, run_with};

/// A host that does not answer: no program listens on such a port.
const DEAD_HOST: &str = "127.0.0.1:1";

/// Runs workers on threads until all are done.
fn run_workers(redis: &Redis, name: &str, count: usize, options: &Options) {
    let workers: Vec<_> = (0..count)
        .map(|_| {
            let RedisOptions { server, name, lease, .. } = redis.options(name);
            let options = options.clone();
            thread::spawn(move || {
                run(RedisOptions { lease, ..RedisOptions::new(server, &name) }, options);
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
}

/// The times of requests, with their paths.
type Times = Arc<Mutex<Vec<(Instant, String)>>>;

/// Starts a server that keeps the time of each request.
fn timed(answer: impl Fn(&Request, &mut Reply<'_>) + Send + Sync + 'static) -> (Server, Times) {
    let times = Times::default();
    let taken = Arc::clone(&times);
    let server = Server::start(move |request, reply| {
        taken.lock().unwrap().push((Instant::now(), request.path().to_owned()));
        answer(request, reply);
    });
    (server.unwrap(), times)
}

fn links(count: usize) -> String {
    (0..count).map(|n| format!("<a href=/{n}>x</a>")).collect()
}

/// By the clock of Redis, claims are 100 ms apart, always. At the server, no request comes
/// before its turn; one may be late, and then the next one follows it sooner.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_delay_holds_over_eight_workers() {
    let redis = Redis::start();
    let (server, times) = timed(|request, reply| match request.path() {
        "/" => reply.page(links(100)),
        _ => reply.page("x"),
    });
    let mut wanted = options(&server.url("/"));
    wanted.settings.delay = Duration::from_millis(100);
    let claims = redis.monitor();
    let begun = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap());
    run_workers(&redis, "delay", 8, &wanted);
    // A lease begins with its token, the host, the kind and the moment of the claim.
    let lines = claims.lines();
    let leases =
        lines.iter().filter(|line| line.contains("\"ZADD\" \"{") && line.contains(":leases\""));
    let lease = |line: &&String| -> (String, u64) {
        let mut words = line.rsplit('"').nth(1).unwrap().split(' ');
        let token = words.next().unwrap().to_owned();
        (token, words.nth(2).unwrap().parse().unwrap())
    };
    let claims: BTreeMap<String, u64> = leases.map(|line| lease(&line)).collect();
    let mut moments: Vec<u64> = claims.into_values().collect();
    moments.sort_unstable();
    assert_eq!(moments.len(), 101);
    assert!(moments.windows(2).all(|pair| pair[1] - pair[0] >= 100_000), "{moments:?}");
    let times = times.lock().unwrap();
    let asked = times.iter().map(|(at, _)| begun.1 + (*at - begun.0));
    let turns = moments.into_iter().map(Duration::from_micros);
    let early: Vec<_> = asked.zip(turns).filter(|(asked, turn)| asked < turn).collect();
    assert!(times.len() == 101 && early.is_empty(), "{early:?}");
}

/// The robots.txt is asked for once, and its rules and its delay hold for all workers.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_robots_txt_is_fetched_once_for_all_workers() {
    let redis = Redis::start();
    let (server, times) = timed(|request, reply| match request.path() {
        "/robots.txt" => reply.status(
            200,
            "OK",
            &[("Content-Type", "text/plain")],
            "User-agent: *\nDisallow: /1\nCrawl-delay: 0.1\n",
        ),
        "/" => reply.page(links(30)),
        _ => reply.page("x"),
    });
    let mut wanted = options(&server.url("/"));
    wanted.settings.robots = true;
    run_workers(&redis, "robots", 4, &wanted);
    let times = times.lock().unwrap();
    let count = |path: &str| times.iter().filter(|(_, asked)| asked.starts_with(path)).count();
    assert_eq!((count("/robots.txt"), count("/1")), (1, 0));
    let rows = journal(&redis.options("robots"));
    assert_eq!(rows.len(), 31);
    let skipped = rows.values().filter(|row| row.outcome == Outcome::Skipped).count();
    // 1, and 10 to 19.
    assert_eq!(skipped, 11);
    // The file, the root and 19 pages, of which the first may be late.
    assert_eq!(times.len(), 21);
    let all = times[20].0 - times[0].0;
    assert!(all >= Duration::from_millis(1_850), "{all:?}");
}

/// A URL that is busy is asked again after the time that its server asks for, behind the
/// others, and by whatever worker.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_busy_url_is_asked_again_when_it_wants() {
    let redis = Redis::start();
    let answers = Arc::new(Mutex::new(0));
    let (server, times) = timed(move |request, reply| match request.path() {
        "/" => reply.page(links(10)),
        "/3" => {
            let mut answers = answers.lock().unwrap();
            *answers += 1;
            if *answers <= 2 {
                reply.status(429, "Too Many Requests", &[("Retry-After", "1")], "");
            } else {
                reply.page("x");
            }
        }
        _ => reply.page("x"),
    });
    run_workers(&redis, "busy", 3, &options(&server.url("/")));
    let rows = journal(&redis.options("busy"));
    assert_eq!(rows.len(), 11);
    assert!(rows.values().all(|row| row.outcome == Outcome::Page), "{rows:?}");
    let times = times.lock().unwrap();
    let asked: Vec<_> = times.iter().filter(|(_, path)| path == "/3").map(|(at, _)| *at).collect();
    assert_eq!(asked.len(), 3);
    assert!(asked.windows(2).all(|pair| pair[1] - pair[0] >= Duration::from_millis(950)));
    assert_eq!(times.last().unwrap().1, "/3");
}

/// A URL whose server fails is requested once more, behind the others, and by whatever worker.
/// After ten such attempts in vain there are no more.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_url_whose_server_fails_gets_a_second_attempt() {
    let redis = Redis::start();
    let failed = Mutex::new(HashSet::new());
    let (server, times) = timed(move |request, reply| match request.path() {
        "/" => reply.page(links(60)),
        path => {
            let is_first = failed.lock().unwrap().insert(path.to_owned());
            // All pages fail once, and every second one always does.
            if is_first || path.ends_with(['1', '3', '5', '7', '9']) {
                reply.status(502, "Bad Gateway", &[], "");
            } else {
                reply.page("x");
            }
        }
    });
    let mut wanted = options(&server.url("/"));
    (wanted.settings.robots, wanted.settings.max_tries) = (true, 2);
    run_workers(&redis, "fails", 3, &wanted);
    let rows = journal(&redis.options("fails"));
    assert_eq!(rows.len(), 61);
    let with = |status| rows.values().filter(|row| row.status == Some(status)).count();
    assert!(with(200) + with(502) == 61 && with(502) >= 30, "{rows:?}");
    let tries: u32 = rows.values().map(|row| row.tries).sum();
    let times = times.lock().unwrap();
    let of_robots = times.iter().filter(|(_, path)| path == "/robots.txt").count();
    assert_eq!((of_robots, tries as usize + of_robots), (2, times.len()));
    let in_vain = rows.values().filter(|row| row.status == Some(502) && row.tries == 2).count();
    // Those that were on their way when the tenth had failed.
    assert!((10..10 + 3 * 10).contains(&in_vain), "{in_vain}");
}

/// A host that does not answer is given up, and each of its URLs ends as a row.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_dead_host_ends_as_rows() {
    let redis = Redis::start();
    let mut wanted = options(&format!("http://{DEAD_HOST}/"));
    wanted.settings.robots = true;
    wanted.settings.max_tries = 2;
    run_workers(&redis, "dead", 2, &wanted);
    let rows = journal(&redis.options("dead"));
    assert_eq!(rows.len(), 1);
    assert!(rows.values().all(|row| row.outcome == Outcome::Failed), "{rows:?}");
}

/// Returns the options of a crawl without robots.txt, of a page that links to 20 of a host
/// that does not answer.
fn links_to_a_dead_host() -> (Server, Options) {
    let links: String = (0..20).map(|n| format!("<a href=http://{DEAD_HOST}/{n}>x</a>")).collect();
    let server = Server::start(move |_, reply| reply.page(&links)).unwrap();
    let mut wanted = options(&server.url("/"));
    let dead = format!("http://{DEAD_HOST}/").parse().unwrap();
    wanted.settings.roots = wanted.settings.roots.iter().cloned().chain([dead]).collect();
    wanted.settings.max_tries = 1;
    (server, wanted)
}

/// Asserts that each URL of a host that does not answer has failed, and returns how many of
/// them were tried.
fn tried(redis: &Redis, name: &str) -> usize {
    let rows = journal(&redis.options(name));
    let of_host: Vec<_> = rows.values().filter(|row| row.url.contains(DEAD_HOST)).collect();
    assert_eq!(of_host.len(), 21);
    assert!(of_host.iter().all(|row| row.outcome == Outcome::Failed), "{rows:?}");
    of_host.into_iter().filter(|row| row.tries > 0).count()
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_dead_host_is_given_up_without_robots_txt() {
    let redis = Redis::start();
    let (_server, mut wanted) = links_to_a_dead_host();
    // It is given up after eight failed attempts, and five seconds.
    wanted.settings.delay = Duration::from_millis(800);
    run(redis.options("dead"), wanted);
    assert_eq!(tried(&redis, "dead"), 8);
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_host_that_one_worker_gives_up_is_given_up_by_others() {
    let redis = Redis::start();
    let (_server, mut wanted) = links_to_a_dead_host();
    let error = FetchError::new(ErrorClass::Connect, "connection refused");
    let rules = serde_json::to_string(&Rules::of_dead_host(DEAD_HOST, &error)).unwrap();
    redis.command(&["SET", &format!("{{others:0}}:rules0{DEAD_HOST}"), &rules]);
    wanted.max_tasks = Some(1);
    run(redis.options("others"), wanted);
    assert_eq!(tried(&redis, "others"), 1);
}

/// A host that is busy all the time is given up. Its URLs are left to do, and named in the
/// summary of each worker and in that of the report.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_host_that_is_busy_all_the_time_is_named() {
    let redis = Redis::start();
    let (server, _) = timed(|request, reply| match request.path() {
        "/" => reply.page(links(300)),
        _ => reply.status(503, "Service Unavailable", &[], ""),
    });
    let mut wanted = options(&server.url("/"));
    wanted.settings.max_wait = Duration::from_secs(1);
    let (summary, rows) = run(redis.options("gone"), wanted);
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let of_gone = redis.options("gone");
    let mut ignore = drop;
    let reporting = report(&event_loop, &of_gone, &mut ignore);
    let reported = runtime.run_sync(reporting, Duration::from_secs(20)).unwrap().unwrap();
    for summary in [summary, reported] {
        let [busy_host] = &summary.busy_hosts[..] else { panic!("{:?}", summary.busy_hosts) };
        let host = server.address().to_string();
        assert_eq!((&*busy_host.host, busy_host.status), (&*host, 503));
        assert_eq!((busy_host.todo, summary.todo), (301 - rows.len() as u64, busy_host.todo));
        assert!(busy_host.todo > 0);
    }
}

/// A worker gets a busy answer and is stopped. The next one comes much later, and gets a
/// busy answer to its first request, too: that is no reason to give the host up.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn time_in_which_no_worker_asks_is_not_that_of_a_busy_host() {
    let redis = Redis::start();
    let shutdown = ShutdownHandle::new();
    let (stop, answers) = (shutdown.clone(), Mutex::new(0));
    let (server, _) = timed(move |_, reply| {
        let mut answers = answers.lock().unwrap();
        *answers += 1;
        if *answers > 2 {
            return reply.page("x");
        }
        stop.stop(StopReason::Signal(2));
        reply.status(503, "Service Unavailable", &[], "");
    });
    let mut wanted = options(&server.url("/a"));
    wanted.settings.roots = ["/a", "/b"].map(|path| server.url(path).parse().unwrap()).into();
    (wanted.settings.max_wait, wanted.max_tasks) = (Duration::from_secs(1), Some(1));
    run_with(redis.options("later"), wanted, shutdown);
    // An hour goes by.
    let script = "local h = cmsgpack.unpack(redis.call('GET', KEYS[1]))
        for _, name in ipairs({ 'next', 'pause', 'busy', 'spell' }) do
          h[name] = h[name] - 3600000000
        end
        redis.call('SET', KEYS[1], cmsgpack.pack(h))
        return h.count";
    let key = format!("{{later:0}}:h:{}", server.address());
    assert_eq!(redis.command(&["EVAL", script, "1", &key]), "1");
    let (summary, rows) = run(redis.options("later"), Options::new(Vec::new()));
    assert!(summary.busy_hosts.is_empty(), "{:?}", summary.busy_hosts);
    let pages = rows.iter().filter(|row| row.outcome == Outcome::Page).count();
    assert_eq!((rows.len(), pages), (2, 2), "{rows:?}");
}

/// A URL ends with a busy answer. For its host that is no other answer.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_row_with_a_busy_answer_does_not_end_the_spell_of_its_host() {
    let redis = Redis::start();
    let (server, times) = timed(|_, reply| reply.status(503, "Service Unavailable", &[], ""));
    let mut wanted = options(&server.url("/"));
    wanted.settings.max_wait = Duration::from_millis(500);
    let (_, rows) = run(redis.options("final"), wanted);
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.status, times.lock().unwrap().len()), (Some(503), 2));
    let script = "local h = cmsgpack.unpack(redis.call('GET', KEYS[1]))
        return tostring(h.answers) .. ' ' .. type(h.spell)";
    let key = format!("{{final:0}}:h:{}", server.address());
    assert_eq!(redis.command(&["EVAL", script, "1", &key]), "nil number");
}

/// Rules that were evicted, say: a worker that claims a job finds none for it.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn rules_that_the_server_has_lost_are_fetched_again() {
    let redis = Redis::start();
    let (server, _) = timed(|request, reply| match request.path() {
        "/robots.txt" => {
            let plain = [("Content-Type", "text/plain")];
            reply.status(200, "OK", &plain, "User-agent: *\nDisallow: /1\n");
        }
        "/" => reply.page(links(3)),
        _ => reply.page("x"),
    });
    let mut wanted = options(&server.url("/"));
    (wanted.settings.robots, wanted.max_pages, wanted.max_tasks) = (true, Some(1), Some(1));
    run(redis.options("evicted"), wanted);
    let key = format!("{{evicted:0}}:rules0{}", server.address());
    assert_eq!(redis.command(&["DEL", &key]), "1");
    run(redis.options("evicted"), Options::new(Vec::new()));
    let rows = journal(&redis.options("evicted"));
    let skipped = rows.values().filter(|row| row.outcome == Outcome::Skipped).count();
    assert_eq!((rows.len(), skipped, server.hits("/robots.txt")), (4, 1, 2), "{rows:?}");
}

/// A robots.txt may have half a megabyte, and a crawl any number of hosts. When one has work
/// again, its rules are fetched again.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn large_rules_of_a_host_without_work_are_forgotten_by_the_server() {
    let redis = Arc::new(Redis::start());
    let rules: String = (0..2_000).map(|n| format!("Disallow: /no/robots/{n}\n")).collect();
    let large = Server::start(move |request, reply| match request.path() {
        "/robots.txt" => {
            let plain = [("Content-Type", "text/plain")];
            reply.status(200, "OK", &plain, format!("User-agent: *\n{rules}"));
        }
        _ => reply.page("x"),
    });
    let large = Arc::new(large.unwrap());
    let key = |server: &Server| format!("{{idle:0}}:rules0{}", server.address());
    let (of_large, asked) = (key(&large), Arc::clone(&large));
    // The site outlives no test, but may outlive the server.
    let server = Arc::downgrade(&redis);
    let small = Server::start(move |request, reply| match request.path() {
        "/robots.txt" => reply.status(404, "Not Found", &[], ""),
        _ => {
            // The only page of the other host is done.
            let exists = || server.upgrade().map(|redis| redis.command(&["EXISTS", &of_large]));
            is_soon(|| asked.hits("/") > 0 && exists().as_deref() == Some("0"));
            let links = ["/later", "/no/robots/7"].map(|path| asked.url(path));
            reply.page(links.map(|url| format!("<a href={url}>x</a>")).concat());
        }
    });
    let small = small.unwrap();
    let mut wanted = options(&large.url("/"));
    wanted.settings.roots = [&large, &small].map(|site| site.url("/").parse().unwrap()).into();
    (wanted.settings.robots, wanted.settings.max_tries) = (true, 1);
    let (_, rows) = run(redis.options("idle"), wanted);
    let skipped = rows.iter().filter(|row| row.outcome == Outcome::Skipped).count();
    assert_eq!((rows.len(), skipped, large.hits("/robots.txt")), (4, 1, 2), "{rows:?}");
    let exists = |server| redis.command(&["EXISTS", &key(server)]);
    assert_eq!((exists(&large), exists(&small)), ("0".to_owned(), "1".to_owned()));
}

/// A job is claimed, and then a retry of another one takes the next turn of their host. The
/// job is not asked after all: its own turn is over, and that of the retry is not its own.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_turn_that_a_further_request_has_taken_is_not_given_to_another_job() {
    let redis = Redis::start();
    let script = |body: &str, arguments: &[&str]| {
        let text = format!("{}\n{body}", include_str!("../../src/scripts/prelude.lua"));
        redis.command(&[&["EVAL", &text, "1", "{turn:0}", "0"], arguments].concat())
    };
    let job = ["a.test", "1", "hash", "p10,0 http://a.test/", ""];
    script(include_str!("../../src/scripts/put.lua"), &job);
    // A minute lies between two turns.
    let claim = ["worker.1", "1", "30000000", "60000000", "0"];
    script(include_str!("../../src/scripts/claim.lua"), &claim);
    let first = "return redis.call('ZRANGE', KEYS[1], 0, 0)[1]";
    let lease = redis.command(&["EVAL", first, "1", "{turn:0}:leases"]);
    script(include_str!("../../src/scripts/pace.lua"), &["a.test", "60000000", "0"]);
    let next = || {
        let next = "return ('%.0f'):format(cmsgpack.unpack(redis.call('GET', KEYS[1])).next)";
        redis.command(&["EVAL", next, "1", "{turn:0}:h:a.test"])
    };
    let taken = next();
    let end = [&lease, "0", "0", "0", "0", "0", "{", "}"];
    assert_eq!(script(include_str!("../../src/scripts/complete.lua"), &end), "0");
    assert_eq!(next(), taken);
}
