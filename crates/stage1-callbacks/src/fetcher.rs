//! A fetch, cut into the pieces between which it waits.
//!
//! ```text
//! fetch ──► looked_up ──► connect ──► connected ──► send ──► read_response ──► ended
//!   ▲                      │   ▲          │                                     │
//!   │                      └───┘ next address                                   ▼
//!   └──────────────────────────── try again, after a pause ◄──── judge ── finished
//! ```
//! From `looked_up` to `read_response`, `too_late` may take its place.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::rc::Rc;

use crawl_core::{
    Conclusion, Crawl, Ending, ErrorClass, FetchError, Job, Options, Patience, Received, Sink,
    Verdict, Visit,
};
use selector_core::{Interest, Key, Socket, TimerKey};
use transport::{Addresses, Direction, NameError, Security, Stream, out_of_descriptors};

use crate::event_loop::Place;
use crate::{EventLoop, Method};

/// Crawls a site with callbacks, as many fetches at a time as `max_tasks`
/// allows: by default, as the process may open connections.
///
/// # Errors
/// When there is no event queue to be had.
pub fn crawl(options: Options, sink: Sink) -> io::Result<Ending> {
    crawl_on(&mut EventLoop::new()?, options, sink)
}

/// The same on a loop of your own.
///
/// # Errors
/// Those of [`EventLoop::run`].
pub fn crawl_on(
    event_loop: &mut EventLoop<Fetcher>,
    options: Options,
    sink: Sink,
) -> io::Result<Ending> {
    let site = Rc::new(Site {
        security: Security::new(),
        state: RefCell::new(State {
            urls_todo: VecDeque::new(),
            crawl: Crawl::new(options.clone()),
            in_flight: 0,
            is_starting: false,
        }),
        sink: RefCell::new(sink),
        options,
    });
    let roots = site.state.borrow_mut().crawl.roots();
    site.go_on(roots, event_loop);
    event_loop.run()?;
    let mut state = site.state.borrow_mut();
    let untaken = state.urls_todo.len();
    Ok(state.crawl.end(untaken, site.options.max_tasks))
}

/// What all fetches share; in the chapter these are globals.
struct Site {
    options: Options,
    security: Security,
    state: RefCell<State>,
    sink: RefCell<Sink>,
}

struct State {
    urls_todo: VecDeque<Job>,
    crawl: Crawl,
    in_flight: usize,
    is_starting: bool,
}

impl Site {
    /// Adds jobs, starts as many as there may be, and stops the loop when
    /// nothing is left.
    fn go_on(self: &Rc<Self>, jobs: Vec<Job>, event_loop: &mut EventLoop<Fetcher>) {
        let mut state = self.state.borrow_mut();
        state.urls_todo.extend(jobs);
        // A fetch that fails at once leads back here before it has returned.
        // The call that started it goes on with whatever there is to do.
        if std::mem::replace(&mut state.is_starting, true) {
            return;
        }
        let max_tasks = self.options.max_tasks.unwrap_or(usize::MAX);
        while state.in_flight < max_tasks
            && let Some(job) = state.urls_todo.pop_front()
        {
            if let Some(visit) = state.crawl.begin(job, event_loop.now()) {
                state.in_flight += 1;
                drop(state);
                Fetcher::new(Rc::clone(self), visit, event_loop).fetch(event_loop);
                state = self.state.borrow_mut();
            }
        }
        state.is_starting = false;
        if state.in_flight == 0 {
            event_loop.stop();
        }
    }
}

/// One fetch. It has a connection, a timer or bytes to send in some of its
/// states only; the fields have to be there in all of them.
pub struct Fetcher {
    site: Rc<Site>,
    visit: Visit,
    patience: Patience,
    timer: Option<TimerKey>,
    addresses: Option<Addresses>,
    next_address: usize,
    last_error: Option<String>,
    connection: Option<(Stream<Socket>, Key)>,
    request: Vec<u8>,
    sent: usize,
}

