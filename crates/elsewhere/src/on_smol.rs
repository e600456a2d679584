//! On smol: workers around a channel, which is closed when all is done.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Instant;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Patience, Sink, Verdict, Visit,
};
use smol::channel::{Receiver, Sender, unbounded};
use smol::future::{FutureExt, yield_now};
use smol::{Async, LocalExecutor, Timer, block_on};
use transport::{Candidates, Direction, Security, Stream};

use crate::MAX_TASKS;
use crate::exchange::{Exchange, Step};

// ANCHOR: crawl
/// Crawls a site on the thread that calls, with smol.
///
/// # Errors
/// None. Where there is no event queue to be had, smol panics.
///
/// # Panics
/// When the sink does.
pub fn crawl(options: Options, mut sink: Sink) -> io::Result<Ending> {
    let max_tasks = options.max_tasks.unwrap_or(MAX_TASKS).max(1);
    let mut crawl = Crawl::new(options.clone());
    let roots = crawl.roots(&mut sink);
    let crawler = Crawler::new(options, crawl, sink);
    crawler.put(roots);
    crawler.close_if_done();

    // It borrows the crawler, and so do the workers.
    let executor = LocalExecutor::new();
    block_on(executor.run(async {
        let workers: Vec<_> = (0..max_tasks).map(|_| executor.spawn(crawler.work())).collect();
        for worker in workers {
            worker.await;
        }
    }));
    let untaken = crawler.jobs.len();
    Ok(crawler.crawl.borrow_mut().end(untaken, Some(max_tasks)))
}
// ANCHOR_END: crawl

struct Crawler {
    options: Options,
    security: Security,
    urls_todo: Sender<Job>,
    jobs: Receiver<Job>,
    /// Jobs put in and not done.
    unfinished: Cell<usize>,
    crawl: RefCell<Crawl>,
    sink: RefCell<Sink>,
}

impl Crawler {
    fn new(options: Options, crawl: Crawl, sink: Sink) -> Self {
        let (urls_todo, jobs) = unbounded();
        Self {
            security: Security::new(&options.ca_certificates, options.insecure),
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
            // Refused only when it is closed, and then all was done.
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
    /// One worker, until there is no more work for anybody.
    async fn work(&self) {
        while let Ok(job) = self.jobs.recv().await {
            let _done = Done(self);
            if let Some(Conclusion { row, others, jobs, .. }) = self.survive(&job).await {
                self.put(jobs);
                others.into_iter().chain([row]).for_each(&mut *self.sink.borrow_mut());
            }
        }
    }

    /// Fetches a URL, and ends it as a row even if that panics.
    async fn survive(&self, job: &Job) -> Option<Conclusion> {
        match AssertUnwindSafe(self.fetch(job.clone())).catch_unwind().await {
            Ok(conclusion) => conclusion,
            Err(_) => {
                let error = FetchError::new(ErrorClass::Panic, "the fetch panicked");
                Some(self.crawl.borrow_mut().abandon(job, error))
            }
        }
    }
    // ANCHOR_END: work

    async fn fetch(&self, job: Job) -> Option<Conclusion> {
        let mut visit = self.crawl.borrow_mut().begin(job, Instant::now())?;
        loop {
            let patience = Patience::new(&self.options, Instant::now());
            let result = within(&patience, self.attempt(&mut visit, &patience)).await;
            match visit.judge(result) {
                Verdict::TryAgain(pause) => drop(Timer::after(pause).await),
                Verdict::Finished => break,
            }
        }
        Some(self.crawl.borrow_mut().conclude(visit, Instant::now()))
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
                    yield_now().await;
                    Ok(())
                }
            };
            readiness.map_err(|error| visit.interrupted(&error))?;
        }
    }
    // ANCHOR_END: attempt

    async fn open(&self, visit: &Visit, patience: &Patience) -> Result<Stream<Socket>, FetchError> {
        let host = visit.host();
        let addresses = smol::net::resolve(format!("{host}:{}", visit.port()))
            .await
            .map_err(|error| FetchError::new(ErrorClass::Dns, error.to_string()))?;
        let mut candidates = Candidates::new(addresses.into());
        while let Some(address) = candidates.current() {
            patience.try_address(Instant::now(), candidates.left());
            let connected = async { Some(Async::<TcpStream>::connect(address).await) };
            let share_ends = async {
                Timer::at(patience.deadline()).await;
                None
            };
            match connected.or(share_ends).await {
                Some(Ok(socket)) => {
                    patience.heard(Instant::now());
                    let layer = self.security.layer(visit.secure_host());
                    let layer = layer
                        .map_err(|error| FetchError::new(ErrorClass::Tls, error.to_string()))?;
                    return Ok(Stream::new(Socket(socket), layer));
                }
                Some(Err(error)) => candidates.failed(&error),
                None if patience.is_next_address_due(Instant::now()) => {
                    candidates.failed(&ErrorKind::TimedOut.into());
                }
                None => return Err(patience.lost()),
            }
        }
        Err(FetchError::new(ErrorClass::Connect, candidates.failure()))
    }
}

// ANCHOR: done
/// Dropped at the end of a worker's turn, however that comes about.
struct Done<'c>(&'c Crawler);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.unfinished.update(|count| count - 1);
        self.0.close_if_done();
    }
}
// ANCHOR_END: done

// ANCHOR: within
/// Runs an attempt within its deadline, which moves while it runs.
async fn within(
    patience: &Patience,
    attempt: impl Future<Output = Result<(), FetchError>>,
) -> Result<(), FetchError> {
    let mut attempt = pin!(attempt);
    let mut set_to = patience.deadline();
    let mut timer = Timer::at(set_to);
    poll_fn(|context| {
        if let Poll::Ready(result) = attempt.as_mut().poll(context) {
            return Poll::Ready(result);
        }
        if set_to != patience.deadline() {
            set_to = patience.deadline();
            timer.set_at(set_to);
        }
        Pin::new(&mut timer).poll(context).map(|_| Err(patience.lost()))
    })
    .await
}
// ANCHOR_END: within

// ANCHOR: socket
/// A socket whose readiness smol watches, as the streams of transport want it.
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
