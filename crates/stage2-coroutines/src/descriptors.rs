//! Waiting for a file descriptor, of which a process may have so many.

use std::time::Duration;

use selector_core::Key;

use crate::{EventLoop, Future, sleep};

impl EventLoop {
    /// Waits until a descriptor may be free: a connection of this loop has
    /// been closed or, when there is none, some time has passed.
    pub async fn descriptor_freed(&self) {
        const ELSEWHERE: Duration = Duration::from_millis(50);
        if self.connections() == 0 {
            return sleep(self, ELSEWHERE).await;
        }
        let freed = Future::new();
        self.0.starved.borrow_mut().push_back(freed.clone());
        freed.await;
    }

    /// Forgets a connection that is about to be closed.
    pub(crate) fn unregister(&self, key: Key) {
        let waiter = self.selector().unregister(key);
        drop(waiter);
        let next = self.0.starved.borrow_mut().pop_front();
        if let Some(next) = next {
            // Nobody else resolves it.
            let _ = next.set_result(());
        }
    }
}
