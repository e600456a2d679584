//! Waiting for one's turn to connect.

use std::net::SocketAddr;

use crate::{EventLoop, Future};

/// Somebody's turn to connect to an address, until it is dropped.
pub struct Turn<'l> {
    event_loop: &'l EventLoop,
    address: SocketAddr,
}

impl EventLoop {
    /// Waits until it is the caller's turn to connect to this address, which
    /// comes in the order of the calls.
    pub async fn turn_to_connect(&self, address: SocketAddr) -> Turn<'_> {
        let called = Future::new(self);
        let at_once = self.0.connecting.borrow_mut().enter(address, called.clone());
        if at_once.is_none() {
            let _in_line = InLine { event_loop: self, address, called: called.clone() };
            // Nobody else has it, to cancel it.
            let _ = called.await;
        }
        Turn { event_loop: self, address }
    }

    fn end_turn(&self, address: SocketAddr) {
        loop {
            let next = self.0.connecting.borrow_mut().leave(address);
            // Who has stopped waiting refuses it.
            if next.is_none_or(|next| next.set_result(()).is_ok()) {
                return;
            }
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.event_loop.end_turn(self.address);
    }
}

/// Whoever is dropped while it waits takes nobody's turn with it.
struct InLine<'l> {
    event_loop: &'l EventLoop,
    address: SocketAddr,
    called: Future<()>,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let is_called = !self.called.cancel();
        // Called, but not resumed any more: then the next one.
        if is_called && self.called.take_result().is_some() {
            self.event_loop.end_turn(self.address);
        }
    }
}

impl std::fmt::Debug for Turn<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Turn").field(&self.address).finish()
    }
}
