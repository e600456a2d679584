//! The frontier of a crawl on Redis or Valkey: one crawl on many machines.
//!
//! Each worker is the crawler of stage 3, unchanged: its workers ask a
//! [`Frontier`](stage3_queue::Frontier) for a claim, fetch, and end the claim. Here the
//! frontier is a [`RedisFrontier`], and the plan of the crawl is in Redis 6.2 or later,
//! or in Valkey, alone or as a cluster.
//!
//! The rules of this crate:
//!
//! 1. **A claim is a lease.** It ends when it is not renewed. A worker renews its leases
//!    each second, or three times in their length (30 s, [`RedisOptions::lease`]) if that is
//!    shorter; what a lost worker has claimed is claimed by others when the lease has ended,
//!    so a page may be requested twice.
//! 2. **Each transition is one script**: put, claim, renew, complete, defer, release. It
//!    changes everything or nothing, and may be sent twice. A claim that is repeated gets
//!    what it got; a completion finds its record among the last 1,000 of its partition.
//! 3. **The lease is the fence.** Each lease begins with a token of its own. A result that
//!    comes after its lease has ended has no record, though its links may have been put in:
//!    so each URL has exactly one record in the journal.
//! 4. **Children first.** The URLs of a page that belong to other partitions are put in
//!    before the page is completed, and up to a thousand of those of its own partition in the
//!    same script. A crash in between repeats the puts, and what was seen is not put in again.
//! 5. **The end is read from counters that only grow**: first all completions, then all
//!    puts (the four counters of Mattern, 1987). Equal sums were equal in between.
//! 6. **The clock is that of Redis**, so the clocks of the workers do not matter.
//!
//! # Keys
//!
//! Hosts are spread over partitions by a hash. All keys of partition `p` of the crawl
//! `c` begin with `{c:p}`, so a cluster keeps them on one node:
//!
//! | key | type | content |
//! |---|---|---|
//! | `{c:p}` | hash | the counters `put`, `done`, `left`, `bad`, `broken`, `moved`, and the `run` of the server whose losses are mended |
//! | `:seen` | set | 128-bit hashes of the URLs |
//! | `:q:HOST`, `:b:HOST` | list, sorted set | the jobs of a host, and those that were put off, by the moment of their next attempt |
//! | `:ready` | sorted set | hosts by the moment when each may get its next request |
//! | `:h:HOST`, `:rulesNHOST` | strings | the politeness of a host, in MessagePack, and the rules of its http (0) and https (1) origin; of a host without work, only those up to 16 KB |
//! | `:leases` | sorted set | leases by their ends: a token, the host, the kind of the job, the moment of the claim, the host's next moment before it, the job |
//! | `:journal` | stream | the records of finished URLs, as in a journal of `--state` |
//! | `:duty` | string | the worker that moves the journal to a file |
//! | `:traps`, `:gone`, `:workers` | hash | counts of crawler traps, URLs left of hosts that throttled everything, workers |
//! | `{c:0}:crawl` | hash | the settings, the version, a random id and the number of partitions |
//!
//! The settings hold the headers of the crawl and its login (`--header`, `--user`): who
//! can read the server can read them. A user of its own needs these rights:
//!
//! ```text
//! ACL SETUSER crawler ON >PASSWORD ~{NAME:*
//!     +@all -@admin -@dangerous +info +bgrewriteaof +cluster|slots
//! ```
//!
//! # Options and rows
//!
//! | option | is held |
//! |---|---|
//! | every field of [`Settings`](crawl_core::Settings), except those that are refused | globally: a worker that joins gets them from the crawl, and one that is given others is refused; a value that is the default does not count as given, nor does `--check none` |
//! | among them `--delay`, `--rate-limit` and `--max-wait`; `Crawl-delay`, 429, 503 and `Retry-After`, robots.txt (fetched once per origin and day; one whose rules have more than 16 KB again when a host that had no URLs left has new ones) | globally, over all workers together |
//! | the second attempts of URLs whose server has failed (500, 502, 504, 520 to 527, 425) | globally for each host |
//! | a name whose name server gives no answer (`EAI_AGAIN`) | looked up once more after two seconds, by any worker, and not at the end of the crawl; each worker says for itself that its machine has no DNS or no route |
//! | what counts against the limits on crawler traps | globally for each host |
//! | pages of equal content | each worker counts for itself; of a page that has too many copies no link is followed, which is a warning and no row |
//! | hosts that do not answer | each worker counts for itself; once one gives a host up, each other does after its own next failed attempt |
//! | `--max-tasks`, `--max-time`, `--max-pages`, `--cacert` and `--insecure` (also for the server of Redis), proxies, output, log and progress | per worker: with `--max-pages`, a worker leaves after so many |
//! | `--journal` | per worker: of those that have it, one for each partition moves the records to its file |
//! | cookies, `--cookie-jar`, `--no-cookies` | per worker: each has a jar of its own, and gets and sends its own cookies |
//! | `--max-depth`, `--follow-root`, `--sitemap`, `--state`, `--record`, `--replay`, `--external-rate`, `--cache`, settings for single hosts | refused |
//!
//! | field of a row | in a worker's own output | in a report |
//! |---|---|---|
//! | `url`, `status`, `outcome`, `next_url`, `error`, `content_type`, `encoding`, `size`, `num_urls`, `tries`, `elapsed_ms`, `selected` | as in one process | the same |
//! | `num_new_urls` | by the order in which Redis has seen the URLs | the same |
//! | `referrer` | by the order in which Redis has seen the URLs | by the order of the journal |
//! | `depth` | of the first way that was found | the same |
//! | missing fragments and the number of those that cannot be checked, links that are no URL, redirects in a circle over several URLs, also one in which a cookie was set, all referrers of a broken URL | not there | as in one process |
//!
//! # What is promised
//!
//! A worker may be killed at any moment. A server may be killed, too, if it keeps an
//! append-only file (`appendonly yes`): with `appendfsync everysec` it may lose its last
//! second. What is lost is requested again; and since a page on one node may be completed
//! whose children on another node are lost, a worker that meets another run of a server
//! puts the links of all records in again before it declares the end, when all that is
//! known is done. A worker that was connected before also has that server write its
//! append-only file again (`BGREWRITEAOF`), because Redis 7.0 leaves the beginning of a
//! transaction in the file that was cut short, and would run it at its next start. A server
//! that is killed again before that is done may lose jobs: run `redis-check-aof --fix` before
//! it starts. If no worker was connected, run it before the next start. No URL has two
//! records, but a URL may be requested more than once.
//!
//! The server must not evict keys when its memory is full: its policy must be `noeviction`,
//! which is the default.
//!
//! In a cluster, the slots of a crawl must not be moved to other nodes key by key while
//! workers run: a script then finds a part of its keys only, and Redis does not undo what it
//! has changed before, so that a job can be lost for good. Stop all workers before that. One
//! that meets such a slot ends with an error. When the master of a node is lost and a replica
//! takes its place, workers do not follow: they wait for the node that they know
//! ([`RedisOptions::max_wait`]), and then end. Start them again then, with a node that is
//! there.
//!
//! Records that were moved to a file ([`RedisOptions::journal`]) are not needed for that: a
//! record stays in Redis for a minute, and once a server was restarted, the links of each
//! record are put in again before it is moved. A report needs all the files, and they belong
//! to one crawl: one that is begun later with the same name has another id.
//!
//! # Costs
//!
//! `cargo run --release -p frontier-redis --example costs` measures them. A page
//! takes two calls, that of the claim and that of its completion, and a part of a third when
//! its links lead to other partitions. A call is about ten commands of Redis, which does one
//! after another: so a server is at its limit at some ten thousand pages a second. A seen
//! URL takes about 65 bytes of memory, a queued one ten beside its text and the path of its
//! referrer, and a record about 1.2 times its text.
//!
//! A claim that gets nothing takes a call, too, and all workers without a job ask when a host
//! is due: with many workers and few hosts left, a page takes ten calls and more. The book's
//! page on many machines says where each part is the limit, from a model:
//! `cargo run --release -p simulation --bin scale`.

