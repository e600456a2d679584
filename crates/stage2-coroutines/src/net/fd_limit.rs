//! Waiting for a file descriptor when the process has reached its limit
//! (`EMFILE`).

use selector_core::Key;

use crate::{EventLoop, Future};

impl EventLoop {
    /// Waits until a connection of this loop is closed. At least one must be
    /// open.
    pub async fn fd_freed(&self) {
        let freed = Future::new(self);
        self.0.limits.fd_waiters.borrow_mut().push_back(freed.clone());
        let _waiter = FdWaiter { event_loop: self, freed: freed.clone() };
        // Resolved or not, the caller tries again.
        let _ = freed.await;
    }

    /// Returns true if a task waits for a connection of this loop to be closed.
    pub fn has_fd_waiters(&self) -> bool {
        !self.0.limits.fd_waiters.borrow().is_empty()
    }

    /// Unregisters a connection that is about to be closed, and wakes the next
    /// task that waits for a descriptor.
    pub(crate) fn unregister(&self, key: Key) {
        let waiter = self.0.reactor.selector.borrow_mut().unregister(key);
        drop(waiter);
        self.wake_fd_waiter();
    }

    /// Wakes the next task that waits for a descriptor: one is free now, or no
    /// connection is left whose closing would free one.
    pub(crate) fn wake_fd_waiter(&self) {
        loop {
            let next = self.0.limits.fd_waiters.borrow_mut().pop_front();
            // A waiter that was cancelled refuses the result.
            if next.is_none_or(|next| next.set_result(()).is_ok()) {
                return;
            }
        }
    }
}

/// A drop guard of a waiting task. If the task is dropped after it was woken
/// for a descriptor, the guard wakes the next waiter instead.
struct FdWaiter<'l> {
    event_loop: &'l EventLoop,
    freed: Future<()>,
}

impl Drop for FdWaiter<'_> {
    fn drop(&mut self) {
        let was_woken = !self.freed.cancel();
        // The result is still there: the task was woken, but not resumed.
        if was_woken && self.freed.take_result().is_some() {
            self.event_loop.wake_fd_waiter();
        }
    }
}
