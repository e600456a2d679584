//! The `Fetcher`: a fetch as a state machine, cut into callbacks at each wait.
//!
//! ```text
//! fetch ─► looked_up ─► connect ─► open ─► connected ─► send ─► read_response ─► attempt_done
//!   ▲                      ▲         │         │                                   │     │
//!   │                      └─────────┴─────────┘ next address                      │     ▼
//!   └───────────────────────────────────────────────────── retry, after a pause ◄──┘  fetch_done
//! ```
//! `timed_out` may be called in place of any method from `looked_up` to
//! `read_response`.

use std::io::{self, ErrorKind};
use std::rc::Rc;

use crawl_core::{Deadline, ErrorClass, FetchError, Received, Verdict, Visit};
use selector_core::{Interest, TimerKey};
use transport::{AddressId, Addresses, Candidates, LookupError, is_fd_limit, is_tls_error};

use crate::connection::{Connection, failure};
use crate::crawl::CrawlState;
use crate::{EventLoop, Method, TimerEvent};

type Loop = EventLoop<Fetcher>;

// ANCHOR: fetcher
/// The state machine of one fetch. In some of its states it has no connection,
/// no timer and no bytes to send, but the fields exist in all of them.
pub struct Fetcher {
    crawl_state: Rc<CrawlState>,
    visit: Visit,
    deadline: Deadline,
    timer: Option<TimerKey>,
    opening: Option<Box<Opening>>,
    /// The permit to connect, held until the server answers.
    permit: Option<AddressId>,
    connection: Option<Connection>,
}
// ANCHOR_END: fetcher

/// The part of the state that is needed until the request is sent. It is boxed
/// and then freed, so that the many fetches that wait for an answer are small.
#[derive(Default)]
struct Opening {
    candidates: Candidates,
    /// The bytes of the request that are not sent yet.
    request: Vec<u8>,
}

impl Fetcher {
    pub(crate) fn new(crawl_state: Rc<CrawlState>, visit: Visit, event_loop: &Loop) -> Box<Self> {
        Box::new(Self {
            deadline: Deadline::new(&crawl_state.options, event_loop.now()),
            crawl_state,
            visit,
            timer: None,
            opening: None,
            permit: None,
            connection: None,
        })
    }

    /// Starts the first attempt.
    pub(crate) fn fetch(self: Box<Self>, event_loop: &mut Loop) {
        let (host, port) = self.visit.host_and_port();
        if let Some(addresses) = event_loop.cached_addresses(host, port) {
            return self.looked_up(Ok(addresses), event_loop);
        }
        let (host, deadline) = (host.to_owned(), self.deadline.at());
        event_loop.lookup((&host, port), self, Self::looked_up, deadline, Self::timed_out);
    }

    /// Starts another attempt.
    fn fetch_again(mut self: Box<Self>, event_loop: &mut Loop) {
        self.deadline = Deadline::new(&self.crawl_state.options, event_loop.now());
        self.fetch(event_loop);
    }

    fn looked_up(
        mut self: Box<Self>,
        result: Result<Addresses, LookupError>,
        event_loop: &mut Loop,
    ) {
        match result {
            Ok(addresses) => {
                *self.candidates() = Candidates::new(addresses);
                self.connect(event_loop);
            }
            Err(error) => {
                let error = FetchError::new(ErrorClass::Dns, error.to_string());
                self.attempt_done(Err(error), event_loop);
            }
        }
    }

    fn candidates(&mut self) -> &mut Candidates {
        &mut self.opening.get_or_insert_default().candidates
    }

    /// Waits for a permit to connect to the next address, if there is one.
    fn connect(mut self: Box<Self>, event_loop: &mut Loop) {
        let Some(address) = self.candidates().current() else {
            let error = FetchError::new(ErrorClass::Connect, self.candidates().failure());
            return self.attempt_done(Err(error), event_loop);
        };
        let address_id = event_loop.address_id(address);
        self.deadline.pause(event_loop.now());
        self.permit = Some(address_id);
        event_loop.call_when_permitted(address_id, self, Self::open);
    }

    fn open(mut self: Box<Self>, event_loop: &mut Loop) {
        let now = event_loop.now();
        let candidates = self.candidates();
        let (address, remaining) = (candidates.current().expect(HAS_PERMIT), candidates.left());
        self.deadline.resume(now);
        self.deadline.start_address(now, remaining);
        let tls_connector = &self.crawl_state.tls_connector;
        match Connection::open(address, tls_connector, &self.visit, event_loop) {
            Ok(connection) => {
                let timer_event = TimerEvent::Timeout(connection.key, Self::timed_out);
                self.timer = Some(event_loop.timers.set(self.deadline.at(), timer_event));
                self.connection = Some(connection);
                self.wait(Interest::Writable, Self::connected, event_loop);
            }
            Err(error) if is_tls_error(&error) => {
                let error = failure(&self.visit, &error);
                self.attempt_done(Err(error), event_loop);
            }
            Err(error) if is_fd_limit(&error) && !event_loop.selector.is_empty() => {
                self.deadline.pause(event_loop.now());
                event_loop.call_when_fd_freed(self, Self::open);
            }
            Err(error) => {
                event_loop.wake_fd_waiter();
                self.cannot_connect(&error, event_loop);
            }
        }
    }

