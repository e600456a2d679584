//! What a name means, for a while.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The addresses of a host, in the order in which to try them. At most 16.
pub type Addresses = Arc<[SocketAddr]>;

/// Asks for the addresses of a host and port, for as long as it takes.
pub type LookUp = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

pub(crate) type Name = (Arc<str>, u16);
pub(crate) type Answer = Result<Addresses, NameError>;

/// The operating system's look-up, `getaddrinfo`.
///
/// # Errors
/// What the operating system says of the name.
pub fn system_look_up(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    Ok((host, port).to_socket_addrs()?.collect())
}

/// Why a name has no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameError {
    host: Arc<str>,
    reason: String,
}

impl NameError {
    pub(crate) fn new(host: &Arc<str>, reason: impl Into<String>) -> Self {
        Self { host: Arc::clone(host), reason: reason.into() }
    }
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no address for {}: {}", self.host, self.reason)
    }
}

impl std::error::Error for NameError {}

/// Asks, on the present thread. Whoever waits for the answer must hear of it
/// even when the look-up panics.
pub(crate) fn ask(look_up: &LookUp, name: &Name) -> Answer {
    const MOST: usize = 16;
    let asked = catch_unwind(AssertUnwindSafe(|| look_up(&name.0, name.1)));
    let mut addresses = match asked {
        Ok(Ok(addresses)) => addresses,
        Ok(Err(error)) => return Err(NameError::new(&name.0, error.to_string())),
        Err(_panic) => return Err(NameError::new(&name.0, "the look-up itself failed")),
    };
    addresses.truncate(MOST);
    if addresses.is_empty() {
        return Err(NameError::new(&name.0, "the answer is empty"));
    }
    Ok(addresses.into())
}

/// Answers that are still taken for granted.
#[derive(Debug, Default)]
pub(crate) struct Known {
    answers: HashMap<Name, (Addresses, Instant)>,
    /// The last one that was asked for: a crawl asks for it again and again.
    last: Option<(Name, Addresses, Instant)>,
}

impl Known {
    /// `getaddrinfo` does not tell how long the name's owner wishes it to be.
    const LIFETIME: Duration = Duration::from_secs(60);
    const MOST: usize = 1024;

    /// The addresses of a name asked lately, or of an address written out.
    pub(crate) fn get(&mut self, host: &str, port: u16, now: Instant) -> Option<Addresses> {
        if let Some(((last, last_port), addresses, until)) = &self.last
            && **last == *host
            && *last_port == port
            && now < *until
        {
            return Some(Arc::clone(addresses));
        }
        let name: Name = (host.into(), port);
        let (addresses, until) = match literal(host) {
            Some(address) => {
                (Arc::new([SocketAddr::new(address, port)]) as Addresses, now + Self::LIFETIME)
            }
            None => self.answers.get(&name).filter(|(_, until)| now < *until)?.clone(),
        };
        self.last = Some((name, Arc::clone(&addresses), until));
        Some(addresses)
    }

    /// What was the answer once, for whoever finds no newer one.
    pub(crate) fn former(&self, name: &Name) -> Option<Addresses> {
        self.answers.get(name).map(|(addresses, _)| Arc::clone(addresses))
    }

    pub(crate) fn keep(&mut self, name: Name, addresses: Addresses, now: Instant) {
        if self.answers.len() >= Self::MOST {
            self.answers.retain(|_, (_, until)| now < *until);
        }
        if self.answers.len() >= Self::MOST {
            self.answers.clear();
        }
        self.answers.insert(name, (addresses, now + Self::LIFETIME));
    }
}

fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}
