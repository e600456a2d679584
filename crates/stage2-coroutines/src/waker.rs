//! What a coroutine leaves behind when it waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Wake;

use selector_core::Key;

use crate::EventLoop;
use crate::mailbox::{Mail, Mailbox};
use crate::running::with_running;

// ANCHOR: task_waker
/// The name of a task and the way to its loop: enough for anybody, on any
/// thread, to have it resumed.
pub(crate) struct TaskWaker {
    key: Key,
    /// Woken twice before its next step, a task is stepped once. Only the
    /// thread of the loop looks at this.
    is_queued: AtomicBool,
    /// Whether it lies in the mailbox, under whose lock this is looked at.
    pub(crate) is_in_mail: AtomicBool,
    mailbox: Arc<Mailbox>,
}
// ANCHOR_END: task_waker

// ANCHOR: wake
impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        if !self.wake_here() {
            Arc::clone(&self.mailbox).put(Mail::Wake(self));
        }
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.wake_here() {
            self.mailbox.put(Mail::Wake(Arc::clone(self)));
        }
    }
}

impl TaskWaker {
    pub(crate) fn new(key: Key, mailbox: &Arc<Mailbox>) -> Arc<Self> {
        let [is_queued, is_in_mail] = [const { AtomicBool::new(false) }; 2];
        Arc::new(Self { key, is_queued, is_in_mail, mailbox: Arc::clone(mailbox) })
    }

    /// To be called before a step: what happens from now on is news that this
    /// step may have missed.
    pub(crate) fn taken_up(&self) {
        self.is_queued.store(false, Relaxed);
    }

    /// The short way, without locks and atomics: it is open when the loop of
    /// the task is the one that runs on this very thread.
    fn wake_here(&self) -> bool {
        let wake = with_running(|event_loop| {
            let is_its_loop = event_loop.has(&self.mailbox);
            if is_its_loop {
                self.wake_in(event_loop);
            }
            is_its_loop
        });
        wake == Some(true)
    }

    /// Puts the name at the end of the queue, unless it is in there.
    pub(crate) fn wake_in(&self, event_loop: &EventLoop) {
        // Nobody comes between these two: there is but one such thread.
        if !self.is_queued.load(Relaxed) {
            self.is_queued.store(true, Relaxed);
            event_loop.queue(self.key);
        }
    }
}
// ANCHOR_END: wake
