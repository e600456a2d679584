//! Waiting for the addresses of a name.

use std::panic::Location;

use transport::{Addresses, NameError, Reply, Ticket};

use crate::{Coroutine, EventLoop, Future, Wait, noting};

/// Who waits for the addresses of a name, as soon as it is known that he has to.
pub(crate) type Answer = Option<Future<Result<Addresses, NameError>>>;

/// The addresses of a host, which is a name, an IPv4 address or an IPv6
/// address in brackets.
///
/// # Errors
/// When the name has none.
///
/// # Panics
/// When it would have to wait in another loop than this one.
#[track_caller]
pub fn look_up(
    event_loop: &EventLoop,
    host: &str,
    port: u16,
) -> impl Coroutine<Output = Result<Addresses, NameError>> {
    let at = Location::caller();
    async move {
        let now = event_loop.now();
        let known = event_loop.0.resolver.borrow_mut().known(host, port, now);
        if let Some(addresses) = known {
            return Ok(addresses);
        }
        let reply = event_loop.0.resolver.borrow_mut().look_up(host, port, now, None);
        match reply {
            Reply::Known(addresses, _) => Ok(addresses),
            Reply::Pending(ticket) => {
                let answer = Future::new(event_loop);
                if let Some(waiter) = event_loop.0.resolver.borrow_mut().waiter_mut(ticket) {
                    *waiter = Some(answer.clone());
                }
                let _ticket = TakeBack { event_loop, ticket };
                // In a box: mostly nobody waits, and needs no room for it.
                let answer = Box::pin(noting(event_loop, Wait::LookUp, at, answer)).await;
                answer.expect("a look-up is awaited in its own loop")
            }
        }
    }
}

/// Leaves nobody waiting for an answer that nobody waits for.
struct TakeBack<'l> {
    event_loop: &'l EventLoop,
    ticket: Ticket,
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        let answer = self.event_loop.0.resolver.borrow_mut().take_back(self.ticket);
        drop(answer);
    }
}
