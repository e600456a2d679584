//! A simulated network: a [`Backend`] with scripted hosts and a virtual clock.
//!
//! The rules of this crate:
//!
//! 1. **Waiting takes no time.** The clock jumps to the next event or timer,
//!    so a test of an hour's backoff takes a millisecond.
//! 2. **Every request is logged**, with the time of its arrival.
//! 3. **A crawl that hangs ends with an error**: a wait for which there is
//!    neither an event nor a timer is [`ErrorKind::Deadlock`].
//! 4. **Chance has a seed.** With the same seed, jitter and the order of events of
//!    the same moment are the same every time.
//!
//! A host is an IP address, or a name with [`SimNet::name`]. What arrives from it, and
//! when, follows from its [`Link`] and from the [`Response`] of the handler:
//!
//! ```
//! use std::time::Duration;
//!
//! use sim_net::{Link, SimNet, page};
//!
//! let net = SimNet::new(|request| page(["/next"]).after(Duration::from_secs(1)));
//! net.seed(7);
//! net.name("slow.test", [10, 0, 0, 1].into());
//! let latency = Duration::from_millis(80);
//! net.link([10, 0, 0, 1].into(), Link { latency, bandwidth: Some(10_000), ..Link::DEFAULT });
//! # let _ = net;
//! ```

mod response;

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use selector_core::{Backend, CustomSocket, Event, Key, Notifier, Readiness, Socket};
use transport::{Immediate, LookupFn};

pub use crate::response::{
    Response, cut, hang_up, not_found, page, redirect, reset, response, silence, text,
};

/// The address at which connections are refused.
pub const REFUSING_HOST: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 0));

/// A request that a simulated host has received.
#[derive(Clone, Debug)]
pub struct Request {
    /// The value of the `Host` field.
    pub host: String,
    /// The path and the query.
    pub path: String,
    /// The time of its arrival, since the beginning of the simulation.
    pub at: Duration,
}

/// The way to a host and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The time that bytes take in one direction.
    pub latency: Duration,
    /// The most that chance adds to the latency.
    pub jitter: Duration,
    /// The bytes per second of a connection; `None` for no limit.
    pub bandwidth: Option<u64>,
    /// The size of a packet in bytes: a read gets at most one. `None` for no limit.
    pub packet: Option<usize>,
    /// The fault of the host, if it is down.
    pub fault: Option<Fault>,
}

impl Link {
    /// A link on which everything arrives at once.
    pub const DEFAULT: Self = Self {
        latency: Duration::ZERO,
        jitter: Duration::ZERO,
        bandwidth: None,
        packet: None,
        fault: None,
    };
}

/// The fault of a host, or of a network, that is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Connections are refused, and those that exist are reset at their next read or
    /// write. One that waits is not told.
    Refuse,
    /// Nothing arrives any more, and nothing is answered.
    Swallow,
}

/// The moments at which bytes that have arrived are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Their arrival. The rest that a read leaves is not reported again.
    Edge,
    /// Their arrival, and the end of each read that leaves some.
    Level,
}

type Handler = dyn FnMut(&Request) -> Response;

/// An event to come: its moment, the number that orders events of the same moment (zero
/// as long as there is no seed), the key, and true for writable or false for readable.
type PendingEvent = (Instant, u64, u64, bool);

/// A network of simulated hosts, shared between a test and the loop that runs
/// on it.
#[derive(Clone)]
pub struct SimNet(Rc<State>);

/// The clock, the events to come, the hosts, and the log of requests.
struct State {
    begun: Instant,
    now: Cell<Instant>,
    /// The events to come, the earliest first.
    events: RefCell<BinaryHeap<Reverse<PendingEvent>>>,
    /// The state of the generator of random numbers; zero for none.
    random: Cell<u64>,
    links: RefCell<HashMap<IpAddr, Link>>,
    /// The most bytes that a read gets, and what reports the rest.
    reads: Cell<(usize, Trigger)>,
    names: Arc<Mutex<HashMap<String, IpAddr>>>,
    handler: RefCell<Box<Handler>>,
    log: RefCell<Vec<Request>>,
    /// The time from which the network is down, and the fault.
    down: Cell<Option<(Duration, Fault)>>,
    notified: Arc<AtomicBool>,
    /// The number of open connections.
    connections: Cell<usize>,
}

