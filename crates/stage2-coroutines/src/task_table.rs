//! The tasks of a loop: where coroutines stay between two steps.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::task::{Context, Poll, Waker};

use selector_core::Key;

use crate::diagnose::{Complaint, Note, count};
use crate::task::Step;
use crate::waker::TaskWaker;
use crate::{EventLoop, Exception};

/// A task, or a callback, which is a task of one step.
pub(crate) struct TaskSlot {
    /// Empty while the step is being taken.
    step: Option<Box<dyn Step>>,
    /// Where it was spawned; a callback was not.
    pub(crate) spawned: Option<&'static Location<'static>>,
    pub(crate) note: Note,
}

impl EventLoop {
    // ANCHOR: step
    pub(crate) fn step(&self, key: Key, context: &mut Context<'_>) {
        // Taken out of its slot, the coroutine may do anything to the loop,
        // even cancel itself. A stale key belongs to a task that is gone.
        let slot = |slot: &mut TaskSlot| slot.step.take();
        let step = self.0.tasks.borrow_mut().get_mut(key).and_then(slot);
        let Some(mut step) = step else { return };
        count(&self.0.polls);
        let outer = self.0.current.replace(Some(key));
        self.0.note.set(Note::NONE);
        let state = step.step(context);
        self.0.current.set(outer);
        let mut tasks = self.0.tasks.borrow_mut();
        let leftover = match tasks.get_mut(key) {
            Some(slot) if state.is_pending() => {
                slot.note.follow(self.0.note.get());
                slot.step.replace(step)
            }
            _ => Some(step),
        };
        drop(tasks);
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(leftover)));
        let mut complaint = dropped.err().map(|panic| Exception::panicked(&*panic));
        if let Poll::Ready(exception) = state {
            drop(self.remove_task(key));
            complaint = complaint.or(exception);
        }
        if let Some(exception) = complaint {
            self.complain(&Complaint::Panicked(exception));
        }
    }
    // ANCHOR_END: step

    pub(crate) fn add_task(
        &self,
        step: Box<dyn Step>,
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

    /// Has a task take its first step.
    pub(crate) fn wake_task(&self, key: Key) {
        self.waker_of(key).wake();
    }

    pub(crate) fn waker_of(&self, key: Key) -> Waker {
        Waker::from(TaskWaker::new(Some(key), &self.0.run_queue))
    }

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
        self.0.run_queue.close();
        // Stale from here on, their keys find nothing while they are dropped.
        drop(self.0.tasks.take());
        drop(self.0.timers.take());
        drop(self.0.starved.take());
    }
    // ANCHOR_END: close
}
