//! An event that tasks wait for.

use std::cell::{Cell, RefCell};

use stage2_coroutines::{EventLoop, Future};

/// An event: set by one task, and waited for by others. An event that is set while
/// none waits is kept for the next one that does.
#[derive(Default)]
pub(crate) struct Event {
    is_set: Cell<bool>,
    waiters: RefCell<Vec<Future<()>>>,
}

impl Event {
    pub(crate) fn set(&self) {
        let waiters = self.waiters.take();
        self.is_set.set(waiters.is_empty());
        for waiter in waiters {
            // Refused if its task has stopped waiting.
            let _ = waiter.set_result(());
        }
    }

    pub(crate) async fn wait(&self, event_loop: &EventLoop) {
        if !self.is_set.replace(false) {
            let waiter = Future::new(event_loop);
            self.waiters.borrow_mut().push(waiter.clone());
            // Only this coroutine could cancel it.
            let _ = waiter.await;
        }
    }
}
