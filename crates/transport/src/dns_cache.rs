//! DNS cache: positive answers, kept for 60 seconds, up to a maximum number.

use std::collections::{HashMap, VecDeque};
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
    /// The addresses that have failed, the last one at the end.
    failed: VecDeque<SocketAddr>,
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

    /// Inserts an answer, and returns it in the order in which to try its addresses.
    /// A full cache first removes the expired answers, and if that is not enough, all
    /// of them.
    pub(crate) fn insert(&mut self, name: HostPort, found: Addresses, now: Instant) -> Addresses {
        if self.answers.len() >= Self::MAX {
            self.answers.retain(|_, (_, until)| now < *until);
        }
        if self.answers.len() >= Self::MAX {
            self.answers.clear();
        }
        let addresses = failed_last(&found, &self.failed);
        self.answers.insert(name, (Arc::clone(&addresses), now + Self::LIFETIME));
        addresses
    }

    /// Moves an address behind the others, in every answer of now and of later.
    pub(crate) fn address_failed(&mut self, address: SocketAddr) {
        self.failed.retain(|failed| *failed != address);
        self.failed.push_back(address);
        if self.failed.len() > Self::MAX {
            self.failed.pop_front();
        }
        for (addresses, _) in self.answers.values_mut() {
            if addresses.len() > 1 && addresses.contains(&address) {
                *addresses = failed_last(addresses, &self.failed);
                self.last = None;
            }
        }
    }
}

/// Returns addresses in another order: those that never failed, and then the others,
/// the last failure last.
fn failed_last(addresses: &[SocketAddr], failed: &VecDeque<SocketAddr>) -> Addresses {
    let mut addresses = addresses.to_vec();
    addresses.sort_by_key(|address| failed.iter().position(|failed| failed == address));
    addresses.into()
}

/// Parses an IPv4 address, or an IPv6 address with or without brackets.
pub(crate) fn ip_literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}
