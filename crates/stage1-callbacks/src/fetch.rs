//! The fetch of one URL as a state machine, cut into callbacks at each wait.
//!
//! ```text
//! fetch ─► attempt ══► connected ─► exchange ══► read_response ─► attempt_done
//!   ▲                                 ║   ▲        ║       ▲        ║      │
//!   ║                                 ╚═══╝        ╚═══════╝        ║      ▼
//!   ╚═══════════════════════════════════════════════════════════════╝  fetch_done
//! ```
//! A double line is a wait: for the connector, for a writable socket, for bytes, for
//! the end of a pause. A single line is a call. An error leads to `attempt_done`
//! from everywhere. At the deadline `timed_out` is called in place of a callback
//! that waits for a socket, the connector's too.

use std::io::ErrorKind;
use std::rc::Rc;
use std::time::Instant;

use crawl_core::{Deadline, FetchResult, Options, Phase, Verdict, Visit};

use crate::connection::Connection;
use crate::connector::{Connecting, Connector};
use crate::crawl::CrawlState;
use crate::event_loop::{EventLoop, Method};

pub(crate) type Loop = EventLoop<Fetcher>;

/// Each attempt has a connection of its own.
const KEEP_ALIVE: bool = false;

/// The HTTP client that all fetches share.
pub(crate) struct Client {
    pub(crate) options: Options,
    pub(crate) connector: Rc<Connector>,
}

// ANCHOR: fetcher
/// The state machine of one fetch. It has no connection in some of its states, and
/// the field exists in all of them: hence the `Option`, and an `expect` in each
/// method that needs the connection.
pub struct Fetcher {
    pub(crate) crawl: Rc<CrawlState>,
    pub(crate) visit: Visit,
    pub(crate) deadline: Deadline,
    /// The state of the connector, while it connects. It is boxed to be small in the
    /// many fetches that wait for a response.
    pub(crate) connecting: Option<Box<Connecting>>,
    pub(crate) connection: Option<Connection>,
    /// The rest of the request, while it is sent. It is boxed for the same reason.
    #[expect(clippy::box_collection, reason = "a box is smaller")]
    unsent: Option<Box<Vec<u8>>>,
}
// ANCHOR_END: fetcher

impl Fetcher {
    /// Creates the fetch of a URL. Nothing happens before [`Fetcher::fetch`].
    pub fn new(crawl: &Rc<CrawlState>, visit: Visit, now: Instant) -> Box<Self> {
        let deadline = Deadline::new(&crawl.client.options, now);
        let crawl = Rc::clone(crawl);
        Box::new(Self { crawl, visit, deadline, connecting: None, connection: None, unsent: None })
    }

    // ANCHOR: fetch
    /// Fetches the URL: begins an attempt. At its end, `attempt_done`
    /// calls this method again after a pause (backoff), unless the visit is
    /// finished.
    pub fn fetch(mut self: Box<Self>, event_loop: &mut Loop) {
        self.deadline = Deadline::new(&self.crawl.client.options, event_loop.now());
        self.attempt(event_loop);
    }
    // ANCHOR_END: fetch

    // ANCHOR: attempt
    /// Makes one attempt, over a connection of its own.
    fn attempt(self: Box<Self>, event_loop: &mut Loop) {
        self.connect(Self::connected, event_loop);
    }
    // ANCHOR_END: attempt

    // ANCHOR: connected
    /// Handles the end of the connector: a connection in its field, or an error.
    fn connected(mut self: Box<Self>, result: FetchResult, event_loop: &mut Loop) {
        let Ok(()) = result else { return self.attempt_done(result, event_loop) };
        let Self { crawl, visit, deadline, .. } = &mut *self;
        deadline.enter(Phase::Exchange, event_loop.now());
        self.unsent = Some(Box::new(visit.request(&crawl.client.options, KEEP_ALIVE)));
        self.exchange(event_loop);
    }
    // ANCHOR_END: connected

    // ANCHOR: exchange
    // ANCHOR: request
    /// Sends the request, as much at a time as the socket takes.
    pub(crate) fn exchange(mut self: Box<Self>, event_loop: &mut Loop) {
        let connection = self.connection.as_mut().expect(IS_CONNECTED);
        let unsent = self.unsent.as_mut().expect(IS_SENDING);
        match connection.write_all(unsent, event_loop) {
            Ok(()) => {
                self.unsent = None;
                self.wait(Self::read_response, event_loop);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.wait(Self::exchange, event_loop);
            }
            Err(error) => {
                let error = self.visit.interrupted(&error);
                self.attempt_done(Err(error), event_loop);
            }
        }
    }
    // ANCHOR_END: request

    // ANCHOR: read_response
    /// Reads the response, as much of it as has arrived.
    pub(crate) fn read_response(mut self: Box<Self>, event_loop: &mut Loop) {
        let Self { crawl, visit, deadline, connection, .. } = &mut *self;
        let connection = connection.as_mut().expect(IS_CONNECTED);
        let now = event_loop.now();
        let receive = |bytes: &[u8]| {
            // The loop, which knows the time, is lent to the connection meanwhile.
            visit.receive_within(deadline, bytes, now)
        };
        let response = connection.read_all(receive, &crawl.client.connector, event_loop);
        let result = match response {
            Ok(Some(received)) => received,
            Ok(None) => visit.receive_end(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return self.wait(Self::read_response, event_loop);
            }
            Err(error) => visit.receive_error(&error),
        };
        self.attempt_done(result.map(|_| ()), event_loop);
    }
    // ANCHOR_END: read_response
    // ANCHOR_END: exchange

    // ANCHOR: wait
    /// Registers `method` for the event that the connection waits for, and
    /// `timed_out` for the deadline.
    fn wait(mut self: Box<Self>, method: Method<Self>, event_loop: &mut Loop) {
        let connection = self.connection.as_mut().expect(IS_CONNECTED);
        let registration = &mut connection.registration;
        registration.set_timeout(self.deadline.at(), Self::timed_out, event_loop);
        event_loop.register(registration.key, connection.interest(), self, method);
    }

    /// Ends an attempt at its deadline, or one of its connections.
    pub(crate) fn timed_out(self: Box<Self>, event_loop: &mut Loop) {
        if self.connecting.is_some() {
            return self.connect_timed_out(event_loop);
        }
        let result = self.deadline.check(event_loop.now());
        self.attempt_done(result, event_loop);
    }
    // ANCHOR_END: wait

    // ANCHOR: attempt_done
    /// Ends an attempt, and retries or ends the fetch.
    fn attempt_done(mut self: Box<Self>, result: FetchResult, event_loop: &mut Loop) {
        let Self { crawl, visit, connection, .. } = &mut *self;
        if let Some(connection) = connection.take() {
            connection.registration.close(&crawl.client.connector, event_loop);
        }
        match visit.judge(result) {
            Verdict::TryAgain(backoff) => {
                event_loop.call_at(event_loop.now() + backoff, self, Self::fetch);
            }
            Verdict::Finished => {
                let Self { crawl, visit, .. } = *self;
                crawl.fetch_done(visit, event_loop);
            }
        }
    }
    // ANCHOR_END: attempt_done
}

// ANCHOR: expectations
const IS_CONNECTED: &str = "called only with a connection";
const IS_SENDING: &str = "called only with a request";
// ANCHOR_END: expectations
