//! The task table of the executor: the slots in which coroutines are kept
//! between two steps.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use selector_core::Key;

use crate::asyncio::inspection::{LoopError, WaitInfo, increment};
use crate::runtime::task::Driver;
use crate::runtime::waker::TaskWaker;
use crate::{Coroutine, EventLoop, Exception};

/// A task or a callback, as the executor sees it: a thing that can take a step.
pub(crate) trait Step {
    /// Runs until the task waits or ends. Returns an exception if it ended with
    /// one that no future has taken.
    fn step(self: Pin<&mut Self>, event_loop: &EventLoop, key: Key) -> Poll<Option<Exception>>;
}

/// The slot of a task, or of a callback, which is a task of one step.
pub(crate) struct TaskSlot {
    /// The coroutine; `None` while it takes a step.
    step: Option<Pin<Box<dyn Step>>>,
    /// The line that spawned the task; `None` for a callback.
    pub(crate) spawned: Option<&'static Location<'static>>,
    pub(crate) wait: WaitInfo,
}

/// Returns the key of the main coroutine, that of `run_until_complete`. It is
/// in no slot of the table: no table is large enough to have this key.
pub(crate) fn main_key() -> Key {
    Key::from_bits(u64::MAX)
}

impl EventLoop {
    /// Puts a task at the end of the run queue, to take a step in the next
    /// batch.
    pub(crate) fn schedule(&self, key: Key) {
        if !self.0.is_closed.get() {
            self.0.run_queue.borrow_mut().push(key);
        }
    }

    // ANCHOR: step
    /// Has a task take one step, and removes it if it ends.
    pub(crate) fn step(&self, key: Key) {
        // The coroutine is taken out of its slot, so that it may call any
        // method of the loop, even cancel itself. A stale key belongs to a task
        // that has been removed.
        let take_step = |slot: &mut TaskSlot| slot.step.take();
        let step = self.0.tasks.borrow_mut().get_mut(key).and_then(take_step);
        let Some(mut step) = step else { return };
        increment(&self.0.polls);
        self.0.current_task.set(Some(key));
        let state = step.as_mut().step(self, key);
        self.0.current_task.set(None);
        let exception = match state {
            Poll::Ready(exception) => exception,
            Poll::Pending => {
                if let Some(slot) = self.0.tasks.borrow_mut().get_mut(key) {
                    slot.wait.update(&self.0.current_wait);
                    slot.step = Some(step);
                    return;
                }
                None
            }
        };
        self.clear_wait();
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(step)));
        drop(self.remove_task(key));
        let panic = dropped.err().map(|panic| Exception::panicked(&*panic));
        if let Some(exception) = panic.or(exception) {
            self.report(&LoopError::Panicked(exception));
        }
    }
    // ANCHOR_END: step

    pub(crate) fn add_task(
        &self,
        step: Pin<Box<dyn Step>>,
        spawned: Option<&'static Location<'static>>,
    ) -> Key {
        let slot = TaskSlot { step: Some(step), spawned, wait: WaitInfo::NONE };
        let key = self.0.tasks.borrow_mut().insert(slot);
        if self.0.is_closed.get() {
            // A closed loop never runs this step, and never frees what it
            // holds.
            drop(self.remove_task(key));
        }
        key
    }

    // ANCHOR: spawn_detached
    /// Spawns a task without a future, which cannot be awaited or cancelled. If
    /// it panics, the exception handler is called.
    #[track_caller]
    pub fn spawn_detached(&self, coroutine: impl Coroutine<Output = ()> + 'static) {
        let driver = Driver { coroutine, end: Result::err, waker: None };
        let key = self.add_task(Box::pin(driver), Some(Location::caller()));
        self.schedule_last(key);
    }
    // ANCHOR_END: spawn_detached

    pub(crate) fn waker_of(&self, key: Key) -> Arc<TaskWaker> {
        TaskWaker::new(key, &self.0.inject_queue)
    }

    // ANCHOR: waker_for_step
    /// Returns the waker for the next step of a task. It is made for the first
    /// step, and kept in `cached` for the others.
    #[inline]
    pub(crate) fn waker_for_step(&self, key: Key, cached: &mut Option<Arc<TaskWaker>>) -> Waker {
        let waker = cached.get_or_insert_with(|| self.waker_of(key));
        waker.clear_queued();
        Waker::from(Arc::clone(waker))
    }
    // ANCHOR_END: waker_for_step

    /// Removes a task and returns its slot. The caller drops the slot, since
    /// that runs foreign code.
    #[must_use]
    pub(crate) fn remove_task(&self, key: Key) -> Option<TaskSlot> {
        let slot = self.0.tasks.borrow_mut().remove(key);
        if !self.0.task_names.borrow().is_empty() {
            self.0.task_names.borrow_mut().remove(&key);
        }
        slot
    }

    /// Returns the number of tasks and callbacks that have not ended.
    pub fn pending_tasks(&self) -> usize {
        self.0.tasks.borrow().len()
    }

    // ANCHOR: close
    /// Closes the loop: reports every pending task to the exception handler and
    /// drops it where it is suspended. Tasks hold handles to their loop, so a
    /// loop with pending tasks is never freed without this call. A task that is
    /// spawned on a closed loop is dropped at once.
    pub fn close(&self) {
        for task in self.all_tasks() {
            self.report(&LoopError::TaskDestroyed(task));
        }
        self.0.is_closed.set(true);
        self.0.inject_queue.close();
        self.0.run_queue.take();
        // The table is empty before the tasks are dropped, so that their keys
        // are stale for the code that this runs.
        drop(self.0.tasks.take());
        drop(self.0.timers.take());
        drop(self.0.fd_waiters.take());
    }
    // ANCHOR_END: close
}
