//! The addresses of a host, one after the other.

use std::io;
use std::net::SocketAddr;

use crate::Addresses;

/// The addresses of a host that have not failed yet, and why the last one did
/// that has.
#[derive(Debug, Default)]
pub struct Candidates {
    addresses: Addresses,
    failed: u32,
    last_failure: Option<Box<str>>,
}

impl Candidates {
    /// All of these, in their order.
    pub fn new(addresses: Addresses) -> Self {
        Self { addresses, failed: 0, last_failure: None }
    }

    /// The one to try, unless all have failed.
    pub fn current(&self) -> Option<SocketAddr> {
        self.addresses.get(self.failed as usize).copied()
    }

    /// How many are left, the current one included.
    pub fn left(&self) -> usize {
        self.addresses.len() - self.failed as usize
    }

    /// The current one has failed: on to the next.
    pub fn failed(&mut self, error: &io::Error) {
        if let Some(address) = self.current() {
            self.last_failure = Some(format!("cannot connect to {address}: {error}").into());
            self.failed += 1;
        }
    }

    /// Why there is none left.
    pub fn failure(&self) -> &str {
        self.last_failure.as_deref().unwrap_or("the host has no address")
    }
}
