//! The connector as a state machine of its own: from the name of a host to an
//! open connection.
//!
//! ```text
//! connect ─► start_lookup ─► looked_up ─► try_address ─► open ─► writable ─► connected
//!                                             ▲          │         │
//!                                             └──────────┴─────────┘ address_failed: the next address
//! ```

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;

use crawl_core::{FetchError, FetchResult, Options, Phase};
use selector_core::{Interest, Socket, TimerKey};
use transport::{
    Acquire, AddressId, Addresses, ConnectLimiter, ConnectPolicy, Lookup, LookupFn, LookupId,
    LookupResult, Resolver, Stream, TlsLayer, is_fd_limit,
};

use crate::connection::{Connection, Registration};
use crate::event_loop::{Callback, Method, TimerEvent};
use crate::fetch::{Fetcher, Loop};

/// The method that continues when the connector is done.
type ConnectedMethod = fn(Box<Fetcher>, FetchResult, &mut Loop);

/// The connector that all fetches share. A fetch that waits in it, for something other than
/// a socket, is left with the loop as the callback of a timer, whose key is here. So the loop
/// owns every fetch that waits.
pub(crate) struct Connector {
    policy: ConnectPolicy,
    resolver: RefCell<Resolver>,
    /// The fetches that wait for the answer of a lookup. Their timers are timeouts.
    lookups: RefCell<HashMap<LookupId, TimerKey>>,
    /// The fetches that wait for a permit to connect. Their clock stands still, so their
    /// timers do not fire.
    connect_limiter: RefCell<ConnectLimiter<TimerKey>>,
    /// The fetches that wait for a file descriptor. Their clock stands still, too.
    fd_waiters: RefCell<VecDeque<TimerKey>>,
}

/// The state of a fetch while it connects.
pub(crate) struct Connecting {
    /// The lookup that is pending.
    lookup_id: Option<LookupId>,
    /// The answer of the lookup.
    answer: Option<LookupResult>,
    addresses: Addresses,
    /// The number of addresses that have failed.
    num_failed: usize,
    /// The error of the last address that has failed.
    failure: Option<FetchError>,
    layer: TlsLayer,
    /// The permit to connect to the next address.
    permit: Option<AddressId>,
    /// The socket that is being connected.
    socket: Option<(Socket, Registration)>,
    /// The method to call at the end.
    connected: ConnectedMethod,
}

impl Fetcher {
    // ANCHOR: connect
    /// Connects to the server of the visit: looks its host up, and tries one address
    /// after another until one accepts. Then calls `connected`, with the connection
    /// in its field or with an error.
    pub(crate) fn connect(mut self: Box<Self>, connected: ConnectedMethod, event_loop: &mut Loop) {
        self.connecting = Some(Box::new(Connecting::new(connected)));
        self.start_lookup(event_loop);
    }

    pub(crate) fn start_lookup(mut self: Box<Self>, event_loop: &mut Loop) {
        let (connector, now) = (self.connector(), event_loop.now());
        self.deadline.enter(Phase::Lookup, now);
        let server = self.visit.server();
        let lookup = connector.resolver.borrow_mut().lookup(server.host, server.port, now);
        match lookup {
            Lookup::Cached(addresses) => {
                self.connecting().answer = Some(Ok(addresses));
                self.looked_up(event_loop);
            }
            Lookup::Pending(lookup_id) => {
                self.connecting().lookup_id = Some(lookup_id);
                let timer = self.wait_in_timer(Self::lookup_timed_out, event_loop);
                connector.lookups.borrow_mut().insert(lookup_id, timer);
            }
        }
    }

    pub(crate) fn lookup_timed_out(mut self: Box<Self>, event_loop: &mut Loop) {
        if let Some(lookup_id) = self.connecting().lookup_id.take() {
            self.connector().cancel_lookup(lookup_id);
        }
        self.connect_timed_out(event_loop);
    }

