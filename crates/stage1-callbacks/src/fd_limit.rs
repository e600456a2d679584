//! Waiting for a file descriptor.

use selector_core::Key;

use crate::{Callback, EventLoop, Method, TimerAction};

impl<S> EventLoop<S> {
    /// Calls `method` with `this` when a connection of this loop is closed and
    /// its file descriptor is free. The loop must have an open connection.
    pub fn call_when_fd_freed(&mut self, this: Box<S>, method: Method<S>) {
        self.fd_waiters.push_back(Callback { this, method });
    }

    /// Unregisters a connection that is about to be closed, and wakes the next
    /// callback that waits for a file descriptor.
    pub fn unregister(&mut self, key: Key) {
        drop(self.selector.unregister(key));
        self.wake_fd_waiter();
    }

    /// Calls the next callback that waits for a file descriptor, in the next
    /// tick: either one is free, or no connection is left that could free one.
    pub fn wake_fd_waiter(&mut self) {
        if let Some(next) = self.fd_waiters.pop_front() {
            self.timers.set(self.now(), TimerAction::Call(next).into());
        }
    }
}
