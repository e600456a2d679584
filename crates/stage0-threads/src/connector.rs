//! The connector: from the name of a host to an open connection, in one call.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Instant;

use crawl_core::{Deadline, FetchError, Options, Phase, Visit};
use transport::{LookupFn, TlsConnector, is_fd_limit};

use crate::connection::{Connection, key, remaining};
use crate::limits::{ConnectionGuard, Limits};
use crate::lookups::Lookups;

/// The connector that all fetches share.
pub(crate) struct Connector {
    lookups: Lookups,
    tls_connector: TlsConnector,
    limits: Limits,
}

impl Connector {
    pub(crate) fn new(options: &Options, lookup: Arc<LookupFn>) -> Self {
        Self {
            lookups: Lookups::new(lookup),
            tls_connector: TlsConnector::new(&options.ca_certificates, options.insecure),
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
        let server = visit.server();
        let layer = self.tls_connector.layer(server.tls_host);
        let layer = layer.map_err(|error| visit.interrupted(&error))?;
        let addresses = self.lookups.lookup(server.host, server.port, deadline)?;
        let mut failure = None;
        for num_failed in 0..addresses.len() {
            match self.connect_to(&addresses[num_failed..], deadline) {
                Ok((socket, guard)) => return Ok(Connection::new(socket, layer, guard, deadline)),
                Err(error) => {
                    deadline.check(Instant::now())?;
                    failure = Some(FetchError::connect(addresses[num_failed], &error));
                }
            }
        }
        Err(failure.unwrap_or_else(|| FetchError::dns("the host has no address")))
    }
    // ANCHOR_END: connect

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
            let addresses_left = addresses.len();
            deadline.enter(Phase::Connect { addresses_left }, Instant::now());
            let timeout = remaining(deadline);
            match timeout.and_then(|timeout| TcpStream::connect_timeout(&addresses[0], timeout)) {
                Ok(socket) => {
                    let (key, address) = (key(&socket), addresses[0]);
                    trace::emit(|| trace::Event::Connect { key, address });
                    return Ok((socket, guard));
                }
                Err(error) if is_fd_limit(&error) => {
                    drop(guard);
                    deadline.enter(Phase::Pause, Instant::now());
                    if !self.limits.fd_freed() {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }
}