    fn cannot_connect(mut self: Box<Self>, error: &io::Error, event_loop: &mut Loop) {
        self.candidates().failed(error);
        self.close(event_loop);
        self.connect(event_loop);
    }

    // ANCHOR: connected
    /// Handles a writable socket: it is connected, or has failed, or the event
    /// was stale.
    fn connected(mut self: Box<Self>, event_loop: &mut Loop) {
        let connection = self.connection.as_ref().expect(IS_CONNECTED);
        match connection.stream.socket().connected() {
            Ok(true) => {
                self.deadline.progress(event_loop.now());
                let request = self.visit.request(&self.crawl_state.options, false);
                **self.opening.get_or_insert_default() = Opening { request, ..Opening::default() };
                self.send(event_loop);
            }
            Ok(false) => {
                event_loop.selector.clear(connection.key, Interest::Writable);
                self.wait(Interest::Writable, Self::connected, event_loop);
            }
            Err(error) => self.cannot_connect(&error, event_loop),
        }
    }
    // ANCHOR_END: connected

    /// Sends the request, as much at a time as the socket takes.
    fn send(mut self: Box<Self>, event_loop: &mut Loop) {
        let connection = self.connection.as_mut().expect(IS_CONNECTED);
        match connection.send(&mut self.opening.get_or_insert_default().request) {
            Ok(()) => {
                self.opening = None;
                self.wait(Interest::Readable, Self::read_response, event_loop);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let interest = connection.blocked_on(event_loop);
                self.wait(interest, Self::send, event_loop);
            }
            Err(error) => {
                let error = failure(&self.visit, &error);
                self.attempt_done(Err(error), event_loop);
            }
        }
    }

    // ANCHOR: read_response
    /// Reads the bytes that have arrived, all of them: the selector is
    /// edge-triggered, so there is no second event for bytes left unread.
    fn read_response(mut self: Box<Self>, event_loop: &mut Loop) {
        event_loop.release_permit(&mut self.permit);
        for _ in 0..READS_PER_CALL {
            let connection = self.connection.as_mut().expect(IS_CONNECTED);
            if !connection.is_readable(event_loop) {
                break;
            }
            let visit = &mut self.visit;
            let result = match connection.read(event_loop, |bytes| visit.receive(bytes)) {
                Ok(Some(Ok(Received::More))) => {
                    self.deadline.progress(event_loop.now());
                    continue;
                }
                Ok(Some(Ok(Received::Complete { .. }))) => Ok(()),
                Ok(Some(Err(error))) => Err(error),
                Ok(None) => self.visit.receive_end(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let interest = connection.blocked_on(event_loop);
                    return self.wait(interest, Self::read_response, event_loop);
                }
                Err(error) => Err(failure(&self.visit, &error)),
            };
            return self.attempt_done(result, event_loop);
        }
        // Either everything is read, or other callbacks have to run first.
        self.wait(Interest::Readable, Self::read_response, event_loop);
    }
    // ANCHOR_END: read_response

    fn timed_out(self: Box<Self>, event_loop: &mut Loop) {
        if self.deadline.address_timed_out(event_loop.now()) {
            return self.cannot_connect(&ErrorKind::TimedOut.into(), event_loop);
        }
        let error = self.deadline.timeout_error();
        self.attempt_done(Err(error), event_loop);
    }

    // ANCHOR: wait
    /// Registers `method` for the readiness of the connection, and moves the
    /// timer of `timed_out`.
    fn wait(mut self: Box<Self>, interest: Interest, method: Method<Self>, event_loop: &mut Loop) {
        let deadline = self.deadline.at();
        self.timer = self.timer.and_then(|timer| event_loop.postpone(timer, deadline));
        let key = self.connection.as_ref().expect(IS_CONNECTED).key;
        event_loop.register(key, interest, self, method);
    }
    // ANCHOR_END: wait

    // ANCHOR: attempt_done
    /// Ends an attempt, and retries or ends the fetch.
    fn attempt_done(mut self: Box<Self>, result: Result<(), FetchError>, event_loop: &mut Loop) {
        self.close(event_loop);
        match self.visit.judge(result) {
            Verdict::TryAgain(pause) => {
                event_loop.call_at(event_loop.now() + pause, self, Self::fetch_again);
            }
            Verdict::Finished => {
                let Self { crawl_state, visit, .. } = *self;
                crawl_state.fetch_done(visit, event_loop);
            }
        }
    }
    // ANCHOR_END: attempt_done

    // ANCHOR: close
    fn close(&mut self, event_loop: &mut Loop) {
        if let Some(timer) = self.timer.take() {
            drop(event_loop.timers.cancel(timer));
        }
        if let Some(connection) = self.connection.take() {
            event_loop.unregister(connection.key);
        }
        event_loop.release_permit(&mut self.permit);
    }
    // ANCHOR_END: close
}

// ANCHOR: expectations
const HAS_PERMIT: &str = "called only with a permit";
const IS_CONNECTED: &str = "called only with a connection";
// ANCHOR_END: expectations

/// The number of reads in a row after which other callbacks run first.
const READS_PER_CALL: u32 = 16;
