//! What it was all for: fetching a URL is one function again.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Patience, Received, Sink,
    Verdict, Visit,
};
use transport::{Candidates, Security, is_tls_error, out_of_descriptors};

use crate::time::within_pinned;
use crate::{
    Connection, Coroutine, EventLoop, Exception, Future, TooLate, Wait, catch, look_up, read_all,
    sleep, write_all,
};

/// Crawls a site with one coroutine per fetch, as many at a time as
/// `max_tasks` allows: by default, as the process may open connections.
///
/// # Errors
/// When there is no event queue to be had.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    crawl_on(&EventLoop::new()?, options, sink)
}

/// The same on a loop of your own, which is closed afterwards.
///
/// # Errors
/// Those of [`EventLoop::run_until_complete`].
///
/// # Panics
/// When the sink does.
pub fn crawl_on(event_loop: &EventLoop, options: Options, mut sink: Sink) -> io::Result<Ending> {
    let mut crawl = Crawl::new(options.clone());
    let roots = crawl.roots(&mut sink);
    let fetcher = Rc::new(Fetcher {
        event_loop: event_loop.clone(),
        security: Security::new(&options.ca_certificates, options.insecure),
        state: RefCell::new(State { urls_todo: VecDeque::new(), crawl, in_flight: 0 }),
        sink: RefCell::new(sink),
        all_done: Future::new(event_loop),
        panic: RefCell::new(None),
        options,
    });
    fetcher.go_on(roots);
    let ended = event_loop.run_until_complete(fetcher.all_done.clone());
    event_loop.close();
    if let Some(panic) = fetcher.panic.take() {
        resume_unwind(panic);
    }
    // Resolved by the last fetch; nobody cancels it.
    let _ = ended?;
    let mut state = fetcher.state.borrow_mut();
    let untaken = state.urls_todo.len();
    Ok(state.crawl.end(untaken, fetcher.options.max_tasks.map(|max| max.max(1))))
}

struct Fetcher {
    event_loop: EventLoop,
    options: Options,
    security: Security,
    state: RefCell<State>,
    sink: RefCell<Sink>,
    all_done: Future<()>,
    /// What the sink has panicked with.
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    in_flight: usize,
}

impl Fetcher {
    /// Adds jobs, and starts a task for each as long as there may be more.
    fn go_on(self: &Rc<Self>, jobs: Vec<Job>) {
        let mut state = self.state.borrow_mut();
        state.urls_todo.extend(jobs);
        let max_tasks = self.options.max_tasks.unwrap_or(usize::MAX).max(1);
        while state.in_flight < max_tasks
            && let Some(job) = state.urls_todo.pop_front()
        {
            let now = self.event_loop.now();
            let Some(mut visit) = state.crawl.begin(job, now) else {
                continue;
            };
            state.in_flight += 1;
            let fetcher = Rc::clone(self);
            // A block, which keeps what it captures in one place: the `mut`
            // argument of an `async fn` has two.
            self.event_loop.spawn_detached(async move {
                let fetched = catch(pin!(fetch(&fetcher, &mut visit))).await;
                fetcher.fetched(visit, fetched);
            });
        }
        if state.in_flight == 0 {
            // Refused only if it was resolved before.
            let _ = self.all_done.set_result(());
        }
    }

    /// One task is about to end.
    fn fetched(self: &Rc<Self>, visit: Visit, fetched: Result<(), Exception>) {
        let job = visit.job().clone();
        let now = self.event_loop.now();
        let conclude = AssertUnwindSafe(|| self.state.borrow_mut().crawl.conclude(visit, now));
        let concluded = fetched
            .and_then(|()| catch_unwind(conclude).map_err(|panic| Exception::panicked(&*panic)));
        let conclusion = concluded.unwrap_or_else(|error| {
            let error = FetchError::new(ErrorClass::Panic, error.to_string());
            self.state.borrow_mut().crawl.abandon(&job, error)
        });
        self.state.borrow_mut().in_flight -= 1;
        let Conclusion { row, others, jobs, .. } = conclusion;
        let rows = others.into_iter().chain([row]);
        let report = AssertUnwindSafe(|| rows.for_each(&mut *self.sink.borrow_mut()));
        match catch_unwind(report) {
            Ok(()) => self.go_on(jobs),
            Err(panic) => {
                self.panic.replace(Some(panic));
                // Refused if this is not the first one.
                let _ = self.all_done.set_result(());
            }
        }
    }
}

// ANCHOR: fetch
fn fetch(fetcher: &Fetcher, visit: &mut Visit) -> impl Coroutine<Output = ()> {
    let Fetcher { event_loop, options, .. } = fetcher;
    until_finished(event_loop, options, visit, async move |visit, patience| {
        let Fetcher { event_loop, security, .. } = fetcher;
        let mut connection = open(event_loop, security, visit, patience, || false).await?;
        let reusable = exchange(&mut connection, &fetcher.options, visit, patience, false).await;
        reusable.map(|_| ())
    })
}
// ANCHOR_END: fetch

// ANCHOR: until_finished
/// Makes one attempt after another, each within its deadlines, until the visit
/// is finished.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn until_finished(
    event_loop: &EventLoop,
    options: &Options,
    visit: &mut Visit,
    attempt: impl AsyncFn(&mut Visit, &Patience) -> Result<(), FetchError>,
) -> impl Coroutine<Output = ()> {
    async move {
        loop {
            let patience = Patience::new(options, event_loop.now());
            let deadline = || patience.deadline();
            let result = within_pinned(event_loop, deadline, pin!(attempt(visit, &patience))).await;
            let result = result.unwrap_or_else(|TooLate| Err(patience.lost()));
            match visit.judge(result) {
                Verdict::TryAgain(pause) => sleep(event_loop, pause).await,
                Verdict::Finished => return,
            }
        }
    }
}
// ANCHOR_END: until_finished

