//! The scheduler, or executor: the task table, the run queue, and the steps of
//! the tasks.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Poll, Waker};

use selector_core::{Key, Notifier, Slab};

use crate::asyncio::exceptions::{Exception, InvalidState};
use crate::asyncio::inspector::{CallSite, Inspector, LoopError, WaitInfo};
use crate::runtime::inject_queue::{InjectQueue, TaskWaker};

thread_local! {
    /// The scheduler that this thread runs; `None` if it runs none.
    static CURRENT: RefCell<Option<Rc<Scheduler>>> = const { RefCell::new(None) };
}

/// Calls `f` with the scheduler that this thread runs. Returns `None` if it runs
/// none, or if the thread is about to end. No foreign code may run in `f`.
pub(crate) fn with_current<R>(f: impl FnOnce(&Scheduler) -> R) -> Option<R> {
    CURRENT.try_with(|current| current.borrow().as_deref().map(f)).ok().flatten()
}

/// A guard that marks this thread as running a scheduler, until it is dropped. A stop
/// that was asked for is over then, too, however the run has ended.
pub(crate) struct EnterGuard(());

impl Drop for EnterGuard {
    fn drop(&mut self) {
        let Some(scheduler) = CURRENT.take() else { return };
        scheduler.is_running.set(false);
        scheduler.is_stopping.set(false);
    }
}

/// The state of a task after a step: it waits, or it has ended, perhaps with an
/// exception that no future has taken.
pub(crate) type AfterStep = Poll<Option<Exception>>;

/// A task or a callback, as the scheduler sees it: a thing that can take a step.
pub(crate) trait Runnable {
    /// Runs until the task waits or ends.
    fn step(self: Pin<&mut Self>, scheduler: &Scheduler, key: Key) -> AfterStep;

    /// Ends the task as cancelled.
    fn cancel(self: Pin<&mut Self>) {}

    /// Returns the waker that is kept for the next step, if this is a task that has
    /// taken one.
    fn kept_waker(&self) -> Option<&Arc<TaskWaker>> {
        None
    }
}

/// The slot of a task, or of a callback, which is a task of one step.
pub(crate) struct TaskSlot {
    /// The coroutine; `None` while it takes a step.
    pub(crate) step: Option<Pin<Box<dyn Runnable>>>,
    /// The line that spawned the task; `None` for a callback.
    pub(crate) spawned: Option<CallSite>,
    pub(crate) wait: WaitInfo,
}

/// The run queue: the keys of the tasks that are to take a step, in the order
/// in which they were woken.
type RunQueue = Vec<Key>;

/// The capacity that a run queue keeps after a burst of wake-ups.
const KEPT_CAPACITY: usize = 1024;

// ANCHOR: batch
/// The tasks that take a step before the next tick. If a panic ends the loop,
/// those that have not taken theirs go back to the front of the run queue.
pub(crate) struct Batch<'s> {
    keys: RunQueue,
    /// The number of keys that have been handed out.
    taken: usize,
    run_queue: &'s RefCell<RunQueue>,
}

impl Batch<'_> {
    /// Starts over with the tasks that were woken since the last batch.
    pub(crate) fn refill(&mut self) {
        self.keys.clear();
        self.taken = 0;
        // A burst of wake-ups is rare; its memory is given back.
        self.keys.shrink_to(KEPT_CAPACITY);
        std::mem::swap(&mut *self.run_queue.borrow_mut(), &mut self.keys);
        #[cfg(feature = "explore")]
        crate::explore::shuffle(&mut self.keys);
    }
}

impl Iterator for Batch<'_> {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        let key = *self.keys.get(self.taken)?;
        self.taken += 1;
        Some(key)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.run_queue.borrow_mut().splice(..0, self.keys.drain(self.taken..));
    }
}
// ANCHOR_END: batch

/// Returns the key of the main coroutine, that of `run_until_complete`. It is
/// in no slot of the table: no table is large enough to have this key.
pub(crate) fn main_key() -> Key {
    Key::from_bits(u64::MAX)
}

/// The tasks of a loop, and the order of their steps.
pub(crate) struct Scheduler {
    /// The task table: the coroutines are kept here between two steps.
    pub(crate) tasks: RefCell<Slab<TaskSlot>>,
    run_queue: RefCell<RunQueue>,
    /// The wake-ups and calls that come from other threads.
    pub(crate) inject_queue: Arc<InjectQueue>,
    /// The task or callback that is taking a step.
    pub(crate) current_task: Cell<Option<Key>>,
    /// The number of steps that have been taken.
    pub(crate) polls: Cell<u64>,
    pub(crate) is_closed: Cell<bool>,
    /// True while its thread runs it.
    is_running: Cell<bool>,
    /// True if the run is to end with the current batch.
    pub(crate) is_stopping: Cell<bool>,
    /// True if the task that takes a step has cancelled itself by its key.
    pub(crate) is_self_cancelled: Cell<bool>,
    pub(crate) inspector: Rc<Inspector>,
}

impl Scheduler {
    pub(crate) fn new(notifier: Notifier, inspector: Rc<Inspector>) -> Self {
        Self {
            tasks: RefCell::new(Slab::new()),
            run_queue: RefCell::default(),
            inject_queue: Arc::new(InjectQueue::new(notifier)),
            current_task: Cell::new(None),
            polls: Cell::new(0),
            is_closed: Cell::new(false),
            is_running: Cell::new(false),
            is_stopping: Cell::new(false),
            is_self_cancelled: Cell::new(false),
            inspector,
        }
    }

