//! One crawl in Redis: its settings, its partitions, its journal and its counters.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crawl_core::{
    BusyHost, Candidate, Crawl, CrawlSummary, JournalEntry, LocalAdmission, Options, Outcome,
    Purpose, Row, Settings, StopReason,
};
use redis_protocol::resp2::types::OwnedFrame;
use siphasher::sip128::{Hasher128, SipHasher13};
use stage2_coroutines::EventLoop;
use transport::TlsConnector;

use crate::RedisOptions;
use crate::cluster::{Cluster, at_once, elements_of, number_of, pairs_of, text_of};
use crate::job_text::{self, REFUSED};
use crate::journal_file::{self, JournalFile};
use crate::node::{CallError, Command};
use crate::scripts::{CREATE, DUTY, PAGE, PUT, TRIM};

/// The version of all that is kept in Redis. Workers of different versions do not
/// work together.
const FORMAT: &str = concat!("5, ", env!("CARGO_PKG_VERSION"));

/// The format of a crawl that is being deleted.
const DELETED: &str = "deleted";

/// Number of jobs in one call of a script: a longer one would keep others waiting.
pub(crate) const MAX_JOBS: usize = 1_000;

/// Number of records that are moved to a file at a time, and their size in bytes; the last
/// page of them may go beyond.
const MOVED: (usize, usize) = (200, 4 << 20);

/// Time after which another worker may take the duty of moving the journal.
const DUTY_TIME: Duration = Duration::from_secs(60);

/// Number of partitions of a crawl, unless the user chooses it: on one server, and on each node
/// of a cluster.
const PARTITIONS: (usize, usize) = (1, 4);

/// A crawl in Redis.
pub(crate) struct Store {
    pub(crate) cluster: Cluster,
    pub(crate) partitions: usize,
    pub(crate) settings: Settings,
    /// The record of the crawl: names and values.
    fields: Vec<Vec<u8>>,
    /// The id of the crawl, which no other of this name has.
    id: String,
    /// The first line of the files of its journal.
    pub(crate) first_line: String,
    hasher: SipHasher13,
    /// The hashes of URLs that this worker has put in: most links of a page lead to one of
    /// them, and those need not be sent again.
    known: RefCell<HashSet<UrlHash>>,
    /// Number of connections that were lost before the first of them was put in.
    losses: Cell<u64>,
    /// Number of connections that were lost when the record of the crawl was last found.
    losses_when_found: Cell<u64>,
    /// True if this worker has begun the crawl.
    is_new: bool,
}

/// The hash of a URL.
pub(crate) type UrlHash = [u8; 16];

/// Limit on the hashes that a worker remembers: 32 MB.
const MAX_KNOWN: usize = 1 << 20;

/// The jobs to put in, by partition and host.
#[derive(Default)]
pub(crate) struct Batch {
    hosts: Vec<(usize, String, Vec<Entry>)>,
    /// The place of each host. A page may lead to a hundred thousand of them.
    places: HashMap<String, usize>,
}

/// A job to put in: the hash of its URL, its text and its counts.
type Entry = [Vec<u8>; 3];

/// The counters of a crawl, over all its partitions. All but `leases` only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) put: u64,
    pub(crate) done: u64,
    /// Jobs that get no request, because their host throttled everything.
    pub(crate) left: u64,
    /// Completed jobs whose row is broken.
    pub(crate) bad: u64,
    /// Broken leases.
    pub(crate) broken: u64,
    /// Leases now.
    pub(crate) leases: u64,
}

