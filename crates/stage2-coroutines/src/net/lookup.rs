//! DNS lookups: waiting for the addresses of a name.

use std::panic::Location;

use transport::{Addresses, Lookup, LookupError, LookupId};

use crate::{Coroutine, EventLoop, Future, Wait, with_wait};

/// A caller that waits for the addresses of a name: its future, once the
/// resolver has said that the lookup is pending.
pub(crate) type LookupWaiter = Option<Future<Result<Addresses, LookupError>>>;

/// Looks up the addresses of a host, which is a name, an IPv4 address or an
/// IPv6 address in brackets.
///
/// # Errors
/// When the name has no address.
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
        let now = event_loop.now();
        let cached = event_loop.0.resolver.borrow_mut().cached(host, port, now);
        if let Some(addresses) = cached {
            return Ok(addresses);
        }
        let reply = event_loop.0.resolver.borrow_mut().lookup(host, port, now, None);
        match reply {
            Lookup::Cached(addresses, _) => Ok(addresses),
            Lookup::Pending(lookup_id) => {
                let answer = Future::new(event_loop);
                if let Some(waiter) = event_loop.0.resolver.borrow_mut().waiter_mut(lookup_id) {
                    *waiter = Some(answer.clone());
                }
                let _guard = CancelLookup { event_loop, lookup_id };
                // Boxed: most calls find a cached answer, and their frames need
                // no room for this.
                let answer = Box::pin(with_wait(event_loop, Wait::Lookup, at, answer)).await;
                answer.expect("a look-up is awaited in its own loop")
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
        let waiter = self.event_loop.0.resolver.borrow_mut().cancel(self.lookup_id);
        drop(waiter);
    }
}
