//! Waiting for a file descriptor, of which a process may have so many.

use selector_core::Key;

use crate::{EventLoop, Future};

impl EventLoop {
    /// Waits until a connection of this loop is closed, of which there must be
    /// one.
    pub async fn descriptor_freed(&self) {
        let freed = Future::new(self);
        self.0.starved.borrow_mut().push_back(freed.clone());
        let _in_line = InLine { event_loop: self, freed: freed.clone() };
        // Resolved or not, the caller will find out.
        let _ = freed.await;
    }

    /// Whether somebody waits for a connection of this loop to be closed.
    pub fn is_starved(&self) -> bool {
        !self.0.starved.borrow().is_empty()
    }

    /// Forgets a connection that is about to be closed.
    pub(crate) fn unregister(&self, key: Key) {
        let waiter = self.selector().unregister(key);
        drop(waiter);
        self.feed_starved();
    }

    /// Has the next one try for a descriptor: one is free, or nobody is left
    /// who could free one.
    pub(crate) fn feed_starved(&self) {
        loop {
            let next = self.0.starved.borrow_mut().pop_front();
            // Who has stopped waiting refuses it.
            if next.is_none_or(|next| next.set_result(()).is_ok()) {
                return;
            }
        }
    }
}

/// Whoever is dropped while it waits takes nobody's descriptor with it.
struct InLine<'l> {
    event_loop: &'l EventLoop,
    freed: Future<()>,
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let is_called = !self.freed.cancel();
        // Called, but not resumed any more: then the next one.
        if is_called && self.freed.take_result().is_some() {
            self.event_loop.feed_starved();
        }
    }
}
