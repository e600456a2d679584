//! The output for finished URLs: the journal, then the sink.

use std::any::Any;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crawl_core::{Completion, Crawl, Job, Row, StopReason};

use crate::Stopper;
use crate::external_cache::ExternalCache;
use crate::journal::Journal;

/// Writes each completion to the journal, if there is one, and then hands its
/// rows to the sink.
pub(crate) struct RowWriter {
    journal: RefCell<Option<Journal>>,
    sink: RefCell<Box<dyn FnMut(Row)>>,
    /// Payload of the sink's panic, once it has panicked.
    panic: RefCell<Option<Box<dyn Any + Send>>>,
    stopper: Stopper,
    cache: RefCell<Option<ExternalCache>>,
}

impl RowWriter {
    pub(crate) fn new(
        journal: Option<Journal>,
        sink: Box<dyn FnMut(Row)>,
        stopper: Stopper,
    ) -> Self {
        Self {
            journal: RefCell::new(journal),
            sink: RefCell::new(sink),
            panic: RefCell::new(None),
            stopper,
            cache: RefCell::default(),
        }
    }

    /// Takes results of other sites from a cache, and keeps new ones in it.
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
    /// Writes the completion of a job, and returns the jobs that it has led to.
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
            self.stopper.abort(StopReason::Journal(error));
            return Vec::new();
        }
        if let Some(cache) = &mut *self.cache.borrow_mut() {
            cache.remember(job, &completion.row);
        }
        let jobs = mem::take(&mut completion.jobs);
        completion.rows().for_each(|row| self.write_row(row));
        jobs
    }
    // ANCHOR_END: write

    /// Completes the jobs whose results are in the cache, and returns the others.
    pub(crate) fn unknown(&self, jobs: Vec<Job>, crawl: &RefCell<Crawl>) -> Vec<Job> {
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

    /// Hands a row to the sink. If the sink panics, it gets no more rows, and
    /// the panic is kept for the caller of the crawl.
    pub(crate) fn write_row(&self, row: Row) {
        if self.has_panicked() {
            return;
        }
        let mut sink = self.sink.borrow_mut();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| sink(row))) {
            self.panic.replace(Some(panic));
        }
    }

    /// Returns true if the sink has panicked: no more rows are wanted.
    pub(crate) fn has_panicked(&self) -> bool {
        self.panic.borrow().is_some()
    }

    /// Passes the sink's panic on, if there is one.
    ///
    /// # Panics
    /// When the sink has panicked.
    pub(crate) fn resume_panic(&self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }
}
