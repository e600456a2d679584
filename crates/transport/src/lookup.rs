//! Name lookup: its function, its result and its error.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The addresses of a host, in the order in which to try them. At most 16.
pub type Addresses = Arc<[SocketAddr]>;

/// A lookup of names: a function that takes a host and a port. It may block, so a
/// [`Resolver`](crate::Resolver) calls it on a thread of its own, unless it is [`Immediate`].
pub trait NameLookup: Send + Sync {
    /// Returns the addresses of a host and port.
    ///
    /// # Errors
    /// When there are none, for the reason that the error gives.
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;

    /// Returns true if the caller's own thread makes the lookup.
    fn is_immediate(&self) -> bool {
        false
    }
}

/// Any lookup of names.
pub type LookupFn = dyn NameLookup;

impl<F> NameLookup for F
where
    F: Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync,
{
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        self(host, port)
    }
}

/// A lookup that no other thread makes. Where time is virtual, the answer of another thread
/// would always come too late, and a run that is to be repeated exactly cannot depend on
/// threads.
#[derive(Debug)]
pub struct Immediate<F>(pub F);

impl<F> NameLookup for Immediate<F>
where
    F: Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync,
{
    fn addresses(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        (self.0)(host, port)
    }

    fn is_immediate(&self) -> bool {
        true
    }
}

/// A host and a port to look up.
pub(crate) type HostPort = (Arc<str>, u16);
/// The answer of a lookup.
pub type LookupResult = Result<Addresses, LookupError>;

/// Looks a host up with the operating system's `getaddrinfo`.
///
/// # Errors
/// The error that the operating system reports. If there is no file descriptor for a
/// lookup, it says so: see [`is_fd_limit`].
///
/// A name below `localhost` is loopback, and no name server is asked (RFC 6761, section 6.3).
pub fn system_lookup(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case("localhost")) {
        let ips = [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)];
        return Ok(ips.map(|ip| SocketAddr::new(ip, port)).into());
    }
    match (host, port).to_socket_addrs() {
        Ok(addresses) => Ok(addresses.collect()),
        // `getaddrinfo` opens files and sockets. Without a descriptor for them it says
        // that the name is not known.
        Err(error) => Err(fd_limit_error().unwrap_or(error)),
    }
}

/// Returns the error of a process that has fewer descriptors left than a lookup may
/// take: for a file, and for a socket to each of a few name servers.
fn fd_limit_error() -> Option<io::Error> {
    const MAX_IN_LOOKUP: usize = 4;
    let open = |_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let opened: io::Result<Vec<UdpSocket>> = (0..MAX_IN_LOOKUP).map(open).collect();
    opened.err().filter(is_fd_limit)
}

/// The error of a host without a known address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LookupError {
    host: Arc<str>,
    reason: String,
    /// The code of an error that says that there was no file descriptor. This says
    /// nothing about the name, and it is temporary.
    fd_limit: Option<i32>,
    /// True if the name server gave no answer for now, which says nothing about the name.
    is_temporary: bool,
}

impl LookupError {
    pub(crate) fn new(host: &Arc<str>, error: &io::Error) -> Self {
        let fd_limit = if is_fd_limit(error) { error.raw_os_error() } else { None };
        let reason = error.to_string();
        // The text of the error says once more that it is one of a lookup.
        let reason = reason.strip_prefix("failed to lookup address information: ");
        let reason = reason.map_or_else(|| error.to_string(), str::to_owned);
        let is_temporary = TEMPORARY.contains(&&*reason);
        Self { host: Arc::clone(host), reason, fd_limit, is_temporary }
    }
}

/// The texts of `EAI_AGAIN`, of glibc and macOS, of FreeBSD, and of musl: std does not pass the
/// number on.
const TEMPORARY: [&str; 3] = [
    "Temporary failure in name resolution",
    "Name could not be resolved at this time",
    "Try again",
];

/// [`is_fd_limit`] is true for the error if there was no file descriptor for the
/// lookup. Otherwise its kind is `ResourceBusy` if the name server gave no answer for now, and
/// else `NotFound`.
impl From<LookupError> for io::Error {
    fn from(error: LookupError) -> Self {
        match error.fd_limit {
            Some(code) => Self::from_raw_os_error(code),
            None if error.is_temporary => Self::new(io::ErrorKind::ResourceBusy, error),
            None => Self::new(io::ErrorKind::NotFound, error),
        }
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
    let no_address = |reason| LookupError::new(&name.0, &io::Error::other(reason));
    let result = catch_unwind(AssertUnwindSafe(|| lookup.addresses(&name.0, name.1)));
    let mut addresses = match result {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(LookupError::new(&name.0, &error)),
        Err(_panic) => return Err(no_address("the lookup itself failed")),
    };
    addresses.truncate(MAX);
    if addresses.is_empty() {
        return Err(no_address("the answer is empty"));
    }
    Ok(addresses.into())
}
/// Returns true if this error says that the process (`EMFILE`) or the system
/// (`ENFILE`) has no file descriptor left. That is not a failure of the
/// connection to be opened, and it is temporary: as soon as another connection
/// is closed, its descriptor is free.
pub fn is_fd_limit(error: &io::Error) -> bool {
    // The numbers are the same on Linux and macOS.
    const ENFILE: i32 = 23;
    const EMFILE: i32 = 24;
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE))
}
