//! The waker of a task: the handle that puts the task into the run queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Wake, Waker};

use selector_core::Key;

use crate::runtime::inject_queue::{InjectQueue, Injected, Wakeable};
use crate::runtime::scheduler::{Scheduler, with_current};

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
    is_injected: AtomicBool,
    inject_queue: Arc<InjectQueue>,
}
// ANCHOR_END: task_waker

// ANCHOR: wake
impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// Wakes the task without lock and inject queue if this thread runs the loop
    /// of the task.
    fn wake_by_ref(self: &Arc<Self>) {
        let is_woken = with_current(|scheduler| {
            let is_its_loop = Arc::ptr_eq(&scheduler.inject_queue, &self.inject_queue);
            if is_its_loop {
                scheduler.wake(&**self);
            }
            is_its_loop
        });
        if is_woken != Some(true) {
            self.inject_queue.push(Injected::Wake(self.clone()));
        }
    }
}

impl Wakeable for TaskWaker {
    fn is_injected(&self) -> &AtomicBool {
        &self.is_injected
    }

    fn mark_queued(&self) -> Option<Key> {
        // Load and store need not be one operation: only the thread of the
        // loop comes here.
        if self.is_queued.load(Relaxed) {
            return None;
        }
        self.is_queued.store(true, Relaxed);
        Some(self.key)
    }
}
// ANCHOR_END: wake

impl TaskWaker {
    pub(crate) fn new(key: Key, scheduler: &Scheduler) -> Arc<Self> {
        let [is_queued, is_injected] = [const { AtomicBool::new(false) }; 2];
        let inject_queue = Arc::clone(&scheduler.inject_queue);
        Arc::new(Self { key, is_queued, is_injected, inject_queue })
    }

    // ANCHOR: waker_for_step
    /// Returns the waker for the next step of a task. It is made for the first
    /// step, and kept in `cached` for the others.
    #[inline]
    pub(crate) fn for_step(
        key: Key,
        scheduler: &Scheduler,
        cached: &mut Option<Arc<Self>>,
    ) -> Waker {
        let waker = cached.get_or_insert_with(|| Self::new(key, scheduler));
        waker.clear_queued();
        Waker::from(Arc::clone(waker))
    }

    /// Marks the task as not queued. This must be called before a step: an
    /// event that comes during the step may have been missed by it, and must
    /// be able to queue the task again.
    fn clear_queued(&self) {
        self.is_queued.store(false, Relaxed);
    }
    // ANCHOR_END: waker_for_step
}
