//! DNS lookups: waiting for the addresses of a name.

use std::future::poll_fn;
use std::panic::Location;

use transport::{Addresses, Lookup, LookupError, LookupId};

use crate::{Coroutine, EventLoop, Wait, with_wait};

/// Looks up the addresses of a host, which is a name, an IPv4 address, or an IPv6
/// address with or without brackets.
///
/// # Errors
/// When the name has no address, or could not be looked up.
///
/// # Panics
/// When the lookup is pending, and is awaited in another loop than this one.
#[track_caller]
pub fn lookup(
    event_loop: &EventLoop,
    host: &str,
    port: u16,
) -> impl Coroutine<Output = Result<Addresses, LookupError>> {
    let at = Location::caller();
    async move {
        let lookups = &event_loop.0.reactor.lookups;
        match lookups.start(host, port, event_loop.now()) {
            Lookup::Cached(addresses) => Ok(addresses),
            Lookup::Pending(lookup_id) => {
                let _guard = CancelLookup { event_loop, lookup_id };
                let answer = poll_fn(|context| {
                    let answer = lookups.poll(lookup_id, context.waker());
                    if answer.is_pending() {
                        let checked = event_loop.0.scheduler.may_wait_for(None);
                        checked.expect("a lookup is awaited in its own loop");
                    }
                    answer
                });
                // Boxed: most calls find a cached answer, and their frames need
                // no room for this.
                Box::pin(with_wait(event_loop, Wait::Lookup, at, answer)).await
            }
        }
    }
}

/// A drop guard that cancels a lookup whose caller has stopped waiting.
struct CancelLookup<'l> {
    event_loop: &'l EventLoop,
    lookup_id: LookupId,
}

impl Drop for CancelLookup<'_> {
    fn drop(&mut self) {
        self.event_loop.0.reactor.lookups.cancel(self.lookup_id);
    }
}
