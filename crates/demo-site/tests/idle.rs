//! A test that idle connections use no CPU time. (The test is alone in its
//! process, because it reads the CPU time of the serving thread.)

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "it/common.rs"]
mod common;

use std::fs;
use std::time::Duration;

use common::{Client, request};
use demo_site::{DemoSite, Latency, SiteOptions};

#[test]
fn idle_and_waiting_connections_use_no_cpu_time() {
    let site = DemoSite::start(SiteOptions {
        latency: Latency::Fixed(Duration::from_millis(400)),
        ..SiteOptions::default()
    })
    .unwrap();
    let mut idle = Client::connect(site.address());
    idle.send("GET /baz HTT");
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(site.address())).collect();
    for client in &mut clients {
        client.send(request("/"));
    }
    for client in &mut clients {
        assert_eq!(client.response().status, 200);
    }
    let used = cpu_time("demo-site");
    assert!(used <= Duration::from_millis(100), "{used:?}");
}

/// Returns the CPU time of the thread of this name, with a resolution of a hundredth of a
/// second (proc(5)).
fn cpu_time(name: &str) -> Duration {
    let mut threads = fs::read_dir("/proc/self/task").unwrap();
    let stat = threads.find_map(|thread| {
        // Another thread may end meanwhile.
        let stat = fs::read_to_string(thread.unwrap().path().join("stat")).ok()?;
        let (start, end) = stat.rsplit_once(") ")?;
        start.ends_with(&format!("({name}")).then(|| end.to_owned())
    });
    let stat = stat.expect("no thread has this name");
    let ticks = stat.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
