//! What comes to a loop from outside: from other threads, and while it does
//! not run.

use std::mem::take;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use selector_core::Notifier;

use crate::EventLoop;
use crate::waker::TaskWaker;

pub(crate) enum Mail {
    Wake(Arc<TaskWaker>),
    /// Something to be called on the thread of the loop.
    Call(RemoteCall),
}

pub(crate) type RemoteCall = Box<dyn FnOnce(&EventLoop) + Send>;

/// Any thread may put something in; only the loop takes, between two rounds.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    notifier: Notifier,
}

struct State {
    mail: Vec<Mail>,
    /// Whether the loop sleeps, or is about to: then whoever puts something in
    /// has to ring.
    loop_sleeps: bool,
    is_closed: bool,
}

impl Mailbox {
    pub(crate) fn new(notifier: Notifier) -> Self {
        let state = State { mail: Vec::new(), loop_sleeps: false, is_closed: false };
        Self { state: Mutex::new(state), notifier }
    }

    pub(crate) fn put(&self, mail: Mail) {
        let mut state = self.lock();
        if state.is_closed {
            drop(state);
            return drop(mail);
        }
        if let Mail::Wake(task) = &mail
            && task.is_in_mail.swap(true, Relaxed)
        {
            drop(state);
            return drop(mail);
        }
        state.mail.push(mail);
        let ring = take(&mut state.loop_sleeps);
        drop(state);
        if ring {
            self.notifier.notify();
        }
    }

    /// All there is. The lock orders it: what was done before one of these was
    /// put in, or refused because it was in, has been done before this returns.
    pub(crate) fn empty(&self) -> Vec<Mail> {
        let mut state = self.lock();
        state.loop_sleeps = false;
        for mail in &state.mail {
            if let Mail::Wake(task) = mail {
                task.is_in_mail.store(false, Relaxed);
            }
        }
        take(&mut state.mail)
    }

    // ANCHOR: may_sleep
    /// Tells whether the loop may sleep, which it may not when there is mail.
    /// From here on whoever puts something in rings the bell: the test and the
    /// promise are one step, so that no wake-up falls between them.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut state = self.lock();
        state.loop_sleeps = state.mail.is_empty();
        state.loop_sleeps
    }
    // ANCHOR_END: may_sleep

    /// The loop is gone: who is woken from now on stays asleep.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let mail = take(&mut state.mail);
        drop(state);
        drop(mail);
    }

    /// The state is whole between any two statements made under the lock.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
