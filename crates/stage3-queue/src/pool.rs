//! The connection pool: keep-alive connections that are idle between two
//! requests, checked before they are used again, and evicted oldest first.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crawl_core::Visit;
use stage2_coroutines::Connection;

/// A pool of idle connections, the most recently used one at the end (LRU
/// eviction). They stay registered with the loop, so that it notices when a
/// server closes one, before the next request is sent on it.
pub(crate) struct Pool {
    idle: RefCell<VecDeque<Idle>>,
    max_idle: usize,
    /// Origin of the connection that was kept last. Interning: the next one often
    /// has the same origin and shares this copy of the text.
    last_origin: RefCell<Rc<str>>,
}

struct Idle {
    /// Origin of the server, see `Address::origin`.
    origin: Rc<str>,
    connection: Connection,
}

impl Pool {
    /// Creates a pool of at most `max_idle` connections.
    pub(crate) fn new(max_idle: usize) -> Self {
        let idle = RefCell::new(VecDeque::new());
        Self { idle, max_idle, last_origin: RefCell::new("".into()) }
    }

    /// Takes an idle connection to the origin of this visit. The server may still have
    /// closed it, if the event has not arrived yet.
    ///
    /// A connection on which anything has arrived since its last response is
    /// dropped: a response that began before the request was sent answers
    /// nothing (RFC 9112, section 9.2). Bytes that arrive after the request
    /// cannot be distinguished from its response, because HTTP/1.1 does not number
    /// requests. A server that forges a response at that moment forges its own
    /// pages only, since a connection never serves two origins.
    // ANCHOR: take
    pub(crate) fn take(&self, visit: &Visit) -> Option<Connection> {
        let origin = visit.url().origin();
        let leads_there = |idle: &Idle| *idle.origin == *origin;
        loop {
            let mut idle = self.idle.borrow_mut();
            let index = idle.iter().rposition(leads_there)?;
            let mut kept = idle.remove(index)?;
            drop(idle);
            // Dropped if unexpected bytes or the end of the stream have arrived.
            if kept.connection.is_quiet() {
                let key = kept.connection.key().to_bits();
                trace::emit(|| trace::Event::Reuse { key });
                return Some(kept.connection);
            }
        }
    }
    // ANCHOR_END: take

    // ANCHOR: keep
    /// Keeps a connection on which a response is complete. When there are too
    /// many, closes the least recently used one.
    pub(crate) fn keep(&self, visit: &Visit, connection: Connection) {
        let origin = self.intern(visit.url().origin());
        let mut idle = self.idle.borrow_mut();
        idle.push_back(Idle { origin, connection });
        let surplus = if idle.len() > self.max_idle { idle.pop_front() } else { None };
        drop(idle);
        drop(surplus);
    }
    // ANCHOR_END: keep

    /// Returns a shared copy of this text, the same one for many connections in a
    /// row.
    fn intern(&self, origin: &str) -> Rc<str> {
        let mut last_origin = self.last_origin.borrow_mut();
        if **last_origin != *origin {
            *last_origin = origin.into();
        }
        Rc::clone(&last_origin)
    }

    /// Closes the least recently used connection. Returns false if the pool is
    /// empty.
    pub(crate) fn evict_oldest(&self) -> bool {
        let oldest = self.idle.borrow_mut().pop_front();
        oldest.is_some()
    }

    /// Closes all connections.
    pub(crate) fn clear(&self) {
        let idle = self.idle.take();
        drop(idle);
    }
}
