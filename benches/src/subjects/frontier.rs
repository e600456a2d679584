//! What those who are compared with us share: our rules of who is let in, and
//! a list of what is to be done.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use crawl_core::page::Page;
use crawl_core::{Address, Admission, Decision, Job, Joiner, Via};
use tokio::sync::Notify;
use url::Url;

use super::Work;
use crate::tally::Tally;

/// Jobs, and the door before them.
pub(super) struct Frontier {
    pub(super) work: Work,
    tally: Tally,
    door: RefCell<Admission>,
    todo: RefCell<VecDeque<Job>>,
    unfinished: Cell<usize>,
    news: Notify,
    error: RefCell<Option<io::Error>>,
}

impl Frontier {
    pub(super) fn new(work: Work, tally: Tally) -> Rc<Self> {
        let frontier = Self {
            door: RefCell::new(Admission::new(&work.options)),
            tally,
            todo: RefCell::default(),
            unfinished: Cell::new(0),
            news: Notify::new(),
            error: RefCell::new(None),
            work,
        };
        for root in &frontier.work.options.roots {
            frontier.admit(Address::of(root), Via::Root);
        }
        Rc::new(frontier)
    }

    /// Waits for a job; there is none when all are done, or somebody failed.
    pub(super) async fn next(&self) -> Option<Job> {
        while self.unfinished.get() > 0 && self.error.borrow().is_none() {
            if let Some(job) = self.todo.borrow_mut().pop_front() {
                return Some(job);
            }
            self.news.notified().await;
        }
        None
    }

    /// A job is done, and this is its page, if it has one.
    pub(super) fn done(&self, job: &Job, page: Option<&Page>) {
        if let Some(page) = page {
            let mut joiner = Joiner::new(&page.base, page.encoding);
            for link in page.found.links() {
                self.admit(joiner.join(link.href), Via::Element(job, link));
            }
        }
        self.tally.found(&job.url);
        self.unfinished.update(|count| count - 1);
        if self.unfinished.get() == 0 {
            self.news.notify_waiters();
        }
    }

    /// A worker has ended, if with an error, then for all.
    pub(super) fn ended(&self, ended: io::Result<()>) {
        if let Err(error) = ended {
            self.error.borrow_mut().get_or_insert(error);
            self.news.notify_waiters();
        }
    }

    /// What has come of it.
    pub(super) fn outcome(&self) -> io::Result<()> {
        self.error.take().map_or(Ok(()), Err)
    }

    fn admit<E>(&self, address: Result<Address<'_>, E>, via: Via<'_>) {
        let Ok(address) = address else { return };
        if let Decision::Admitted(job) = self.door.borrow_mut().admit(address, via) {
            self.todo.borrow_mut().push_back(job);
            self.unfinished.update(|count| count + 1);
            self.news.notify_one();
        }
    }
}

/// The URL of a job, which was one when it was let in.
pub(super) fn url_of(job: &Job) -> io::Result<Url> {
    Url::parse(&job.url).map_err(io::Error::other)
}