mod cluster;
mod event;
mod frontier;
mod job_text;
mod journal_file;
mod node;
mod record;
mod rules_cache;
mod scripts;
mod server;
mod settings;
mod store;

use std::future::poll_fn;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use crawl_core::{CrawlProgress, CrawlSummary, Options, Row, Sink};
use stage2_coroutines::{EventLoop, Selected, select, sleep};
use stage3_queue::{Crawler, ShutdownHandle};

pub use frontier::{RedisClaim, RedisFrontier, Step};
pub use server::Server;
pub use store::Status;

use crate::store::Store;

/// The way to a crawl in Redis.
#[derive(Clone)]
pub struct RedisOptions {
    /// The server, or a node of a cluster.
    pub server: Server,
    /// The certificates in DER that are trusted beside the system's, if the server speaks
    /// TLS.
    pub ca_certificates: Vec<Vec<u8>>,
    /// True if any certificate of the server is accepted.
    pub insecure: bool,
    /// The name of the crawl: letters, digits, `-`, `_` and `.`, at most 64.
    pub name: String,
    /// The length of a lease, 30 s by default. A worker renews its leases each second, or
    /// three times in that time if that is shorter. What a lost worker has claimed is requested
    /// again when its lease has ended.
    pub lease: Duration,
    /// How long a worker waits for an unreachable server, 60 s by default.
    pub max_wait: Duration,
    /// The files of the journal. A worker moves the records to the first one that have been
    /// in Redis for [`journal_age`](Self::journal_age), unless another worker does; a report
    /// reads all of them.
    pub journal: Vec<PathBuf>,
    /// The time that a record stays in Redis, a minute by default. It must be longer than
    /// what a server loses that is killed.
    pub journal_age: Duration,
    /// True if a report keeps all referrers of a URL that redirects, see
    /// [`Options::keep_redirects`].
    pub keep_redirects: bool,
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
            ca_certificates: Vec::new(),
            insecure: false,
            name: name.to_owned(),
            lease: Duration::from_secs(30),
            max_wait: Duration::from_secs(60),
            journal: Vec::new(),
            journal_age: Duration::from_secs(60),
            keep_redirects: false,
            partitions: None,
            on_step: None,
        }
    }
}

