//! Waiting costs nothing. (A file of its own, hence a process of its own: it
//! looks at the processor time of the serving thread.)

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::fs;
use std::time::Duration;

use common::{Client, request};
use demo_site::{DemoSite, Latency, SiteOptions};

#[test]
fn a_site_that_waits_does_nothing() {
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
    let spent = processor_time("demo-site");
    assert!(spent <= Duration::from_millis(100), "{spent:?}");
}

/// What threads of this name have used, to a hundredth of a second: proc(5).
fn processor_time(name: &str) -> Duration {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let stats = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("stat")));
    let ticks = stats.map(|stat| {
        let stat = stat.unwrap();
        let (start, end) = stat.rsplit_once(") ").unwrap();
        if !start.ends_with(&format!("({name}")) {
            return 0;
        }
        let fields: Vec<&str> = end.split(' ').collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    });
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
