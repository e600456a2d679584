//! The connector as a state machine of its own: from the name of a host to an
//! open connection.
//!
//! ```text
//! connect ─► start_lookup ─► looked_up ─► try_address ─► open ─► writable ─► connected
//!                                             ▲          │         │
//!                                             └──────────┴─────────┘ address_failed: the next address
//! ```

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Instant;

use crawl_core::{FetchError, FetchResult, Options, Phase};
use selector_core::{Interest, Socket};
use transport::{
    Acquire, AddressId, Addresses, ConnectLimiter, ConnectPolicy, Lookup, LookupId, LookupResult,
    Stream, TlsLayer, is_fd_limit,
};

use crate::connection::{Connection, Registration};
use crate::event_loop::{EventLoop, Method, Waiter};
use crate::fetch::{Fetcher, Loop};

/// The method that continues when the connector is done.
type ConnectedMethod = fn(Box<Fetcher>, FetchResult, &mut Loop);

/// The state of a fetch while it connects.
pub(crate) struct Connecting {
    addresses: Addresses,
    /// The number of addresses that have failed.
    num_failed: usize,
    /// The error of the last address that has failed.
    failure: Option<FetchError>,
    layer: TlsLayer,
    /// The socket that is being connected.
    socket: Option<(Socket, Registration)>,
    connected: ConnectedMethod,
}

impl Fetcher {
    // ANCHOR: connect
    /// Connects to the server of the visit: looks its host up, and tries one address
    /// after another until one accepts. Then calls `connected`, with the connection
    /// in its field or with an error.
    pub(crate) fn connect(mut self: Box<Self>, connected: ConnectedMethod, event_loop: &mut Loop) {
        let (addresses, layer) = (Addresses::default(), TlsLayer::default());
        let (num_failed, failure, socket) = (0, None, None);
        let connecting = Connecting { addresses, num_failed, failure, layer, socket, connected };
        self.connecting = Some(Box::new(connecting));
        self.start_lookup(event_loop);
    }

    fn start_lookup(self: Box<Self>, event_loop: &mut Loop) {
        let server = self.visit.server();
        self.deadline.enter(Phase::Lookup, event_loop.now());
        match event_loop.resolver.lookup(server.host, server.port, event_loop.now()) {
            Lookup::Cached(addresses) => self.looked_up(Ok(addresses), event_loop),
            Lookup::Pending(lookup_id) => {
                let timed_out = move |(), event_loop: &mut Loop| {
                    event_loop.resolver.cancel(lookup_id);
                    event_loop.answer_lookup(lookup_id, None);
                };
                let timer = event_loop.set_timer(self.deadline.at(), Box::new(timed_out));
                let waiter = |answer, event_loop: &mut Loop| match answer {
                    Some(answer) => self.looked_up(answer, event_loop),
                    None => self.connect_timed_out(event_loop),
                };
                event_loop.lookups.insert(lookup_id, (Box::new(waiter), timer));
            }
        }
    }

    fn looked_up(mut self: Box<Self>, answer: LookupResult, event_loop: &mut Loop) {
        let server = self.visit.server();
        match self.crawl.policy.route(server.host, server.tls_host, answer) {
            Ok((addresses, layer)) => {
                let connecting = self.connecting();
                (connecting.addresses, connecting.layer) = (addresses, layer);
                self.try_address(event_loop);
            }
            Err(error) if is_fd_limit(&error) && !event_loop.selector.is_empty() => {
                self.wait_for_fd(Self::start_lookup, event_loop);
            }
            Err(error) => {
                let error = self.visit.interrupted(&error);
                self.connect_failed(error, event_loop);
            }
        }
    }

    /// Waits for a permit to connect to the next address, if there is one. That is
    /// not the server's fault, so meanwhile its clock stands still.
    fn try_address(mut self: Box<Self>, event_loop: &mut Loop) {
        let Some(address) = self.connecting().address() else {
            let no_address = self.visit.interrupted(&ErrorKind::NotFound.into());
            let failure = self.connecting().failure.take().unwrap_or(no_address);
            return self.connect_failed(failure, event_loop);
        };
        event_loop.acquire_permit(address, self);
    }

    fn open(mut self: Box<Self>, permit: AddressId, now: Instant, event_loop: &mut Loop) {
        let connecting = self.connecting();
        let addresses_left = connecting.addresses.len() - connecting.num_failed;
        let address = connecting.address().expect("it has a permit to connect to one");
        self.deadline.enter(Phase::Connect { addresses_left }, now);
        match event_loop.selector.connect(address) {
            Ok((socket, key)) => {
                let mut registration = Registration { key, timer: None, permit: Some(permit) };
                registration.set_timeout(self.deadline.at(), Self::timed_out, event_loop);
                self.connecting().socket = Some((socket, registration));
                event_loop.register(key, Interest::Writable, self, Self::writable);
            }
            Err(error) => {
                event_loop.release_permit(&mut Some(permit));
                if is_fd_limit(&error) && !event_loop.selector.is_empty() {
                    return self.wait_for_fd(Self::try_address, event_loop);
                }
                self.address_failed(&error, event_loop);
            }
        }
    }

    /// Calls `method` when a file descriptor may be free.
    fn wait_for_fd(self: Box<Self>, method: Method<Self>, event_loop: &mut Loop) {
        self.deadline.enter(Phase::Pause, event_loop.now());
        event_loop.fd_waiters.push_back(Box::new(move |(), event_loop| method(self, event_loop)));
    }

