//! The fetch of one URL, from top to bottom. Each call returns when it is done,
//! and the thread waits in it.

use std::thread;
use std::time::Instant;

use crawl_core::{Deadline, FetchResult, Options, Phase, Verdict, Visit};

use crate::connection::{Connection, read_all, write_all};
use crate::connector::Connector;

/// Each attempt has a connection of its own.
const KEEP_ALIVE: bool = false;

/// The HTTP client that all fetches share.
pub(crate) struct Client {
    pub(crate) options: Options,
    pub(crate) connector: Connector,
}

impl Client {
    // ANCHOR: fetch
    /// Fetches a URL: makes one attempt after another, with a pause (backoff)
    /// between two of them, until the visit is finished.
    pub(crate) fn fetch(&self, visit: &mut Visit) {
        loop {
            let deadline = Deadline::new(&self.options, Instant::now());
            let result = self.attempt(visit, &deadline);
            // A call that fails after the deadline has failed because of it.
            let late = |error| deadline.check(Instant::now()).and(Err(error));
            let result = result.or_else(late);
            match visit.judge(result) {
                Verdict::TryAgain(backoff) => thread::sleep(backoff),
                Verdict::Finished => return,
            }
        }
    }
    // ANCHOR_END: fetch

    // ANCHOR: attempt
    /// Makes one attempt, over a connection of its own.
    fn attempt(&self, visit: &mut Visit, deadline: &Deadline) -> FetchResult {
        let mut connection = self.connector.connect(visit, deadline)?;
        self.exchange(&mut connection, visit, deadline)
    }
    // ANCHOR_END: attempt

    // ANCHOR: exchange
    /// Sends the request and reads the response to its end.
    fn exchange(
        &self,
        connection: &mut Connection<'_>,
        visit: &mut Visit,
        deadline: &Deadline,
    ) -> FetchResult {
        deadline.enter(Phase::Exchange, Instant::now());
        let sent = write_all(connection, &visit.request(&self.options, KEEP_ALIVE));
        sent.map_err(|error| visit.interrupted(&error))?;
        let receive = |bytes: &[u8]| {
            let now = Instant::now();
            visit.receive_within(deadline, bytes, now)
        };
        let response = read_all(connection, receive);
        let result = match response {
            Ok(Some(received)) => received,
            Ok(None) => visit.receive_end(),
            Err(error) => visit.receive_error(&error),
        };
        result.map(|_| ())
    }
    // ANCHOR_END: exchange
}
