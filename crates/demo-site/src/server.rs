//! The event loop of the site: one thread, one selector, all connections.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use socket2::{Domain, Protocol, Socket, Type};

use crate::connection::{Connection, Next, Shared};
use crate::counters::Counters;
use crate::response::Renderer;
use crate::site::Site;

/// The length of the listener's accept queue. (mio asks for 128, too few for a
/// crawler that starts.)
const BACKLOG: i32 = 4096;
/// The pause before the next attempt when a connection cannot be accepted, most
/// likely for want of file descriptors.
const ACCEPT_RETRY: Duration = Duration::from_millis(5);
/// The size of the scratch buffer, in bytes.
const SCRATCH: usize = 16 * 1024;
const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// The event loop and its connections; serves until its [`Remote`] stops it.
#[derive(Debug)]
pub(crate) struct Server {
    poll: Poll,
    listener: TcpListener,
    /// Set while the listener may have a connection to accept.
    may_accept: bool,
    stop: Arc<AtomicBool>,
    release: Arc<AtomicBool>,
    shared: Shared,
    /// The connections, by the index that is their token.
    connections: Vec<Option<Slot>>,
    /// The vacant indices of `connections`.
    free: Vec<usize>,
    /// The pending timers: the moment, and the connection to advance then. The
    /// timer of a connection that is answered or closed is cancelled at once.
    timers: BTreeSet<(Instant, usize)>,
    /// The run queue: connections that have used up their budget and have more
    /// to do.
    run_queue: Vec<usize>,
}

/// A connection with its timer, if one is set.
#[derive(Debug)]
struct Slot {
    connection: Connection,
    timer: Option<Instant>,
}

/// A handle that controls a [`Server`] from another thread.
#[derive(Debug)]
pub(crate) struct Remote {
    stop: Arc<AtomicBool>,
    release: Arc<AtomicBool>,
    waker: Waker,
}

impl Remote {
    /// Stops the server.
    pub(crate) fn stop(&self) -> io::Result<()> {
        self.stop.store(true, Ordering::Release);
        self.waker.wake()
    }

    /// Ends the latency: every request is answered without delay from now on.
    pub(crate) fn release(&self) -> io::Result<()> {
        self.release.store(true, Ordering::Release);
        self.waker.wake()
    }
}

impl Server {
    /// Listens on `address`, without accepting connections yet.
    pub(crate) fn bind(
        address: SocketAddr,
        site: Arc<Site>,
        counters: Arc<Counters>,
    ) -> io::Result<(Self, Remote)> {
        let mut listener = listen(address)?;
        let poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let remote = Remote {
            stop: Arc::new(AtomicBool::new(false)),
            release: Arc::new(AtomicBool::new(false)),
            waker: Waker::new(poll.registry(), WAKER)?,
        };
        let server = Self {
            poll,
            listener,
            may_accept: false,
            stop: Arc::clone(&remote.stop),
            release: Arc::clone(&remote.release),
            shared: Shared {
                renderer: Renderer::new(Arc::clone(&site)),
                is_released: false,
                site,
                counters,
                scratch: vec![0; SCRATCH],
            },
            connections: Vec::new(),
            free: Vec::new(),
            timers: BTreeSet::new(),
            run_queue: Vec::new(),
        };
        Ok((server, remote))
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Runs the loop until the [`Remote`] stops it.
    pub(crate) fn run(mut self) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        while !self.stop.load(Ordering::Acquire) {
            self.turn(&mut events)?;
        }
        Ok(())
    }

