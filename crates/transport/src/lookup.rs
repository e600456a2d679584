//! Name lookup: its function, its result and its error.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The addresses of a host, in the order in which to try them. At most 16.
pub type Addresses = Arc<[SocketAddr]>;

/// A blocking function that returns the addresses of a host and port.
pub type LookupFn = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// A host and a port to look up.
pub(crate) type HostPort = (Arc<str>, u16);
/// The answer of a lookup.
pub type LookupResult = Result<Addresses, LookupError>;

/// Looks a host up with the operating system's `getaddrinfo`.
///
/// # Errors
/// The error that the operating system reports.
pub fn system_lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// The error of a host that has no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupError {
    host: Arc<str>,
    reason: String,
}

impl LookupError {
    pub(crate) fn new(host: &Arc<str>, reason: impl Into<String>) -> Self {
        Self { host: Arc::clone(host), reason: reason.into() }
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no address for {}: {}", self.host, self.reason)
    }
}

impl std::error::Error for LookupError {}

/// Calls `lookup` on the current thread. A panic in it becomes an error,
/// because the waiters need an answer in any case.
pub(crate) fn lookup_catching_panic(lookup: &LookupFn, name: &HostPort) -> LookupResult {
    const MAX: usize = 16;
    let result = catch_unwind(AssertUnwindSafe(|| lookup(&name.0, name.1)));
    let mut addresses = match result {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(LookupError::new(&name.0, error.to_string())),
        Err(_panic) => return Err(LookupError::new(&name.0, "the look-up itself failed")),
    };
    addresses.truncate(MAX);
    if addresses.is_empty() {
        return Err(LookupError::new(&name.0, "the answer is empty"));
    }
    Ok(addresses.into())
}
