//! An idle event loop: it does not wake up while all fetches wait.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "it/common/mod.rs"]
mod common;

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use common::{Interceptor, LoopStats, Stage, links, options, page, serve};
use selector_core::{Backend, Event, OsBackend};

const FETCHES: usize = 100;
const SILENCE: Duration = Duration::from_millis(1500);
/// The time that a loop may take, on a busy machine, from the arrival of the
/// last request until it waits for the response.
const SETTLE_TIME: Duration = Duration::from_millis(1000);

/// An interceptor that records the times at which the loop wakes up.
struct WakeLog(Arc<Mutex<Vec<Instant>>>);

impl Interceptor for WakeLog {
    fn wait(
        &mut self,
        os: &mut OsBackend,
        timeout: Option<Duration>,
        events: &mut Vec<Event>,
    ) -> io::Result<()> {
        let result = os.wait(timeout, events);
        self.0.lock().unwrap().push(Instant::now());
        result
    }
}

/// A barrier for all requests. Once the last has arrived, none is answered
/// until [`SILENCE`] is over.
#[derive(Default)]
struct SilentBarrier {
    arrived: Mutex<(usize, Option<Instant>)>,
    complete: Condvar,
}

impl SilentBarrier {
    /// Waits for the last request, and then until the silence is over.
    fn wait(&self) {
        let mut arrived = self.arrived.lock().unwrap();
        arrived.0 += 1;
        if arrived.0 == FETCHES {
            arrived.1 = Some(Instant::now());
            self.complete.notify_all();
        }
        let is_incomplete = |(_, since): &mut (usize, Option<Instant>)| since.is_none();
        let arrived = self.complete.wait_while(arrived, is_incomplete);
        let since = arrived.unwrap().1.unwrap();
        thread::sleep((since + SILENCE).saturating_duration_since(Instant::now()));
    }
}

/// A hundred fetches wait for a silent server. The loop does not wake up until
/// the server answers, and the whole crawl takes a few wake-ups per fetch.
#[test]
fn a_silent_server_does_not_wake_the_loop() {
    thread::scope(|scope| {
        let crawls = Stage::ON_A_LOOP.map(|stage| (stage, scope.spawn(move || check(stage))));
        for (stage, crawl) in crawls {
            println!("{stage:?}: {:?} for {} fetches", crawl.join().unwrap(), FETCHES + 1);
        }
    });
}

/// Checks one stage and returns how often its loop woke up, and for how many calls.
fn check(stage: Stage) -> LoopStats {
    let paths = || (0..FETCHES).map(|n| format!("/{n}"));
    let barrier = Arc::new(SilentBarrier::default());
    let site = serve({
        let barrier = Arc::clone(&barrier);
        move |request, reply| match request.path() {
            "/" => reply.page(links(paths())),
            _ => {
                barrier.wait();
                reply.page("");
            }
        }
    });
    let wake_times = Arc::new(Mutex::new(Vec::new()));
    let wake_log = WakeLog(Arc::clone(&wake_times));
    let mut options = options(site.url("/"));
    options.max_tasks = Some(FETCHES);
    let (crawled, stats) = stage.crawl_with_interceptor(wake_log, options);

    let root = ("/".to_owned(), page(links(paths()), FETCHES as u32));
    crawled.expect(paths().map(|path| (path, page("", 0))).chain([root]));

    let since = barrier.arrived.lock().unwrap().1.unwrap();
    let silence = since + SETTLE_TIME..since + SILENCE;
    let wake_times = wake_times.lock().unwrap();
    let spurious = wake_times.iter().filter(|moment| silence.contains(*moment));
    assert_eq!(spurious.count(), 0, "{stage:?}: woken by nothing");
    assert!(wake_times.iter().any(|moment| *moment < silence.start));
    assert!(wake_times.iter().any(|moment| *moment >= silence.end));

    assert_eq!(wake_times.len() as u64, stats.ticks, "{stage:?}");
    let fetches = FETCHES as u64 + 1;
    assert!(stats.calls <= 6 * fetches, "{stage:?}: {stats:?}");
    assert!(stats.ticks <= 4 * fetches, "{stage:?}: {stats:?}");
    stats
}
