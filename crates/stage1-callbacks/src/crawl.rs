//! The crawl: the state that its fetches share, and the start of each fetch.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::mem;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crawl_core::{Crawl, CrawlSummary, Job, Options, Sink, Visit};
use transport::LookupFn;

use crate::connector::Connector;
use crate::fetch::{Client, Loop};
use crate::{EventLoop, Fetcher, traced};

/// Crawls a site with callbacks. At most `max_tasks` fetches are under way at a time. By
/// default there is no limit, and a fetch that gets no file descriptor waits for one.
///
/// # Errors
/// Those of [`crawl_on`]; and when the operating system refuses to create an event queue.
///
/// # Panics
/// When `sink` panics.
#[cfg(feature = "os")]
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    crawl_on(&mut EventLoop::new()?, Arc::new(transport::system_lookup), options, sink)
}

/// Crawls like [`crawl`], on an event loop and with a lookup of names of your own.
///
/// # Errors
/// Those of [`EventLoop::run`].
///
/// # Panics
/// When `sink` panics.
pub fn crawl_on(
    event_loop: &mut EventLoop<Fetcher>,
    lookup: Arc<LookupFn>,
    options: Options,
    sink: Sink,
) -> io::Result<CrawlSummary> {
    traced::observe(event_loop);
    let crawl_state = CrawlState::new(event_loop, lookup, options, sink);
    crawl_state.start_fetches(Vec::new(), event_loop);
    event_loop.run()?;
    let mut state = crawl_state.state.borrow_mut();
    let num_todo = state.urls_todo.len();
    let max_tasks = crawl_state.client.options.max_tasks.map(|max| max.max(1));
    Ok(state.crawl.end(num_todo, max_tasks))
}

/// The state that all fetches share. In the chapter these are globals.
///
/// A fetch can be made and started by hand. When it is done, it starts the fetches
/// of the links that it has found:
/// ```no_run
/// # use std::sync::Arc;
/// # use crawl_core::Options;
/// # use stage1_callbacks::{CrawlState, EventLoop, Fetcher};
/// # use transport::system_lookup;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let options = Options::new(vec!["http://xkcd.com/353/".parse()?]);
/// let sink = Box::new(|row: crawl_core::Row| println!("{}", row.url));
/// let mut event_loop = EventLoop::new()?;
/// let crawl = CrawlState::new(&mut event_loop, Arc::new(system_lookup), options, sink);
/// let now = event_loop.now();
/// if let Some(visit) = crawl.next_visit(now) {
///     Fetcher::new(&crawl, visit, now).fetch(&mut event_loop);
///     event_loop.run()?;
/// }
/// # Ok(())
/// # }
/// ```
pub struct CrawlState {
    pub(crate) client: Client,
    state: RefCell<State>,
    sink: RefCell<Sink>,
}

// ANCHOR: state
/// The URLs to fetch, and the number of fetches under way.
struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    in_flight: usize,
    /// Set while `start_fetches` runs.
    is_starting: bool,
}
// ANCHOR_END: state

impl CrawlState {
    /// Creates the state of a new crawl on this loop, with its roots as the URLs to fetch.
    pub fn new(
        event_loop: &mut EventLoop<Fetcher>,
        lookup: Arc<LookupFn>,
        options: Options,
        mut sink: Sink,
    ) -> Rc<Self> {
        let mut crawl = Crawl::new(options.clone());
        let urls_todo = crawl.roots(&mut sink).into();
        let connector = Connector::new(event_loop, lookup, &options);
        Rc::new(Self {
            client: Client { options, connector },
            state: RefCell::new(State { urls_todo, crawl, in_flight: 0, is_starting: false }),
            sink: RefCell::new(sink),
        })
    }

    /// Begins the visit of the next URL, if there is one and `max_tasks` allows it.
    pub fn next_visit(&self, now: Instant) -> Option<Visit> {
        let mut state = self.state.borrow_mut();
        while state.in_flight < self.client.options.max_tasks.unwrap_or(usize::MAX).max(1) {
            let job = state.urls_todo.pop_front()?;
            if let Some(visit) = state.crawl.begin(job, now) {
                state.in_flight += 1;
                return Some(visit);
            }
        }
        None
    }