impl Fetcher {
    fn new(site: Rc<Site>, visit: Visit, event_loop: &EventLoop<Self>) -> Box<Self> {
        let patience = Patience::new(&site.options, event_loop.now());
        Box::new(Self {
            site,
            visit,
            patience,
            timer: None,
            addresses: None,
            next_address: 0,
            last_error: None,
            connection: None,
            request: Vec::new(),
            sent: 0,
        })
    }

    /// Begins a try.
    fn fetch(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        self.patience = Patience::new(&self.site.options, event_loop.now());
        let deadline = self.patience.deadline();
        let (host, port) = (self.visit.host().to_owned(), self.visit.port());
        let name = (host.as_str(), port);
        event_loop.look_up(name, self, Self::looked_up, deadline, Self::too_late);
    }

    fn looked_up(
        mut self: Box<Self>,
        answer: Result<Addresses, NameError>,
        event_loop: &mut EventLoop<Self>,
    ) {
        match answer {
            Ok(addresses) => {
                self.addresses = Some(addresses);
                self.next_address = 0;
                self.connect(event_loop);
            }
            Err(error) => {
                let error = FetchError::new(ErrorClass::Dns, error.to_string());
                self.ended(Err(error), event_loop);
            }
        }
    }

    /// Tries the next address, if there is one.
    fn connect(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        let layer = match self.site.security.layer(self.visit.is_secure()) {
            Ok(layer) => layer,
            Err(error) => {
                let error = FetchError::new(ErrorClass::Tls, error.to_string());
                return self.ended(Err(error), event_loop);
            }
        };
        let addresses = self.addresses.as_deref().unwrap_or_default();
        let Some(&address) = addresses.get(self.next_address) else {
            let message = self.last_error.take();
            let message =
                message.unwrap_or_else(|| format!("{} has no address", self.visit.host()));
            let error = FetchError::new(ErrorClass::Connect, message);
            return self.ended(Err(error), event_loop);
        };
        match event_loop.connect(address) {
            Ok((socket, key)) => {
                self.connection = Some((Stream::new(socket, layer), key));
                let deadline = self.patience.deadline();
                let place = Place::Socket(key);
                self.timer = Some(event_loop.interrupt_at(deadline, place, Self::too_late));
                event_loop.register(key, Interest::Writable, self, Self::connected);
            }
            Err(error) if out_of_descriptors(&error) => {
                self.patience.pause();
                event_loop.call_when_descriptor_freed(self, |this, event_loop| {
                    this.patience.restart(event_loop.now());
                    this.connect(event_loop);
                });
            }
            Err(error) => self.cannot_connect(&error, event_loop),
        }
    }

    fn cannot_connect(mut self: Box<Self>, error: &io::Error, event_loop: &mut EventLoop<Self>) {
        let addresses = self.addresses.as_deref().unwrap_or_default();
        if let Some(address) = addresses.get(self.next_address) {
            self.last_error = Some(format!("cannot connect to {address}: {error}"));
        }
        self.next_address += 1;
        self.close(event_loop);
        self.connect(event_loop);
    }

    /// The socket is writable: it is connected, or cannot be, or neither.
    fn connected(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        let (stream, key) = self.connection();
        let key = *key;
        match stream.socket().connected() {
            Ok(true) => {
                self.patience.heard(event_loop.now());
                self.request = self.visit.request(&self.site.options, false);
                self.sent = 0;
                self.send(event_loop);
            }
            Ok(false) => {
                event_loop.used_up(key, Interest::Writable);
                self.wait(Interest::Writable, Self::connected, event_loop);
            }
            Err(error) => self.cannot_connect(&error, event_loop),
        }
    }

    /// Sends what the socket takes, until it has taken everything.
    fn send(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        match self.write_request() {
            Ok(()) => {
                self.request = Vec::new();
                self.wait(Interest::Readable, Self::read_response, event_loop);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.wait_until_unblocked(Self::send, event_loop);
            }
            Err(error) => {
                let error = self.visit.interrupted(&error);
                self.ended(Err(error), event_loop);
            }
        }
    }