impl Store {
    /// Opens a crawl. Creates it if `create` has the options of one that has start URLs.
    ///
    /// # Errors
    /// When the server is lost, there is no such crawl, or one of another version, or its name
    /// is none.
    pub(crate) async fn open(
        event_loop: &EventLoop,
        redis: &RedisOptions,
        options: &Options,
        create: bool,
    ) -> io::Result<Self> {
        let name = &redis.name;
        let cluster = connect(event_loop, redis)?;
        let mut new_id = String::new();
        let fields = if create {
            let nodes = cluster.all_nodes().await?.len();
            let many = if nodes > 1 { nodes * PARTITIONS.1 } else { PARTITIONS.0 };
            let partitions = redis.partitions.unwrap_or(many).max(1).to_string();
            let settings = serde_json::to_string(&options.settings)?;
            let key = key_of(&format!("{name} {settings}"));
            new_id = random_name();
            let fields = [
                ("format", FORMAT),
                ("settings", &settings),
                ("key", &key),
                ("id", &new_id),
                ("partitions", &partitions),
            ];
            let arguments: Vec<_> = fields
                .iter()
                .flat_map(|(k, v)| [k.as_bytes().to_vec(), v.as_bytes().to_vec()])
                .collect();
            cluster.script(&CREATE, 0, &arguments).await?
        } else {
            cluster.command(0, ":crawl", &[b"HGETALL"]).await?
        };
        let fields = pairs_of(fields);
        let field = |name: &str| fields.iter().find(|(n, _)| n == name).map_or("", |(_, v)| v);
        if fields.is_empty() {
            return Err(no_such_crawl(redis));
        }
        if field("format") == DELETED {
            let message = format!("the crawl '{name}' is being deleted (--drop finishes that)");
            return Err(io::Error::other(message));
        }
        if field("format") != FORMAT {
            let message = format!(
                "the crawl '{name}' was started by another version ({}, this is {FORMAT})",
                field("format"),
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let words = fields.iter().flat_map(|(name, value)| [name, value]);
        let words = words.map(|word| word.clone().into_bytes()).collect();
        let settings = serde_json::from_str(field("settings"))?;
        let key = u128::from_str_radix(field("key"), 16).map_err(io::Error::other)?;
        let partitions = field("partitions").parse().map_err(io::Error::other)?;
        let hasher = SipHasher13::new_with_key(&key.to_le_bytes());
        let id = field("id").to_owned();
        Ok(Self {
            cluster,
            partitions,
            settings,
            fields: words,
            first_line: format!("journal of the crawl {name}, {id}\n"),
            is_new: create && id == new_id,
            id,
            hasher,
            known: RefCell::default(),
            losses: Cell::default(),
            losses_when_found: Cell::default(),
        })
    }

    fn hash(&self, text: &str) -> UrlHash {
        let mut hasher = self.hasher;
        hasher.write(text.as_bytes());
        hasher.finish128().as_bytes()
    }

    /// Returns the partition of a host.
    pub(crate) fn partition(&self, host: &str) -> usize {
        let hash = self.hash(host);
        let low = hash.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        (low % self.partitions as u64) as usize
    }

    /// Returns the jobs of those candidates that this worker does not know, as they are
    /// put in, and the hashes of their URLs, to be [remembered](Self::remember).
    pub(crate) fn unknown(
        &self,
        mut candidates: Vec<Candidate>,
        referrer: &str,
        local: &LocalAdmission,
    ) -> (Batch, Vec<UrlHash>) {
        let mut known = self.known.borrow_mut();
        let losses = self.cluster.losses();
        if self.losses.replace(losses) != losses {
            known.clear();
        }
        let mut hashes = Vec::new();
        candidates.retain(|candidate| {
            let hash = self.hash(&candidate.job.url);
            let is_new = !known.contains(&hash);
            hashes.extend(is_new.then_some(hash));
            is_new
        });
        let mut batch = Batch::default();
        self.add(&mut batch, &candidates, Some(referrer), local);
        (batch, hashes)
    }

    /// Remembers URLs that are in Redis now. All are forgotten when a connection is lost:
    /// then a server may have lost some of them.
    pub(crate) fn remember(&self, hashes: Vec<UrlHash>) {
        let mut known = self.known.borrow_mut();
        if known.len() + hashes.len() > MAX_KNOWN {
            known.clear();
        }
        known.extend(hashes);
    }

    /// Adds the jobs of candidates to a batch.
    pub(crate) fn add(
        &self,
        batch: &mut Batch,
        candidates: &[Candidate],
        referrer: Option<&str>,
        local: &LocalAdmission,
    ) {
        for Candidate { job, refusal } in candidates {
            let host = job.address().authority();
            let key = |text: &str| -> String {
                self.hash(text)[..8].iter().map(|byte| format!("{byte:02x}")).collect()
            };
            let mut counts = Vec::new();
            if let Some(max) = local.options().settings.max_pages_per_host
                && refusal.is_none()
                && job.purpose != Purpose::External
            {
                // A start URL is counted, and not limited.
                let max = if referrer.is_none() { u64::MAX } else { max };
                counts.push(format!("{max}!"));
            }
            if refusal.is_none() {
                counts.extend(local.trap_counts(job).map(|count| {
                    let key = key(&format!("{} {}", count.what, count.name));
                    format!("{key}:{}:{}", count.cost, count.limit)
                }));
            }
            let mark = if refusal.is_some() { Some(REFUSED) } else { None };
            let text = job_text::write(job, referrer, mark);
            let entry = [self.hash(&job.url).to_vec(), text.into_bytes(), counts.join(";").into()];
            batch.add(host, || self.partition(host), entry);
        }
    }

    /// Puts jobs in, those that are new, and returns their number without external
    /// ones.
    ///
    /// # Errors
    /// When the server is lost.
    pub(crate) async fn put(&self, batch: Batch) -> Result<u64, CallError> {
        let mut new = 0;
        for (partition, arguments) in batch.calls() {
            let reply = self.cluster.script(&PUT, partition, &arguments).await?;
            new += number_of(&reply) as u64;
        }
        Ok(new)
    }

    /// Returns the counters. All completions are read before the first put: since the
    /// counters only grow, equal sums were equal at the moment in between (Mattern's
    /// four counters).
    ///
    /// # Errors
    /// When the server is lost.
    pub(crate) async fn counters(&self) -> Result<Counters, CallError> {
        let mut counters = Counters::default();
        let words: [&[u8]; 5] = [b"HMGET", b"done", b"left", b"bad", b"broken"];
        let completions = |partition| self.cluster.command(partition, "", &words);
        for reply in at_once((0..self.partitions).map(completions)).await {
            let reply = elements_of(reply?);
            let number = |n: usize| reply.get(n).map_or(0, number_of) as u64;
            counters.done += number(0);
            counters.left += number(1);
            counters.bad += number(2);
            counters.broken += number(3);
        }
        let puts = |partition| self.cluster.command(partition, "", &[b"HGET", b"put"]);
        for put in at_once((0..self.partitions).map(puts)).await {
            counters.put += number_of(&put?) as u64;
        }
        let leases = |partition| self.cluster.command(partition, ":leases", &[b"ZCARD"]);
        for leases in at_once((0..self.partitions).map(leases)).await {
            counters.leases += number_of(&leases?) as u64;
        }
        Ok(counters)
    }

    /// Returns records of the journal between two ids, as many of the first ones as one reply
    /// is to have, and the id of the last of them; `None` if there is none.
    async fn page_of_journal(
        &self,
        partition: usize,
        from: &str,
        to: &str,
    ) -> Result<Option<(Vec<Vec<u8>>, String)>, CallError> {
        let ids = [from, to].map(|id| id.as_bytes().to_vec());
        let page = self.cluster.script(&PAGE, partition, &ids).await?;
        let (mut records, mut last) = (Vec::new(), None);
        for record in elements_of(page) {
            let mut record = elements_of(record).into_iter();
            last = record.next().as_ref().and_then(text_of);
            let field = record.next().map(elements_of).unwrap_or_default().pop();
            if let Some(OwnedFrame::BulkString(json)) = field {
                records.push(json);
            }
        }
        Ok(last.map(|last| (records, last)))
    }

    /// Hands all records of the journal to `take`.
    ///
    /// # Errors
    /// When the server is lost, and those of `take`.
    pub(crate) async fn read_journal(
        &self,
        partition: usize,
        mut take: impl AsyncFnMut(JournalEntry<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut from = "-".to_owned();
        while let Some((records, last)) = self.page_of_journal(partition, &from, "+").await? {
            for json in records {
                take(serde_json::from_slice(&json)?).await?;
            }
            // Behind the last one.
            from = format!("({last}");
        }
        Ok(())
    }

    /// Checks that the crawl is still there, and no other one of its name.
    ///
    /// # Errors
    /// When the server is lost, the crawl was deleted, or another one of this name was begun
    /// meanwhile. It was not deleted if a connection was lost since it was found: then a
    /// server may have lost its record, which is put in again.
    pub(crate) async fn check(&self) -> Result<(), CallError> {
        // A loss that is noticed with the reply may come after it.
        let losses = self.cluster.losses();
        let fields = self.cluster.command(0, ":crawl", &[b"HMGET", b"id", b"format"]).await?;
        let fields: Vec<_> = elements_of(fields).iter().map(text_of).collect();
        let is_deleted = matches!(&fields[..], [_, Some(format)] if format == DELETED);
        match fields.into_iter().next().flatten() {
            _ if is_deleted => return Err(CallError::Lost("the crawl was deleted".to_owned())),
            Some(id) if id == self.id => self.losses_when_found.set(losses),
            Some(_) => return Err(CallError::Lost("the crawl was started again".to_owned())),
            None if self.cluster.losses() == self.losses_when_found.get() => {
                return Err(CallError::Lost("the crawl was deleted".to_owned()));
            }
            // Others could begin it again, which would end all workers.
            None => drop(self.cluster.script(&CREATE, 0, &self.fields).await?),
        }
        Ok(())
    }

    /// Returns records of the journal with the id of the last one: so many that it is worth
    /// to wait for a disk.
    async fn records_to_move(
        &self,
        partition: usize,
        until: &str,
    ) -> Result<Option<(Vec<Vec<u8>>, String)>, CallError> {
        let Some((mut records, mut last)) = self.page_of_journal(partition, "-", until).await?
        else {
            return Ok(None);
        };
        let size = |records: &[Vec<u8>]| records.iter().map(Vec::len).sum::<usize>();
        while records.len() < MOVED.0 && size(&records) < MOVED.1 {
            let from = format!("({last}");
            let more = self.page_of_journal(partition, &from, until).await?;
            let Some((more, last_of_more)) = more else { break };
            records.extend(more);
            last = last_of_more;
        }
        Ok(Some((records, last)))
    }

    /// Moves the records of the journal that are older than `age` to a file, if this worker
    /// has that duty, or nothing else does.
    ///
    /// If a server was restarted, and that is not [mended](Self::mend) yet, the links of
    /// each record are put in again before it is moved: what is moved is not read for that
    /// any more. What a server loses is younger than `age`.
    ///
    /// # Errors
    /// When the file cannot be written, and those of [`check`](Self::check).
    pub(crate) async fn move_journal(
        &self,
        local: &RefCell<LocalAdmission>,
        worker: &str,
        age: Duration,
        file: &mut JournalFile,
    ) -> io::Result<()> {
        self.check().await?;
        let is_mended = self.runs().await?.iter().all(Run::is_noted);
        let worker = worker.as_bytes().to_vec();
        for partition in 0..self.partitions {
            let duty = [worker.clone(), DUTY_TIME.as_millis().to_string().into_bytes()];
            if number_of(&self.cluster.script(&DUTY, partition, &duty).await?) != 1 {
                continue;
            }
            // The ids of its records are moments of the same clock.
            let now = self.cluster.now(partition).await? / 1_000;
            let until = now.saturating_sub(age.as_millis() as u64).to_string();
            while let Some((records, last)) = self.records_to_move(partition, &until).await? {
                if !is_mended {
                    let mut batch = Batch::default();
                    for json in &records {
                        self.put_links(&serde_json::from_slice(json)?, &mut batch, local).await?;
                    }
                    self.put(batch).await?;
                }
                file.append(&records)?;
                // The id behind the last one.
                let (time, number) = last.split_once('-').unwrap_or((&last, "0"));
                let number: u64 = number.parse().map_err(io::Error::other)?;
                let keep = format!("{time}-{}", number + 1).into_bytes();
                let trim = [worker.clone(), keep];
                if number_of(&self.cluster.script(&TRIM, partition, &trim).await?) < 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Mends what a restart may have lost, in a crawl whose jobs are all done: so many were
    /// put in. When a server is another run than the one that is noted, its last moments may
    /// be lost, and with them the record of a new crawl, or jobs whose parents on another
    /// node are completed: so the record, the start URLs, and the links in the journal are put in
    /// once more. Returns true if there was nothing to mend.
    ///
    /// The new run is noted if nothing of that was new. Otherwise there is more to do, and
    /// what it leads to is looked at when it is done. While jobs are not done, they may have
    /// put URLs in, and have no record yet: so this is not called then.
    ///
    /// # Errors
    /// Those of [`check`](Self::check): a crawl that was deleted is not begun again.
    pub(crate) async fn mend(
        &self,
        local: &RefCell<LocalAdmission>,
        num_put: u64,
    ) -> io::Result<bool> {
        let runs = self.runs().await?;
        if runs.iter().all(Run::is_noted) {
            return Ok(true);
        }
        self.check().await?;
        self.cluster.script(&CREATE, 0, &self.fields).await?;
        self.put_roots(local).await?;
        let mut batch = Batch::default();
        for partition in 0..self.partitions {
            let put = async |entry: JournalEntry<'_>| {
                Ok(self.put_links(&entry, &mut batch, local).await?)
            };
            self.read_journal(partition, put).await?;
        }
        self.put(batch).await?;
        if self.counters().await?.put == num_put {
            self.note(&runs).await?;
        }
        Ok(false)
    }

    /// Puts the links of a record in once more, through a batch. What is left in that is to
    /// be put in at the end.
    async fn put_links(
        &self,
        entry: &JournalEntry<'_>,
        batch: &mut Batch,
        local: &RefCell<LocalAdmission>,
    ) -> Result<(), CallError> {
        let candidates = local.borrow_mut().candidates_of(entry);
        self.add(batch, &candidates, Some(&entry.row.url), &local.borrow());
        if batch.len() > MAX_JOBS {
            self.put(mem::take(batch)).await?;
        }
        Ok(())
    }

    /// Returns the runs of the servers that hold the partitions.
    async fn runs(&self) -> Result<Vec<Run>, CallError> {
        let mut runs = Vec::new();
        for partition in 0..self.partitions {
            let noted = self.cluster.command(partition, "", &[b"HGET", b"run"]).await?;
            let now = self.cluster.run_id(partition).await?;
            runs.push(Run { noted: text_of(&noted), now });
        }
        Ok(runs)
    }

    /// Notes the runs of the servers: what earlier runs have lost is mended.
    async fn note(&self, runs: &[Run]) -> Result<(), CallError> {
        for (partition, run) in runs.iter().enumerate().filter(|(_, run)| !run.is_noted()) {
            self.cluster.command(partition, "", &[b"HSET", b"run", run.now.as_bytes()]).await?;
        }
        Ok(())
    }

    /// Puts the start URLs in. Each worker does, since the one that has created the crawl may be
    /// gone.
    ///
    /// # Errors
    /// When the server is lost.
    pub(crate) async fn begin(&self, local: &RefCell<LocalAdmission>) -> Result<(), CallError> {
        let runs = if self.is_new { self.runs().await? } else { Vec::new() };
        // Otherwise a server has lost the record of the crawl, and others may have lost more.
        if runs.iter().all(|run| run.noted.is_none()) {
            self.note(&runs).await?;
        }
        self.put_roots(local).await
    }

    /// Puts the start URLs in.
    ///
    /// # Errors
    /// When the server is lost.
    async fn put_roots(&self, local: &RefCell<LocalAdmission>) -> Result<(), CallError> {
        let roots = local.borrow_mut().roots();
        let mut batch = Batch::default();
        self.add(&mut batch, &roots, None, &local.borrow());
        self.put(batch).await?;
        Ok(())
    }

    /// Reports the crawl from its journal, in these files and in Redis, even while it runs:
    /// hands its rows to `sink`. The fields of a row that depend on other URLs follow from
    /// the records.
    ///
    /// # Errors
    /// When the server is lost, the journal is damaged or a part of it is in other files.
    pub(crate) async fn report(
        &self,
        files: &[PathBuf],
        keep_redirects: bool,
        sink: &mut dyn FnMut(Row),
    ) -> io::Result<CrawlSummary> {
        let mut options = Options::new(Vec::new());
        options.settings.clone_from(&self.settings);
        options.keep_redirects = keep_redirects;
        let mut crawl = Crawl::new(options);
        // A start URL that is refused has its record, like all others.
        crawl.roots(&mut drop);
        // Before the records: what is completed meanwhile may have none among those.
        let counters = self.counters().await?;
        let mut done = 0;
        let mut replay = |entry: JournalEntry<'_>| {
            let completion = crawl.replay(entry);
            let rows = completion.rows().enumerate().collect::<Vec<_>>();
            let last = rows.len() - 1;
            for (n, mut row) in rows {
                // A trap has its record, too.
                if n == last || row.outcome != Outcome::Skipped {
                    // A redirect has no links, though its target may be new.
                    let is_redirect = row.outcome == Outcome::Redirect;
                    row.num_new_urls = if is_redirect { 0 } else { row.num_new_urls };
                    done += 1;
                    sink(row);
                }
            }
        };
        // The URLs of the records that were read.
        let (mut in_files, mut in_redis) = (HashSet::new(), HashSet::new());
        let mut moved_before = None;
        loop {
            let moved = self.moved().await?;
            if moved_before == Some(moved) {
                break;
            }
            journal_file::read(files, &self.first_line, |entry| {
                let url = Arc::clone(&entry.row.url);
                if in_files.insert(Arc::clone(&url)) && !in_redis.contains(&url) {
                    replay(entry);
                }
                Ok(())
            })?;
            if in_files.len() < moved {
                let missing = moved - in_files.len();
                let message = format!("{missing} records are in a file: pass it with --journal");
                return Err(io::Error::new(io::ErrorKind::NotFound, message));
            }
            if moved_before.is_some() {
                break;
            }
            for partition in 0..self.partitions {
                let replay = async |entry: JournalEntry<'_>| {
                    let url = Arc::clone(&entry.row.url);
                    if !in_files.contains(&url) && in_redis.insert(url) {
                        replay(entry);
                    }
                    Ok(())
                };
                self.read_journal(partition, replay).await?;
            }
            // Some may have been moved meanwhile, behind the end of the files as they were.
            moved_before = Some(moved);
        }
        let todo = counters.put.saturating_sub(counters.done);
        let stopped = (todo > counters.left).then_some(StopReason::UnderWay);
        if stopped.is_some() {
            crawl.expect_pages();
        }
        let summary = crawl.end(todo as usize, None);
        Ok(CrawlSummary { done, stopped, busy_hosts: self.given_up_hosts().await?, ..summary })
    }

    /// Returns the number of records that were moved to files.
    async fn moved(&self) -> Result<usize, CallError> {
        let mut moved = 0;
        for partition in 0..self.partitions {
            let reply = self.cluster.command(partition, "", &[b"HGET", b"moved"]).await?;
            moved += number_of(&reply) as usize;
        }
        Ok(moved)
    }

    /// Returns the hosts that were given up with jobs left, since they throttled everything.
    ///
    /// # Errors
    /// When the server is lost.
    pub(crate) async fn given_up_hosts(&self) -> Result<Vec<BusyHost>, CallError> {
        let mut given_up_hosts = Vec::new();
        for partition in 0..self.partitions {
            let reply = self.cluster.command(partition, ":gone", &[b"HGETALL"]).await?;
            // Names of the form `status host`.
            let given_up = |(name, count): (String, String)| {
                let (status, host) = name.split_once(' ')?;
                let (status, todo) = (status.parse().ok()?, count.parse().ok()?);
                Some(BusyHost { host: host.into(), status, todo })
            };
            let of_partition = pairs_of(reply).into_iter().filter_map(given_up);
            given_up_hosts.extend(of_partition.filter(|host| host.todo > 0));
        }
        given_up_hosts.sort_by(|one, other| one.host.cmp(&other.host));
        Ok(given_up_hosts)
    }

    /// Returns the state of the crawl.
    ///
    /// # Errors
    /// When the server is lost.
    pub(crate) async fn status(&self) -> io::Result<Status> {
        let counters = self.counters().await?;
        let (mut workers, mut hosts) = (Vec::new(), Vec::new());
        let mut num_hosts = 0;
        for partition in 0..self.partitions {
            let reply = self.cluster.command(partition, ":workers", &[b"HGETALL"]).await?;
            let now = self.cluster.now(partition).await?;
            for (name, text) in pairs_of(reply) {
                let mut words = text.splitn(3, ' ');
                let mut word = || words.next().unwrap_or_default();
                let seen: u64 = word().parse().unwrap_or_default();
                let leases: u64 = word().parse().unwrap_or_default();
                let description = word().to_owned();
                let idle = Duration::from_micros(now.saturating_sub(seen));
                match workers.iter_mut().find(|worker: &&mut WorkerStatus| worker.name == name) {
                    Some(worker) => {
                        worker.leases += leases;
                        worker.idle = worker.idle.min(idle);
                    }
                    None => workers.push(WorkerStatus { name, description, leases, idle }),
                }
            }
            let after = format!("({now}");
            let count = self.cluster.command(partition, ":ready", &[b"ZCARD"]).await?;
            num_hosts += number_of(&count) as u64;
            let words: [&[u8]; 7] =
                [b"ZRANGEBYSCORE", after.as_bytes(), b"+inf", b"WITHSCORES", b"LIMIT", b"0", b"10"];
            for (host, at) in pairs_of(self.cluster.command(partition, ":ready", &words).await?) {
                let at: f64 = at.parse().unwrap_or_default();
                hosts.push((host, Duration::from_micros((at as u64).saturating_sub(now))));
            }
        }
        hosts.sort_by_key(|(_, wait)| *wait);
        hosts.truncate(10);
        Ok(Status { counters, workers, num_hosts, hosts })
    }

    /// Deletes all keys of a crawl, whatever version has begun it. Its record is marked first,
    /// so that workers end and none joins, and deleted last: until then the deletion can be
    /// repeated.
    ///
    /// # Errors
    /// When the server is lost, there is no such crawl, or its name is none.
    pub(crate) async fn delete(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<()> {
        let cluster = connect(event_loop, redis)?;
        // Before the mark: a user that may not ask for them changes nothing.
        let nodes = cluster.all_nodes().await?;
        let record = format!("{}:crawl", cluster.key(0)).into_bytes();
        let mut has_keys = number_of(&cluster.command(0, ":crawl", &[b"EXISTS"]).await?) > 0;
        if has_keys {
            cluster.command(0, ":crawl", &[b"HSET", b"format", DELETED.as_bytes()]).await?;
            cluster.command(0, ":crawl", &[b"HDEL", b"id"]).await?;
        }
        let pattern = format!("{{{}:*", redis.name);
        for node in nodes {
            let mut cursor = "0".to_owned();
            loop {
                let words: [&[u8]; 6] =
                    [b"SCAN", cursor.as_bytes(), b"MATCH", pattern.as_bytes(), b"COUNT", b"1000"];
                let words = words.map(<[u8]>::to_vec).to_vec();
                let mut reply = elements_of(node.call(Command::new(words)).await?);
                let keys = reply.pop().map(elements_of).unwrap_or_default();
                cursor = reply.pop().as_ref().and_then(text_of).unwrap_or_default();
                for key in keys {
                    let OwnedFrame::BulkString(key) = key else { continue };
                    if key == record {
                        continue;
                    }
                    has_keys = true;
                    node.call(Command::new(vec![b"UNLINK".to_vec(), key])).await?;
                }
                if cursor == "0" || cursor.is_empty() {
                    break;
                }
            }
        }
        if !has_keys {
            return Err(no_such_crawl(redis));
        }
        cluster.command(0, ":crawl", &[b"UNLINK"]).await?;
        Ok(())
    }
}

/// The run of the server that holds a partition: its id is another one after each start.
struct Run {
    /// The last run whose losses are mended.
    noted: Option<String>,
    now: String,
}

impl Run {
    fn is_noted(&self) -> bool {
        self.noted.as_ref() == Some(&self.now)
    }
}

impl Batch {
    fn add(&mut self, host: &str, partition: impl Fn() -> usize, entry: Entry) {
        match self.places.get(host).and_then(|place| self.hosts.get_mut(*place)) {
            Some((.., entries)) => entries.push(entry),
            None => {
                self.places.insert(host.to_owned(), self.hosts.len());
                self.hosts.push((partition(), host.to_owned(), vec![entry]));
            }
        }
    }

    fn len(&self) -> usize {
        self.hosts.iter().map(|(.., entries)| entries.len()).sum()
    }

    /// Returns the arguments of the calls that put all jobs in, with their partitions.
    pub(crate) fn calls(self) -> Vec<(usize, Vec<Vec<u8>>)> {
        let mut calls: Vec<(usize, usize, Vec<Vec<u8>>)> = Vec::new();
        for (partition, host, entries) in self.hosts {
            for chunk in entries.chunks(MAX_JOBS) {
                let fits = |call: &&mut (usize, usize, Vec<Vec<u8>>)| {
                    call.0 == partition && call.1 + chunk.len() <= MAX_JOBS
                };
                let call = match calls.iter_mut().find(fits) {
                    Some(call) => call,
                    None => {
                        calls.push((partition, 0, Vec::new()));
                        let last = calls.len() - 1;
                        &mut calls[last]
                    }
                };
                call.1 += chunk.len();
                call.2.push(host.clone().into_bytes());
                call.2.push(chunk.len().to_string().into_bytes());
                call.2.extend(chunk.iter().flatten().cloned());
            }
        }
        calls.into_iter().map(|(partition, _, arguments)| (partition, arguments)).collect()
    }
}

/// Returns the servers of a crawl.
///
/// # Errors
/// When its name is none.
fn connect(event_loop: &EventLoop, redis: &RedisOptions) -> io::Result<Cluster> {
    let name = &redis.name;
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(is_valid) {
        let message = format!("'{name}' cannot name a crawl: use letters, digits, '-', '_', '.'");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let tls = TlsConnector::new(&redis.ca_certificates, redis.insecure);
    Ok(Cluster::new(event_loop, redis.server.clone(), tls, redis.max_wait, name))
}

fn no_such_crawl(redis: &RedisOptions) -> io::Error {
    let message = format!("there is no crawl '{}' in {}", redis.name, redis.server);
    io::Error::new(io::ErrorKind::NotFound, message)
}

/// Returns a name that nothing else has.
pub(crate) fn random_name() -> String {
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// Returns the key of the hash of URLs. It follows from the name and the settings of a
/// crawl: if a restart of the server loses a new crawl, it is created as it was.
fn key_of(text: &str) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    format!("{:032x}", hasher.finish128().as_u128())
}

/// The state of a crawl, see [`status`](crate::status). It is displayed as a text of
/// several lines.
#[derive(Clone, Debug)]
pub struct Status {
    pub(crate) counters: Counters,
    workers: Vec<WorkerStatus>,
    num_hosts: u64,
    hosts: Vec<(String, Duration)>,
}

#[derive(Clone, Debug)]
struct WorkerStatus {
    name: String,
    description: String,
    leases: u64,
    idle: Duration,
}

impl Status {
    /// Returns true if all jobs are done, or left because their hosts were busy all the
    /// time.
    pub fn is_done(&self) -> bool {
        self.counters.done + self.counters.left >= self.counters.put
    }

    /// Returns the number of URLs that have ended as rows.
    pub fn done(&self) -> u64 {
        self.counters.done
    }

    /// Returns the number of leases that were broken: each stands for a URL that may
    /// have been requested twice.
    pub fn broken_leases(&self) -> u64 {
        self.counters.broken
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counters { put, done, left, bad, broken, leases } = self.counters;
        let state = if self.is_done() { "done" } else { "not done" };
        writeln!(f, "{state}: {done} of {put} URLs, {bad} of them broken")?;
        writeln!(
            f,
            "{leases} in flight, {broken} leases expired, {left} URLs left because their hosts stayed busy"
        )?;
        writeln!(f, "{} workers", self.workers.len())?;
        for WorkerStatus { name, description, leases, idle } in &self.workers {
            writeln!(f, "  {name}, {description}: {leases} in flight, seen {idle:.1?} ago")?;
        }
        writeln!(f, "{} hosts with URLs that wait", self.num_hosts)?;
        for (host, wait) in &self.hosts {
            writeln!(f, "  {host}: next request in {wait:.1?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use asyncio::prelude::*;
    use stage2_coroutines::system_runtime;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread;

    use redis_protocol::resp2::decode::decode;

    use super::*;
    use crate::Server;

    /// Starts a node that answers each command with what `answer` returns for its words.
    fn answers(node: TcpListener, answer: impl Fn(&[String]) -> String + Send + 'static) {
        thread::spawn(move || {
            let mut client = node.accept().unwrap().0;
            let (mut bytes, mut received) = ([0; 65_536], Vec::new());
            while let Ok(length @ 1..) = client.read(&mut bytes) {
                received.extend_from_slice(&bytes[..length]);
                while let Some((command, length)) = decode(&received).unwrap() {
                    received.drain(..length);
                    let words: Vec<_> = elements_of(command).iter().flat_map(text_of).collect();
                    client.write_all(answer(&words).as_bytes()).unwrap();
                }
            }
        });
    }

    fn array(words: &[&str]) -> String {
        let words = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
        format!("*{}\r\n{}", words.len(), words.collect::<String>())
    }

    #[test]
    fn a_record_is_moved_by_the_clock_of_its_own_node() {
        let nodes = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = nodes.each_ref().map(|node| node.local_addr().unwrap().port());
        let (send, ends) = mpsc::channel();
        for (n, node) in nodes.into_iter().enumerate() {
            let send = send.clone();
            let settings = serde_json::to_string(&Settings::new(Vec::new())).unwrap();
            let fields = ["format", FORMAT, "settings", &settings, "key", "0", "id", "x"];
            let crawl = array(&[&fields[..], &["partitions", "2"]].concat());
            answers(node, move |words| match &*words[0] {
                _ if n == 0 && words.iter().any(|word| word.starts_with("{clocks:1}")) => {
                    format!("-MOVED 1 127.0.0.1:{}\r\n", ports[1])
                }
                "HGETALL" => crawl.clone(),
                "HMGET" => array(&["x", FORMAT]),
                "TIME" => array(&[["100", "200"][n], "0"]),
                "EVALSHA" if words[1] == PAGE.sha1 => {
                    // The last two words are the ids.
                    send.send((n, words[words.len() - 1].clone())).unwrap();
                    "*0\r\n".to_owned()
                }
                "EVALSHA" => ":1\r\n".to_owned(),
                _ => "$-1\r\n".to_owned(),
            });
        }
        let server = Server::parse(&format!("redis://127.0.0.1:{}/", ports[0])).unwrap();
        let redis = RedisOptions::new(server, "clocks");
        let path = std::env::temp_dir().join(format!("clocks-{}", std::process::id()));
        let runtime = system_runtime().unwrap();
        let event_loop = runtime.event_loop().clone();
        let moving = async {
            let options = Options::new(Vec::new());
            let store = Store::open(&event_loop, &redis, &options, false).await?;
            let mut file = JournalFile::open(&path, &store.first_line)?;
            let local = RefCell::new(LocalAdmission::new(options));
            store.move_journal(&local, "worker", Duration::from_secs(60), &mut file).await
        };
        runtime.run_sync(moving, Duration::from_secs(20)).unwrap().unwrap();
        std::fs::remove_file(path).unwrap();
        let ends: Vec<_> = ends.try_iter().collect();
        assert_eq!(ends, [(0, "40000".to_owned()), (1, "140000".to_owned())]);
    }

    #[test]
    fn jobs_are_put_in_by_host_however_many_hosts_a_page_leads_to() {
        let mut batch = Batch::default();
        let hosts: Vec<_> = (0..40_000).map(|n| format!("{n}.test")).collect();
        for path in ["/a", "/b"] {
            for (n, host) in hosts.iter().enumerate() {
                batch.add(host, || n % 2, [path.into(), Vec::new(), Vec::new()]);
            }
        }
        assert_eq!(batch.len(), 80_000);
        let calls = batch.calls();
        assert_eq!(calls.len(), 80);
        // A name, a number, and three words for each of the two jobs.
        assert!(calls.iter().all(|(_, arguments)| arguments.len() == 500 * 8));
        assert_eq!(calls[0].1[..2], [b"0.test".to_vec(), b"2".to_vec()]);
    }
}
