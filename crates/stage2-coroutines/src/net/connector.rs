//! The connector: from the name of a host to an open connection, in one call.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::panic::Location;
use std::rc::Rc;

use crawl_core::{Deadline, FetchError, Options, Phase, Server, Visit};
use selector_core::Socket;
use transport::{Addresses, ConnectPolicy, LookupResult, TlsLayer, is_fd_limit};

use crate::net::connection::{Connection, Registration};
use crate::net::io::connected;
use crate::net::limits::{ConnectionGuard, Limits};
use crate::net::lookup::address_failed;
use crate::{EventLoop, lookup};

/// The connector that all fetches share.
pub struct Connector {
    event_loop: EventLoop,
    policy: ConnectPolicy,
    limits: Rc<Limits>,
    make_room: Box<dyn Fn() -> bool>,
}

impl Connector {
    /// Returns a connector. When the process has no file descriptor left, it calls
    /// `make_room`, which may close an idle connection and then returns true.
    pub fn new(
        event_loop: &EventLoop,
        options: &Options,
        make_room: impl Fn() -> bool + 'static,
    ) -> Self {
        let Options { settings, ca_certificates, insecure, .. } = options;
        let roots = settings.roots.iter().filter_map(|root| root.host_str());
        Self {
            event_loop: event_loop.clone(),
            policy: ConnectPolicy::new(ca_certificates, *insecure, roots, settings.deny_private),
            limits: Rc::new(Limits::new(event_loop)),
            make_room: Box::new(make_room),
        }
    }

    /// Returns this connector with the limits of another one: they share the permits and
    /// the file descriptors.
    pub fn with_limits_of(self, other: &Self) -> Self {
        Self { limits: Rc::clone(&other.limits), ..self }
    }

    /// Returns true if a task waits until a connection of this connector is closed; for
    /// a while also for one that has stopped waiting.
    pub fn has_fd_waiters(&self) -> bool {
        self.limits.has_fd_waiters()
    }

    // ANCHOR: connect
    /// Connects to the server of a visit: looks its host up, and tries one address
    /// after another until one accepts. The caller has a timeout at
    /// [`Deadline::at`], which is also the timeout of each address.
    ///
    /// # Errors
    /// When the host has no address that may be asked, when none of them accepts in
    /// time, when the connection cannot be secure, or when there is no file descriptor
    /// and none can become free.
    pub async fn connect(
        &self,
        visit: &Visit,
        deadline: &Deadline,
    ) -> Result<Connection, FetchError> {
        let Server { host, port, .. } = visit.server();
        let answer = lookup(&self.event_loop, host, port).await;
        let route = match self.route(visit, answer) {
            // Boxed, as below: it is rare.
            Err(error) if is_fd_limit(&error) => {
                Box::pin(self.route_when_fd_freed(error, visit, deadline)).await
            }
            route => route,
        };
        let (addresses, layer) = route.map_err(|error| visit.interrupted(&error))?;
        let mut failure = None;
        for num_failed in 0..addresses.len() {
            // Boxed: a fetch that waits for its response needs no room for it.
            match Box::pin(self.connect_to(&addresses[num_failed..], deadline)).await {
                Ok((socket, registration, guard)) => {
                    let guard = Some(guard);
                    return Ok(Connection::new(socket, registration, layer, guard));
                }
                Err(error) => {
                    let address = addresses[num_failed];
                    address_failed(&self.event_loop, address);
                    deadline.check(self.event_loop.now())?;
                    failure = Some(FetchError::connect(address, &error));
                }
            }
        }
        Err(failure.unwrap_or_else(|| visit.interrupted(&ErrorKind::NotFound.into())))
    }
    // ANCHOR_END: connect

    /// Asks the policy which addresses of a server may be tried.
    fn route(&self, visit: &Visit, answer: LookupResult) -> io::Result<(Addresses, TlsLayer)> {
        let server = visit.server();
        self.policy.route(server.host, server.tls_host, answer)
    }

    /// Looks the server of a visit up again, whenever a file descriptor may be free.
    async fn route_when_fd_freed(
        &self,
        error: io::Error,
        visit: &Visit,
        deadline: &Deadline,
    ) -> io::Result<(Addresses, TlsLayer)> {
        let find = async || {
            let Server { host, port, .. } = visit.server();
            self.route(visit, lookup(&self.event_loop, host, port).await)
        };
        self.lookup_when_fd_freed(error, deadline, find).await
    }