impl State {
    /// Returns the link to a host as it is now.
    fn link(&self, host: IpAddr) -> Link {
        let mut link = self.links.borrow().get(&host).copied().unwrap_or(Link::DEFAULT);
        let is_down = |(from, _): &(Duration, Fault)| self.now.get() >= self.begun + *from;
        let down = self.down.get().filter(is_down).map(|(_, fault)| fault);
        let refuses = (host == REFUSING_HOST).then_some(Fault::Refuse);
        link.fault = down.or(refuses).or(link.fault);
        link
    }

    /// Returns a random number below `limit`, or zero if there is no seed.
    fn random(&self, limit: u64) -> u64 {
        // The generator xorshift64*.
        let mut x = self.random.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.set(x);
        (x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16).checked_rem(limit).unwrap_or(0)
    }

    /// Returns the time that bytes take to the host, or back.
    fn travel(&self, link: &Link) -> Duration {
        link.latency + Duration::from_nanos(self.random(link.jitter.as_nanos() as u64))
    }

    fn push_event(&self, at: Instant, key: Key, writable: bool) {
        let order = self.random(u64::MAX);
        self.events.borrow_mut().push(Reverse((at, order, key.to_bits(), writable)));
    }
}

impl SimNet {
    /// Makes a network on which `handler` answers every request.
    pub fn new(handler: impl FnMut(&Request) -> Response + 'static) -> Self {
        Self::starting_at(Instant::now(), handler)
    }

    /// Makes a network whose time begins at `begun`: after that of another one, for
    /// example.
    pub fn starting_at(
        begun: Instant,
        handler: impl FnMut(&Request) -> Response + 'static,
    ) -> Self {
        Self(Rc::new(State {
            begun,
            now: Cell::new(begun),
            events: RefCell::default(),
            random: Cell::new(0),
            links: RefCell::default(),
            reads: Cell::new((usize::MAX, Trigger::Level)),
            names: Arc::default(),
            handler: RefCell::new(Box::new(handler)),
            log: RefCell::default(),
            down: Cell::new(None),
            notified: Arc::default(),
            connections: Cell::new(0),
        }))
    }

