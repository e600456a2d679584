//! The loop that the current thread runs, and the scheduler: its run queue and
//! the current batch.

use std::cell::{RefCell, RefMut};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use selector_core::{Key, Selector, Timers};

use crate::runtime::event_loop::Inner;
use crate::runtime::inject_queue::{InjectQueue, Injected};
use crate::{EventLoop, InvalidState};

thread_local! {
    /// The loop that this thread runs; `None` if it runs none.
    static CURRENT: RefCell<Option<EventLoop>> = const { RefCell::new(None) };
}

/// Calls `f` with the loop that this thread runs. Returns `None` if it runs
/// none, or if the thread is about to end. No foreign code may run in `f`.
pub(crate) fn with_current<R>(f: impl FnOnce(&EventLoop) -> R) -> Option<R> {
    CURRENT.try_with(|current| current.borrow().as_ref().map(f)).ok().flatten()
}

/// A guard that marks this thread as running a loop, until it is dropped.
pub(crate) struct EnterGuard;

impl EnterGuard {
    pub(crate) fn new(event_loop: &EventLoop) -> io::Result<Self> {
        if CURRENT.with_borrow(Option::is_some) {
            let message = "this thread runs an event loop already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        event_loop.0.tick_start.set(event_loop.now());
        CURRENT.set(Some(event_loop.clone()));
        Ok(Self)
    }
}

impl Drop for EnterGuard {
    fn drop(&mut self) {
        drop(CURRENT.take());
    }
}

/// The run queue: the keys of the tasks that are to take a step, in the order
/// in which they were woken.
pub(crate) type RunQueue = Vec<Key>;

/// The capacity that a run queue keeps after a burst of wake-ups.
const KEPT_CAPACITY: usize = 1024;

// ANCHOR: batch
/// The tasks that take a step before the next tick. If a panic ends the loop,
/// those that have not taken theirs go back into the run queue.
pub(crate) struct Batch<'q> {
    keys: RunQueue,
    /// The number of keys that have been handed out.
    taken: usize,
    run_queue: &'q RefCell<RunQueue>,
}

impl<'q> Batch<'q> {
    pub(crate) fn new(run_queue: &'q RefCell<RunQueue>) -> Self {
        Self { keys: RunQueue::new(), taken: 0, run_queue }
    }

    /// Starts over with the tasks that were woken since the last batch.
    fn refill(&mut self) {
        self.keys.clear();
        self.taken = 0;
        // A burst of wake-ups is rare; its memory is given back.
        self.keys.shrink_to(KEPT_CAPACITY);
        std::mem::swap(&mut *self.run_queue.borrow_mut(), &mut self.keys);
    }
}

impl Iterator for Batch<'_> {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        let key = self.keys.get(self.taken).copied();
        self.taken += usize::from(key.is_some());
        key
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.run_queue.borrow_mut().extend(&self.keys[self.taken..]);
    }
}
// ANCHOR_END: batch

impl EventLoop {
    // ANCHOR: may_wait_for
    /// Checks that the current task may wait for a future of this loop, which
    /// is the result of `task` if that is given.
    pub(crate) fn may_wait_for(&self, task: Option<Key>) -> Result<(), InvalidState> {
        if with_current(|current| !current.is(self)) == Some(true) {
            return Err(InvalidState::OtherLoop);
        }
        if task.is_some() && task == self.0.current_task.get() {
            return Err(InvalidState::AwaitsItself);
        }
        Ok(())
    }
    // ANCHOR_END: may_wait_for

    /// Returns true if the two handles stand for the same loop.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Returns true if this is the inject queue of the loop.
    pub(crate) fn owns(&self, inject_queue: &Arc<InjectQueue>) -> bool {
        Arc::ptr_eq(&self.0.inject_queue, inject_queue)
    }

    /// Schedules a new task behind all tasks that were woken before.
    pub(crate) fn schedule_last(&self, key: Key) {
        // While the loop does not run, wake-ups go to the inject queue.
        if with_current(|current| current.is(self)) != Some(true) {
            self.drain_inject_queue();
        }
        self.schedule(key);
    }

    fn drain_inject_queue(&self) {
        for injected in self.0.inject_queue.drain() {
            match injected {
                Injected::Wake(task) => task.wake_in(self),
                Injected::Call(call) => call(self),
            }
        }
    }

    /// Moves all tasks that have been woken into the batch.
    pub(crate) fn next_batch(&self, batch: &mut Batch<'_>) {
        self.drain_inject_queue();
        batch.refill();
    }

    pub(crate) fn selector(&self) -> RefMut<'_, Selector<Waker>> {
        self.0.selector.borrow_mut()
    }

    pub(crate) fn timers(&self) -> RefMut<'_, Timers<Waker>> {
        self.0.timers.borrow_mut()
    }
}

impl Drop for Inner {
    /// Empties the inject queue. The wakers in it hold the queue, and without
    /// this they would keep each other alive for ever.
    fn drop(&mut self) {
        self.inject_queue.close();
    }
}
