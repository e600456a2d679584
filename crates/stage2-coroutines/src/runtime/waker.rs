//! The waker of a task: the handle that puts the task into the run queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Wake;

use selector_core::Key;

use crate::EventLoop;
use crate::runtime::current_loop::with_current;
use crate::runtime::inject_queue::{InjectQueue, Injected};

// ANCHOR: task_waker
/// The waker of a task: its key, and the inject queue of its loop. With these
/// two, any thread can have the task resumed.
pub(crate) struct TaskWaker {
    key: Key,
    /// True while the task is in the run queue, so that a task that is woken
    /// twice takes one step. Used by the thread of the loop only.
    is_queued: AtomicBool,
    /// True while the waker is in the inject queue. Used under the lock of that
    /// queue only.
    pub(crate) is_injected: AtomicBool,
    inject_queue: Arc<InjectQueue>,
}
// ANCHOR_END: task_waker

// ANCHOR: wake
impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.wake_on_loop_thread() {
            Arc::clone(&self.inject_queue).push(Injected::Wake(self));
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.wake_on_loop_thread() {
            self.inject_queue.push(Injected::Wake(Arc::clone(self)));
        }
    }
}

impl TaskWaker {
    pub(crate) fn new(key: Key, inject_queue: &Arc<InjectQueue>) -> Arc<Self> {
        let [is_queued, is_injected] = [const { AtomicBool::new(false) }; 2];
        Arc::new(Self { key, is_queued, is_injected, inject_queue: Arc::clone(inject_queue) })
    }

    /// Marks the task as not queued. This must be called before a step: an
    /// event that comes during the step may have been missed by it, and must
    /// be able to queue the task again.
    pub(crate) fn clear_queued(&self) {
        self.is_queued.store(false, Relaxed);
    }

    /// Wakes the task without lock and inject queue. This works if this thread
    /// runs the loop of the task; otherwise it returns false.
    fn wake_on_loop_thread(&self) -> bool {
        let is_woken = with_current(|event_loop| {
            let is_its_loop = event_loop.owns(&self.inject_queue);
            if is_its_loop {
                self.wake_in(event_loop);
            }
            is_its_loop
        });
        is_woken == Some(true)
    }

    /// Puts the task at the end of the run queue, unless it is in it already.
    pub(crate) fn wake_in(&self, event_loop: &EventLoop) {
        // Load and store need not be one operation: only the thread of the
        // loop comes here.
        if !self.is_queued.load(Relaxed) {
            self.is_queued.store(true, Relaxed);
            event_loop.schedule(self.key);
        }
    }
}
// ANCHOR_END: wake
