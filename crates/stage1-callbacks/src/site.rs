//! What all fetches of a crawl share, and where they come from.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use crawl_core::{Conclusion, Crawl, Ending, Job, Options, Sink, Visit};
use transport::Security;

use crate::{EventLoop, Fetcher};

/// Crawls a site with callbacks, as many fetches at a time as `max_tasks`
/// allows: by default, as the process may open connections.
///
/// # Errors
/// When there is no event queue to be had.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    crawl_on(&mut EventLoop::new()?, options, sink)
}

/// The same on a loop of your own.
///
/// # Errors
/// Those of [`EventLoop::run`].
pub fn crawl_on(
    event_loop: &mut EventLoop<Fetcher>,
    options: Options,
    sink: Sink,
) -> io::Result<Ending> {
    let (site, roots) = Site::new(options, sink);
    site.go_on(roots, event_loop);
    event_loop.run()?;
    let mut state = site.state.borrow_mut();
    let untaken = state.urls_todo.len();
    Ok(state.crawl.end(untaken, site.options.max_tasks.map(|max| max.max(1))))
}

/// What all fetches share; in the chapter these are globals.
pub(crate) struct Site {
    pub(crate) options: Options,
    pub(crate) security: Security,
    state: RefCell<State>,
    sink: RefCell<Sink>,
}

struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    in_flight: usize,
    is_starting: bool,
}

impl Site {
    /// A crawl that has not begun, and its roots.
    fn new(options: Options, mut sink: Sink) -> (Rc<Self>, Vec<Job>) {
        let mut crawl = Crawl::new(options.clone());
        let roots = crawl.roots(&mut sink);
        let site = Rc::new(Self {
            security: Security::new(&options.ca_certificates, options.insecure),
            state: RefCell::new(State {
                urls_todo: VecDeque::new(),
                crawl,
                in_flight: 0,
                is_starting: false,
            }),
            sink: RefCell::new(sink),
            options,
        });
        (site, roots)
    }

    // ANCHOR: go_on
    /// Adds jobs, starts as many as there may be, and stops the loop when
    /// nothing is left.
    fn go_on(self: &Rc<Self>, jobs: Vec<Job>, event_loop: &mut EventLoop<Fetcher>) {
        let mut state = self.state.borrow_mut();
        state.urls_todo.extend(jobs);
        // A fetch that fails at once leads back here before it has returned.
        // The call that started it goes on with whatever there is to do.
        if std::mem::replace(&mut state.is_starting, true) {
            return;
        }
        let max_tasks = self.options.max_tasks.unwrap_or(usize::MAX).max(1);
        while state.in_flight < max_tasks
            && let Some(job) = state.urls_todo.pop_front()
        {
            if let Some(visit) = state.crawl.begin(job, event_loop.now()) {
                state.in_flight += 1;
                drop(state);
                Fetcher::new(Rc::clone(self), visit, event_loop).fetch(event_loop);
                state = self.state.borrow_mut();
            }
        }
        state.is_starting = false;
        if state.in_flight == 0 {
            event_loop.stop();
        }
    }
    // ANCHOR_END: go_on

    // ANCHOR: finished
    /// A fetch has ended: what it found may be fetched next.
    pub(crate) fn finished(self: &Rc<Self>, visit: Visit, event_loop: &mut EventLoop<Fetcher>) {
        let mut state = self.state.borrow_mut();
        let Conclusion { row, others, jobs, .. } = state.crawl.conclude(visit, event_loop.now());
        state.in_flight -= 1;
        drop(state);
        others.into_iter().chain([row]).for_each(&mut *self.sink.borrow_mut());
        self.go_on(jobs, event_loop);
    }
    // ANCHOR_END: finished
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
        static MOST_TIMERS: Cell<usize> = const { Cell::new(0) };
    }

    /// Notes, a thousand times a second, how many timers there are. It has one
    /// itself, but not at the moment it looks.
    fn observe(observer: Box<Fetcher>, event_loop: &mut EventLoop<Fetcher>) {
        MOST_TIMERS.set(MOST_TIMERS.get().max(event_loop.timers.len()));
        event_loop.call_at(event_loop.now() + Duration::from_millis(1), observer, observe);
    }

    /// A fetch has one timer, through all its phases and tries, or none.
    #[test]
    fn one_timer_per_fetch() {
        const ROOTS: usize = 20;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        // Half of the connections end early; the others drip.
        let serve = move |number: usize, mut stream: std::net::TcpStream| {
            let _ = stream.read(&mut [0; 1000]);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n012345678";
            for byte in answer.iter().take(if number.is_multiple_of(2) { 10 } else { 100 }) {
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
        options.max_tries = 3;
        let mut event_loop = EventLoop::new().unwrap();
        let (site, roots) = Site::new(options.clone(), Box::new(|_| ()));
        let visit = Crawl::new(options).begin(roots[0].clone(), event_loop.now()).unwrap();
        observe(Fetcher::new(Rc::clone(&site), visit, &event_loop), &mut event_loop);
        site.go_on(roots, &mut event_loop);
        event_loop.run().unwrap();
        let most = MOST_TIMERS.get();
        assert!((ROOTS / 2..=ROOTS).contains(&most), "{most} timers");
        assert_eq!(event_loop.timers.len(), 1, "the observer's");
    }
}
