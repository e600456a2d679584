//! The HTTP client: fetches over the connection pool.

use std::time::{Duration, Instant};

use crawl_core::{Deadline, FetchError, Options, SiteFile, Visit};
use stage2_coroutines::fetcher::{exchange, open, with_retries};
use stage2_coroutines::{Connection, Coroutine, EventLoop, sleep};
use transport::TlsConnector;
use url::Url;

use crate::pool::Pool;

/// A client that fetches pages, robots.txt files and sitemaps, all with the same
/// deadlines and limits.
pub(crate) struct Client {
    pub(crate) event_loop: EventLoop,
    pub(crate) options: Options,
    tls_connector: TlsConnector,
    pool: Pool,
}

/// The failure to fetch a file.
pub(crate) struct FileError {
    pub(crate) error: FetchError,
    /// True if a response began at least, or if a redirect led here.
    pub(crate) host_answered: bool,
}

impl Client {
    /// Creates a client that keeps at most `max_idle` idle connections.
    pub(crate) fn new(event_loop: &EventLoop, options: Options, max_idle: usize) -> Self {
        Self {
            event_loop: event_loop.clone(),
            tls_connector: TlsConnector::new(&options.ca_certificates, options.insecure),
            options,
            pool: Pool::new(max_idle),
        }
    }

    /// Fetches the URL of a visit, with retries. `next_start` returns the time at
    /// which each request but the first may start.
    pub(crate) fn fetch(
        &self,
        visit: &mut Visit,
        next_start: &impl Fn() -> Instant,
    ) -> impl Coroutine<Output = ()> {
        with_retries(&self.event_loop, &self.options, visit, async move |visit, deadline| {
            if !visit.is_first_try() {
                deadline.pause(self.event_loop.now());
                Box::pin(self.wait_until(next_start())).await;
                deadline.resume(self.event_loop.now());
            }
            self.attempt(visit, deadline).await
        })
    }

    /// Fetches a file that is no page, such as a robots.txt, and keeps at most
    /// `limit` bytes of it. Follows as many redirects as for a page, and at least
    /// five; where the chain is longer, its last response is the result.
    ///
    /// # Errors
    /// When there is no complete response.
    pub(crate) async fn fetch_file(
        &self,
        url: &Url,
        limit: usize,
        next_start: &impl Fn() -> Instant,
    ) -> Result<SiteFile, FileError> {
        // RFC 9309 section 2.3.1.2: at least five redirects should be followed.
        let mut redirects_left = self.options.max_redirect.max(5);
        let mut url = url.clone();
        let mut host_answered = false;
        loop {
            let now = self.event_loop.now();
            let mut visit = Visit::for_file(&url, limit as u64, &self.options, now);
            self.fetch(&mut visit, next_start).await;
            host_answered |= visit.has_response();
            let file = visit.into_site_file();
            let mut file = file.map_err(|error| FileError { error, host_answered })?;
            match file.next_url.take() {
                Some(next) if redirects_left > 0 => url = next,
                _ => return Ok(file),
            }
            redirects_left -= 1;
            self.wait_until(next_start()).await;
        }
    }

    /// Closes all idle connections.
    pub(crate) fn close(&self) {
        self.pool.clear();
    }

    /// Sleeps until `moment`, unless it has passed.
    pub(crate) async fn wait_until(&self, moment: Instant) {
        let pause = moment.saturating_duration_since(self.event_loop.now());
        if pause > Duration::ZERO {
            sleep(&self.event_loop, pause).await;
        }
    }

    // ANCHOR: attempt
    /// Makes one try. The first one uses an idle connection from the pool, if
    /// there is one. Such a connection may be dead without any sign of it but
    /// silence.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
    fn attempt(
        &self,
        visit: &mut Visit,
        deadline: &Deadline,
    ) -> impl Coroutine<Output = Result<(), FetchError>> {
        async move {
            if visit.is_first_try() {
                let mut kept = self.pool.take(visit);
                if let Some(connection) = &mut kept {
                    deadline.progress(self.event_loop.now());
                    let result = exchange(connection, &self.options, visit, deadline, true).await;
                    if result.is_ok() || visit.has_response() {
                        return self.keep(kept, visit, result);
                    }
                    // The server had closed it in the meantime. It may do so (RFC
                    // 9112, section 9.3.1), and the try goes on without it.
                    deadline.reconnect(self.event_loop.now());
                }
            }
            let mut fresh = self.open(visit, deadline).await?;
            let result = exchange(&mut fresh, &self.options, visit, deadline, true).await;
            self.keep(Some(fresh), visit, result)
        }
    }
    // ANCHOR_END: attempt

    /// Opens a new connection for this visit. When there is no file descriptor
    /// left, closes an idle connection to free one.
    fn open(
        &self,
        visit: &Visit,
        deadline: &Deadline,
    ) -> impl Coroutine<Output = Result<Connection, FetchError>> {
        let make_room = || self.pool.evict_oldest();
        open(&self.event_loop, &self.tls_connector, visit, deadline, make_room)
    }

    /// Returns the connection to the pool if it can be used again, and drops it
    /// otherwise.
    fn keep(
        &self,
        connection: Option<Connection>,
        visit: &Visit,
        result: Result<bool, FetchError>,
    ) -> Result<(), FetchError> {
        // Closed instead, when another task waits for a file descriptor.
        if result?
            && !self.event_loop.has_fd_waiters()
            && let Some(connection) = connection
        {
            self.pool.keep(visit, connection);
        }
        Ok(())
    }
}
