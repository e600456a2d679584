//! Hosts that make up pages without end.

use std::thread;

use crawl_core::{ErrorClass, Options, Outcome};
use demo_site::scripted::{Request, Server};
use frontier_redis::RedisOptions;

use crate::losses::join_and_leave;
use crate::redis::Redis;
use crate::worker::{journal, options, run, witness};

/// Starts a server of pages with `count` links to names that are longer than theirs.
fn made_up(count: usize, text: fn(&Request) -> String) -> Server {
    let server = Server::start(move |request, reply| {
        let path = request.path();
        let links: String = (0..count).map(|n| format!("<a href={path}{n}>x</a>")).collect();
        reply.page(format!("<p>{}</p>{links}", text(request)));
    });
    server.unwrap()
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn the_pages_of_a_host_are_limited_over_all_workers() {
    let redis = Redis::start();
    let server = made_up(3, |request| request.path().to_owned());
    let mut wanted = options(&server.url("/"));
    wanted.settings.max_pages_per_host = Some(50);
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let RedisOptions { server, name, .. } = redis.options("ceiling");
            let wanted = wanted.clone();
            thread::spawn(move || run(RedisOptions::new(server, &name), wanted).0.warnings)
        })
        .collect();
    let warnings = workers.into_iter().flat_map(|worker| worker.join().unwrap());
    let warnings: Vec<_> = warnings.collect();
    let of_host = "the host has more than 50 pages (--max-pages-per-host)";
    assert!(warnings.len() == 1 && warnings[0].contains(of_host), "{warnings:?}");
    let rows = journal(&redis.options("ceiling"));
    let pages = rows.values().filter(|row| row.outcome == Outcome::Page).count();
    assert_eq!((pages, rows.len()), (50, 51));
    let refused = rows.values().find(|row| row.outcome == Outcome::Skipped).unwrap();
    let error = refused.error.as_ref().unwrap();
    assert_eq!((error.class, &*error.message), (ErrorClass::Trap, of_host));
    assert_eq!(witness(wanted).len(), rows.len(), "as in one process");
}

#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn pages_that_say_the_same_come_to_an_end() {
    let redis = Redis::start();
    let server = made_up(1, |_| "the same".to_owned());
    let mut wanted = options(&server.url("/"));
    wanted.settings.traps.equal_pages = 20;
    let (summary, rows) = run(redis.options("equal"), wanted);
    // Twenty before their content is hashed, twenty copies, and one that ends it.
    assert_eq!(rows.len(), 41);
    let [warning] = &summary.warnings[..] else { panic!("{:?}", summary.warnings) };
    assert!(warning.contains("20 pages with new links have the same content as"), "{warning}");
}

/// A worker asks no URL that another one takes for a trap: the limits are those of the crawl.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn a_worker_that_joins_has_the_limits_of_the_crawl() {
    let redis = Redis::start();
    let server = Server::start(|_, reply| reply.page("x")).unwrap();
    let mut wanted = options(&server.url("/a/b/c/d"));
    wanted.settings.traps.segments = 3;
    join_and_leave(redis.options("joined"), wanted);
    run(redis.options("joined"), Options::new(Vec::new()));
    let rows = journal(&redis.options("joined"));
    let row = &rows[&server.url("/a/b/c/d")];
    assert_eq!(row.error.as_ref().map(|error| error.class), Some(ErrorClass::Trap));
    assert_eq!((row.outcome, server.hits("/a/b/c/d")), (Outcome::Skipped, 0));
}
