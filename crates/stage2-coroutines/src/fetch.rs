//! The fetch of one URL, from top to bottom. Each `.await` returns when the call is
//! done. If it is not done at once, the coroutine is suspended there until it is.

use crawl_core::{Deadline, FetchResult, Options, Phase, Verdict, Visit};

use crate::{Connection, Connector, Elapsed, EventLoop, read_all, sleep, timeout_at, write_all};

/// Each attempt has a connection of its own.
const KEEP_ALIVE: bool = false;

/// The HTTP client that all fetches share.
pub(crate) struct Client {
    pub(crate) event_loop: EventLoop,
    pub(crate) options: Options,
    pub(crate) connector: Connector,
}

impl Client {
    // ANCHOR: fetch
    /// Fetches a URL: makes one attempt after another, with a pause (backoff)
    /// between two of them, until the visit is finished.
    pub(crate) async fn fetch(&self, visit: &mut Visit) {
        loop {
            let deadline = Deadline::new(&self.options, self.event_loop.now());
            let attempt = self.attempt(visit, &deadline);
            // The deadline moves whenever the server sends something. When it has
            // passed, the attempt is dropped where it waits, and so is its connection.
            let result = timeout_at(&self.event_loop, || deadline.at(), attempt).await;
            let late = |Elapsed| deadline.check(self.event_loop.now());
            let result = result.unwrap_or_else(late);
            match visit.judge(result) {
                Verdict::TryAgain(backoff) => sleep(&self.event_loop, backoff).await,
                Verdict::Finished => return,
            }
        }
    }
    // ANCHOR_END: fetch

    // ANCHOR: attempt
    /// Makes one attempt, over a connection of its own.
    async fn attempt(&self, visit: &mut Visit, deadline: &Deadline) -> FetchResult {
        let mut connection = self.connector.connect(visit, deadline).await?;
        self.exchange(&mut connection, visit, deadline).await
    }
    // ANCHOR_END: attempt

    // ANCHOR: exchange
    /// Sends the request and reads the response to its end.
    async fn exchange(
        &self,
        connection: &mut Connection,
        visit: &mut Visit,
        deadline: &Deadline,
    ) -> FetchResult {
        let Self { options, event_loop, .. } = self;
        deadline.enter(Phase::Exchange, event_loop.now());
        let sent = write_all(connection, &visit.request(options, KEEP_ALIVE)).await;
        sent.map_err(|error| visit.interrupted(&error))?;
        let receive = |bytes: &[u8]| {
            let now = event_loop.now();
            visit.receive_within(deadline, bytes, now)
        };
        let response = read_all(connection, receive).await;
        let result = match response {
            Ok(Some(received)) => received,
            Ok(None) => visit.receive_end(),
            Err(error) => visit.receive_error(&error),
        };
        result.map(|_| ())
    }
    // ANCHOR_END: exchange
}

#[cfg(test)]
mod frames;
