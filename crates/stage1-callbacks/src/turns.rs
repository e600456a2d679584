//! Waiting for one's turn to connect.

use std::net::SocketAddr;

use crate::event_loop::Alarm;
use crate::{Callback, EventLoop, Method};

impl<S> EventLoop<S> {
    /// Has `this` go on with `method` when it is its turn to connect to this
    /// address, which may be at once. The turn lasts until
    /// [`EventLoop::end_turn`].
    pub fn call_in_turn(&mut self, address: SocketAddr, this: Box<S>, method: Method<S>) {
        if let Some(callback) = self.connecting.enter(address, Callback { this, method }) {
            self.call(callback);
        }
    }

    /// The connection is made, or has failed: if it was anybody's turn, it is
    /// somebody else's now.
    pub fn end_turn(&mut self, turn: &mut Option<SocketAddr>) {
        let next = turn.take().and_then(|address| self.connecting.leave(address));
        if let Some(next) = next {
            self.timers.set(self.now(), Alarm::Call(next));
        }
    }
}
