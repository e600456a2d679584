//! Who is to be resumed, in the order in which they were woken.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selector_core::Notifier;

use crate::task::TaskWaker;

/// The queue between those who wake and the loop that resumes. Any thread may
/// push; only the loop takes.
pub(crate) struct RunQueue {
    state: Mutex<State>,
    notifier: Notifier,
}

struct State {
    woken: VecDeque<Arc<TaskWaker>>,
    /// Whether the loop sleeps, or is about to: then a push has to ring.
    loop_sleeps: bool,
    is_closed: bool,
}

impl RunQueue {
    pub(crate) fn new(notifier: Notifier) -> Self {
        Self {
            state: Mutex::new(State {
                woken: VecDeque::new(),
                loop_sleeps: false,
                is_closed: false,
            }),
            notifier,
        }
    }

    pub(crate) fn push(&self, waker: Arc<TaskWaker>) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.woken.push_back(waker);
        let ring = std::mem::take(&mut state.loop_sleeps);
        drop(state);
        if ring {
            self.notifier.notify();
        }
    }

    /// Exchanges the queue for an empty one.
    pub(crate) fn take(&self, empty: &mut VecDeque<Arc<TaskWaker>>) {
        std::mem::swap(&mut self.lock().woken, empty);
    }

    /// Tells whether the loop may sleep, which it may not with work to do.
    /// From here on whoever pushes rings the bell: the test and the promise
    /// are one step, so that no wake-up falls between them.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.lock();
        state.loop_sleeps = state.woken.is_empty();
        state.loop_sleeps
    }

    pub(crate) fn has_woken_up(&self) {
        self.lock().loop_sleeps = false;
    }

    /// The loop is gone: who is woken from now on stays asleep.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let woken = std::mem::take(&mut state.woken);
        drop(state);
        drop(woken);
    }

    /// The state is whole between any two statements made under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RunQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunQueue")
    }
}
