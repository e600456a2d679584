//! The frontier of a crawl on Redis or Valkey: one crawl on many machines.

mod cluster;
mod event;
mod frontier;
mod job_text;
mod node;
mod scripts;
mod server;
mod settings;
mod store;

use std::io;
use std::rc::Rc;
use std::time::Duration;

use crawl_core::{CrawlProgress, CrawlSummary, Options, Row, Sink};
use stage2_coroutines::{EventLoop, Selected, select, sleep};
use stage3_queue::{Crawler, Stopper};

pub use frontier::{RedisClaim, RedisFrontier, Step};
pub use server::Server;
pub use store::Status;

use crate::store::Store;

/// The way to a crawl in Redis.
#[derive(Clone)]
pub struct RedisOptions {
    /// The server, or a node of a cluster.
    pub server: Server,
    /// The name of the crawl: letters, digits, `-`, `_` and `.`, at most 64.
    pub name: String,
    /// The length of a lease, 30 s by default. A worker renews its leases three times in
    /// that time. What a lost worker has claimed is asked again when its lease has ended.
    pub lease: Duration,
    /// The time for which an unreachable server is waited for, 60 s by default.
    pub max_wait: Duration,
    /// The number of partitions of a new crawl. By default one, and four for each node of
    /// a cluster.
    pub partitions: Option<usize>,
    /// Called at each step of a job. For tests, which end the process in it.
    pub on_step: Option<Rc<dyn Fn(Step)>>,
}

impl RedisOptions {
    /// Returns the default options for a crawl of this name.
    pub fn new(server: Server, name: &str) -> Self {
        Self {
            server,
            name: name.to_owned(),
            lease: Duration::from_secs(30),
            max_wait: Duration::from_secs(60),
            partitions: None,
            on_step: None,
        }
    }
}

/// Works on a crawl until it is done or stopped: begins it if `options` have roots and
/// there is none of that name yet, and joins it otherwise. Hands the rows of the URLs
/// that this worker finishes to `sink`, and the progress of all workers to `watch`, once
/// per `interval`. Returns the summary of this worker.
///
/// # Errors
/// Those of [`RedisFrontier::open`].
pub async fn work(
    event_loop: &EventLoop,
    redis: RedisOptions,
    options: Options,
    sink: Sink,
    stopper: Stopper,
    (interval, mut watch): (Duration, impl FnMut(&CrawlProgress)),
) -> io::Result<CrawlSummary> {
    let frontier = RedisFrontier::open(event_loop, redis, options, sink, stopper.clone()).await?;
    let crawler = Crawler::with_frontier(event_loop, frontier.options(), frontier.clone(), stopper);
    let watching = async {
        loop {
            watch(&crawler.progress());
            sleep(event_loop, interval).await;
        }
    };
    let summary = match select((crawler.crawl(), watching)).await {
        Selected::First(summary) => summary,
        Selected::Second(never) => never,
    };
    frontier.close().await;
    Ok(summary)
}

async fn open(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<Store> {
    Store::open(event_loop, redis, &Options::new(Vec::new()), false).await
}

/// Returns the state of a crawl.
///
/// # Errors
/// When the server is lost or there is no such crawl.
pub async fn status(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<Status> {
    open(event_loop, redis).await?.status().await
}

/// Reports a crawl from its journal, even while it runs: hands its rows to `sink` and
/// returns the summary of what is done.
///
/// # Errors
/// When the server is lost, there is no such crawl, or its journal is damaged.
pub async fn report(
    event_loop: &EventLoop,
    redis: &RedisOptions,
    sink: &mut dyn FnMut(Row),
) -> io::Result<CrawlSummary> {
    open(event_loop, redis).await?.report(sink).await
}

/// Deletes all that Redis keeps of a crawl.
///
/// # Errors
/// When the server is lost or there is no such crawl.
pub async fn delete(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<()> {
    open(event_loop, redis).await?.delete().await
}
