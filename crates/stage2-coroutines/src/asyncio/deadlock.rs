//! Waits that never end: tasks that wait for each other in a circle, and a loop in
//! which nothing can happen any more.

use std::iter::successors;
use std::rc::Rc;
use std::sync::Arc;

use selector_core::Key;

use crate::asyncio::inspector::Wait;
use crate::runtime::event_loop::Inner;
use crate::runtime::inject_queue::TaskWaker;
use crate::runtime::scheduler::Scheduler;

/// The number of tasks up to which a circle is found. A chain of tasks is followed
/// each time that it becomes longer.
const LONGEST_CIRCLE: usize = 1000;

impl Scheduler {
    /// Looks for circles at the end of a batch.
    pub(crate) fn break_circles(&self) {
        // Those of the last batch have been told, or their tasks did not wait again.
        self.inspector.circles.borrow_mut().clear();
        while let Some(key) = self.inspector.awaiting_tasks.borrow_mut().pop() {
            self.break_circle(key);
        }
    }

    // ANCHOR: break_circle
    /// Resumes a task with an error if its wait has closed a circle: it waits for a
    /// task that waits, possibly through others, for this one, and nothing else can
    /// wake any of them.
    fn break_circle(&self, closing: Key) {
        let tasks = self.tasks.borrow();
        let awaited_by = |key: &Key| {
            let slot = tasks.get(*key)?;
            let waits_for_one = slot.step.as_ref()?.stored_wakers() == 1;
            match slot.wait.wait {
                Wait::Task(awaited) if waits_for_one => Some(awaited),
                _ => None,
            }
        };
        let chain = || successors(Some(closing), awaited_by).take(LONGEST_CIRCLE);
        // Nearly always there is no circle, and a short chain.
        let Some(last) = chain().skip(1).position(|key| key == closing) else { return };
        // Several tasks of a circle may have begun to wait in this batch: one is told.
        let is_told = |key| self.inspector.circles.borrow().contains_key(&key);
        if chain().take(last + 1).any(is_told) {
            return;
        }
        let spawned = |key| tasks.get(key).and_then(|slot| slot.spawned);
        let name = |key| self.inspector.name(key, spawned(key));
        let names: Vec<String> = chain().take(last + 2).map(name).collect();
        self.inspector.circles.borrow_mut().insert(closing, Rc::new(names.join(", ")));
        drop(tasks);
        self.schedule(closing);
    }
    // ANCHOR_END: break_circle
}

impl Inner {
    // ANCHOR: is_deadlocked
    /// Returns true if nothing can ever happen again, while no task is to take a
    /// step: no timer, connection or lookup is pending, no other thread has a handle
    /// to the loop, and all wakers of its tasks, and of the main coroutine, are in
    /// futures of this loop, which no task is left to resolve.
    pub(crate) fn is_deadlocked(&self, main_waker: Option<&Arc<TaskWaker>>) -> bool {
        let Self { scheduler, reactor, inspector, remotes, .. } = self;
        if !reactor.timers.borrow().is_empty()
            || !reactor.selector.borrow().is_empty()
            || !reactor.lookups.is_empty()
            || Arc::strong_count(remotes) > 1
        {
            return false;
        }
        let main = main_waker.map_or(0, |waker| Arc::strong_count(waker) - 1);
        let tasks = scheduler.tasks.borrow();
        let stored = |key| Some(tasks.get(key)?.step.as_ref()?.stored_wakers());
        let stored: usize = tasks.keys().filter_map(stored).sum();
        // The last look is for a thread that has called the loop and dropped its
        // handle in the meantime.
        main + stored == inspector.local_wakers.get() && scheduler.may_sleep()
    }
    // ANCHOR_END: is_deadlocked
}
