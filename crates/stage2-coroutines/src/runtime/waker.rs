//! The waker of a task puts the task into the run queue: directly, or by way of
//! the inject queue.

use std::sync::Arc;
use std::task::Wake;

use selector_core::Key;

use crate::runtime::inject_queue::{Injected, TaskWaker};
use crate::runtime::scheduler::{Scheduler, with_current};

// ANCHOR: wake
impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Wakes the task without lock and inject queue if this thread runs the loop
    /// of the task.
    fn wake_by_ref(self: &Arc<Self>) {
        let woken = with_current(|scheduler| {
            let is_its_loop = Arc::ptr_eq(&scheduler.inject_queue, &self.inject_queue);
            is_its_loop.then(|| scheduler.wake(self))
        });
        if woken.flatten().is_none() {
            self.inject_queue.push(Injected::Wake(Arc::clone(self)));
        }
    }
}
// ANCHOR_END: wake

impl TaskWaker {
    pub(crate) fn new(key: Key, scheduler: &Scheduler) -> Arc<Self> {
        let inject_queue = Arc::clone(&scheduler.inject_queue);
        Arc::new(Self { key, is_queued: false.into(), is_injected: false.into(), inject_queue })
    }
}
