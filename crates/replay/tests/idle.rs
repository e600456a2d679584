//! Waiting costs nothing.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use common::{Meddler, Stage, links, options, page, serve};
use selector_core::{Event, Os, World};

const FETCHES: usize = 100;
const SILENCE: Duration = Duration::from_millis(400);
/// From the arrival of the last request to the wait for its answer, on a
/// machine that has other things to do.
const SETTLING: Duration = Duration::from_millis(150);

/// Notes the moments at which a loop has learnt something.
struct Diary(Arc<Mutex<Vec<Instant>>>);

impl Meddler for Diary {
    fn wait(
        &mut self,
        os: &mut Os,
        timeout: Option<Duration>,
        news: &mut Vec<Event>,
    ) -> io::Result<()> {
        let result = os.wait(timeout, news);
        self.0.lock().unwrap().push(Instant::now());
        result
    }
}

/// Requests that wait for each other, and then together for a while.
#[derive(Default)]
struct Gathering {
    arrived: Mutex<(usize, Option<Instant>)>,
    complete: Condvar,
}

impl Gathering {
    /// Returns when the silence since the last arrival is over.
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
        std::thread::sleep((since + SILENCE).saturating_duration_since(Instant::now()));
    }
}

/// A hundred fetches wait for a server that says nothing. The loop has no
/// reason to move until it does; and in all it moves a few times for each.
#[test]
fn a_silent_server_wakes_nobody() {
    let paths = || (0..FETCHES).map(|n| format!("/{n}"));
    for stage in Stage::ON_A_LOOP {
        let gathering = Arc::new(Gathering::default());
        let site = serve({
            let gathering = Arc::clone(&gathering);
            move |request, reply| match request.path() {
                "/" => reply.page(links(paths())),
                _ => {
                    gathering.wait();
                    reply.page("");
                }
            }
        });
        let awake = Arc::new(Mutex::new(Vec::new()));
        let diary = Diary(Arc::clone(&awake));
        let mut options = options(site.url("/"));
        options.max_tasks = Some(FETCHES);
        let (crawled, work) = stage.crawl_in(diary, options);

        let root = ("/".to_owned(), page(links(paths()), FETCHES as u32));
        crawled.expect(paths().map(|path| (path, page("", 0))).chain([root]));

        let since = gathering.arrived.lock().unwrap().1.unwrap();
        let silence = since + SETTLING..since + SILENCE;
        let awake = awake.lock().unwrap();
        let in_vain = awake.iter().filter(|moment| silence.contains(*moment));
        assert_eq!(in_vain.count(), 0, "{stage:?}: woken by nothing");
        assert!(awake.iter().any(|moment| *moment < silence.start));
        assert!(awake.iter().any(|moment| *moment >= silence.end));

        assert_eq!(awake.len() as u64, work.ticks, "{stage:?}");
        let fetches = FETCHES as u64 + 1;
        assert!(work.turns <= 6 * fetches, "{stage:?}: {work:?}");
        assert!(work.ticks <= 4 * fetches, "{stage:?}: {work:?}");
        println!("{stage:?}: {work:?} for {fetches} fetches");
    }
}
