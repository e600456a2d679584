//! A simulated network: a [`Backend`] with scripted hosts
//! and a virtual clock.
//!
//! The rules of this crate:
//!
//! 1. **Waiting takes no time.** The clock jumps to the next response or timer,
//!    so a test of an hour's backoff takes a millisecond.
//! 2. **Every request is logged**, with the time of its arrival.
//! 3. **A crawl that hangs ends with an error**: a wait for which there is
//!    neither an event nor a timer is [`ErrorKind::Deadlock`].
//!
//! Hosts are IP addresses; no name is looked up.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use selector_core::{Backend, Event, Key, MockSocket, Notifier, Readiness, Socket};

/// The address at which connections are refused.
pub const REFUSING_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0));

/// A request that a simulated host has received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The value of the `Host` field.
    pub host: String,
    /// The path and the query.
    pub path: String,
    /// The time since the beginning of the simulation.
    pub at: Duration,
}

/// The response of a simulated host.
#[derive(Clone, Debug)]
pub struct Response {
    /// The time from the request to the response.
    pub after: Duration,
    /// The head and the body.
    pub bytes: Vec<u8>,
    /// True if the host closes the connection after them.
    pub closes: bool,
}

/// Makes a response of a status (`200 OK`), header lines, each with its line
/// end, and a body.
pub fn response(status: &str, headers: &str, body: impl AsRef<[u8]>) -> Response {
    let body = body.as_ref();
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
    let bytes = [head.as_bytes(), body].concat();
    Response { after: Duration::ZERO, bytes, closes: false }
}

/// Makes a page that links to `targets`.
pub fn page<T: AsRef<str>>(targets: impl IntoIterator<Item = T>) -> Response {
    let link = |target: T| format!("<a href=\"{}\">link</a>\n", target.as_ref());
    let html: String = targets.into_iter().map(link).collect();
    response("200 OK", "Content-Type: text/html\r\n", html)
}

/// Makes a response of plain text.
pub fn text(text: impl AsRef<[u8]>) -> Response {
    response("200 OK", "Content-Type: text/plain\r\n", text)
}

/// Makes a 404 without a body.
pub fn not_found() -> Response {
    response("404 Not Found", "", "")
}

/// Makes a 302 to `location`.
pub fn redirect(location: &str) -> Response {
    response("302 Found", &format!("Location: {location}\r\n"), "")
}

/// Makes a response that comes after eleven days: longer than any timeout.
pub fn silence() -> Response {
    Response { after: Duration::from_secs(1_000_000), bytes: Vec::new(), closes: false }
}

/// Makes no response: the host closes the connection.
pub fn hang_up() -> Response {
    Response { after: Duration::ZERO, bytes: Vec::new(), closes: true }
}

impl Response {
    /// Delays the response.
    #[must_use]
    pub fn after(mut self, after: Duration) -> Self {
        self.after = after;
        self
    }
}

/// The fault of a network that is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Connections are refused, and those that exist are reset.
    Refuse,
    /// Nothing arrives any more, and nothing is answered.
    Swallow,
}

type Handler = dyn FnMut(&Request) -> Response;

/// A network of simulated hosts, shared between a test and the loop that runs
/// on it.
#[derive(Clone)]
pub struct SimNet(Rc<State>);

/// The clock, the events to come, and the log of requests.
struct State {
    begun: Instant,
    now: Cell<Instant>,
    /// The events to come, earliest first: the moment, the key, and true for
    /// writable or false for readable.
    events: RefCell<BinaryHeap<Reverse<(Instant, u64, bool)>>>,
    handler: RefCell<Box<Handler>>,
    log: RefCell<Vec<Request>>,
    /// The time from which the network is down, and the fault.
    down: Cell<Option<(Duration, Fault)>>,
}

impl State {
    /// Returns the fault of the network, if it is down.
    fn fault(&self) -> Option<Fault> {
        let elapsed = self.now.get() - self.begun;
        self.down.get().filter(|(from, _)| *from <= elapsed).map(|(_, fault)| fault)
    }
}

impl SimNet {
    /// Makes a network on which `handler` answers every request.
    pub fn new(handler: impl FnMut(&Request) -> Response + 'static) -> Self {
        let begun = Instant::now();
        Self(Rc::new(State {
            begun,
            now: Cell::new(begun),
            events: RefCell::default(),
            handler: RefCell::new(Box::new(handler)),
            log: RefCell::default(),
            down: Cell::new(None),
        }))
    }