/// Connects to the host of a visit, at the first of its addresses that answers.
///
/// Having no descriptor left is no error: `make_room` may close something that
/// is not needed and say so, or else this waits for a connection of the loop to
/// be closed, if there is any.
///
/// It needs no more room in a frame than to wait for a response does, so it need
/// not be in a box: what has thousands of boxes at a time has holes afterwards.
///
/// # Errors
/// When there is no such host, or none that lets us in.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn open(
    event_loop: &EventLoop,
    security: &Security,
    visit: &Visit,
    patience: &Patience,
    make_room: impl Fn() -> bool,
) -> impl Coroutine<Output = Result<Connection, FetchError>> {
    async move {
        let (host, port) = visit.host_and_port();
        let addresses = look_up(event_loop, host, port)
            .await
            .map_err(|error| FetchError::new(ErrorClass::Dns, error.to_string()))?;
        let mut candidates = Candidates::new(addresses);
        while let Some(address) = candidates.current() {
            // Called only if we have to wait.
            let alarm = |at| {
                patience.pause(event_loop.now());
                patience.pause_until(at);
            };
            let turn = event_loop.turn_to_connect(address, alarm).await;
            patience.resume(event_loop.now());
            let begun = begin(event_loop, security, visit, patience, &candidates);
            let error = match until_connected(begun, patience).await {
                Ok(mut connection) => {
                    connection.turn = Some(turn);
                    patience.heard(event_loop.now());
                    return Ok(connection);
                }
                Err(error) => error,
            };
            if is_tls_error(&error) {
                return Err(FetchError::new(ErrorClass::Tls, error.to_string()));
            }
            let is_starved = out_of_descriptors(&error);
            if is_starved && make_room() {
                continue;
            }
            if is_starved && event_loop.connections() > 0 {
                patience.pause(event_loop.now());
                Box::pin(event_loop.descriptor_freed()).await;
                patience.resume(event_loop.now());
                continue;
            }
            event_loop.feed_starved();
            candidates.failed(&error);
        }
        Err(FetchError::new(ErrorClass::Connect, candidates.failure()))
    }
}

/// Begins to connect to the current candidate.
fn begin(
    event_loop: &EventLoop,
    security: &Security,
    visit: &Visit,
    patience: &Patience,
    candidates: &Candidates,
) -> io::Result<Connection> {
    let address = candidates.current().ok_or(ErrorKind::AddrNotAvailable)?;
    patience.try_address(event_loop.now(), candidates.left());
    let layer = security.layer(visit.secure_host())?;
    Connection::begin(event_loop, address, layer)
}

/// Waits until what has begun is a connection, unless the address uses up its
/// share of the time. What wakes us then is the timer of the whole try: there is
/// no other.
fn until_connected(
    begun: io::Result<Connection>,
    patience: &Patience,
) -> impl Coroutine<Output = io::Result<Connection>> {
    let (at, mut since, mut begun) = (Location::caller(), None, Some(begun));
    poll_fn(move |context| {
        if let Some(Ok(connection)) = &mut begun {
            match connection.poll_connected(context) {
                Poll::Ready(connected) => connected?,
                Poll::Pending => {
                    let event_loop = connection.event_loop();
                    event_loop.note(Wait::Connect(connection.key), Some(at), &mut since);
                    if patience.is_next_address_due(event_loop.now()) {
                        return Poll::Ready(Err(ErrorKind::TimedOut.into()));
                    }
                    return Poll::Pending;
                }
            }
        }
        begun.take().map_or(Poll::Pending, Poll::Ready)
    })
}

// ANCHOR: exchange
/// Sends the request and reads the response to its end. Returns whether the
/// connection can carry another one.
///
/// # Errors
/// When no complete, valid response comes.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn exchange(
    connection: &mut Connection,
    options: &Options,
    visit: &mut Visit,
    patience: &Patience,
    keep_alive: bool,
) -> impl Coroutine<Output = Result<bool, FetchError>> {
    async move {
        // The request is gone when it is sent: nobody holds it while waiting.
        let sent = write_all(connection, &visit.request(options, keep_alive)).await;
        sent.map_err(|error| failure(visit, &error))?;
        let event_loop = connection.event_loop().clone();
        let response = read_all(connection, |bytes| {
            patience.heard(event_loop.now());
            match visit.receive(bytes) {
                Ok(Received::More) => ControlFlow::Continue(()),
                Ok(Received::Complete { reusable }) => ControlFlow::Break(Ok(reusable)),
                Err(error) => ControlFlow::Break(Err(error)),
            }
        });
        match response.await {
            Ok(Some(complete)) => complete,
            Ok(None) => visit.receive_end().map(|()| false),
            Err(error) => Err(failure(visit, &error)),
        }
    }
}
// ANCHOR_END: exchange

/// What a failed read or write means at this point of a visit.
fn failure(visit: &Visit, error: &io::Error) -> FetchError {
    if is_tls_error(error) {
        return FetchError::new(ErrorClass::Tls, error.to_string());
    }
    visit.interrupted(error)
}
