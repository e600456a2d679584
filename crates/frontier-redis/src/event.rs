//! An event that tasks wait for.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use stage2_coroutines::{EventLoop, Future};

/// An event: set by one task, and waited for by others. An event that is set while
/// none waits is kept for the next one that does.
#[derive(Default)]
pub(crate) struct Event {
    is_set: Cell<bool>,
    /// The futures of those that wait. A coroutine that is dropped has dropped its own.
    waiters: RefCell<Vec<Weak<Future<()>>>>,
}

impl Event {
    pub(crate) fn set(&self) {
        let waiters = self.waiters.take();
        let waiters: Vec<_> = waiters.iter().filter_map(Weak::upgrade).collect();
        self.is_set.set(waiters.is_empty());
        for waiter in waiters {
            // Cannot fail: it is set once, when it is taken out of the list.
            let _ = waiter.set_result(());
        }
    }

    pub(crate) async fn wait(&self, event_loop: &EventLoop) {
        if !self.is_set.replace(false) {
            let waiter = self.waiter(event_loop);
            // Only this coroutine could cancel it.
            let _ = Future::clone(&waiter).await;
        }
    }

    /// Returns a future that the next call of `set` resolves, if it is there until then.
    fn waiter(&self, event_loop: &EventLoop) -> Rc<Future<()>> {
        let waiter = Rc::new(Future::new(event_loop));
        let mut waiters = self.waiters.borrow_mut();
        waiters.retain(|waiter| waiter.strong_count() > 0);
        waiters.push(Rc::downgrade(&waiter));
        waiter
    }
}

#[cfg(test)]
mod tests {
    use asyncio::prelude::*;
    use stage2_coroutines::system_runtime;
    use std::time::Duration;

    use stage2_coroutines::{select, sleep};

    use super::*;

    #[test]
    fn an_event_is_kept_if_all_have_stopped_waiting() {
        let runtime = system_runtime().unwrap();
        let event_loop = runtime.event_loop().clone();
        let event = Event::default();
        let waiting = async {
            for _ in 0..3 {
                let pause = sleep(&event_loop, Duration::from_millis(1));
                select((pause, event.wait(&event_loop))).await;
            }
            assert_eq!(event.waiters.borrow().len(), 1);
            event.set();
            event.wait(&event_loop).await;
        };
        runtime.run_sync(waiting, Duration::from_secs(5)).expect("the event is lost");
    }
}