    pub(crate) fn enter(self: &Rc<Self>) -> io::Result<EnterGuard> {
        if with_current(|_| ()).is_some() {
            let message = "this thread runs an event loop already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        CURRENT.set(Some(Rc::clone(self)));
        self.is_running.set(true);
        Ok(EnterGuard(()))
    }

    /// Returns true if this thread runs this scheduler.
    pub(crate) fn is_current(&self) -> bool {
        // No other thread has a handle to it.
        self.is_running.get()
    }

    // ANCHOR: may_wait_for
    /// Checks that the current task may wait for a future of this loop, which
    /// is the result of `task` if that is given.
    pub(crate) fn may_wait_for(&self, task: Option<Key>) -> Result<(), Exception> {
        if !self.is_current() && with_current(|_| ()).is_some() {
            return Err(InvalidState::OtherLoop.into());
        }
        let current = self.current_task.get();
        let (Some(task), Some(current)) = (task, current) else { return Ok(()) };
        if task == current {
            return Err(InvalidState::AwaitsItself.into());
        }
        self.inspector.circle(current).map_or(Ok(()), Err)
    }
    // ANCHOR_END: may_wait_for

    #[inline]
    pub(crate) fn add_task(&self, step: impl Runnable + 'static, spawned: Option<CallSite>) -> Key {
        let slot = TaskSlot { step: Some(Box::pin(step)), spawned, wait: WaitInfo::NONE };
        let key = self.tasks.borrow_mut().insert(slot);
        if self.is_closed.get() {
            // A closed loop never runs this step, and never frees what it
            // holds.
            drop(self.remove_task(key));
        }
        key
    }

    /// Removes a task and returns its slot. The caller drops the slot, since
    /// that runs foreign code.
    #[must_use]
    #[inline]
    pub(crate) fn remove_task(&self, key: Key) -> Option<TaskSlot> {
        self.inspector.forget(key);
        self.tasks.borrow_mut().remove(key)
    }

    /// Puts a task at the end of the run queue, to take a step in the next
    /// batch.
    pub(crate) fn schedule(&self, key: Key) {
        if !self.is_closed.get() {
            self.run_queue.borrow_mut().push(key);
        }
    }

    // ANCHOR: waker_for_step
    /// Returns the waker for the next step of a task. It is made for the first
    /// step, and kept in `kept` for the others.
    #[inline]
    pub(crate) fn waker(&self, key: Key, kept: &mut Option<Arc<TaskWaker>>) -> Waker {
        let waker = kept.get_or_insert_with(|| TaskWaker::new(key, self));
        // Before the step: an event that comes during the step may have been
        // missed by it, and must be able to queue the task again.
        waker.is_queued.store(false, Relaxed);
        self.inspector.deadlocks.current_waker.set(Arc::as_ptr(waker).cast());
        Waker::from(Arc::clone(waker))
    }
    // ANCHOR_END: waker_for_step

    // ANCHOR: wake
    /// Schedules a task that was woken, unless it is in the run queue already.
    pub(crate) fn wake(&self, task: &TaskWaker) {
        // Load and store need not be one operation: only the thread of the
        // loop comes here.
        trace::wake(task.key.to_bits());
        if !task.is_queued.load(Relaxed) {
            task.is_queued.store(true, Relaxed);
            self.schedule(task.key);
        }
    }
    // ANCHOR_END: wake

    /// Returns a batch without tasks.
    pub(crate) fn batch(&self) -> Batch<'_> {
        Batch { keys: RunQueue::new(), taken: 0, run_queue: &self.run_queue }
    }

    /// Returns true if no task is to take a step, so that the loop may sleep.
    pub(crate) fn may_sleep(&self) -> bool {
        self.run_queue.borrow().is_empty() && self.inject_queue.may_sleep()
    }

    // ANCHOR: step
    /// Has a task take one step, and removes it if it ends.
    pub(crate) fn step(&self, key: Key) {
        // The coroutine is taken out of its slot, so that it may call any
        // method of the loop, even cancel itself. A stale key belongs to a task
        // that has been removed.
        let step = self.tasks.borrow_mut().get_mut(key).and_then(|it| it.step.take());
        let Some(mut step) = step else { return };
        self.polls.update(|polls| polls + 1);
        self.current_task.set(Some(key));
        self.trace_step(key);
        let state = step.as_mut().step(self, key);
        self.trace_step_end(key, &state);
        self.current_task.set(None);
        if state.is_pending()
            && let Some(slot) = self.tasks.borrow_mut().get_mut(key)
        {
            slot.step = Some(step);
            if slot.wait.update(&self.inspector.current_wait) {
                self.inspector.awaiting_tasks.borrow_mut().push(key);
            }
            return;
        }
        self.inspector.current_wait.set(WaitInfo::NONE);
        let ended = match state {
            Poll::Ready(exception) => exception,
            // It was cancelled in this very step.
            Poll::Pending => {
                step.as_mut().cancel();
                None
            }
        };
        // From here on the key is stale: a destructor cannot cancel the task.
        drop(self.remove_task(key));
        self.is_self_cancelled.set(false);
        let dropped = self.inspector.catch(|| self.drop_step(step));
        if let (Err(exception), _) | (Ok(()), Some(exception)) = (dropped, ended) {
            self.inspector.report(&LoopError::Panicked(exception));
        }
        self.inspector.raise_panic();
    }
    // ANCHOR_END: step

    /// Drops all tasks, and refuses every later one.
    pub(crate) fn close(&self) {
        self.is_closed.set(true);
        self.inject_queue.close();
        self.run_queue.take();
        // The table is empty before the tasks are dropped, so that their keys
        // are stale for the code that this runs.
        drop(self.tasks.take());
    }
}

impl Drop for Scheduler {
    /// Empties the inject queue. The wakers in it hold the queue, and without
    /// this they would keep each other alive for ever.
    fn drop(&mut self) {
        self.inject_queue.close();
    }
}
