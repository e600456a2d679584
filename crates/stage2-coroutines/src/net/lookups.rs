//! The lookups of a loop: its resolver, and the tasks that wait for answers.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use selector_core::Notifier;
use transport::{Addresses, Lookup, LookupError, LookupFn, LookupId, Resolver};

type Answer = Result<Addresses, LookupError>;

/// A caller that waits for the addresses of a name: its waker, and then the
/// answer.
#[derive(Default)]
pub(crate) struct LookupWaiter {
    waker: Cell<Option<Waker>>,
    answer: Cell<Option<Answer>>,
}

impl LookupWaiter {
    /// Ready when the answer is there. Otherwise stores the waker.
    pub(crate) fn poll(&self, waker: &Waker) -> Poll<Answer> {
        let replaced = self.waker.replace(Some(waker.clone()));
        drop(replaced);
        self.answer.take().map_or(Poll::Pending, Poll::Ready)
    }
}

/// The resolver of a loop.
pub(crate) struct Lookups(RefCell<Resolver<Rc<LookupWaiter>>>);

impl Lookups {
    pub(crate) fn new(lookup: Arc<LookupFn>, notifier: Notifier) -> Self {
        Self(RefCell::new(Resolver::new(lookup, move || notifier.notify())))
    }

    /// Returns the addresses that are known at once.
    pub(crate) fn cached(&self, host: &str, port: u16, now: Instant) -> Option<Addresses> {
        self.0.borrow_mut().cached(host, port, now)
    }

    /// Starts a lookup for a waiter.
    pub(crate) fn start(
        &self,
        host: &str,
        port: u16,
        now: Instant,
        waiter: &Rc<LookupWaiter>,
    ) -> Lookup<Rc<LookupWaiter>> {
        self.0.borrow_mut().lookup(host, port, now, Rc::clone(waiter))
    }

    /// Cancels the wait for an answer.
    pub(crate) fn cancel(&self, lookup_id: LookupId) {
        let waiter = self.0.borrow_mut().cancel(lookup_id);
        drop(waiter);
    }

    /// Hands the answers that have arrived to their waiters, and wakes them.
    pub(crate) fn wake_answered(&self, now: Instant) {
        let answered = self.0.borrow_mut().answered(now);
        for (waiter, answer) in answered {
            waiter.answer.set(Some(answer));
            if let Some(waker) = waiter.waker.take() {
                waker.wake();
            }
        }
    }
}
