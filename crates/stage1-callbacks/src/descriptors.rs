//! Waiting for a file descriptor, of which a process may have so many.

use std::time::Duration;

use selector_core::Key;

use crate::event_loop::Alarm;
use crate::{Callback, EventLoop, Method};

impl<S> EventLoop<S> {
    /// Has `this` go on with `method` when there may be a descriptor for it: a
    /// connection of this loop was closed or, if there is none, after a while.
    pub fn call_when_descriptor_freed(&mut self, this: Box<S>, method: Method<S>) {
        const ELSEWHERE: Duration = Duration::from_millis(50);
        self.starved.push_back(Callback { this, method });
        if self.selector.is_empty() {
            self.timers.set(self.now() + ELSEWHERE, Alarm::FeedStarved);
        }
    }

    /// Forgets a connection that is about to be closed, and has somebody else
    /// try for its descriptor.
    pub fn unregister(&mut self, key: Key) {
        drop(self.selector.unregister(key));
        if !self.starved.is_empty() {
            self.timers.set(self.now(), Alarm::FeedStarved);
        }
    }
}
