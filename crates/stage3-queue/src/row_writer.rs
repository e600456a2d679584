//! The output for finished URLs: the journal, then the sink.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;

use crawl_core::{Completion, Crawl, Job, Row, StopReason};

use crate::ShutdownHandle;
use crate::external_cache::ExternalCache;
use crate::journal::Journal;
use crate::sink::GuardedSink;

/// Writes each completion to the journal, if there is one, and then hands its
/// rows to the sink.
pub(crate) struct RowWriter {
    journal: RefCell<Option<Journal>>,
    sink: GuardedSink,
    shutdown: ShutdownHandle,
    cache: RefCell<Option<ExternalCache>>,
}

impl RowWriter {
    pub(crate) fn new(
        journal: Option<Journal>,
        sink: impl FnMut(Row) + 'static,
        shutdown: ShutdownHandle,
    ) -> Self {
        Self {
            journal: RefCell::new(journal),
            sink: GuardedSink::new(sink),
            shutdown,
            cache: RefCell::default(),
        }
    }

    /// Uses the results of other sites in a cache, and keeps new ones in it.
    pub(crate) fn with_cache(self, cache: Option<ExternalCache>) -> Self {
        Self { cache: RefCell::new(cache), ..self }
    }

    /// Writes the cache.
    pub(crate) fn save_cache(&self, crawl: &RefCell<Crawl>) {
        if let Some(cache) = &*self.cache.borrow()
            && let Err(error) = cache.save()
        {
            crawl.borrow_mut().fail(format!("the cache cannot be written: {error}"));
        }
    }

    // ANCHOR: write
    /// Writes the completion of a job, and returns the jobs that it led to.
    ///
    /// If the journal cannot be written, the completion is rolled back, as if the
    /// URL had not been fetched, and the crawl is stopped.
    pub(crate) fn write(
        &self,
        job: &Job,
        mut completion: Completion,
        crawl: &RefCell<Crawl>,
    ) -> Vec<Job> {
        if let Some(journal) = &mut *self.journal.borrow_mut()
            && let Err(error) = journal.append(job, &completion)
        {
            crawl.borrow_mut().roll_back(&completion);
            self.shutdown.abort(StopReason::Journal(error));
            return Vec::new();
        }
        if let Some(cache) = &mut *self.cache.borrow_mut() {
            cache.remember(job, &completion.row);
        }
        let jobs = mem::take(&mut completion.jobs);
        completion.rows().for_each(|row| self.sink.write(row));
        jobs
    }
    // ANCHOR_END: write

    /// Settles the jobs whose results are in the cache, and returns the others.
    pub(crate) fn settle_cached(&self, jobs: Vec<Job>, crawl: &RefCell<Crawl>) -> Vec<Job> {
        if self.cache.borrow().is_none() {
            return jobs;
        }
        let (mut jobs, mut unknown) = (VecDeque::from(jobs), Vec::new());
        while let Some(job) = jobs.pop_front() {
            let known = self.cache.borrow().as_ref().and_then(|cache| cache.get(&job));
            match known {
                None => unknown.push(job),
                Some(finished) => {
                    let completion = crawl.borrow_mut().settle_known(&job, finished);
                    jobs.extend(self.write(&job, completion, crawl));
                }
            }
        }
        unknown
    }

    pub(crate) fn sink(&self) -> &GuardedSink {
        &self.sink
    }
}
