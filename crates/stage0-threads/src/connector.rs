//! The connector: from the name of a host to an open connection, in one call.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use crawl_core::{Deadline, FetchError, Options, Phase, Visit};
use transport::{Addresses, ConnectPolicy, LookupFn, TlsLayer, is_fd_limit};

use crate::connection::{Connection, remaining};
use crate::limits::{ConnectionGuard, Limits};
use crate::lookups::Lookups;
use crate::traced::TcpStream;

/// The connector that all fetches share.
pub(crate) struct Connector {
    lookups: Lookups,
    policy: ConnectPolicy,
    limits: Limits,
}

impl Connector {
    pub(crate) fn new(options: &Options, lookup: Arc<LookupFn>) -> Self {
        let Options { settings, ca_certificates, insecure, .. } = options;
        let roots = settings.roots.iter().filter_map(|root| root.host_str());
        Self {
            lookups: Lookups::new(lookup),
            policy: ConnectPolicy::new(ca_certificates, *insecure, roots, settings.deny_private),
            limits: Limits::default(),
        }
    }

    // ANCHOR: connect
    /// Connects to the server of a visit: looks its host up, and tries one address
    /// after another until one accepts.
    pub(crate) fn connect<'a>(
        &'a self,
        visit: &Visit,
        deadline: &'a Deadline,
    ) -> Result<Connection<'a>, FetchError> {
        let (addresses, layer) =
            self.route(visit, deadline).map_err(|error| visit.interrupted(&error))?;
        let mut failure = None;
        for num_failed in 0..addresses.len() {
            match self.connect_to(&addresses[num_failed..], deadline) {
                Ok((stream, guard)) => return Ok(Connection::new(stream, layer, guard, deadline)),
                Err(error) => {
                    self.lookups.address_failed(addresses[num_failed]);
                    deadline.check(Instant::now())?;
                    failure = Some(FetchError::connect(addresses[num_failed], &error));
                }
            }
        }
        Err(failure.unwrap_or_else(|| visit.interrupted(&ErrorKind::NotFound.into())))
    }
    // ANCHOR_END: connect

    /// Looks the server of a visit up, and returns the addresses that the policy permits.
    /// Waits for a file descriptor if there is none for that.
    fn route(&self, visit: &Visit, deadline: &Deadline) -> io::Result<(Addresses, TlsLayer)> {
        let server = visit.server();
        loop {
            let num_freed = self.limits.num_freed();
            let answer = self.lookups.lookup(server.host, server.port, deadline)?;
            match self.policy.route(server.host, server.tls_host, answer) {
                Err(error) if is_fd_limit(&error) && self.fd_freed(num_freed, deadline) => {
                    deadline.enter(Phase::Lookup, Instant::now());
                }
                route => return route,
            }
        }
    }

    /// Connects to the first of these addresses, when there is a permit and a file
    /// descriptor for it. Neither is the server's fault, so meanwhile its clock
    /// stands still.
    fn connect_to(
        &self,
        addresses: &[SocketAddr],
        deadline: &Deadline,
    ) -> io::Result<(TcpStream, ConnectionGuard<'_>)> {
        loop {
            deadline.enter(Phase::Pause, Instant::now());
            let guard = self.limits.acquire(&addresses[0]);
            let num_freed = self.limits.num_freed();
            let addresses_left = addresses.len();
            deadline.enter(Phase::Connect { addresses_left }, Instant::now());
            let timeout = remaining(deadline);
            match timeout.and_then(|timeout| TcpStream::connect_timeout(&addresses[0], timeout)) {
                Ok(stream) => return Ok((stream, guard)),
                Err(error) if is_fd_limit(&error) => {
                    guard.drop_without_fd();
                    if !self.fd_freed(num_freed, deadline) {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until a file descriptor may be free, or returns false if the crawl has none
    /// of its own to wait for.
    fn fd_freed(&self, num_freed: u64, deadline: &Deadline) -> bool {
        deadline.enter(Phase::Pause, Instant::now());
        self.limits.fd_freed(num_freed)
    }
}
