//! The addresses of a host, to be tried one after another.

use std::io;
use std::net::SocketAddr;

use crate::lookup::Addresses;

/// The addresses of a host that have not failed yet, and the error of the last
/// one that has.
///
/// There is one connection attempt at a time. (Happy eyeballs, RFC 8305, would
/// start the next one before the last has failed.)
#[derive(Debug, Default)]
pub struct Candidates {
    addresses: Addresses,
    num_failed: u32,
    last_failure: Option<Box<str>>,
}

impl Candidates {
    /// Creates candidates for these addresses, to be tried in their order.
    pub fn new(addresses: Addresses) -> Self {
        Self { addresses, num_failed: 0, last_failure: None }
    }

    /// Returns the address to try, or `None` when all have failed.
    pub fn current(&self) -> Option<SocketAddr> {
        self.addresses.get(self.num_failed as usize).copied()
    }

    /// Returns the number of addresses left, the current one included.
    pub fn left(&self) -> usize {
        self.addresses.len() - self.num_failed as usize
    }

    /// Records that the current address has failed: the next one is current.
    pub fn failed(&mut self, error: &io::Error) {
        if let Some(address) = self.current() {
            self.last_failure = Some(format!("cannot connect to {address}: {error}").into());
            self.num_failed += 1;
        }
    }

    /// Returns the reason why no address is left.
    pub fn failure(&self) -> &str {
        self.last_failure.as_deref().unwrap_or("the host has no address")
    }
}
