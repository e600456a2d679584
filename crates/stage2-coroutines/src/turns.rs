//! Waiting for one's turn to knock at a server.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use transport::{Entry, LetIn, LineKey};

use crate::{Coroutine, EventLoop, Future};

/// Somebody's turn to connect to an address, until it is dropped.
pub struct Turn {
    event_loop: EventLoop,
    line: LineKey,
}

impl EventLoop {
    /// Waits until it is the caller's turn to connect to this address, which
    /// comes in the order of the calls, or until it has waited long enough.
    /// `alarm` is told how long that is: there is no timer in here, but one
    /// that wakes the caller then.
    pub async fn turn_to_connect(&self, address: SocketAddr, alarm: impl Fn(Instant)) -> Turn {
        let line = self.0.connecting.borrow_mut().line(address);
        // Mostly it is at once, and there is no need of a future.
        let entry = self.0.connecting.borrow_mut().enter(line, None);
        if let Entry::Later(number, patience) = entry {
            let mut called = Future::new(self);
            if let Some(waiter) = self.0.connecting.borrow_mut().waiter_mut(number) {
                *waiter = Some(called.clone());
            }
            let mut until = self.now() + patience;
            alarm(until);
            let _in_line = InLine { event_loop: self, line, called: called.clone() };
            poll_fn(|context| match Pin::new(&mut called).poll(context) {
                Poll::Pending if until <= self.now() => {
                    let let_in = self.0.connecting.borrow_mut().let_in(number);
                    let LetIn::Later(patience) = let_in else {
                        return Poll::Ready(());
                    };
                    until = self.now() + patience;
                    alarm(until);
                    Poll::Pending
                }
                // Nobody else has it, to cancel it.
                poll => poll.map(drop),
            })
            .await;
        }
        Turn { event_loop: self.clone(), line }
    }

    fn end_turn(&self, line: LineKey) {
        loop {
            let next = self.0.connecting.borrow_mut().leave(line).flatten();
            // Who has stopped waiting refuses it.
            if next.is_none_or(|next| next.set_result(()).is_ok()) {
                return;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.event_loop.end_turn(self.line);
    }
}

/// Whoever is dropped while it waits takes nobody's turn with it.
struct InLine<'l> {
    event_loop: &'l EventLoop,
    line: LineKey,
    called: Future<()>,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let is_called = !self.called.cancel();
        // Called, but not resumed any more: then the next one.
        if is_called && self.called.take_result().is_some() {
            self.event_loop.end_turn(self.line);
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&self.line).finish()
    }
}
