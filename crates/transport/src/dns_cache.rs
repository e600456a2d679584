//! DNS cache: positive answers, kept for 60 seconds, up to a maximum number.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::lookup::{Addresses, HostPort};

/// A cache of the addresses of hosts. Failed lookups are not cached.
#[derive(Debug, Default)]
pub(crate) struct DnsCache {
    answers: HashMap<HostPort, (Addresses, Instant)>,
    /// The last answer returned: a crawl asks for the same host many times in
    /// a row.
    last: Option<(HostPort, Addresses, Instant)>,
}

impl DnsCache {
    /// The time for which an answer is valid. `getaddrinfo` does not return the
    /// TTL of the DNS records.
    const LIFETIME: Duration = Duration::from_secs(60);
    const MAX: usize = 1024;

    /// Returns the addresses of a host that is in the cache and not expired, or
    /// that is itself an IP address.
    pub(crate) fn get(&mut self, host: &str, port: u16, now: Instant) -> Option<Addresses> {
        if let Some(((last, last_port), addresses, until)) = &self.last
            && **last == *host
            && *last_port == port
            && now < *until
        {
            return Some(Arc::clone(addresses));
        }
        let name: HostPort = (host.into(), port);
        let (addresses, until) = match ip_literal(host) {
            Some(address) => {
                (Arc::new([SocketAddr::new(address, port)]) as Addresses, now + Self::LIFETIME)
            }
            None => self.answers.get(&name).filter(|(_, until)| now < *until)?.clone(),
        };
        self.last = Some((name, Arc::clone(&addresses), until));
        Some(addresses)
    }

    /// Returns the last answer for a host, even if it has expired ("serve
    /// stale", RFC 8767): for use when a new lookup fails.
    pub(crate) fn stale(&self, name: &HostPort) -> Option<Addresses> {
        self.answers.get(name).map(|(addresses, _)| Arc::clone(addresses))
    }

    /// Inserts an answer. A full cache first removes the expired answers, and
    /// if that is not enough, all of them.
    pub(crate) fn insert(&mut self, name: HostPort, addresses: Addresses, now: Instant) {
        if self.answers.len() >= Self::MAX {
            self.answers.retain(|_, (_, until)| now < *until);
        }
        if self.answers.len() >= Self::MAX {
            self.answers.clear();
        }
        self.answers.insert(name, (addresses, now + Self::LIFETIME));
    }
}

/// Parses an IPv4 address, or an IPv6 address with or without brackets.
fn ip_literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}
