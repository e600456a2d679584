//! The inject queue: wake-ups and calls that come to a loop from other threads
//! (`call_soon_threadsafe`), or while it does not run.

use std::any::Any;
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selector_core::{Key, Notifier};

/// An entry of the inject queue.
pub(crate) enum Injected {
    Wake(Arc<TaskWaker>),
    Call(RemoteCall),
}

/// A function to be called on the thread of the loop. Its argument is the handle
/// to the loop, whose type the queue does not know.
type RemoteCall = Box<dyn FnOnce(&dyn Any) + Send>;

// ANCHOR: task_waker
/// The waker of a task: its key, and the inject queue of its loop. With these
/// two, any thread can have the task resumed.
pub(crate) struct TaskWaker {
    pub(crate) key: Key,
    /// True while the task is in the run queue, so that a task that is woken
    /// twice takes one step. Used by the thread of the loop only.
    pub(crate) is_queued: AtomicBool,
    /// True while the waker is in the inject queue. Used under the lock of that
    /// queue only.
    pub(crate) is_injected: AtomicBool,
    pub(crate) inject_queue: Arc<InjectQueue>,
}
// ANCHOR_END: task_waker

/// A queue to which any thread may push. Only the loop drains it, between two
/// batches.
pub(crate) struct InjectQueue {
    state: Mutex<State>,
    notifier: Notifier,
}

struct State {
    injected: Vec<Injected>,
    /// True while the loop sleeps or is about to: then the next push has to
    /// notify it.
    is_loop_asleep: bool,
    is_closed: bool,
}

impl InjectQueue {
    pub(crate) fn new(notifier: Notifier) -> Self {
        let state = State { injected: Vec::new(), is_loop_asleep: false, is_closed: false };
        Self { state: Mutex::new(state), notifier }
    }

    // ANCHOR: push
    /// Adds an entry, and wakes the loop if it sleeps. A task that is in the
    /// queue already is not added again.
    pub(crate) fn push(&self, injected: Injected) {
        let mut state = self.lock();
        let is_in_queue =
            matches!(&injected, Injected::Wake(w) if w.is_injected.swap(true, Relaxed));
        if state.is_closed || is_in_queue {
            drop(state);
            return drop(injected);
        }
        state.injected.push(injected);
        let must_notify = take(&mut state.is_loop_asleep);
        drop(state);
        if must_notify {
            self.notifier.notify();
        }
    }
    // ANCHOR_END: push

    /// Removes and returns all entries. The lock gives the memory order: all
    /// that a thread wrote before its push is visible when this returns, even
    /// if the push added nothing because the task was in the queue already.
    pub(crate) fn drain(&self) -> Vec<Injected> {
        let mut state = self.lock();
        state.is_loop_asleep = false;
        for injected in &state.injected {
            if let Injected::Wake(task) = injected {
                task.is_injected.store(false, Relaxed);
            }
        }
        take(&mut state.injected)
    }

    // ANCHOR: may_sleep
    /// Returns true if the queue is empty, so that the loop may sleep. From then
    /// on the next push notifies the loop. The test and this promise are one
    /// step under the lock, so that no wake-up is lost between them.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.lock();
        state.is_loop_asleep = state.injected.is_empty();
        state.is_loop_asleep
    }
    // ANCHOR_END: may_sleep

    /// Closes the queue when its loop is closed or dropped: drops all entries,
    /// and every later push.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        drop(self.drain());
    }

    /// Locks the state. A poisoned lock is used all the same: the state is
    /// consistent between any two statements under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
