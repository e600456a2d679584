//! Waiting for a file descriptor, of which a process may have so many.

use selector_core::Key;

use crate::{Callback, EventLoop, Method, Occasion};

impl<S> EventLoop<S> {
    /// Has `this` go on with `method` when a connection of this loop is closed,
    /// of which there must be one.
    pub fn call_when_descriptor_freed(&mut self, this: Box<S>, method: Method<S>) {
        self.starved.push_back(Callback { this, method });
    }

    /// Forgets a connection that is about to be closed, and has somebody else
    /// try for its descriptor.
    pub fn unregister(&mut self, key: Key) {
        drop(self.selector.unregister(key));
        self.feed_starved();
    }

    /// Has the next one try for a descriptor: one is free, or nobody is left
    /// who could free one.
    pub fn feed_starved(&mut self) {
        if let Some(next) = self.starved.pop_front() {
            self.timers.set(self.now(), Occasion::Call(next).into());
        }
    }
}
