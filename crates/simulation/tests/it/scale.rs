//! The model of a crawl with many workers, at a small size.

use std::time::Duration;

use simulation::scale::{Calls, Scale, State};

/// Four workers and a hundred hosts, with two servers.
const SMALL: Scale = Scale {
    hosts: 100,
    largest: 50,
    workers: 4,
    tasks: 10,
    servers: 2,
    partitions: 4,
    pause: Duration::from_millis(500),
    ..Scale::LARGE
};

/// Runs a crawl to its end.
fn end(scale: Scale) -> State {
    let states = scale.run([Duration::from_secs(3_600)]).unwrap();
    assert_eq!(states[0].done, scale.pages(), "it does not end");
    states[0]
}

#[test]
fn the_largest_host_says_how_long_a_crawl_takes() {
    let State { at, calls, busy, .. } = end(SMALL);
    let least = SMALL.pause * (SMALL.largest - 1) + SMALL.fetch.0;
    // The root has to be fetched before there is a second page; and a worker without jobs
    // looks for some every quarter of a second.
    let most = SMALL.pause * (SMALL.largest - 1) + SMALL.fetch.1 * 2 + Duration::from_secs(1);
    assert!((least..most).contains(&at), "{at:?} is not in {least:?}..{most:?}");
    assert!(busy < at / 10, "{busy:?} of {at:?}");
    let Calls { claims: (all, empty), completions, puts, .. } = calls;
    assert_eq!(completions, SMALL.pages());
    assert!(all - empty <= completions && empty > completions, "{calls:?}");
    assert!(puts > completions / 2 && puts < completions, "{calls:?}");
    assert_eq!(end(SMALL), end(SMALL), "another run of the same");
}

#[test]
fn each_part_is_a_limit() {
    let no_pause = Scale { pause: Duration::ZERO, largest: 5_000, ..SMALL };
    let speed = |scale: Scale| scale.pages() as f64 / end(scale).at.as_secs_f64();
    // Forty tasks that fetch for 200 ms have 200 pages a second.
    let tasks = speed(no_pause);
    assert!((180.0..200.0).contains(&tasks), "{tasks}");
    let far = speed(Scale { round_trip: Duration::from_millis(200), ..no_pause });
    assert!(far < tasks * 0.6, "{far}");
    // A server that needs a hundred times as long for a completion has 350 pages a second.
    let mut slow = Scale { servers: 1, partitions: 1, tasks: 200, ..no_pause };
    slow.costs.complete *= 100;
    let server = speed(slow);
    let most = 1.0 / (slow.costs.complete + slow.costs.call + slow.costs.job).as_secs_f64();
    // At the end, those that wait for their turn are counted before it.
    assert!((most * 0.9..most * 1.02).contains(&server), "{server} of {most}");
}
