//! What a coroutine leaves behind when it waits.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Wake;

use selector_core::Key;

use crate::mailbox::{Mail, Mailbox};
use crate::running::with_running;

// ANCHOR: task_waker
/// The name of a task and the way to its loop: enough for anybody, on any
/// thread, to have it resumed.
pub(crate) struct TaskWaker {
    pub(crate) key: Key,
    /// Whether it lies in the mailbox, under whose lock this is looked at.
    pub(crate) is_in_mail: AtomicBool,
    pub(crate) mailbox: Arc<Mailbox>,
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
    /// The short way, without locks and atomics: it is open when the loop of
    /// the task is the one that runs on this very thread.
    fn wake_here(&self) -> bool {
        let wake = with_running(|event_loop| {
            let is_its_loop = event_loop.has(&self.mailbox);
            if is_its_loop {
                event_loop.wake_task(self.key);
            }
            is_its_loop
        });
        wake == Some(true)
    }
}
// ANCHOR_END: wake
