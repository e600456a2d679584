//! The fetch of one URL, from top to bottom. Each `.await` returns when the call is
//! done. If it is not done at once, the coroutine is suspended there until it is.

use crawl_core::{Deadline, FetchResult, Phase, Verdict, Visit};

use crate::crawl::Client;
use crate::{Connection, Elapsed, read_all, sleep, timeout_at, write_all};

/// Each attempt has a connection of its own.
const KEEP_ALIVE: bool = false;

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
            Err(error) => Err(visit.interrupted(&error)),
        };
        result.map(|_| ())
    }
    // ANCHOR_END: exchange
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Connector;

    /// The frame of a fetch contains those of the functions that it calls. Every
    /// fetch in flight has one, so this counts what each level adds: its arguments
    /// (twice, since an `async fn` keeps them apart from its variables), its
    /// variables, and the frame that it waits for.
    #[test]
    fn the_frame_of_a_fetch_is_small() {
        fn two<A, B, C>(_: impl Fn(A, B) -> C) -> usize {
            size_of::<C>()
        }
        fn three<A, B, C, D>(_: impl Fn(A, B, C) -> D) -> usize {
            size_of::<D>()
        }
        fn four<A, B, C, D, E>(_: impl Fn(A, B, C, D) -> E) -> usize {
            size_of::<E>()
        }
        let frames = [
            ("exchange: 4 arguments and a loop, and read_all", four(Client::exchange), 208),
            ("connect: 3 arguments, the addresses, a box", three(Connector::connect), 144),
            ("connection: a socket, its registration, a guard", size_of::<Connection>(), 72),
            ("attempt: 3 arguments, connection and exchange", three(Client::attempt), 336),
            ("deadline", size_of::<Deadline>(), 40),
            ("fetch: 2 arguments, deadline, timer and attempt", two(Client::fetch), 472),
        ];
        for (what, size, limit) in frames {
            println!("{size:4} {what}");
            assert!(size <= limit, "{what}: {size} bytes");
        }
    }
}
