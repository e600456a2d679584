//! Who is to be resumed, in the order in which they were woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;

use selector_core::{Key, Notifier};

use crate::EventLoop;

// ANCHOR: task_waker
/// What a coroutine leaves behind when it waits: enough for anybody, on any
/// thread, to have it resumed.
pub(crate) struct TaskWaker {
    /// Which task; `None` is the coroutine of `run_until_complete`.
    key: Option<Key>,
    /// Woken twice before its next step, a task is stepped once.
    queued: AtomicBool,
    queue: Arc<RunQueue>,
}
// ANCHOR_END: task_waker

impl TaskWaker {
    pub(crate) fn new(key: Option<Key>, queue: &Arc<RunQueue>) -> Arc<Self> {
        let queue = Arc::clone(queue);
        Arc::new(Self { key, queued: AtomicBool::new(false), queue })
    }

    /// To be called when the task is taken from the queue, before its step:
    /// what happens from now on is news that this step may have missed.
    pub(crate) fn taken_up(&self) -> Option<Key> {
        // A swap, not a store: it sees all that was done before a wake that it
        // swallows.
        self.queued.swap(false, Ordering::AcqRel);
        self.key
    }
}

// ANCHOR: wake
impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            let queue = Arc::clone(&self.queue);
            queue.push(Turn::Resume(self));
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::AcqRel) {
            self.queue.push(Turn::Resume(Arc::clone(self)));
        }
    }
}
// ANCHOR_END: wake

/// What somebody's turn consists of.
pub(crate) enum Turn {
    Resume(Arc<TaskWaker>),
    /// From another thread: something to be called on this one.
    Call(RemoteCall),
}

pub(crate) type RemoteCall = Box<dyn FnOnce(&EventLoop) + Send>;

/// The queue between those who wake and the loop that resumes. Any thread may
/// push; only the loop takes.
pub(crate) struct RunQueue {
    state: Mutex<State>,
    notifier: Notifier,
}

struct State {
    turns: VecDeque<Turn>,
    /// Whether the loop sleeps, or is about to: then a push has to ring.
    loop_sleeps: bool,
    is_closed: bool,
}

impl RunQueue {
    /// So many turns have room at all times.
    const ROOM: usize = 1024;

    pub(crate) fn new(notifier: Notifier) -> Self {
        let turns = VecDeque::new();
        let state = State { turns, loop_sleeps: false, is_closed: false };
        Self { state: Mutex::new(state), notifier }
    }

    pub(crate) fn push(&self, turn: Turn) {
        let mut state = self.lock();
        if state.is_closed {
            drop(state);
            return drop(turn);
        }
        state.turns.push_back(turn);
        let ring = std::mem::take(&mut state.loop_sleeps);
        drop(state);
        if ring {
            self.notifier.notify();
        }
    }

    /// Exchanges the queue for an empty one, which has had its rush and need
    /// not stay as large as that.
    pub(crate) fn take(&self, empty: &mut VecDeque<Turn>) {
        empty.shrink_to(Self::ROOM);
        std::mem::swap(&mut self.lock().turns, empty);
    }

    // ANCHOR: may_sleep
    /// Tells whether the loop may sleep, which it may not with work to do.
    /// From here on whoever pushes rings the bell: the test and the promise
    /// are one step, so that no wake-up falls between them.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.lock();
        state.loop_sleeps = state.turns.is_empty();
        state.loop_sleeps
    }
    // ANCHOR_END: may_sleep

    pub(crate) fn has_woken_up(&self) {
        self.lock().loop_sleeps = false;
    }

    /// The loop is gone: who is woken from now on stays asleep.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let turns = std::mem::take(&mut state.turns);
        drop(state);
        drop(turns);
    }

    /// The state is whole between any two statements made under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
