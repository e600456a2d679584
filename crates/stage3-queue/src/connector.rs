//! The connector: stage 2's, with the connection pool and proxies in front.

use std::rc::Rc;

use crawl_core::{Deadline, FetchError, FetchResult, Options, Received, Visit};
use stage2_coroutines::{Connection, EventLoop, yield_now};

use crate::pool::Pool;
use crate::tunnel::Tunnels;

/// A connection carries one request after another.
const KEEP_ALIVE: bool = true;

/// The connector that all fetches share.
pub(crate) struct Connector {
    event_loop: EventLoop,
    connector: stage2_coroutines::Connector,
    /// The way through proxies, if there are any.
    tunnels: Option<Box<Tunnels>>,
    pool: Rc<Pool>,
}

impl Connector {
    /// Creates a connector that keeps at most `max_idle` idle connections.
    pub(crate) fn new(event_loop: &EventLoop, options: &Options, max_idle: usize) -> Self {
        let pool = Rc::new(Pool::new(max_idle));
        let make_room = || {
            let evicting = Rc::clone(&pool);
            move || evicting.evict_oldest()
        };
        let connector = stage2_coroutines::Connector::new(event_loop, options, make_room());
        let tunnels = Tunnels::new(event_loop, options, make_room(), &connector).map(Box::new);
        Self { event_loop: event_loop.clone(), connector, tunnels, pool }
    }

    /// Takes an idle connection to the server of a visit, unless an attempt has failed.
    pub(crate) fn take_idle(&self, visit: &Visit) -> Option<Connection> {
        if visit.has_failed_try() { None } else { self.pool.take(visit) }
    }

    /// Opens a new connection to the server of a visit, after all tasks that are ready have
    /// taken their step.
    ///
    /// So the pages that have come are read in one go, and then connections are made in one
    /// go. One connection for each page that was read costs a quarter more CPU on loopback,
    /// by what it does to the caches; and waiting for one batch costs a fetch next to nothing.
    pub(crate) async fn connect(
        &self,
        visit: &Visit,
        deadline: &Deadline,
    ) -> Result<Connection, FetchError> {
        yield_now(&self.event_loop).await;
        if let Some(tunnels) = &self.tunnels
            && let Some(proxy) = tunnels.proxy(visit.url())
        {
            // Boxed: it is rare.
            return Box::pin(tunnels.connect(proxy, visit, deadline)).await;
        }
        self.connector.connect(visit, deadline).await
    }

    /// Returns the bytes of the request of a visit, for its server or its proxy.
    pub(crate) fn request(&self, visit: &mut Visit, options: &Options) -> Vec<u8> {
        let request = visit.request(options, KEEP_ALIVE);
        match &self.tunnels {
            Some(tunnels) => tunnels.request(visit.url(), request),
            None => request,
        }
    }

    /// Returns the result of an attempt. An error names the proxy, if there was one.
    pub(crate) fn explained(&self, visit: &Visit, result: FetchResult) -> FetchResult {
        match &self.tunnels {
            Some(tunnels) => tunnels.explained(visit, result),
            None => result,
        }
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