    // ANCHOR: writable
    /// Handles a writable socket: it is connected, or has failed, or the event was
    /// spurious.
    pub(crate) fn writable(mut self: Box<Self>, event_loop: &mut Loop) {
        let (socket, registration) = self.connecting().socket.as_ref().expect(IS_OPEN);
        let key = registration.key;
        match socket.connected() {
            Ok(true) => {
                let connecting = *self.connecting.take().expect(IS_CONNECTING);
                let (socket, registration) = connecting.socket.expect(IS_OPEN);
                let stream = Stream::new(socket, connecting.layer);
                self.connection = Some(Connection { stream, registration });
                (connecting.connected)(self, Ok(()), event_loop);
            }
            Ok(false) => {
                event_loop.selector.clear(key, Interest::Writable);
                event_loop.register(key, Interest::Writable, self, Self::writable);
            }
            Err(error) => self.address_failed(&error, event_loop),
        }
    }
    // ANCHOR_END: writable
    // ANCHOR_END: connect

    pub(crate) fn connect_timed_out(self: Box<Self>, event_loop: &mut Loop) {
        match self.deadline.check(event_loop.now()) {
            Ok(()) => self.address_failed(&ErrorKind::TimedOut.into(), event_loop),
            Err(error) => self.connect_failed(error, event_loop),
        }
    }

    fn address_failed(mut self: Box<Self>, error: &io::Error, event_loop: &mut Loop) {
        let connecting = self.connecting();
        connecting.close(event_loop);
        if let Some(address) = connecting.address() {
            event_loop.resolver.address_failed(address);
            connecting.failure = Some(FetchError::connect(address, error));
        }
        connecting.num_failed += 1;
        self.try_address(event_loop);
    }

    fn connect_failed(mut self: Box<Self>, error: FetchError, event_loop: &mut Loop) {
        let mut connecting = self.connecting.take().expect(IS_CONNECTING);
        connecting.close(event_loop);
        // If it was woken to take a descriptor, another one may take it.
        event_loop.wake_fd_waiter();
        (connecting.connected)(self, Err(error), event_loop);
    }

    fn connecting(&mut self) -> &mut Connecting {
        self.connecting.as_mut().expect(IS_CONNECTING)
    }
}

impl Connecting {
    fn address(&self) -> Option<SocketAddr> {
        self.addresses.get(self.num_failed).copied()
    }

    fn close(&mut self, event_loop: &mut Loop) {
        if let Some((_socket, registration)) = self.socket.take() {
            registration.close(event_loop);
        }
    }
}

impl EventLoop<Fetcher> {
    /// Continues a fetch with a permit to connect to this address, which may be at
    /// once.
    fn acquire_permit(&mut self, address: SocketAddr, fetcher: Box<Fetcher>) {
        let now = self.now();
        let mut fetcher = Some(fetcher);
        let waiter = |_| -> Waiter<Fetcher, AddressId> {
            let fetcher = fetcher.take().expect("called at most once");
            fetcher.deadline.enter(Phase::Pause, now);
            Box::new(|permit, event_loop| fetcher.open(permit, event_loop.now(), event_loop))
        };
        let (permit, acquire) = self.connect_limiter.acquire(address, now, waiter);
        if let Some(fetcher) = fetcher {
            fetcher.open(permit, now, self);
        } else if acquire == (Acquire::Queued { needs_timer: true }) {
            self.grant_batches(permit);
        }
    }

    /// Grants permits to a batch of fetches at the end of each grace period, until
    /// none waits.
    fn grant_batches(&mut self, address_id: AddressId) {
        let at = self.now() + ConnectLimiter::<()>::GRACE_PERIOD;
        let grant = move |(), event_loop: &mut Self| {
            let now = event_loop.now();
            if let Some(batch) = event_loop.connect_limiter.grant_batch(address_id, now) {
                event_loop.grant_batches(address_id);
                batch.into_iter().for_each(|waiter| waiter(address_id, event_loop));
            }
        };
        self.set_timer(at, Box::new(grant));
    }
}

impl<S: 'static> EventLoop<S> {
    /// Continues what waits for a lookup.
    pub(crate) fn answer_lookup(&mut self, lookup_id: LookupId, answer: Option<LookupResult>) {
        if let Some((waiter, timer)) = self.lookups.remove(&lookup_id) {
            drop(self.timers.cancel(timer));
            trace::closure(waiter)(answer, self);
        }
    }

    /// Gives a permit to connect back, if there is one: the server has answered, or
    /// the connection has ended. In the next tick the next waiter gets it.
    pub(crate) fn release_permit(&mut self, permit: &mut Option<AddressId>) {
        if let Some(id) = permit.take()
            && let Some(waiter) = self.connect_limiter.release(id)
        {
            self.set_timer(self.now(), Box::new(move |(), event_loop| waiter(id, event_loop)));
        }
    }

    /// Continues the next fetch that waits for a file descriptor, in the next tick:
    /// either one is free, or no connection is left that could free one.
    pub(crate) fn wake_fd_waiter(&mut self) {
        if let Some(waiter) = self.fd_waiters.pop_front() {
            self.set_timer(self.now(), waiter);
        }
    }
}

/// Returns the policy of a crawl's connections.
pub(crate) fn policy_of(options: &Options) -> ConnectPolicy {
    let Options { settings, ca_certificates, insecure, .. } = options;
    let roots = settings.roots.iter().filter_map(|root| root.host_str());
    ConnectPolicy::new(ca_certificates, *insecure, roots, settings.deny_private)
}

const IS_CONNECTING: &str = "called only while it connects";
const IS_OPEN: &str = "called only with a socket";
