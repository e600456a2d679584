//! Fetching over connections that are kept.

use std::time::{Duration, Instant};

use crawl_core::{FetchError, File, Options, Patience, Visit};
use stage2_coroutines::fetcher::{exchange, open, until_finished};
use stage2_coroutines::{Connection, Coroutine, EventLoop, sleep};
use transport::Security;
use url::Url;

use crate::pool::Pool;

/// Fetches whatever the crawl needs, be it a page or a robots.txt, within the
/// same deadlines and limits.
pub(crate) struct Client {
    pub(crate) event_loop: EventLoop,
    pub(crate) options: Options,
    security: Security,
    pool: Pool,
}

/// Why a file could not be had.
pub(crate) struct NoFile {
    pub(crate) error: FetchError,
    /// Whether a response began at least, or another led here.
    pub(crate) is_anybody_there: bool,
}

impl Client {
    /// A client that keeps so many idle connections at most.
    pub(crate) fn new(event_loop: &EventLoop, options: Options, most_idle: usize) -> Self {
        Self {
            event_loop: event_loop.clone(),
            security: Security::new(&options.ca_certificates, options.insecure),
            options,
            pool: Pool::new(most_idle),
        }
    }

    /// Visits a URL until it is decided what becomes of it. `next_start` says
    /// when to make each request but the first.
    pub(crate) fn fetch(
        &self,
        visit: &mut Visit,
        next_start: &impl Fn() -> Instant,
    ) -> impl Coroutine<Output = ()> {
        until_finished(&self.event_loop, &self.options, visit, async move |visit, patience| {
            if !visit.is_first_try() {
                patience.pause(self.event_loop.now());
                Box::pin(self.wait_until(next_start())).await;
                patience.resume(self.event_loop.now());
            }
            self.attempt(visit, patience).await
        })
    }

    /// Fetches what is no page, of which so many bytes are of use, over as many
    /// redirects as a page. Where the chain is longer, its last answer is the
    /// result.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn fetch_file(
        &self,
        url: &Url,
        limit: usize,
        next_start: &impl Fn() -> Instant,
    ) -> Result<File, NoFile> {
        // RFC 9309 section 2.3.1.2 has at least five followed.
        let mut redirects_left = self.options.max_redirect.max(5);
        let mut url = url.clone();
        let mut is_anybody_there = false;
        loop {
            let now = self.event_loop.now();
            let mut visit = Visit::of_file(&url, limit as u64, &self.options, now);
            self.fetch(&mut visit, next_start).await;
            is_anybody_there |= visit.has_response();
            let file = visit.into_file();
            let mut file = file.map_err(|error| NoFile { error, is_anybody_there })?;
            match file.next_url.take() {
                Some(next) if redirects_left > 0 => url = next,
                _ => return Ok(file),
            }
            redirects_left -= 1;
            self.wait_until(next_start()).await;
        }
    }

    /// Closes the connections that are kept.
    pub(crate) fn close(&self) {
        self.pool.clear();
    }

    pub(crate) async fn wait_until(&self, moment: Instant) {
        let pause = moment.saturating_duration_since(self.event_loop.now());
        if pause > Duration::ZERO {
            sleep(&self.event_loop, pause).await;
        }
    }

    // ANCHOR: attempt
    /// One try; the first one on a kept connection, if there is one. Such a
    /// connection may be dead in a way that only silence tells.
    #[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
    fn attempt(
        &self,
        visit: &mut Visit,
        patience: &Patience,
    ) -> impl Coroutine<Output = Result<(), FetchError>> {
        async move {
            if visit.is_first_try() {
                let mut kept = self.pool.take(visit);
                if let Some(connection) = &mut kept {
                    patience.heard(self.event_loop.now());
                    let result = exchange(connection, &self.options, visit, patience, true).await;
                    if result.is_ok() || visit.has_response() {
                        return self.keep(kept, visit, result);
                    }
                    // The server had closed it in the meantime. That is its right
                    // (RFC 9112, section 9.3.1), and the try goes on without it.
                    patience.reconnect(self.event_loop.now());
                }
            }
            let mut fresh = self.open(visit, patience).await?;
            let result = exchange(&mut fresh, &self.options, visit, patience, true).await;
            self.keep(Some(fresh), visit, result)
        }
    }
    // ANCHOR_END: attempt

    /// A connection of its own for this visit. When there is no descriptor
    /// left for it, an idle connection gives up its own.
    fn open(
        &self,
        visit: &Visit,
        patience: &Patience,
    ) -> impl Coroutine<Output = Result<Connection, FetchError>> {
        let make_room = || self.pool.give_one_up();
        open(&self.event_loop, &self.security, visit, patience, make_room)
    }

    fn keep(
        &self,
        connection: Option<Connection>,
        visit: &Visit,
        result: Result<bool, FetchError>,
    ) -> Result<(), FetchError> {
        // To close it is better, when somebody has no descriptor to open one.
        if result?
            && !self.event_loop.is_starved()
            && let Some(connection) = connection
        {
            self.pool.keep(visit, connection);
        }
        Ok(())
    }
}