    pub(crate) fn looked_up(mut self: Box<Self>, event_loop: &mut Loop) {
        let answer = self.connecting().answer.take().expect("called only with an answer");
        let (connector, server) = (self.connector(), self.visit.server());
        match connector.policy.route(server.host, server.tls_host, answer) {
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
    pub(crate) fn try_address(mut self: Box<Self>, event_loop: &mut Loop) {
        let Some(address) = self.connecting().address() else {
            let no_address = self.visit.interrupted(&ErrorKind::NotFound.into());
            let failure = self.connecting().failure.take().unwrap_or(no_address);
            return self.connect_failed(failure, event_loop);
        };
        let (connector, now) = (self.connector(), event_loop.now());
        let mut fetcher = Some(self);
        let waiter = |_| {
            let fetcher = fetcher.take().expect("called at most once");
            fetcher.deadline.enter(Phase::Pause, now);
            fetcher.wait_in_timer(Self::try_address, event_loop)
        };
        let acquired = connector.connect_limiter.borrow_mut().acquire(address, now, waiter);
        let (permit, acquire) = acquired;
        if let Some(mut fetcher) = fetcher {
            fetcher.connecting().permit = Some(permit);
            fetcher.open(event_loop);
        } else if acquire == (Acquire::Queued { needs_timer: true }) {
            connector.grant_batches(permit, event_loop);
        }
    }

    pub(crate) fn open(mut self: Box<Self>, event_loop: &mut Loop) {
        let connecting = self.connecting();
        let addresses_left = connecting.addresses.len() - connecting.num_failed;
        let address = connecting.address().expect("it has a permit to connect to one");
        let mut permit = connecting.permit.take();
        self.deadline.enter(Phase::Connect { addresses_left }, event_loop.now());
        match event_loop.selector.connect(address) {
            Ok((socket, key)) => {
                let mut registration = Registration { key, timer: None, permit };
                registration.set_timeout(self.deadline.at(), Self::timed_out, event_loop);
                self.connecting().socket = Some((socket, registration));
                event_loop.register(key, Interest::Writable, self, Self::writable);
            }
            Err(error) => {
                self.connector().release_permit(&mut permit, event_loop);
                if is_fd_limit(&error) && !event_loop.selector.is_empty() {
                    return self.wait_for_fd(Self::try_address, event_loop);
                }
                self.address_failed(&error, event_loop);
            }
        }
    }

    /// Calls `method` when a file descriptor may be free.
    fn wait_for_fd(self: Box<Self>, method: Method<Self>, event_loop: &mut Loop) {
        let connector = self.connector();
        self.deadline.enter(Phase::Pause, event_loop.now());
        let timer = self.wait_in_timer(method, event_loop);
        connector.fd_waiters.borrow_mut().push_back(timer);
    }

    /// Waits for the deadline, when `method` is called, or for the connector.
    fn wait_in_timer(self: Box<Self>, method: Method<Self>, event_loop: &mut Loop) -> TimerKey {
        event_loop.call_at(self.deadline.at(), self, method)
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
        let connector = self.connector();
        let connecting = self.connecting();
        connecting.close(&connector, event_loop);
        if let Some(address) = connecting.address() {
            connector.resolver.borrow_mut().address_failed(address);
            connecting.failure = Some(FetchError::connect(address, error));
        }
        connecting.num_failed += 1;
        self.try_address(event_loop);
    }

    fn connect_failed(mut self: Box<Self>, error: FetchError, event_loop: &mut Loop) {
        let connector = self.connector();
        let mut connecting = self.connecting.take().expect(IS_CONNECTING);
        connecting.close(&connector, event_loop);
        // If it was woken to take a descriptor, another one may take it.
        connector.wake_fd_waiter(event_loop);
        (connecting.connected)(self, Err(error), event_loop);
    }

    fn connector(&self) -> Rc<Connector> {
        Rc::clone(&self.crawl.client.connector)
    }

    fn connecting(&mut self) -> &mut Connecting {
        self.connecting.as_mut().expect(IS_CONNECTING)
    }
}

impl Connecting {
    fn new(connected: ConnectedMethod) -> Self {
        Self {
            lookup_id: None,
            answer: None,
            addresses: Addresses::default(),
            num_failed: 0,
            failure: None,
            layer: TlsLayer::default(),
            permit: None,
            socket: None,
            connected,
        }
    }

    fn address(&self) -> Option<SocketAddr> {
        self.addresses.get(self.num_failed).copied()
    }

    fn close(&mut self, connector: &Connector, event_loop: &mut Loop) {
        if let Some((_socket, registration)) = self.socket.take() {
            registration.close(connector, event_loop);
        }
    }
}

impl Connector {
    /// Creates the connector of a crawl. The loop calls it in each tick for the answers of
    /// lookups, which come from other threads.
    pub(crate) fn new(event_loop: &mut Loop, lookup: Arc<LookupFn>, options: &Options) -> Rc<Self> {
        let Options { settings, ca_certificates, insecure, .. } = options;
        let roots = settings.roots.iter().filter_map(|root| root.host_str());
        let notifier = event_loop.selector.notifier();
        let resolver = Resolver::new(lookup, move || notifier.notify());
        let connector = Rc::new(Self {
            policy: ConnectPolicy::new(ca_certificates, *insecure, roots, settings.deny_private),
            resolver: RefCell::new(resolver),
            lookups: RefCell::default(),
            connect_limiter: RefCell::default(),
            fd_waiters: RefCell::default(),
        });
        let source = Rc::clone(&connector);
        event_loop.add_source(Rc::new(move |event_loop| source.answer_lookups(event_loop)));
        connector
    }

    /// Continues the fetches whose lookups are answered.
    fn answer_lookups(&self, event_loop: &mut Loop) {
        let answered = self.resolver.borrow_mut().answered(event_loop.now());
        for (lookup_id, answer) in answered {
            let timer = self.lookups.borrow_mut().remove(&lookup_id);
            if let Some(mut this) = timer.and_then(|timer| event_loop.cancel_call(timer)) {
                this.connecting().answer = Some(answer);
                event_loop.call(Callback { this, method: Fetcher::looked_up });
            }
        }
    }

    fn cancel_lookup(&self, lookup_id: LookupId) {
        self.resolver.borrow_mut().cancel(lookup_id);
        self.lookups.borrow_mut().remove(&lookup_id);
    }

    /// Gives a permit to connect back, if there is one: the server has answered, or
    /// the connection has ended. In the next tick the next fetch that waits gets it.
    pub(crate) fn release_permit(&self, permit: &mut Option<AddressId>, event_loop: &mut Loop) {
        if let Some(id) = permit.take() {
            let next = self.connect_limiter.borrow_mut().release(id);
            next.into_iter().for_each(|timer| grant(id, timer, event_loop));
        }
    }

    /// Grants permits to a batch of fetches at the end of each grace period, until
    /// none waits.
    fn grant_batches(self: Rc<Self>, address_id: AddressId, event_loop: &mut Loop) {
        let at = event_loop.now() + ConnectLimiter::<()>::GRACE_PERIOD;
        let grant_batch = move |event_loop: &mut Loop| {
            let now = event_loop.now();
            let batch = self.connect_limiter.borrow_mut().grant_batch(address_id, now);
            if let Some(batch) = batch {
                self.grant_batches(address_id, event_loop);
                batch.into_iter().for_each(|timer| grant(address_id, timer, event_loop));
            }
        };
        event_loop.timers.set(at, TimerEvent::Run(Box::new(grant_batch)));
    }

    /// Continues the next fetch that waits for a file descriptor, in the next tick:
    /// either one is free, or no connection is left that could free one.
    pub(crate) fn wake_fd_waiter(&self, event_loop: &mut Loop) {
        if let Some(timer) = self.fd_waiters.borrow_mut().pop_front() {
            event_loop.timers.move_to(timer, event_loop.now());
        }
    }
}

/// Grants a permit to connect to the fetch that waits in this timer: it continues in the
/// next tick.
fn grant(permit: AddressId, timer: TimerKey, event_loop: &mut Loop) {
    if let Some(mut fetcher) = event_loop.cancel_call(timer) {
        fetcher.connecting().permit = Some(permit);
        event_loop.call_at(event_loop.now(), fetcher, Fetcher::open);
    }
}

const IS_CONNECTING: &str = "called only while it connects";
const IS_OPEN: &str = "called only with a socket";