    /// Runs one turn of the loop: waits for events, then advances every
    /// connection that has something to do.
    fn turn(&mut self, events: &mut Events) -> io::Result<()> {
        match self.poll.poll(events, self.timeout()) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            polled => polled?,
        }
        for event in &*events {
            match event.token() {
                LISTENER => self.may_accept = true,
                WAKER => {}
                Token(index) => {
                    if let Some(Some(slot)) = self.connections.get_mut(index) {
                        slot.connection.set_readiness(event);
                        self.advance(index);
                    }
                }
            }
        }
        if self.release.swap(false, Ordering::Acquire) {
            self.shared.is_released = true;
            for (_, index) in std::mem::take(&mut self.timers) {
                if let Some(Some(slot)) = self.connections.get_mut(index) {
                    slot.timer = None;
                }
                self.advance(index);
            }
        }
        self.run_timers();
        for index in std::mem::take(&mut self.run_queue) {
            self.advance(index);
        }
        // Last, so that a slot is reused only after every event of the batch
        // has reached its connection.
        if self.may_accept {
            self.accept();
        }
        Ok(())
    }

    /// Returns the longest time that the next turn may wait for events.
    fn timeout(&self) -> Option<Duration> {
        if !self.run_queue.is_empty() {
            return Some(Duration::ZERO);
        }
        let accept = self.may_accept.then_some(ACCEPT_RETRY);
        let timer = self.timers.first();
        let timer = timer.map(|(at, _)| at.saturating_duration_since(Instant::now()));
        accept.into_iter().chain(timer).min()
    }

    /// Fires the timers that are due.
    fn run_timers(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        // The clock is read once: timers that become due meanwhile must not
        // keep the loop here.
        let now = Instant::now();
        while let Some((at, index)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(Some(slot)) = self.connections.get_mut(index) {
                slot.timer = None;
            }
            self.advance(index);
        }
    }

    /// Advances a connection, then sets its timer, queues it or closes it.
    fn advance(&mut self, index: usize) {
        let Some(Some(slot)) = self.connections.get_mut(index) else {
            return;
        };
        let next = slot.connection.advance(&mut self.shared);
        let timer = match next {
            Next::At(at) => Some(at),
            Next::OnEvent | Next::Yield | Next::Close => None,
        };
        if timer != slot.timer {
            if let Some(old) = std::mem::replace(&mut slot.timer, timer) {
                self.timers.remove(&(old, index));
            }
            if let Some(at) = timer {
                self.timers.insert((at, index));
            }
        }
        match next {
            Next::OnEvent | Next::At(_) => {}
            Next::Yield => self.run_queue.push(index),
            Next::Close => {
                self.connections[index] = None;
                self.free.push(index);
            }
        }
    }

    /// Accepts the waiting connections.
    fn accept(&mut self) {
        // Bounded: a flood of clients must not keep the loop here.
        for _ in 0..BACKLOG {
            match self.listener.accept() {
                Ok((stream, _)) => self.add(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.may_accept = false;
                    return;
                }
                // The client closed the connection before it was accepted.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Too many open files: `may_accept` stays set for a retry.
                Err(_) => return,
            }
        }
    }

    /// Registers an accepted connection.
    fn add(&mut self, mut stream: TcpStream) {
        self.shared.counters.connections.fetch_add(1, Ordering::Relaxed);
        // The last piece of a large response must not wait for an
        // acknowledgement of the one before. (An error means that the client
        // is gone, which the next read reports.)
        let _ = stream.set_nodelay(true);
        let index = self.free.pop().unwrap_or(self.connections.len());
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registry = self.poll.registry();
        let slot = match registry.register(&mut stream, Token(index), interest) {
            Ok(()) => Some(Slot { connection: Connection::new(stream), timer: None }),
            // The selector cannot take another socket: close it.
            Err(_) => {
                self.free.push(index);
                None
            }
        };
        match self.connections.get_mut(index) {
            Some(vacant) => *vacant = slot,
            None => self.connections.push(slot),
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // Lets a new site listen on the address of one that has just stopped.
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(TcpListener::from_std(socket.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Latency, SiteOptions};
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Shutdown};

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n";

    /// A server whose loop runs turn by turn on the thread of the test.
    struct Stepped {
        server: Server,
        /// Wakes the loop in turns without events.
        remote: Remote,
        events: Events,
    }

    impl Stepped {
        fn new(latency: Latency) -> Self {
            let options = SiteOptions { latency, ..SiteOptions::default() };
            let site = Arc::new(Site::new(options).unwrap());
            let counters = Arc::new(Counters::new(Arc::clone(&site)));
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            let (server, remote) = Server::bind(address, site, counters).unwrap();
            Self { server, remote, events: Events::with_capacity(8) }
        }

        fn connect(&mut self) -> std::net::TcpStream {
            let open = self.server.open();
            let client = std::net::TcpStream::connect(self.server.address().unwrap()).unwrap();
            self.run_until(|server| server.open() > open);
            client
        }

        fn run_until(&mut self, condition: impl Fn(&Server) -> bool) {
            for _ in 0..1000 {
                if condition(&self.server) {
                    return;
                }
                self.remote.waker.wake().unwrap();
                self.server.turn(&mut self.events).unwrap();
            }
            panic!("it never happens");
        }
    }

    impl Server {
        fn open(&self) -> usize {
            self.connections.iter().flatten().count()
        }
    }

    #[test]
    fn an_end_that_arrives_with_the_request_closes_the_connection_after_the_response() {
        let mut stepped = Stepped::new(Latency::None);
        let mut client = stepped.connect();
        client.write_all(REQUEST).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        stepped.run_until(|server| server.open() == 0);
        let mut response = Vec::new();
        client.read_to_end(&mut response).unwrap();
        assert!(response.ends_with(b"</html>\n"));
    }

    #[test]
    fn the_timer_of_a_closed_connection_is_cancelled() {
        let mut stepped = Stepped::new(Latency::Fixed(Duration::from_secs(60)));
        for _ in 0..3 {
            let mut client = stepped.connect();
            client.write_all(REQUEST).unwrap();
            stepped.run_until(|server| server.timers.len() == 1);
            // A reset: a half-closed client (FIN) would still get its answer.
            let socket = socket2::SockRef::from(&client);
            socket.set_linger(Some(Duration::ZERO)).unwrap();
            drop(client);
            stepped.run_until(|server| server.open() == 0);
            assert!(stepped.server.timers.is_empty());
        }
        // All three connections have used the same slot.
        assert_eq!(stepped.server.connections.len(), 1);
    }
}
