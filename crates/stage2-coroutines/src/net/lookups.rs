//! The lookups of a loop: its resolver, and the tasks that wait for answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Instant;

use selector_core::Notifier;
use transport::{Lookup, LookupFn, LookupId, LookupResult, Resolver};

use crate::runtime::reactor::Source;

/// The resolver of a loop, with the lookups that are pending.
pub(crate) struct Lookups {
    resolver: RefCell<Resolver>,
    pending: RefCell<HashMap<LookupId, State>>,
}

/// The state of a lookup: the waker of the task that waits, and then the answer.
enum State {
    Waiting(Waker),
    Answered(LookupResult),
}

impl Lookups {
    pub(crate) fn new(lookup: Arc<LookupFn>, notifier: Notifier) -> Self {
        let resolver = Resolver::new(lookup, move || notifier.notify());
        Self { resolver: RefCell::new(resolver), pending: RefCell::default() }
    }

    /// Starts a lookup. If it is pending, the caller calls [`Lookups::poll`] until it
    /// is ready, or [`Lookups::cancel`].
    pub(crate) fn start(&self, host: &str, port: u16, now: Instant) -> Lookup {
        self.resolver.borrow_mut().lookup(host, port, now)
    }

    /// Puts an address that did not accept behind the others of its host.
    pub(crate) fn address_failed(&self, address: SocketAddr) {
        self.resolver.borrow_mut().address_failed(address);
    }

    /// Ready when the answer is there. Otherwise stores the waker.
    pub(crate) fn poll(&self, lookup_id: LookupId, waker: &Waker) -> Poll<LookupResult> {
        let waiting = State::Waiting(waker.clone());
        let replaced = self.pending.borrow_mut().insert(lookup_id, waiting);
        match replaced {
            Some(State::Answered(answer)) => Poll::Ready(answer),
            Some(State::Waiting(_)) | None => Poll::Pending,
        }
    }

    /// Forgets a lookup, answered or not.
    pub(crate) fn cancel(&self, lookup_id: LookupId) {
        self.resolver.borrow_mut().cancel(lookup_id);
        let removed = self.pending.borrow_mut().remove(&lookup_id);
        drop(removed);
    }
}

impl Source for Lookups {
    /// Stores the answers that have arrived, and wakes their tasks.
    fn wake_ready(&self, now: Instant) {
        // Until the next step begins. The inbox of the loop is emptied after this.
        trace::by_threads();
        let answered = self.resolver.borrow_mut().answered(now);
        for (lookup_id, answer) in answered {
            let answered = State::Answered(answer);
            let replaced = self.pending.borrow_mut().insert(lookup_id, answered);
            if let Some(State::Waiting(waker)) = replaced {
                waker.wake();
            }
        }
    }

    fn is_waiting(&self) -> bool {
        !self.pending.borrow().is_empty()
    }
}
