//! A fetch, cut into the pieces between which it waits.
//!
//! ```text
//! fetch ──► looked_up ──► connect ──► open ──► connected ──► send ──► read_response ──► ended
//!   ▲                        ▲          │          │                                     │
//!   │                        └──────────┴──────────┘ next address                        ▼
//!   └───────────────────────────────────── try again, after a pause ◄──── judge ── finished
//! ```
//! From `looked_up` to `read_response`, `too_late` may take its place.

use std::io::{self, ErrorKind};
use std::rc::Rc;

use crawl_core::{ErrorClass, FetchError, Patience, Received, Verdict, Visit};
use selector_core::{Interest, TimerKey};
use transport::{Addresses, Candidates, LineKey, NameError, is_tls_error, out_of_descriptors};

use crate::connection::{Connection, failure};
use crate::site::Site;
use crate::{Alarm, EventLoop, Method};

type Loop = EventLoop<Fetcher>;

// ANCHOR: fetcher
/// One fetch. It has a connection, a timer or bytes to send in some of its
/// states only; the fields have to be there in all of them.
pub struct Fetcher {
    site: Rc<Site>,
    visit: Visit,
    patience: Patience,
    timer: Option<TimerKey>,
    opening: Option<Box<Opening>>,
    /// The line in which it has been given a turn to connect, until there is an
    /// answer.
    turn: Option<LineKey>,
    connection: Option<Connection>,
}
// ANCHOR_END: fetcher

/// What is gone when the request is sent: the many who wait for an answer do not
/// even have the room for it.
#[derive(Default)]
struct Opening {
    candidates: Candidates,
    /// What is still to be sent.
    request: Vec<u8>,
}

impl Fetcher {
    pub(crate) fn new(site: Rc<Site>, visit: Visit, event_loop: &Loop) -> Box<Self> {
        Box::new(Self {
            patience: Patience::new(&site.options, event_loop.now()),
            site,
            visit,
            timer: None,
            opening: None,
            turn: None,
            connection: None,
        })
    }

    /// Begins the first try.
    pub(crate) fn fetch(self: Box<Self>, event_loop: &mut Loop) {
        let (host, port) = self.visit.host_and_port();
        if let Some(addresses) = event_loop.known_addresses(host, port) {
            return self.looked_up(Ok(addresses), event_loop);
        }
        let (host, deadline) = (host.to_owned(), self.patience.deadline());
        event_loop.look_up((&host, port), self, Self::looked_up, deadline, Self::too_late);
    }

    /// Begins another one.
    fn fetch_again(mut self: Box<Self>, event_loop: &mut Loop) {
        self.patience = Patience::new(&self.site.options, event_loop.now());
        self.fetch(event_loop);
    }

    fn looked_up(mut self: Box<Self>, answer: Result<Addresses, NameError>, event_loop: &mut Loop) {
        match answer {
            Ok(addresses) => {
                *self.candidates() = Candidates::new(addresses);
                self.connect(event_loop);
            }
            Err(error) => {
                let error = FetchError::new(ErrorClass::Dns, error.to_string());
                self.ended(Err(error), event_loop);
            }
        }
    }

    fn candidates(&mut self) -> &mut Candidates {
        &mut self.opening.get_or_insert_default().candidates
    }

    /// Waits for its turn with the next address, if there is one.
    fn connect(mut self: Box<Self>, event_loop: &mut Loop) {
        let Some(address) = self.candidates().current() else {
            let error = FetchError::new(ErrorClass::Connect, self.candidates().failure());
            return self.ended(Err(error), event_loop);
        };
        let line = event_loop.line(address);
        self.patience.pause(event_loop.now());
        self.turn = Some(line);
        event_loop.call_in_turn(line, self, Self::open);
    }

