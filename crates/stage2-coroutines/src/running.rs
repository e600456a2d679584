//! Which loop this thread runs, and whose turn it is.

use std::cell::{RefCell, RefMut};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use selector_core::{Key, Selector, Timers};

use crate::event_loop::Inner;
use crate::mailbox::{Mail, Mailbox};
use crate::{EventLoop, InvalidState};

thread_local! {
    /// The loop that this thread runs, if it does.
    static RUNNING: RefCell<Option<EventLoop>> = const { RefCell::new(None) };
}

/// What `f` says of the loop that this thread runs, if it does; a thread that
/// is about to end does not. No foreign code may run in `f`.
pub(crate) fn with_running<R>(f: impl FnOnce(&EventLoop) -> R) -> Option<R> {
    RUNNING.try_with(|running| running.borrow().as_ref().map(f)).ok().flatten()
}

/// Keeps it known that this thread runs a loop.
pub(crate) struct Running;

impl Running {
    pub(crate) fn new(event_loop: &EventLoop) -> io::Result<Self> {
        if RUNNING.with_borrow(Option::is_some) {
            let message = "this thread runs an event loop already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        RUNNING.set(Some(event_loop.clone()));
        Ok(Self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(RUNNING.take());
    }
}

/// The names of those who are to take a step, in the order in which they were
/// woken.
pub(crate) type RunQueue = VecDeque<Key>;

/// So many turns have room at all times.
const ROOM: usize = 1024;

// ANCHOR: batch
/// Those whose turn it is. Should a panic end the loop, the rest keep theirs.
pub(crate) struct Batch<'q> {
    pub(crate) turns: RunQueue,
    pub(crate) run_queue: &'q RefCell<RunQueue>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.run_queue.borrow_mut().append(&mut self.turns);
    }
}
// ANCHOR_END: batch

impl EventLoop {
    // ANCHOR: may_wait_for
    /// Whether the one whose turn it is may wait for a future of this loop,
    /// and of this task.
    pub(crate) fn may_wait_for(&self, task: Option<Key>) -> Result<(), InvalidState> {
        if with_running(|running| !running.is(self)) == Some(true) {
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

    /// Whether this is where its mail comes in.
    pub(crate) fn has(&self, mailbox: &Arc<Mailbox>) -> bool {
        Arc::ptr_eq(&self.0.mailbox, mailbox)
    }

    /// Has a task take its first step, after all who have been woken before.
    pub(crate) fn enqueue(&self, key: Key) {
        // While the loop does not run, those have left mail.
        if with_running(|running| running.is(self)) != Some(true) {
            self.open_mail();
        }
        self.queue(key);
    }

    fn open_mail(&self) {
        for mail in self.0.mailbox.empty() {
            match mail {
                Mail::Wake(task) => task.wake_in(self),
                Mail::Call(call) => call(self),
            }
        }
    }

    /// Exchanges an empty queue for that of all who have been woken.
    pub(crate) fn take_turns(&self, empty: &mut RunQueue) {
        self.open_mail();
        // It has had its rush, and need not stay as large as that.
        empty.shrink_to(ROOM);
        std::mem::swap(&mut *self.0.run_queue.borrow_mut(), empty);
    }

    pub(crate) fn selector(&self) -> RefMut<'_, Selector<Waker>> {
        self.0.selector.borrow_mut()
    }

    pub(crate) fn timers(&self) -> RefMut<'_, Timers<Waker>> {
        self.0.timers.borrow_mut()
    }
}

impl Drop for Inner {
    /// Whoever waits in the mailbox holds the mailbox, and would for ever.
    fn drop(&mut self) {
        self.mailbox.close();
    }
}
