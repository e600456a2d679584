//! The crawler on tokio: a task for each fetch, in a `JoinSet`.

use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::SocketAddr;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use crawl_core::{
    Crawl, CrawlSummary, Deadline, FetchError, FetchResult, Options, Phase, Sink, Verdict, Visit,
};
use tokio::net::{TcpStream, lookup_host};
use tokio::runtime::Builder;
use tokio::task::{JoinSet, LocalSet, coop};
use tokio::time::{sleep, sleep_until, timeout_at};
use transport::{Direction, Stream, TlsConnector};

use crate::MAX_TASKS;
use crate::exchange::{Exchange, Step};

// ANCHOR: crawl
/// Crawls a site on the calling thread, with a current-thread runtime of tokio.
///
/// # Errors
/// If the system has no event queue.
///
/// # Panics
/// If the sink panics.
pub fn crawl(options: Options, sink: Sink) -> io::Result<CrawlSummary> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Visits are not `Send`. They need not be, because they stay on this thread.
    let local_set = LocalSet::new();
    Ok(local_set.block_on(&runtime, crawl_here(options, sink)))
}
// ANCHOR_END: crawl

// ANCHOR: crawl_here
async fn crawl_here(options: Options, mut sink: Sink) -> CrawlSummary {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let tls_connector = TlsConnector::new(&options.ca_certificates, options.insecure);
    let mut crawl = Crawl::new(options.clone());
    let mut urls_todo = VecDeque::from(crawl.roots(&mut sink));
    let client = Rc::new(Client { options, tls_connector });
    let mut fetches = JoinSet::new();
    let mut jobs_in_flight = HashMap::new();
    loop {
        while fetches.len() < max_tasks
            && let Some(job) = urls_todo.pop_front()
        {
            if let Some(visit) = crawl.begin(job.clone(), Instant::now()) {
                let task = fetches.spawn_local(Rc::clone(&client).fetch(visit));
                jobs_in_flight.insert(task.id(), job);
            }
        }
        let Some(joined) = fetches.join_next_with_id().await else {
            return crawl.end(urls_todo.len(), Some(max_tasks));
        };
        let id = joined.as_ref().map_or_else(|failed| failed.id(), |(id, _)| *id);
        let job = jobs_in_flight.remove(&id).expect("it was spawned above");
        let mut completion = match joined {
            Ok((_, mut visit)) => crawl.complete(&mut visit, Instant::now()),
            Err(panic) => crawl.abandon(&job, panic.to_string()),
        };
        urls_todo.extend(mem::take(&mut completion.jobs));
        completion.rows().for_each(&mut sink);
    }
}
// ANCHOR_END: crawl_here

struct Client {
    options: Options,
    tls_connector: TlsConnector,
}

impl Client {
    /// Fetches a URL in one task: tries until the visit is finished.
    async fn fetch(self: Rc<Self>, mut visit: Visit) -> Visit {
        loop {
            let deadline = Deadline::new(&self.options, Instant::now());
            let result = with_deadline(&deadline, self.attempt(&mut visit, &deadline)).await;
            match visit.judge(result) {
                Verdict::TryAgain(pause) => sleep(pause).await,
                Verdict::Finished => return visit,
            }
        }
    }

    // ANCHOR: attempt
    async fn attempt(&self, visit: &mut Visit, deadline: &Deadline) -> FetchResult {
        let mut stream = self.open(visit, deadline).await?;
        let mut exchange = Exchange::new(visit, &self.options);
        loop {
            let readiness = match exchange.advance(&mut stream, visit)? {
                Step::Complete => return Ok(()),
                Step::Blocked(Direction::Read) => stream.socket().0.readable().await,
                Step::Blocked(Direction::Write) => stream.socket().0.writable().await,
                Step::Progress => {
                    deadline.enter(visit.phase(), Instant::now());
                    coop::consume_budget().await;
                    Ok(())
                }
            };
            readiness.map_err(|error| visit.interrupted(&error))?;
        }
    }
    // ANCHOR_END: attempt

    async fn open(&self, visit: &Visit, deadline: &Deadline) -> Result<Stream<Socket>, FetchError> {
        let server = visit.server();
        let addresses = lookup_host(format!("{}:{}", server.host, server.port));
        let addresses: Vec<SocketAddr> = addresses.await.map_err(FetchError::dns)?.collect();
        let mut failure = FetchError::dns("the host has no address");
        for (index, &address) in addresses.iter().enumerate() {
            let addresses_left = addresses.len() - index;
            deadline.enter(Phase::Connect { addresses_left }, Instant::now());
            let error = match timeout_at(deadline.at().into(), TcpStream::connect(address)).await {
                Ok(Ok(socket)) => {
                    deadline.enter(Phase::Exchange, Instant::now());
                    let layer = self.tls_connector.layer(server.tls_host);
                    let layer = layer.map_err(|error| visit.interrupted(&error))?;
                    return Ok(Stream::new(Socket(socket), layer));
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    deadline.check(Instant::now())?;
                    ErrorKind::TimedOut.into()
                }
            };
            failure = FetchError::connect(address, &error);
        }
        Err(failure)
    }
}

// ANCHOR: with_deadline
/// Runs an attempt until its deadline, which moves whenever there is progress.
async fn with_deadline(
    deadline: &Deadline,
    attempt: impl Future<Output = FetchResult>,
) -> FetchResult {
    let mut attempt = pin!(attempt);
    let mut timer = pin!(sleep_until(deadline.at().into()));
    poll_fn(|context| {
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(result);
        }
        let deadline_at = deadline.at().into();
        if deadline_at != timer.deadline() {
            timer.as_mut().reset(deadline_at);
        }
        timer.as_mut().poll(context).map(|()| deadline.check(Instant::now()))
    })
    .await
}
// ANCHOR_END: with_deadline

// ANCHOR: socket
/// A socket of tokio with nonblocking `Read` and `Write`, as [`Stream`] needs
/// it.
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
