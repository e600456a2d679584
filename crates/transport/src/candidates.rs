//! The addresses of a host, one after the other.

use std::io;
use std::net::SocketAddr;

use crate::Addresses;

/// The addresses of a host that have not failed yet, and why the last one did
/// that has.
///
/// In a box, because nobody needs them once he is connected: then he holds an
/// empty one.
#[derive(Debug, Default)]
pub struct Candidates(Option<Box<Inner>>);

#[derive(Debug)]
struct Inner {
    addresses: Addresses,
    failed: usize,
    last_failure: Option<String>,
}

impl Candidates {
    /// All of these, in their order.
    pub fn new(addresses: Addresses) -> Self {
        Self(Some(Box::new(Inner { addresses, failed: 0, last_failure: None })))
    }

    /// The one to try, unless all have failed.
    pub fn current(&self) -> Option<SocketAddr> {
        let inner = self.0.as_ref()?;
        inner.addresses.get(inner.failed).copied()
    }

    /// How many are left, the current one included.
    pub fn left(&self) -> usize {
        self.0.as_ref().map_or(0, |inner| inner.addresses.len() - inner.failed)
    }

    /// The current one has failed: on to the next.
    pub fn failed(&mut self, error: &io::Error) {
        if let (Some(address), Some(inner)) = (self.current(), &mut self.0) {
            inner.last_failure = Some(format!("cannot connect to {address}: {error}"));
            inner.failed += 1;
        }
    }

    /// Why there is none left.
    pub fn failure(&self) -> &str {
        let failure = self.0.as_ref().and_then(|inner| inner.last_failure.as_deref());
        failure.unwrap_or("the host has no address")
    }
}