/// Works on a crawl until it is done, stopped or deleted: begins it if `options` have start URLs and
/// there is none of that name yet, and joins it otherwise. Hands the rows of the URLs
/// that this worker finishes to `sink`, and the progress of all workers to `watch`, once
/// per `interval`. Returns the summary of this worker.
///
/// # Errors
/// Those of [`RedisFrontier::open`].
///
/// # Panics
/// When the sink has panicked.
pub async fn work(
    event_loop: &EventLoop,
    redis: RedisOptions,
    options: Options,
    sink: Sink,
    shutdown: ShutdownHandle,
    (interval, mut watch): (Duration, impl FnMut(&CrawlProgress)),
) -> io::Result<CrawlSummary> {
    let frontier = RedisFrontier::open(event_loop, redis, options, sink, shutdown.clone()).await?;
    let crawler =
        Crawler::with_frontier(event_loop, frontier.options(), frontier.clone(), shutdown);
    let watching = async {
        loop {
            watch(&crawler.progress());
            sleep(event_loop, interval).await;
        }
    };
    let mut crawling = pin!(select((crawler.crawl(), watching)));
    // After a panic, too, the frontier gives its leases back before the caller hears of it.
    let crawled = poll_fn(|context| {
        let poll = || crawling.as_mut().poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    });
    let crawled = crawled.await;
    frontier.close().await;
    match crawled {
        Ok(Selected::First(summary)) => Ok(summary),
        Ok(Selected::Second(never)) => never,
        Err(panic) => resume_unwind(panic),
    }
}

async fn open(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<Store> {
    Store::open(event_loop, redis, &Options::new(Vec::new()), false).await
}

/// Returns the state of a crawl.
///
/// # Errors
/// When the server is lost, there is no such crawl, another version has begun it, or its name
/// is none.
pub async fn status(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<Status> {
    open(event_loop, redis).await?.status().await
}

/// Reports a crawl from its journal, even while it runs: hands its rows to `sink` and
/// returns the summary of what is done.
///
/// # Errors
/// When the server is lost, there is no such crawl, another version has begun it, its name is
/// none, its journal is damaged, or a part of it is in files that are not named.
pub async fn report(
    event_loop: &EventLoop,
    redis: &RedisOptions,
    sink: &mut dyn FnMut(Row),
) -> io::Result<CrawlSummary> {
    let store = open(event_loop, redis).await?;
    store.report(&redis.journal, redis.keep_redirects, sink).await
}

/// Deletes all that Redis keeps of a crawl, whatever version has begun it. Workers that still
/// run notice it within a second, and end with an error. What they have put in meanwhile is
/// left, and can be deleted once more; so stop them before.
///
/// # Errors
/// When the server is lost, there is no such crawl, or its name is none.
pub async fn delete(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<()> {
    Store::delete(event_loop, redis).await
}
