//! The tasks of a loop: where coroutines stay between two steps.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

use selector_core::Key;

use crate::diagnose::{Complaint, Note, count};
use crate::task::Driver;
use crate::waker::TaskWaker;
use crate::{Coroutine, EventLoop, Exception};

/// What the loop keeps of a task: something that can take a step.
pub(crate) trait Step {
    /// Goes on until it waits for something, or ends: with an exception, if
    /// there is one that nobody else knows of.
    fn step(self: Pin<&mut Self>, event_loop: &EventLoop, key: Key) -> Poll<Option<Exception>>;
}

/// A task, or a callback, which is a task of one step.
pub(crate) struct TaskSlot {
    /// Empty while the step is being taken.
    step: Option<Pin<Box<dyn Step>>>,
    /// Where it was spawned; a callback was not.
    pub(crate) spawned: Option<&'static Location<'static>>,
    pub(crate) note: Note,
}

/// The coroutine of `run_until_complete` has a name, too, but is in no slot:
/// so large a table there is not.
pub(crate) fn main_key() -> Key {
    Key::from_bits(u64::MAX)
}

impl EventLoop {
    /// Has a task take a step in the next round.
    pub(crate) fn queue(&self, key: Key) {
        if !self.0.is_closed.get() {
            self.0.run_queue.borrow_mut().push(key);
        }
    }

    // ANCHOR: step
    pub(crate) fn step(&self, key: Key) {
        // Taken out of its slot, the coroutine may do anything to the loop,
        // even cancel itself. A stale key belongs to a task that is gone.
        let slot = |slot: &mut TaskSlot| slot.step.take();
        let step = self.0.tasks.borrow_mut().get_mut(key).and_then(slot);
        let Some(mut step) = step else { return };
        count(&self.0.polls);
        self.0.current.set(Some(key));
        let state = step.as_mut().step(self, key);
        self.0.current.set(None);
        let exception = match state {
            Poll::Ready(exception) => exception,
            Poll::Pending => {
                if let Some(slot) = self.0.tasks.borrow_mut().get_mut(key) {
                    slot.note.follow(&self.0.note);
                    slot.step = Some(step);
                    return;
                }
                None
            }
        };
        self.unnote();
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(step)));
        drop(self.remove_task(key));
        let panic = dropped.err().map(|panic| Exception::panicked(&*panic));
        if let Some(exception) = panic.or(exception) {
            self.complain(&Complaint::Panicked(exception));
        }
    }
    // ANCHOR_END: step

    pub(crate) fn add_task(
        &self,
        step: Pin<Box<dyn Step>>,
        spawned: Option<&'static Location<'static>>,
    ) -> Key {
        let slot = TaskSlot { step: Some(step), spawned, note: Note::NONE };
        let key = self.0.tasks.borrow_mut().insert(slot);
        if self.0.is_closed.get() {
            // Nobody will ever take this step, nor free what it holds.
            drop(self.remove_task(key));
        }
        key
    }

    // ANCHOR: spawn_detached
    /// Starts a task that nobody will await or cancel: one without a future. If
    /// it panics, the exception handler hears of it.
    #[track_caller]
    pub fn spawn_detached(&self, coroutine: impl Coroutine<Output = ()> + 'static) {
        let driver = Driver { coroutine, end: Result::err, waker: None };
        let key = self.add_task(Box::pin(driver), Some(Location::caller()));
        self.enqueue(key);
    }
    // ANCHOR_END: spawn_detached

    pub(crate) fn waker_of(&self, key: Key) -> Arc<TaskWaker> {
        TaskWaker::new(key, &self.0.mailbox)
    }

    // ANCHOR: waker_for_step
    /// The waker of somebody who is about to take a step: made for the first
    /// one, and kept for the others.
    #[inline]
    pub(crate) fn waker_for_step(&self, key: Key, kept: &mut Option<Arc<TaskWaker>>) -> Waker {
        let waker = kept.get_or_insert_with(|| self.waker_of(key));
        waker.taken_up();
        Waker::from(Arc::clone(waker))
    }
    // ANCHOR_END: waker_for_step

    /// To be dropped by the caller, since that runs the code of others.
    #[must_use]
    pub(crate) fn remove_task(&self, key: Key) -> Option<TaskSlot> {
        let slot = self.0.tasks.borrow_mut().remove(key);
        if !self.0.names.borrow().is_empty() {
            self.0.names.borrow_mut().remove(&key);
        }
        slot
    }

    /// How many tasks have not ended.
    pub fn pending_tasks(&self) -> usize {
        self.0.tasks.borrow().len()
    }

    // ANCHOR: close
    /// Drops every task that is still pending, each where it is suspended, and
    /// complains about each. Tasks hold handles to their loop, so that without
    /// this call a loop that has any is never freed. What is spawned on a
    /// closed loop is dropped at once.
    pub fn close(&self) {
        for task in self.all_tasks() {
            self.complain(&Complaint::TaskDestroyed(task));
        }
        self.0.is_closed.set(true);
        self.0.mailbox.close();
        self.0.run_queue.take();
        // Stale from here on, their keys find nothing while they are dropped.
        drop(self.0.tasks.take());
        drop(self.0.timers.take());
        drop(self.0.starved.take());
    }
    // ANCHOR_END: close
}
