//! The waker of a task puts its key into the run queue: directly, or through the
//! inbox of the loop, when another thread calls it or the loop does not run.

use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use selector_core::{Key, Notifier};

use super::scheduler::schedule_here;

// ANCHOR: task_waker
/// The waker of a task: its key, and the inbox of its loop. With these two, any
/// thread can have the task resumed.
pub(crate) struct TaskWaker {
    pub(crate) key: Key,
    /// True while the task is in the run queue or in the inbox, so that a task that is
    /// woken twice takes one step.
    pub(crate) is_queued: AtomicBool,
    pub(crate) inbox: Arc<Inbox>,
}
// ANCHOR_END: task_waker

// ANCHOR: wake
impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // The swap also publishes what this thread wrote before it. The step, which swaps
        // the flag back, sees all of it.
        if !self.is_queued.swap(true, AcqRel) && !schedule_here(self) {
            self.inbox.push(self.key);
        }
    }
}
// ANCHOR_END: wake

/// The wake-ups that a loop has not seen yet. Any thread may push one; only the loop
/// takes them, between two batches.
pub(crate) struct Inbox {
    state: Mutex<State>,
    notifier: Notifier,
}

#[derive(Default)]
struct State {
    woken: Vec<Key>,
    /// True while the loop sleeps or is about to. The next push has to notify it.
    is_loop_asleep: bool,
}

impl Inbox {
    pub(crate) fn new(notifier: Notifier) -> Self {
        Self { state: Mutex::default(), notifier }
    }

    // ANCHOR: push
    /// Adds a key, and wakes the loop if it sleeps.
    pub(crate) fn push(&self, key: Key) {
        let mut state = self.lock();
        state.woken.push(key);
        let must_notify = take(&mut state.is_loop_asleep);
        drop(state);
        if must_notify {
            self.notifier.notify();
        }
    }
    // ANCHOR_END: push

    /// Removes and returns all keys.
    pub(crate) fn take(&self) -> Vec<Key> {
        let mut state = self.lock();
        state.is_loop_asleep = false;
        take(&mut state.woken)
    }

    // ANCHOR: may_sleep
    /// Returns true if the inbox is empty, so that the loop may sleep. From then on
    /// the next push notifies the loop. The question and this promise are one step under
    /// the lock: a wake-up between them would be lost.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.lock();
        state.is_loop_asleep = state.woken.is_empty();
        state.is_loop_asleep
    }
    // ANCHOR_END: may_sleep

    /// A lock that a panic has poisoned is used like any other: no statement under
    /// it leaves the state half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