    /// Has chance decide on jitter and on the order of events of the same moment.
    pub fn seed(&self, seed: u64) {
        // Never zero, which stands for no seed.
        self.0.random.set(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    }

    /// Sets the link to a host.
    pub fn link(&self, host: IpAddr, link: Link) {
        self.0.links.borrow_mut().insert(host, link);
    }

    /// Has a read get at most so many bytes of what has arrived, although it has room for
    /// more: as if a program read once per event. `trigger` decides whether it is told of
    /// the rest; without this call it is.
    pub fn limit_reads(&self, bytes: usize, trigger: Trigger) {
        self.0.reads.set((bytes.max(1), trigger));
    }

    /// Gives a host a name.
    pub fn name(&self, name: &str, host: IpAddr) {
        lock(&self.0.names).insert(name.to_owned(), host);
    }

    /// Returns the function that looks the names of the hosts up.
    pub fn lookup(&self) -> Arc<LookupFn> {
        let names = Arc::clone(&self.0.names);
        Arc::new(Immediate(move |name: &str, port| {
            let host = lock(&names).get(name).copied();
            let host = host.ok_or_else(|| io::Error::other("no such host"))?;
            Ok(vec![SocketAddr::new(host, port)])
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

    /// Returns the number of open connections, those among them that were not accepted yet.
    pub fn connections(&self) -> usize {
        self.0.connections.get()
    }

    /// Takes the log of all requests so far, in the order of their arrival.
    pub fn take_requests(&self) -> Vec<Request> {
        let mut log = self.0.log.take();
        log.sort_by_key(|request| request.at);
        log
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for SimNet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimNet").field("elapsed", &self.elapsed()).finish_non_exhaustive()
    }
}

// ANCHOR: backend
impl Backend for SimNet {
    fn now(&self) -> Instant {
        trace::set_time(self.0.now.get());
        self.0.now.get()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        let (state, host) = (Rc::clone(&self.0), address.ip());
        let link = state.link(host);
        if link.fault == Some(Fault::Refuse) && link.latency.is_zero() {
            return Err(ErrorKind::ConnectionRefused.into());
        }
        if link.fault != Some(Fault::Swallow) {
            let at = state.now.get() + state.travel(&link) + state.travel(&link);
            state.push_event(at, key, true);
        }
        let (request, packets) = (Vec::new(), VecDeque::new());
        state.connections.update(|n| n + 1);
        Ok(Socket::custom(Connection { state, host, key, request, packets, end: None }))
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        let state = &self.0;
        if state.notified.swap(false, Ordering::Relaxed) {
            return Ok(());
        }
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
        trace::set_time(state.now.get());
        while let Some(Reverse((at, _, key, writable))) = pending.peek().copied()
            && at <= state.now.get()
        {
            pending.pop();
            let readiness = if writable { Readiness::WRITABLE } else { Readiness::READABLE };
            events.push(Event { key: Key::from_bits(key), readiness });
        }
        Ok(())
    }

    fn notifier(&self) -> Notifier {
        let notified = Arc::clone(&self.0.notified);
        Notifier::new(move || notified.store(true, Ordering::Relaxed))
    }
}
// ANCHOR_END: backend

/// A connection to one of the hosts.
struct Connection {
    state: Rc<State>,
    host: IpAddr,
    key: Key,
    request: Vec<u8>,
    /// Packets that are not read yet, with the moments of their arrival.
    packets: VecDeque<(Instant, Vec<u8>)>,
    /// The end of the connection by the host: its moment, and true for a reset.
    end: Option<(Instant, bool)>,
}

impl Connection {
    /// Passes a request to the handler, and sends its response in packets.
    fn answer(&mut self, head: &[u8]) {
        let (state, link) = (&self.state, self.state.link(self.host));
        let arrived = state.now.get() + state.travel(&link);
        let head = str::from_utf8(head).unwrap_or_default();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let host = head.lines().find_map(|line| line.strip_prefix("Host: "));
        let host = host.unwrap_or_default().to_owned();
        let request = Request { host, path, at: arrived - state.begun };
        state.log.borrow_mut().push(request.clone());
        let response = (state.handler.borrow_mut())(&request);
        // Packets do not overtake each other.
        let last = self.packets.back().map_or(arrived, |(at, _)| *at);
        let begun = last.max(arrived + response.after + state.travel(&link));
        let mut sent = 0;
        let mut at = begun;
        let size = link.packet.unwrap_or(usize::MAX).max(1);
        for packet in response.bytes.chunks(size) {
            sent += packet.len() as u64;
            let took = link.bandwidth.and_then(|rate| (sent * 1_000_000_000).checked_div(rate));
            at = at.max(begun + Duration::from_nanos(took.unwrap_or(0)));
            self.packets.push_back((at, packet.to_vec()));
            state.push_event(at, self.key, false);
        }
        if response.closes || response.resets {
            self.end = Some((at, response.resets));
            state.push_event(at, self.key, false);
        } else if response.bytes.is_empty() {
            state.push_event(at, self.key, false);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.state.connections.update(|n| n - 1);
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.state.link(self.host).fault {
            Some(Fault::Refuse) => return Err(ErrorKind::ConnectionReset.into()),
            Some(Fault::Swallow) => return Ok(bytes.len()),
            None => {}
        }
        self.request.extend_from_slice(bytes);
        if self.request.ends_with(b"\r\n\r\n") {
            let head = std::mem::take(&mut self.request);
            self.answer(&head);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let link = self.state.link(self.host);
        match link.fault {
            Some(Fault::Refuse) => return Err(ErrorKind::ConnectionReset.into()),
            Some(Fault::Swallow) => return Err(ErrorKind::WouldBlock.into()),
            None => {}
        }
        let now = self.state.now.get();
        let (most, trigger) = self.state.reads.get();
        let room = buffer.len().min(most);
        let mut length = 0;
        while let Some((at, packet)) = self.packets.front_mut()
            && *at <= now
            && length < room
        {
            let part = packet.len().min(room - length);
            buffer[length..length + part].copy_from_slice(&packet[..part]);
            length += part;
            packet.drain(..part);
            if packet.is_empty() {
                self.packets.pop_front();
            }
            if link.packet.is_some() {
                break;
            }
        }
        let is_next_here = self.packets.front().is_some_and(|(at, _)| *at <= now);
        let end = self.end.filter(|(at, _)| self.packets.is_empty() && *at <= now);
        match (length, end) {
            (0, Some((_, true))) => Err(ErrorKind::ConnectionReset.into()),
            (0, Some((_, false))) => Ok(0),
            (0, None) => Err(ErrorKind::WouldBlock.into()),
            (_, end) => {
                if trigger == Trigger::Level && is_next_here || end.is_some() {
                    // The rest has to be read, too: one more event.
                    self.state.push_event(now, self.key, false);
                }
                Ok(length)
            }
        }
    }
}

impl CustomSocket for Connection {
    fn connected(&self) -> io::Result<bool> {
        match self.state.link(self.host).fault {
            Some(Fault::Refuse) => Err(ErrorKind::ConnectionRefused.into()),
            fault => Ok(fault.is_none()),
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("host", &self.host).finish_non_exhaustive()
    }
}
