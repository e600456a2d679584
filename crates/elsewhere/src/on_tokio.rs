//! On tokio: a task for each fetch, and a set of tasks that can be joined.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Options, Patience, Sink, Verdict, Visit,
};
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet, coop};
use tokio::time::{sleep, sleep_until, timeout_at};
use transport::{Candidates, Direction, Security, Stream};

use crate::MAX_TASKS;
use crate::exchange::{Exchange, Step};

// ANCHOR: crawl
/// Crawls a site on one thread of tokio's.
///
/// # Errors
/// When there is no event queue to be had.
///
/// # Panics
/// When the sink does.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Our visits are not `Send`, and need not be: nobody else has them.
    let here = LocalSet::new();
    Ok(here.block_on(&runtime, crawl_here(options, sink)))
}
// ANCHOR_END: crawl

// ANCHOR: crawl_here
async fn crawl_here(options: Options, mut sink: Sink) -> Ending {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let security = Security::new(&options.ca_certificates, options.insecure);
    let mut crawl = Crawl::new(options.clone());
    let mut urls_todo = VecDeque::from(crawl.roots(&mut sink));
    let fetcher = Rc::new(Fetcher { options, security });
    let mut fetches = JoinSet::new();
    let mut jobs_in_flight = HashMap::new();
    loop {
        while fetches.len() < max_tasks
            && let Some(job) = urls_todo.pop_front()
        {
            if let Some(visit) = crawl.begin(job.clone(), Instant::now()) {
                let task = fetches.spawn_local(Rc::clone(&fetcher).fetch(visit));
                jobs_in_flight.insert(task.id(), job);
            }
        }
        let Some(ended) = fetches.join_next_with_id().await else {
            return crawl.end(urls_todo.len(), Some(max_tasks));
        };
        let id = ended.as_ref().map_or_else(|failed| failed.id(), |(id, _)| *id);
        let job = jobs_in_flight.remove(&id).expect("it was spawned above");
        let Conclusion { row, others, jobs, .. } = match ended {
            Ok((_, visit)) => crawl.conclude(visit, Instant::now()),
            Err(panic) => {
                let error = FetchError::new(ErrorClass::Panic, panic.to_string());
                crawl.abandon(&job, error)
            }
        };
        urls_todo.extend(jobs);
        others.into_iter().chain([row]).for_each(&mut sink);
    }
}
// ANCHOR_END: crawl_here

struct Fetcher {
    options: Options,
    security: Security,
}

impl Fetcher {
    /// What one task does: tries, until it is decided what becomes of the URL.
    async fn fetch(self: Rc<Self>, mut visit: Visit) -> Visit {
        loop {
            let patience = Patience::new(&self.options, Instant::now());
            let result = within(&patience, self.attempt(&mut visit, &patience)).await;
            match visit.judge(result) {
                Verdict::TryAgain(pause) => sleep(pause).await,
                Verdict::Finished => return visit,
            }
        }
    }

    // ANCHOR: attempt
    async fn attempt(&self, visit: &mut Visit, patience: &Patience) -> Result<(), FetchError> {
        let mut stream = self.open(visit, patience).await?;
        let mut exchange = Exchange::new(visit, &self.options);
        loop {
            let readiness = match exchange.advance(&mut stream, visit)? {
                Step::Complete => return Ok(()),
                Step::Blocked(Direction::Read) => stream.socket().0.readable().await,
                Step::Blocked(Direction::Write) => stream.socket().0.writable().await,
                Step::Heard => {
                    patience.heard(Instant::now());
                    coop::consume_budget().await;
                    Ok(())
                }
            };
            readiness.map_err(|error| visit.interrupted(&error))?;
        }
    }
    // ANCHOR_END: attempt

    async fn open(&self, visit: &Visit, patience: &Patience) -> Result<Stream<Socket>, FetchError> {
        let host = visit.host();
        let addresses = lookup_host(format!("{host}:{}", visit.port()))
            .await
            .map_err(|error| FetchError::new(ErrorClass::Dns, error.to_string()))?;
        let mut candidates = Candidates::new(addresses.collect());
        while let Some(address) = candidates.current() {
            patience.try_address(Instant::now(), candidates.left());
            let share_ends = patience.deadline().into();
            match timeout_at(share_ends, TcpStream::connect(address)).await {
                Ok(Ok(socket)) => {
                    patience.heard(Instant::now());
                    let layer = self.security.layer(visit.secure_host());
                    let layer = layer
                        .map_err(|error| FetchError::new(ErrorClass::Tls, error.to_string()))?;
                    return Ok(Stream::new(Socket(socket), layer));
                }
                Ok(Err(error)) => candidates.failed(&error),
                Err(_) if patience.is_next_address_due(Instant::now()) => {
                    candidates.failed(&ErrorKind::TimedOut.into());
                }
                Err(_) => return Err(patience.lost()),
            }
        }
        Err(FetchError::new(ErrorClass::Connect, candidates.failure()))
    }
}

// ANCHOR: within
/// Runs an attempt within its deadline, which moves while it runs.
async fn within(
    patience: &Patience,
    attempt: impl Future<Output = Result<(), FetchError>>,
) -> Result<(), FetchError> {
    let mut attempt = pin!(attempt);
    let mut timer = pin!(sleep_until(patience.deadline().into()));
    poll_fn(|context| {
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(result);
        }
        let deadline = patience.deadline().into();
        if deadline != timer.deadline() {
            timer.as_mut().reset(deadline);
        }
        timer.as_mut().poll(context).map(|()| Err(patience.lost()))
    })
    .await
}
// ANCHOR_END: within

// ANCHOR: socket
/// A socket of tokio's that says `WouldBlock`, as the streams of transport
/// want it.
struct Socket(TcpStream);

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
// ANCHOR_END: socket
