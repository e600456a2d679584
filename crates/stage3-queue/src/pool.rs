//! Connections kept open between one request and the next.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crawl_core::Visit;
use stage2_coroutines::Connection;

/// Idle connections, the one that was used last at the end. They stay
/// registered with the loop, so that a server's closing one is noticed before
/// the next request is sent on it.
pub(crate) struct Pool {
    idle: RefCell<VecDeque<Idle>>,
    most: usize,
    /// Where the last one led that was kept: the next one may, too.
    last: RefCell<Rc<str>>,
}

struct Idle {
    /// Where it leads, see `Address::origin`.
    origin: Rc<str>,
    connection: Connection,
}

impl Pool {
    /// A pool of at most so many connections.
    pub(crate) fn new(most: usize) -> Self {
        let idle = RefCell::new(VecDeque::new());
        Self { idle, most, last: RefCell::new("".into()) }
    }

    /// A connection to where this visit leads. It may turn out to have been
    /// closed after all, by news still on its way.
    ///
    /// One on which anything has come since its last response is of no use: a
    /// response that began before the request was sent answers nothing (RFC
    /// 9112, section 9.2). What comes after that cannot be told from an
    /// answer: HTTP/1.1 does not number its requests. A server that forges one
    /// at that very moment lies about its own pages only, for a connection
    /// never serves two origins.
    // ANCHOR: take
    pub(crate) fn take(&self, visit: &Visit) -> Option<Connection> {
        let origin = visit.url().origin();
        let leads_there = |idle: &Idle| *idle.origin == *origin;
        loop {
            let mut idle = self.idle.borrow_mut();
            let place = idle.iter().rposition(leads_there)?;
            let mut found = idle.remove(place)?;
            drop(idle);
            // Bytes nobody asked for, or an end: such a one is of no use.
            if found.connection.is_quiet() {
                return Some(found.connection);
            }
        }
    }
    // ANCHOR_END: take

    // ANCHOR: keep
    /// Keeps a connection on which a response has come to its end. When there
    /// are too many, the one not used for the longest time goes.
    pub(crate) fn keep(&self, visit: &Visit, connection: Connection) {
        let origin = self.name_of(visit.url().origin());
        let mut idle = self.idle.borrow_mut();
        idle.push_back(Idle { origin, connection });
        let surplus = if idle.len() > self.most { idle.pop_front() } else { None };
        drop(idle);
        drop(surplus);
    }
    // ANCHOR_END: keep

    /// One copy of this text for many connections in a row.
    fn name_of(&self, origin: &str) -> Rc<str> {
        let mut last = self.last.borrow_mut();
        if **last != *origin {
            *last = origin.into();
        }
        Rc::clone(&last)
    }

    /// Closes the connection that was not used for the longest time, if any.
    pub(crate) fn give_one_up(&self) -> bool {
        let oldest = self.idle.borrow_mut().pop_front();
        oldest.is_some()
    }

    /// Closes them all.
    pub(crate) fn clear(&self) {
        let idle = self.idle.take();
        drop(idle);
    }
}
