//! The connector: that of stage 2, with the connection pool in front.

use std::rc::Rc;

use crawl_core::{Deadline, FetchError, Options, Received, Visit};
use stage2_coroutines::{Connection, EventLoop};

use crate::pool::Pool;

/// The connector that all fetches share.
pub(crate) struct Connector {
    connector: stage2_coroutines::Connector,
    pool: Rc<Pool>,
}

impl Connector {
    /// Creates a connector that keeps at most `max_idle` idle connections.
    pub(crate) fn new(event_loop: &EventLoop, options: &Options, max_idle: usize) -> Self {
        let pool = Rc::new(Pool::new(max_idle));
        let evicting = Rc::clone(&pool);
        let make_room = move || evicting.evict_oldest();
        let connector = stage2_coroutines::Connector::new(event_loop, options, make_room);
        Self { connector, pool }
    }

    /// Takes an idle connection to the server of a visit, for its first attempt.
    pub(crate) fn take_idle(&self, visit: &Visit) -> Option<Connection> {
        if visit.is_first_try() { self.pool.take(visit) } else { None }
    }

    /// Opens a new connection to the server of a visit.
    pub(crate) async fn connect(
        &self,
        visit: &Visit,
        deadline: &Deadline,
    ) -> Result<Connection, FetchError> {
        self.connector.connect(visit, deadline).await
    }

    /// Returns a connection to the pool if it can carry another request. It is
    /// closed instead when another task waits for a file descriptor.
    pub(crate) fn keep(&self, visit: &Visit, connection: Connection, received: Received) {
        if received.reusable && !self.connector.has_fd_waiters() {
            self.pool.keep(visit, connection);
        }
    }

    /// Closes all idle connections.
    pub(crate) fn close(&self) {
        self.pool.clear();
    }
}