    fn write_request(&mut self) -> io::Result<()> {
        while self.sent < self.request.len() {
            let rest = &self.request[self.sent..];
            let (stream, _) = self.connection.as_mut().expect(IS_CONNECTED);
            match stream.write(rest) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => self.sent += length,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes what has come. There may be no more news of it: the selector
    /// tells of a change, and what is left unread changes nothing.
    fn read_response(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        for _ in 0..READS_PER_TURN {
            let (stream, key) = self.connection.as_mut().expect(IS_CONNECTED);
            if !event_loop.is_ready(*key, Interest::Readable) {
                break;
            }
            let visit = &mut self.visit;
            let result = match event_loop.read(*key, stream, |bytes| visit.receive(bytes)) {
                Ok(Some(Ok(Received::More))) => {
                    self.patience.heard(event_loop.now());
                    continue;
                }
                Ok(Some(Ok(Received::Complete { .. }))) => Ok(()),
                Ok(Some(Err(error))) => Err(error),
                Ok(None) => self.visit.receive_end(),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.wait_until_unblocked(Self::read_response, event_loop);
                }
                Err(error) => Err(self.visit.interrupted(&error)),
            };
            return self.ended(result, event_loop);
        }
        // Either everything is read, or it is somebody else's turn.
        self.wait(Interest::Readable, Self::read_response, event_loop);
    }

    fn too_late(self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        let error = self.patience.lost();
        self.ended(Err(error), event_loop);
    }

    /// Goes on with `method` when the connection is ready, or with `too_late`.
    fn wait(
        mut self: Box<Self>,
        interest: Interest,
        method: Method<Self>,
        event_loop: &mut EventLoop<Self>,
    ) {
        let deadline = self.patience.deadline();
        if let Some(timer) = self.timer
            && timer.at() != deadline
        {
            self.timer = event_loop.postpone(timer, deadline);
        }
        let (_, key) = self.connection();
        event_loop.register(*key, interest, self, method);
    }

    /// The same after `WouldBlock`, for what the stream was blocked on.
    fn wait_until_unblocked(
        self: Box<Self>,
        method: Method<Self>,
        event_loop: &mut EventLoop<Self>,
    ) {
        let (stream, key) = self.connection();
        let interest = match stream.blocked_on() {
            Direction::Read => Interest::Readable,
            Direction::Write => Interest::Writable,
        };
        event_loop.used_up(*key, interest);
        self.wait(interest, method, event_loop);
    }

    fn connection(&self) -> &(Stream<Socket>, Key) {
        self.connection.as_ref().expect(IS_CONNECTED)
    }

    /// A try has ended; what now?
    fn ended(
        mut self: Box<Self>,
        result: Result<(), FetchError>,
        event_loop: &mut EventLoop<Self>,
    ) {
        self.close(event_loop);
        match self.visit.judge(result) {
            Verdict::TryAgain(pause) => event_loop.call_later(pause, self, Self::fetch),
            Verdict::Finished => self.finished(event_loop),
        }
    }

    fn close(&mut self, event_loop: &mut EventLoop<Self>) {
        if let Some(timer) = self.timer.take() {
            event_loop.cancel(timer);
        }
        if let Some((stream, key)) = self.connection.take() {
            event_loop.unregister(key);
            drop(stream);
        }
    }

    fn finished(self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        let Self { site, visit, .. } = *self;
        let mut state = site.state.borrow_mut();
        let Conclusion { row, jobs } = state.crawl.conclude(visit, event_loop.now());
        state.in_flight -= 1;
        drop(state);
        (site.sink.borrow_mut())(row);
        site.go_on(jobs, event_loop);
    }
}

const IS_CONNECTED: &str = "called only with a connection";

/// After so many reads in a row, others have a turn.
const READS_PER_TURN: u32 = 16;
