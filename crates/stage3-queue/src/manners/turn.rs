//! One job, for as long as it is somebody's turn.

use std::cell::Cell;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crawl_core::{FetchError, Job, Visit};

use super::Manners;
use super::hosts::HostId;
use crate::Item;

/// How often a URL is put off because its host has no time. Then it is told
/// how it came.
pub(super) const MOST_PUT_OFFS: u32 = 5;

/// A job whose turn it is. When it goes out of scope, the job is done and
/// others have their turns; unless its host wants to be asked later.
pub(crate) struct Turn {
    pub(super) manners: Rc<Manners>,
    pub(super) id: HostId,
    /// There until this is dropped.
    pub(super) item: Option<Item<Job>>,
    /// Why the URL is not to be asked, if it is not. Boxed, since there seldom
    /// is a reason, and every fetch in flight has a turn.
    pub(super) refusal: Option<Box<FetchError>>,
    /// Whether the robots.txt of its origin is to be asked for, and not the URL.
    pub(super) asks_robots: bool,
    pub(super) comes_again: Cell<bool>,
}

impl Turn {
    /// Why the URL is not to be asked, if it is not.
    pub(crate) fn refusal(&self) -> Option<&FetchError> {
        self.refusal.as_deref()
    }

    /// When the next request of this turn may begin.
    pub(crate) fn next_start(&self) -> Instant {
        self.manners.next_start(self.id)
    }

    /// Whether the answer is that the host has no time now. Then the job is to
    /// be left alone: it will come again. If it came too often it will not, and
    /// the answer stands.
    pub(crate) fn comes_again(&self, visit: &Visit) -> bool {
        let is_put_off = visit
            .status()
            .is_some_and(|status| self.is_put_off(visit.begun(), status, visit.retry_after()));
        self.comes_again.set(is_put_off);
        is_put_off
    }

    /// Whether this answer to what began at `begun` says so.
    pub(super) fn is_put_off(
        &self,
        begun: Instant,
        status: u16,
        retry_after: Option<&[u8]>,
    ) -> bool {
        if !self.manners.has_no_time(self.id, begun, status, retry_after) {
            return false;
        }
        let mut put_offs = self.manners.put_offs.borrow_mut();
        let times = put_offs.entry(Arc::clone(&self.url)).or_default();
        *times += 1;
        *times <= MOST_PUT_OFFS
    }
}

impl Deref for Turn {
    type Target = Job;

    fn deref(&self) -> &Job {
        self.item.as_ref().expect("it is there until the turn is dropped")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.comes_again.get() && !self.manners.put_offs.borrow().is_empty() {
            self.manners.put_offs.borrow_mut().remove(&self.url);
        }
        let item = self.item.take();
        let now = self.manners.event_loop.now();
        let done = self.manners.hosts(|hosts| {
            if self.refusal.is_none() {
                hosts.end(self.id);
            }
            let done = match item {
                Some(item) if self.comes_again.get() => {
                    hosts.park_first(self.id, item);
                    None
                }
                item => {
                    hosts.finish(self.id);
                    item
                }
            };
            if self.manners.is_stopped() {
                hosts.call_all();
            } else {
                hosts.settle_all(self.id, now);
            }
            done
        });
        // This may be the last one, which is news for whoever joins.
        drop(done);
        self.manners.tell_the_curious();
    }
}
