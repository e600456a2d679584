//! Where what became of the URLs goes.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crawl_core::{Conclusion, Crawl, Job, Row, Sink, Stopped};

use crate::Stopper;
use crate::journal::Journal;

/// Writes conclusions down, where there is a journal, and then tells of them.
pub(crate) struct Ledger {
    journal: RefCell<Option<Journal>>,
    sink: RefCell<Sink>,
    /// What the sink has panicked with.
    panic: RefCell<Option<Box<dyn Any + Send>>>,
    stopper: Stopper,
}

impl Ledger {
    pub(crate) fn new(journal: Option<Journal>, sink: Sink, stopper: Stopper) -> Self {
        Self {
            journal: RefCell::new(journal),
            sink: RefCell::new(sink),
            panic: RefCell::new(None),
            stopper,
        }
    }

    // ANCHOR: enter
    /// Takes what became of a URL, and returns the jobs that it has led to.
    ///
    /// What cannot be written down has not happened: it is taken back, and the
    /// crawl stopped.
    pub(crate) fn enter(
        &self,
        job: &Job,
        conclusion: Conclusion,
        crawl: &RefCell<Crawl>,
    ) -> Vec<Job> {
        if let Some(journal) = &mut *self.journal.borrow_mut()
            && let Err(error) = journal.append(job, &conclusion)
        {
            crawl.borrow_mut().take_back(&conclusion);
            self.stopper.give_up(Stopped::Journal(error));
            return Vec::new();
        }
        let Conclusion { row, others, jobs, .. } = conclusion;
        others.into_iter().chain([row]).for_each(|row| self.tell(row));
        jobs
    }
    // ANCHOR_END: enter

    /// Hands a row to whoever wants to know. If that panics, nothing more is
    /// asked for, and the panic goes to whoever called for the crawl.
    pub(crate) fn tell(&self, row: Row) {
        if self.is_closed() {
            return;
        }
        let mut sink = self.sink.borrow_mut();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| sink(row))) {
            self.panic.replace(Some(panic));
        }
    }

    /// Whether nobody wants to know any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.panic.borrow().is_some()
    }

    /// # Panics
    /// When the sink did.
    pub(crate) fn close(&self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }
}
