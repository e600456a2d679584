//! Which loop this thread runs, and whose turn it is.

use std::cell::{RefCell, RefMut};
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
        event_loop.0.round.set(event_loop.now());
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
pub(crate) type RunQueue = Vec<Key>;

/// So many turns have room at all times.
const ROOM: usize = 1024;

// ANCHOR: batch
/// Those whose turn it is. Should a panic end the loop, the rest keep theirs.
pub(crate) struct Batch<'q> {
    turns: RunQueue,
    /// How many of them have had theirs.
    taken: usize,
    run_queue: &'q RefCell<RunQueue>,
}

impl<'q> Batch<'q> {
    pub(crate) fn new(run_queue: &'q RefCell<RunQueue>) -> Self {
        Self { turns: RunQueue::new(), taken: 0, run_queue }
    }

    /// When all have had theirs, it is the turn of those who were woken since.
    fn renew(&mut self) {
        self.turns.clear();
        self.taken = 0;
        // It has had its rush, and need not stay as large as that.
        self.turns.shrink_to(ROOM);
        std::mem::swap(&mut *self.run_queue.borrow_mut(), &mut self.turns);
    }
}

impl Iterator for Batch<'_> {
    type Item = Key;

    fn next(&mut self) -> Option<Key> {
        let key = self.turns.get(self.taken).copied();
        self.taken += usize::from(key.is_some());
        key
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.run_queue.borrow_mut().extend(&self.turns[self.taken..]);
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

    /// Gives all who have been woken a turn.
    pub(crate) fn take_turns(&self, batch: &mut Batch<'_>) {
        self.open_mail();
        batch.renew();
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