    /// Has the network go down at a time since the beginning, for all hosts.
    pub fn go_down(&self, at: Duration, fault: Fault) {
        self.0.down.set(Some((at, fault)));
    }

    /// The virtual time since the beginning.
    pub fn elapsed(&self) -> Duration {
        self.0.now.get() - self.0.begun
    }

    /// Takes the log of all requests so far, in the order of their arrival.
    pub fn take_requests(&self) -> Vec<Request> {
        self.0.log.take()
    }
}

impl fmt::Debug for SimNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimNet").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}

impl Backend for SimNet {
    fn now(&self) -> Instant {
        self.0.now.get()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let fault = self.0.fault();
        if address.ip() == REFUSING_HOST || fault == Some(Fault::Refuse) {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        let state = Rc::clone(&self.0);
        if fault.is_none() {
            state.events.borrow_mut().push(Reverse((self.now(), key.to_bits(), true)));
        }
        let (request, response) = (Vec::new(), Vec::new());
        Ok(Socket::mock(Connection {
            state,
            key,
            request,
            pending: Vec::new(),
            response,
            is_closed: false,
        }))
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let state = &self.0;
        let mut pending = state.events.borrow_mut();
        let next = pending.peek().map(|Reverse((at, ..))| *at);
        let until = timeout.map(|timeout| state.now.get() + timeout);
        let Some(moment) = next.into_iter().chain(until).min() else {
            return Err(io::Error::new(
                ErrorKind::Deadlock,
                "every task waits, and no event is to come",
            ));
        };
        state.now.set(state.now.get().max(moment));
        while let Some(Reverse((at, key, writable))) = pending.peek().copied()
            && at <= state.now.get()
        {
            pending.pop();
            let readiness = if writable { Readiness::WRITABLE } else { Readiness::READABLE };
            events.push(Event { key: Key::from_bits(key), readiness });
        }
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        // There is no lookup thread that could notify: all hosts are addresses.
        Notifier::new(|| ())
    }
}

/// A connection to one of the hosts.
struct Connection {
    state: Rc<State>,
    key: Key,
    request: Vec<u8>,
    /// Responses that are still to arrive, with the moment of their arrival.
    pending: Vec<(Instant, Response)>,
    /// Bytes that have arrived and are not read yet.
    response: Vec<u8>,
    /// True if the host has closed the connection after them.
    is_closed: bool,
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connection")
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.state.fault() {
            Some(Fault::Refuse) => return Err(ErrorKind::ConnectionReset.into()),
            Some(Fault::Swallow) => return Ok(bytes.len()),
            None => {}
        }
        self.request.extend_from_slice(bytes);
        if self.request.ends_with(b"\r\n\r\n") {
            let head = std::mem::take(&mut self.request);
            let head = String::from_utf8_lossy(&head);
            let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
            let host = head.lines().find_map(|line| line.strip_prefix("Host: "));
            let host = host.unwrap_or_default();
            let now = self.state.now.get();
            let at = now - self.state.begun;
            let request = Request { host: host.to_owned(), path, at };
            self.state.log.borrow_mut().push(request.clone());
            let response = (self.state.handler.borrow_mut())(&request);
            let moment = now + response.after;
            self.pending.push((moment, response));
            self.state.events.borrow_mut().push(Reverse((moment, self.key.to_bits(), false)));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.state.fault() {
            Some(Fault::Refuse) => return Err(ErrorKind::ConnectionReset.into()),
            Some(Fault::Swallow) => return Err(ErrorKind::WouldBlock.into()),
            None => {}
        }
        let now = self.state.now.get();
        for (_, response) in self.pending.extract_if(.., |(moment, _)| *moment <= now) {
            self.response.extend(response.bytes);
            self.is_closed |= response.closes;
        }
        let length = self.response.len().min(buffer.len());
        if length == 0 && self.is_closed {
            return Ok(0);
        }
        if length == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        buffer[..length].copy_from_slice(&self.response[..length]);
        self.response.drain(..length);
        if !self.response.is_empty() || self.is_closed {
            // The rest has to be read, too: one more event.
            let event = Reverse((now, self.key.to_bits(), false));
            self.state.events.borrow_mut().push(event);
        }
        Ok(length)
    }
}

impl MockSocket for Connection {
    fn connected(&self) -> io::Result<bool> {
        Ok(self.state.fault().is_none())
    }
}
