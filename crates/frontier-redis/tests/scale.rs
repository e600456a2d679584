//! The model of a large crawl (`simulation::scale`), compared with a real one that is small.
//! (The test is alone in its process: others beside it would take its time.)
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "it/redis.rs"]
mod redis;
#[allow(dead_code)]
#[path = "it/worker.rs"]
mod worker;

use std::thread;
use std::time::{Duration, Instant};

use demo_site::scripted::Server;
use frontier_redis::RedisOptions;
use redis::Redis;
use simulation::scale::{Costs, Scale};
use worker::{journal, options, run};

/// Four workers and fifty hosts, of which the largest is asked to the end.
const SMALL: Scale = Scale {
    hosts: 50,
    largest: 60,
    max_pages_per_host: u32::MAX,
    workers: 4,
    tasks: 5,
    servers: 1,
    partitions: 4,
    pause: Duration::from_millis(100),
    round_trip: Duration::from_micros(200),
    fetch: (Duration::from_millis(40), Duration::from_millis(40)),
    foreign: 0,
    costs: Costs::MEASURED,
};

/// The model says within a quarter how long a crawl takes, and how many scripts a page takes.
/// A busy machine makes a crawl slower, and nothing makes it faster than a twentieth.
#[test]
#[ignore = "needs redis-server: run .ci/real-peers"]
fn the_model_of_a_large_crawl_is_right_about_a_small_one() {
    let redis = Redis::start();
    let sites = SMALL.sizes().map(|size| {
        let site = Server::start(move |request, reply| {
            let page: u32 = request.path()[1..].parse().unwrap_or(0);
            let links = (1..=10).map(|n| page * 10 + n).filter(|page| *page < size);
            let links: String = links.map(|page| format!("<a href=/{page}>x</a>")).collect();
            reply.sleep(SMALL.fetch.0);
            reply.page(links);
        });
        site.unwrap()
    });
    let sites: Vec<_> = sites.collect();
    let mut wanted = options(&sites[0].url("/0"));
    wanted.settings.roots = sites.iter().map(|site| site.url("/0").parse().unwrap()).collect();
    wanted.settings.delay = SMALL.pause;
    wanted.max_tasks = Some(SMALL.tasks as usize);
    let begun = Instant::now();
    let workers: Vec<_> = (0..SMALL.workers)
        .map(|_| {
            let RedisOptions { server, name, .. } = redis.options("scale");
            let wanted = wanted.clone();
            thread::spawn(move || {
                let redis = RedisOptions::new(server, &name);
                run(RedisOptions { partitions: Some(SMALL.partitions), ..redis }, wanted);
            })
        })
        .collect();
    for worker in workers {
        worker.join().unwrap();
    }
    let seconds = begun.elapsed().as_secs_f64();
    let stats = redis.command(&["INFO", "commandstats"]);
    let scripts = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
    let scripts: f64 = scripts.unwrap().split(',').next().unwrap().parse().unwrap();
    let pages = journal(&redis.options("scale")).len() as f64;
    assert_eq!(pages, SMALL.pages() as f64);

    let end = SMALL.run([Duration::from_secs(60)]).unwrap()[0];
    assert_eq!(end.done as f64, pages);
    let calls = end.calls.scripts() as f64;
    println!("{seconds:.2} s, in the model {:.2} s", end.at.as_secs_f64());
    println!("{:.2} scripts a page, in the model {:.2}", scripts / pages, calls / pages);
    let ratio = seconds / end.at.as_secs_f64();
    assert!((0.95..1.25).contains(&ratio), "{seconds} s, in the model {:?}", end.at);
    let ratio = scripts / calls;
    assert!((0.75..1.25).contains(&ratio), "{scripts} scripts, in the model {:?}", end.calls);
}
