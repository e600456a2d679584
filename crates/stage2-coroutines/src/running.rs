//! Which loop this thread runs, and whose turn it is.

use std::cell::{Cell, RefMut};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::task::Waker;

use selector_core::{Key, Selector, Timers};

use crate::event_loop::Inner;
use crate::waker::{RunQueue, Turn};
use crate::{EventLoop, InvalidState};

thread_local! {
    /// The loop that this thread runs, if it does.
    static RUNNING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Keeps it known that this thread runs a loop.
pub(crate) struct Running;

impl Running {
    pub(crate) fn new(event_loop: &EventLoop) -> io::Result<Self> {
        if RUNNING.get().is_some() {
            let message = "this thread runs an event loop already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        RUNNING.set(Some(event_loop.id()));
        Ok(Self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}

// ANCHOR: batch
/// Those whose turn it is. Should a panic end the loop, the rest keep theirs.
pub(crate) struct Batch<'q> {
    pub(crate) turns: VecDeque<Turn>,
    pub(crate) queue: &'q RunQueue,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.turns.drain(..).for_each(|turn| self.queue.push(turn));
    }
}
// ANCHOR_END: batch

impl EventLoop {
    // ANCHOR: may_wait_for
    /// Whether the one whose turn it is may wait for a future of this loop,
    /// and of this task.
    pub(crate) fn may_wait_for(&self, task: Option<Key>) -> Result<(), InvalidState> {
        if RUNNING.get().is_some_and(|running| running != self.id()) {
            return Err(InvalidState::OtherLoop);
        }
        if task.is_some() && task == self.0.current.get() {
            return Err(InvalidState::AwaitsItself);
        }
        Ok(())
    }
    // ANCHOR_END: may_wait_for

    /// Whether these two handles stand for the same loop.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    fn id(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    pub(crate) fn selector(&self) -> RefMut<'_, Selector<Waker>> {
        self.0.selector.borrow_mut()
    }

    pub(crate) fn timers(&self) -> RefMut<'_, Timers<Waker>> {
        self.0.timers.borrow_mut()
    }
}

impl Drop for Inner {
    /// Whoever waits in the queue holds the queue, and would for ever.
    fn drop(&mut self) {
        self.run_queue.close();
    }
}
