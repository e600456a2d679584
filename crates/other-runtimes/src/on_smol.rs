//! The crawler on smol: workers around a channel, which is closed when all jobs
//! are done.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::net::TcpStream;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use crawl_core::{
    Completion, Crawl, CrawlSummary, Deadline, FetchError, FetchResult, Job, Options, Phase, Sink,
    Verdict, Visit,
};
use smol::channel::{Receiver, Sender, unbounded};
use smol::future::{FutureExt, yield_now};
use smol::{Async, LocalExecutor, Timer, block_on};
use transport::{Direction, Stream, TlsConnector};

use crate::MAX_TASKS;
use crate::exchange::{Exchange, Step};

// ANCHOR: crawl
/// Crawls a site on the calling thread, with smol.
///
/// # Errors
/// None. If the system has no event queue, smol panics instead.
///
/// # Panics
/// If the sink panics.
pub fn crawl(options: Options, mut sink: Sink) -> io::Result<CrawlSummary> {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let mut crawl = Crawl::new(options.clone());
    let roots = crawl.roots(&mut sink);
    let crawler = Crawler::new(options, crawl, sink);
    crawler.put(roots);
    crawler.close_if_done();

    // The executor borrows the crawler, because its tasks do.
    let executor = LocalExecutor::new();
    block_on(executor.run(async {
        let spawn = |_| executor.spawn(crawler.work());
        let workers: Vec<_> = (0..max_tasks).map(spawn).collect();
        for worker in workers {
            worker.await;
        }
    }));
    let remaining = crawler.jobs.len();
    Ok(crawler.crawl.borrow_mut().end(remaining, Some(max_tasks)))
}
// ANCHOR_END: crawl

struct Crawler {
    options: Options,
    tls_connector: TlsConnector,
    urls_todo: Sender<Job>,
    jobs: Receiver<Job>,
    /// The number of jobs that were put and are not done.
    unfinished: Cell<usize>,
    crawl: RefCell<Crawl>,
    sink: RefCell<Sink>,
}

impl Crawler {
    fn new(options: Options, crawl: Crawl, sink: Sink) -> Self {
        let (urls_todo, jobs) = unbounded();
        Self {
            tls_connector: TlsConnector::new(&options.ca_certificates, options.insecure),
            options,
            urls_todo,
            jobs,
            unfinished: Cell::new(0),
            crawl: RefCell::new(crawl),
            sink: RefCell::new(sink),
        }
    }

    // ANCHOR: put
    fn put(&self, jobs: Vec<Job>) {
        for job in jobs {
            // Fails only when the channel is closed, that is when all jobs are done.
            if self.urls_todo.try_send(job).is_ok() {
                self.unfinished.update(|count| count + 1);
            }
        }
    }

    fn close_if_done(&self) {
        if self.unfinished.get() == 0 {
            self.urls_todo.close();
        }
    }
    // ANCHOR_END: put

    // ANCHOR: work
    /// Runs one worker until the channel is closed.
    async fn work(&self) {
        while let Ok(job) = self.jobs.recv().await {
            let _done = Done(self);
            if let Some(mut completion) = self.fetch_catching_panic(&job).await {
                self.put(mem::take(&mut completion.jobs));
                completion.rows().for_each(&mut *self.sink.borrow_mut());
            }
        }
    }

    /// Fetches a URL. A fetch that panics ends as a row, too.
    async fn fetch_catching_panic(&self, job: &Job) -> Option<Completion> {
        match AssertUnwindSafe(self.fetch(job.clone())).catch_unwind().await {
            Ok(completion) => completion,
            Err(_) => Some(self.crawl.borrow_mut().abandon(job, "the fetch panicked")),
        }
    }
    // ANCHOR_END: work

    async fn fetch(&self, job: Job) -> Option<Completion> {
        let mut visit = self.crawl.borrow_mut().begin(job, Instant::now())?;
        loop {
            let deadline = Deadline::new(&self.options, Instant::now());
            let result = with_deadline(&deadline, self.attempt(&mut visit, &deadline)).await;
            match visit.judge(result) {
                Verdict::TryAgain(pause) => drop(Timer::after(pause).await),
                Verdict::Finished => break,
            }
        }
        Some(self.crawl.borrow_mut().complete(&mut visit, Instant::now()))
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
                    yield_now().await;
                    Ok(())
                }
            };
            readiness.map_err(|error| visit.interrupted(&error))?;
        }
    }
    // ANCHOR_END: attempt

    async fn open(&self, visit: &Visit, deadline: &Deadline) -> Result<Stream<Socket>, FetchError> {
        let server = visit.server();
        let addresses = smol::net::resolve(format!("{}:{}", server.host, server.port));
        let addresses = addresses.await.map_err(FetchError::dns)?;
        let mut failure = FetchError::dns("the host has no address");
        for (index, &address) in addresses.iter().enumerate() {
            let addresses_left = addresses.len() - index;
            deadline.enter(Phase::Connect { addresses_left }, Instant::now());
            let connected = async { Some(Async::<TcpStream>::connect(address).await) };
            let address_timeout = async {
                Timer::at(deadline.at()).await;
                None
            };
            let error = match connected.or(address_timeout).await {
                Some(Ok(socket)) => {
                    deadline.enter(Phase::Exchange, Instant::now());
                    let layer = self.tls_connector.layer(server.tls_host);
                    let layer = layer.map_err(|error| visit.interrupted(&error))?;
                    return Ok(Stream::new(Socket(socket), layer));
                }
                Some(Err(error)) => error,
                None => {
                    deadline.check(Instant::now())?;
                    ErrorKind::TimedOut.into()
                }
            };
            failure = FetchError::connect(address, &error);
        }
        Err(failure)
    }
}

// ANCHOR: done
/// A guard that marks a job as done when it is dropped, even by a panic.
struct Done<'c>(&'c Crawler);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.unfinished.update(|count| count - 1);
        self.0.close_if_done();
    }
}
// ANCHOR_END: done

// ANCHOR: with_deadline
/// Runs an attempt until its deadline, which moves whenever there is progress.
async fn with_deadline(
    deadline: &Deadline,
    attempt: impl Future<Output = FetchResult>,
) -> FetchResult {
    let mut attempt = pin!(attempt);
    let mut timer_at = deadline.at();
    let mut timer = Timer::at(timer_at);
    poll_fn(|context| {
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(result);
        }
        if timer_at != deadline.at() {
            timer_at = deadline.at();
            timer.set_at(timer_at);
        }
        Pin::new(&mut timer).poll(context).map(|_| deadline.check(Instant::now()))
    })
    .await
}
// ANCHOR_END: with_deadline

// ANCHOR: socket
/// A socket of smol with nonblocking `Read` and `Write`, as [`Stream`] needs it.
struct Socket(Async<TcpStream>);

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.get_ref().read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_ref().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
// ANCHOR_END: socket
