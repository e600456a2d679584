//! Waiting for the addresses of a name.

use transport::{Addresses, NameError, Reply, Ticket};

use crate::{EventLoop, Future};

/// The addresses of a host, which is a name, an IPv4 address or an IPv6
/// address in brackets.
///
/// # Errors
/// When the name has none.
pub async fn look_up(
    event_loop: &EventLoop,
    host: &str,
    port: u16,
) -> Result<Addresses, NameError> {
    let answer = Future::new();
    let now = event_loop.now();
    let reply = event_loop.resolver().look_up(host, port, now, answer.clone());
    match reply {
        Reply::Known(addresses, _) => Ok(addresses),
        Reply::Pending(ticket) => {
            let _ticket = TakeBack { event_loop, ticket };
            answer.await
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
        let answer = self.event_loop.resolver().take_back(self.ticket);
        drop(answer);
    }
}