    // ANCHOR: start_fetches
    /// Adds jobs, starts as many fetches as `max_tasks` allows, and stops the
    /// loop when nothing is left.
    fn start_fetches(self: &Rc<Self>, jobs: Vec<Job>, event_loop: &mut Loop) {
        let mut state = self.state.borrow_mut();
        state.urls_todo.extend(jobs);
        // A fetch that fails at once calls this method again, before `fetch`
        // has returned. The outer call then starts the jobs added here.
        if mem::replace(&mut state.is_starting, true) {
            return;
        }
        drop(state);
        let now = event_loop.now();
        while let Some(visit) = self.next_visit(now) {
            event_loop.start(Fetcher::new(self, visit, now), Fetcher::fetch);
        }
        let mut state = self.state.borrow_mut();
        state.is_starting = false;
        if state.in_flight == 0 {
            event_loop.stop();
        }
    }
    // ANCHOR_END: start_fetches

    // ANCHOR: fetch_done
    /// Ends a fetch: reports its rows and starts the jobs that it has found.
    pub(crate) fn fetch_done(self: &Rc<Self>, mut visit: Visit, event_loop: &mut Loop) {
        let mut state = self.state.borrow_mut();
        let mut completion = state.crawl.complete(&mut visit, event_loop.now());
        state.in_flight -= 1;
        drop(state);
        let jobs = mem::take(&mut completion.jobs);
        completion.rows().for_each(&mut *self.sink.borrow_mut());
        self.start_fetches(jobs, event_loop);
    }
    // ANCHOR_END: fetch_done
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;
    use std::time::Duration;

    use super::*;

    thread_local! {
        static MAX_TIMERS: Cell<usize> = const { Cell::new(0) };
    }

    /// Records the number of timers, a thousand times a second. Its own timer is
    /// not set at that moment.
    fn observe(observer: Box<Fetcher>, event_loop: &mut EventLoop<Fetcher>) {
        MAX_TIMERS.set(MAX_TIMERS.get().max(event_loop.timers.len()));
        event_loop.call_at(event_loop.now() + Duration::from_millis(1), observer, observe);
    }

    fn new_crawl(event_loop: &mut Loop, options: Options) -> Rc<CrawlState> {
        let lookup = Arc::new(transport::system_lookup);
        CrawlState::new(event_loop, lookup, options, Box::new(|_| ()))
    }

    /// A fetch has at most one timer, in all its phases and attempts.
    #[test]
    fn one_timer_per_fetch() {
        const ROOTS: usize = 20;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        // Half of the connections end early; the others drip.
        let serve = move |number: usize, mut stream: std::net::TcpStream| {
            let _ = stream.read(&mut [0; 1000]);
            let response = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n012345678";
            for byte in response.iter().take(if number.is_multiple_of(2) { 10 } else { 100 }) {
                let _ = stream.write_all(&[*byte]);
                thread::sleep(Duration::from_millis(1));
            }
        };
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                thread::spawn(move || serve(number, stream));
            }
        });
        let roots = (0..ROOTS).map(|n| format!("{origin}/{n}").parse().unwrap());
        let mut options = Options::new(roots.collect());
        options.settings.max_tries = 3;
        let mut event_loop = EventLoop::new().unwrap();
        let observed = new_crawl(&mut event_loop, options.clone());
        let visit = observed.next_visit(event_loop.now()).unwrap();
        observe(Fetcher::new(&observed, visit, event_loop.now()), &mut event_loop);
        let crawl_state = new_crawl(&mut event_loop, options);
        crawl_state.start_fetches(Vec::new(), &mut event_loop);
        event_loop.run().unwrap();
        let most = MAX_TIMERS.get();
        assert!((ROOTS / 2..=ROOTS).contains(&most), "{most} timers");
        assert_eq!(event_loop.timers.len(), 1, "the observer's");
    }
}
