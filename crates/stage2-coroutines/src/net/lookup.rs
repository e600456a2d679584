//! DNS lookups: waiting for the addresses of a name.

use std::net::SocketAddr;
use std::panic::Location;
use std::rc::Rc;

use transport::{Addresses, Lookup, LookupError, LookupId};

use crate::net::leaf::leaf_at;
use crate::net::lookups::Lookups;
use crate::{Coroutine, EventLoop, Wait};

/// Looks up the addresses of a host, which is a name, an IPv4 address, or an IPv6
/// address with or without brackets.
///
/// # Errors
/// When the name has no address, or could not be looked up.
///
/// # Panics
/// When the lookup is pending, and is awaited in another loop than this one; or when the loop
/// has no resolver (those of [`crate::runtime_on`] have one).
#[track_caller]
pub fn lookup(
    event_loop: &EventLoop,
    host: &str,
    port: u16,
) -> impl Coroutine<Output = Result<Addresses, LookupError>> {
    let at = Location::caller();
    async move {
        let lookups = event_loop.reactor().source::<Lookups>().expect("the loop has a resolver");
        match lookups.start(host, port, event_loop.now()) {
            Lookup::Cached(addresses) => Ok(addresses),
            Lookup::Pending(lookup_id) => {
                let guard = CancelLookup { lookups, lookup_id };
                let answer = leaf_at(event_loop, Wait::Lookup, at, move |context| {
                    let is_here = event_loop.scheduler().check_loop();
                    is_here.expect("a lookup is awaited in its own loop");
                    guard.lookups.poll(lookup_id, context.waker())
                });
                // Boxed: most calls find a cached answer, and their frames need
                // no room for this.
                Box::pin(answer).await
            }
        }
    }
}

/// Puts an address that did not accept behind the others of its host.
pub(crate) fn address_failed(event_loop: &EventLoop, address: SocketAddr) {
    if let Some(lookups) = event_loop.reactor().source::<Lookups>() {
        lookups.address_failed(address);
    }
}

/// A drop guard that cancels a lookup whose caller has stopped waiting.
struct CancelLookup {
    lookups: Rc<Lookups>,
    lookup_id: LookupId,
}

impl Drop for CancelLookup {
    fn drop(&mut self) {
        self.lookups.cancel(self.lookup_id);
    }
}