    fn open(mut self: Box<Self>, event_loop: &mut Loop) {
        let now = event_loop.now();
        let candidates = self.candidates();
        let (address, left) = (candidates.current().expect(HAS_TURN), candidates.left());
        self.patience.resume(now);
        self.patience.try_address(now, left);
        let security = &self.site.security;
        match Connection::open(address, security, &self.visit, event_loop) {
            Ok(connection) => {
                let alarm = Alarm::Interrupt(connection.key, Self::too_late);
                self.timer = Some(event_loop.timers.set(self.patience.deadline(), alarm));
                self.connection = Some(connection);
                self.wait(Interest::Writable, Self::connected, event_loop);
            }
            Err(error) if is_tls_error(&error) => {
                let error = failure(&self.visit, &error);
                self.ended(Err(error), event_loop);
            }
            Err(error) if out_of_descriptors(&error) && !event_loop.selector.is_empty() => {
                self.patience.pause(event_loop.now());
                event_loop.call_when_descriptor_freed(self, Self::open);
            }
            Err(error) => {
                event_loop.feed_starved();
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
    /// The socket is writable: it is connected, or cannot be, or neither.
    fn connected(mut self: Box<Self>, event_loop: &mut Loop) {
        let connection = self.connection.as_ref().expect(IS_CONNECTED);
        match connection.stream.socket().connected() {
            Ok(true) => {
                self.patience.heard(event_loop.now());
                let request = self.visit.request(&self.site.options, false);
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

    /// Sends what the socket takes, until it has taken everything.
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
                self.ended(Err(error), event_loop);
            }
        }
    }

    // ANCHOR: read_response
    /// Takes what has come. There may be no more news of it: the selector
    /// tells of a change, and what is left unread changes nothing.
    fn read_response(mut self: Box<Self>, event_loop: &mut Loop) {
        event_loop.end_turn(&mut self.turn);
        for _ in 0..READS_PER_TURN {
            let connection = self.connection.as_mut().expect(IS_CONNECTED);
            if !connection.is_readable(event_loop) {
                break;
            }
            let visit = &mut self.visit;
            let result = match connection.read(event_loop, |bytes| visit.receive(bytes)) {
                Ok(Some(Ok(Received::More))) => {
                    self.patience.heard(event_loop.now());
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
            return self.ended(result, event_loop);
        }
        // Either everything is read, or it is somebody else's turn.
        self.wait(Interest::Readable, Self::read_response, event_loop);
    }
    // ANCHOR_END: read_response

    fn too_late(self: Box<Self>, event_loop: &mut Loop) {
        if self.patience.is_next_address_due(event_loop.now()) {
            return self.cannot_connect(&ErrorKind::TimedOut.into(), event_loop);
        }
        let error = self.patience.lost();
        self.ended(Err(error), event_loop);
    }

    // ANCHOR: wait
    /// Goes on with `method` when the connection is ready, or with `too_late`.
    fn wait(mut self: Box<Self>, interest: Interest, method: Method<Self>, event_loop: &mut Loop) {
        let deadline = self.patience.deadline();
        self.timer = self.timer.and_then(|timer| event_loop.postpone(timer, deadline));
        let key = self.connection.as_ref().expect(IS_CONNECTED).key;
        event_loop.register(key, interest, self, method);
    }
    // ANCHOR_END: wait

    // ANCHOR: ended
    /// A try has ended; what now?
    fn ended(mut self: Box<Self>, result: Result<(), FetchError>, event_loop: &mut Loop) {
        self.close(event_loop);
        match self.visit.judge(result) {
            Verdict::TryAgain(pause) => {
                event_loop.call_at(event_loop.now() + pause, self, Self::fetch_again);
            }
            Verdict::Finished => {
                let Self { site, visit, .. } = *self;
                site.finished(visit, event_loop);
            }
        }
    }
    // ANCHOR_END: ended

    // ANCHOR: close
    fn close(&mut self, event_loop: &mut Loop) {
        if let Some(timer) = self.timer.take() {
            drop(event_loop.timers.cancel(timer));
        }
        if let Some(connection) = self.connection.take() {
            event_loop.unregister(connection.key);
        }
        event_loop.end_turn(&mut self.turn);
    }
    // ANCHOR_END: close
}

// ANCHOR: expectations
const HAS_TURN: &str = "called only in its turn";
const IS_CONNECTED: &str = "called only with a connection";
// ANCHOR_END: expectations

/// After so many reads in a row, others have a turn.
const READS_PER_TURN: u32 = 16;