    /// Calls `find` again, whenever a file descriptor may be free: the last time
    /// there was none for it. This says nothing about the server.
    ///
    /// # Errors
    /// Those of `find`: `error` or a later one when no descriptor can become free.
    pub async fn lookup_when_fd_freed<T>(
        &self,
        mut error: io::Error,
        deadline: &Deadline,
        find: impl AsyncFn() -> io::Result<T>,
    ) -> io::Result<T> {
        // However this ends: the next task may take the descriptor.
        let _wake_next = WakeNext(&self.limits);
        while self.fd_freed(deadline).await {
            deadline.enter(Phase::Lookup, self.event_loop.now());
            match find().await {
                Err(again) if is_fd_limit(&again) => error = again,
                found => return found,
            }
        }
        Err(error)
    }

    /// Connects to the first of these addresses, when there is a permit and a file
    /// descriptor for it. Neither is the server's fault, so meanwhile its clock
    /// stands still.
    async fn connect_to(
        &self,
        addresses: &[SocketAddr],
        deadline: &Deadline,
    ) -> io::Result<(Socket, Registration, ConnectionGuard)> {
        loop {
            let pause = || deadline.enter(Phase::Pause, self.event_loop.now());
            let mut guard = self.limits.acquire(&addresses[0], pause).await;
            let addresses_left = addresses.len();
            deadline.enter(Phase::Connect { addresses_left }, self.event_loop.now());
            match Registration::connect(&self.event_loop, addresses[0]) {
                Ok((socket, registration)) => {
                    guard.opened();
                    let is_over = || deadline.at() <= self.event_loop.now();
                    connected(&socket, &registration, Location::caller(), is_over).await?;
                    return Ok((socket, registration, guard));
                }
                Err(error) if is_fd_limit(&error) => {
                    drop(guard);
                    if !self.fd_freed(deadline).await {
                        return Err(error);
                    }
                }
                Err(error) => {
                    self.limits.wake_fd_waiter();
                    return Err(error);
                }
            }
        }
    }

    /// Waits until a file descriptor may be free. Returns false if none of this
    /// connector's is in use: then there is nothing to wait for, for no task.
    async fn fd_freed(&self, deadline: &Deadline) -> bool {
        if (self.make_room)() {
            return true;
        }
        if !self.limits.has_open_connections() {
            self.limits.wake_fd_waiter();
            return false;
        }
        deadline.enter(Phase::Pause, self.event_loop.now());
        self.limits.fd_freed().await;
        true
    }
}

/// A drop guard that wakes the next task that waits for a descriptor.
struct WakeNext<'l>(&'l Limits);

impl Drop for WakeNext<'_> {
    fn drop(&mut self) {
        self.0.wake_fd_waiter();
    }
}

#[cfg(all(test, feature = "os"))]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use crawl_core::ErrorClass;
    use selector_core::{Backend, Event, Key, Notifier, OsBackend};
    use transport::{TlsLayer, system_lookup};

    use super::*;
    use crate::{connect, runtime_on, timeout_at};

    /// A backend that opens one connection and has no descriptor for another.
    struct OneDescriptor(OsBackend, bool);

    impl Backend for OneDescriptor {
        fn now(&self) -> Instant {
            self.0.now()
        }

        fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
            const EMFILE: i32 = 24;
            if std::mem::replace(&mut self.1, true) {
                return Err(io::Error::from_raw_os_error(EMFILE));
            }
            self.0.connect(address, key)
        }

        fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
            self.0.wait(timeout, events)
        }

        fn notifier(&self) -> Notifier {
            self.0.notifier()
        }
    }

    /// A connection that other code keeps on the loop frees no descriptor for
    /// this connector, so there is nothing to wait for.
    #[test]
    fn a_connection_of_others_is_not_waited_for() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let backend = OneDescriptor(OsBackend::new().unwrap(), false);
        let runtime = runtime_on(backend, Arc::new(system_lookup));
        let event_loop = runtime.event_loop().clone();
        let connecting = connect(&event_loop, address, TlsLayer::plain());
        let _kept = runtime.run_until_complete(connecting).unwrap().unwrap();
        let url = format!("http://{address}/").parse().unwrap();
        let options = Options::new(Vec::new());
        let visit = Visit::for_file(&url, 1, &options, event_loop.now());
        let deadline = Deadline::new(&options, event_loop.now());
        let connector = Connector::new(&event_loop, &options, || false);
        let watchdog = event_loop.now() + Duration::from_secs(20);
        let connecting = connector.connect(&visit, &deadline);
        let connecting = timeout_at(&event_loop, || watchdog, connecting);
        let result = runtime.run_until_complete(connecting).unwrap();
        let error = result.expect("it waits forever").err().unwrap();
        assert_eq!(error.class, ErrorClass::Connect, "{error:?}");
    }
}
