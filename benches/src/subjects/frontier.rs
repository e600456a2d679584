//! The frontier that the peers of our crawlers share: our admission of URLs, and
//! a queue of jobs.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use crawl_core::{Admission, Decision, Job, Via};
use tokio::sync::Notify;
use url::Url;
use web::page::Page;
use web::{Address, BaseUrl};

use super::Work;
use crate::row_check::RowCheck;

/// The pending jobs, and the admission of new ones.
pub struct Frontier {
    /// The work that is to be done.
    pub work: Work,
    row_check: RowCheck,
    admission: RefCell<Admission>,
    todo: RefCell<VecDeque<Job>>,
    unfinished: Cell<usize>,
    changed: Notify,
    error: RefCell<Option<io::Error>>,
}

impl Frontier {
    /// Admits the roots of the work.
    pub fn new(work: Work, row_check: RowCheck) -> Rc<Self> {
        let frontier = Self {
            admission: RefCell::new(Admission::new(&work.options)),
            row_check,
            todo: RefCell::default(),
            unfinished: Cell::new(0),
            changed: Notify::new(),
            error: RefCell::new(None),
            work,
        };
        for root in frontier.work.options.settings.roots.iter() {
            frontier.admit(Address::of(root), Via::Root);
        }
        Rc::new(frontier)
    }

    /// Waits for a job; `None` when all jobs are done or a worker has failed.
    pub async fn next(&self) -> Option<Job> {
        while self.unfinished.get() > 0 && self.error.borrow().is_none() {
            if let Some(job) = self.todo.borrow_mut().pop_front() {
                return Some(job);
            }
            self.changed.notified().await;
        }
        None
    }

    /// Ends a job, and admits the links of its page, if it has one.
    pub fn done(&self, job: &Job, page: Option<&Page>) {
        if let Some(page) = page {
            let mut base = BaseUrl::new(&page.base, page.encoding);
            for link in page.found.links() {
                self.admit(base.join(link.href), Via::Element(job, link));
            }
        }
        self.row_check.record(&job.url);
        self.unfinished.update(|count| count - 1);
        if self.unfinished.get() == 0 {
            self.changed.notify_waiters();
        }
    }

    /// Records the result of a worker. An error ends all workers.
    pub fn worker_ended(&self, result: io::Result<()>) {
        if let Err(error) = result {
            self.error.borrow_mut().get_or_insert(error);
            self.changed.notify_waiters();
        }
    }

    /// Returns the result of the crawl.
    ///
    /// # Errors
    /// The first error of a worker, if any.
    pub fn outcome(&self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    /// Queues the job for an address, unless it is known or out of scope.
    fn admit<E>(&self, address: Result<Address<'_>, E>, via: Via<'_>) {
        let Ok(address) = address else { return };
        if let Decision::Admitted(job) = self.admission.borrow_mut().admit(address, via) {
            self.todo.borrow_mut().push_back(job);
            self.unfinished.update(|count| count + 1);
            self.changed.notify_one();
        }
    }
}

/// Parses the URL of a job.
///
/// # Errors
/// Never for a job of the frontier: its URL was valid when it was admitted.
pub fn url_of(job: &Job) -> io::Result<Url> {
    Url::parse(&job.url).map_err(io::Error::other)
}
