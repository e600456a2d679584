//! Functions that the loop calls: soon, later, or from another thread.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use selector_core::{Key, TimerKey};

use crate::mailbox::{Mail, Mailbox};
use crate::task_table::Step;
use crate::{Coroutine, EventLoop, Exception, within};

/// A callback that has not been called, to be taken back.
#[derive(Clone)]
pub struct Handle {
    event_loop: EventLoop,
    key: Key,
    timer: Option<TimerKey>,
}

impl Handle {
    /// Takes the callback back, unless it has been called.
    pub fn cancel(&self) {
        if let Some(timer) = self.timer {
            let waker = self.event_loop.timers().cancel(timer);
            drop(waker);
        }
        drop(self.event_loop.remove_task(self.key));
    }
}

/// A callback is a task of one step, and takes its turn like any other.
struct CallOnce<F>(Option<F>);

/// Nothing in it is pinned.
impl<F> Unpin for CallOnce<F> {}

impl<F: FnOnce()> Step for CallOnce<F> {
    fn step(
        mut self: Pin<&mut Self>,
        _event_loop: &EventLoop,
        _key: Key,
    ) -> Poll<Option<Exception>> {
        let call = self.0.take();
        let panic = call.and_then(|call| catch_unwind(AssertUnwindSafe(call)).err());
        Poll::Ready(panic.map(|panic| Exception::panicked(&*panic)))
    }
}

impl EventLoop {
    /// Calls `callback` in the next round, after everybody who was woken
    /// before. If it panics, the exception handler hears of it.
    pub fn call_soon(&self, callback: impl FnOnce() + 'static) -> Handle {
        let key = self.add_task(Box::pin(CallOnce(Some(callback))), None);
        self.enqueue(key);
        Handle { event_loop: self.clone(), key, timer: None }
    }

    /// Calls `callback` after a delay.
    pub fn call_later(&self, delay: Duration, callback: impl FnOnce() + 'static) -> Handle {
        let at = self.now().checked_add(delay);
        self.call_when(at, callback)
    }

    /// Calls `callback` at a moment, or as soon as possible if it is past.
    pub fn call_at(&self, at: Instant, callback: impl FnOnce() + 'static) -> Handle {
        self.call_when(Some(at), callback)
    }

    /// At `None`, which is beyond the end of the clock, nothing is called.
    fn call_when(&self, at: Option<Instant>, callback: impl FnOnce() + 'static) -> Handle {
        let key = self.add_task(Box::pin(CallOnce(Some(callback))), None);
        let waker = self.waker_of(key).into();
        let timer = at.map(|at| self.timers().set(at, waker));
        Handle { event_loop: self.clone(), key, timer }
    }

    /// A handle for other threads.
    pub fn remote(&self) -> Remote {
        Remote { mailbox: Arc::clone(&self.0.mailbox) }
    }

    /// Runs a coroutine for so long at most: Tornado's `run_sync`.
    ///
    /// # Errors
    /// `TimedOut`, and those of [`EventLoop::run_until_complete`].
    pub fn run_sync<T>(
        &self,
        coroutine: impl Coroutine<Output = T>,
        timeout: Duration,
    ) -> io::Result<T> {
        let Some(deadline) = self.now().checked_add(timeout) else {
            return self.run_until_complete(coroutine);
        };
        let result = self.run_until_complete(within(self, || deadline, coroutine))?;
        result.map_err(|_| {
            let message = format!("the coroutine was not done within {timeout:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })
    }
}

/// What another thread may hold of a loop.
#[derive(Clone)]
pub struct Remote {
    mailbox: Arc<Mailbox>,
}

impl Remote {
    /// `call_soon_threadsafe`: has the loop call `callback`, on its own thread
    /// and with a handle to itself. Nothing comes of it when the loop is
    /// closed.
    pub fn call_soon(&self, callback: impl FnOnce(&EventLoop) + Send + 'static) {
        let callback = Box::new(move |event_loop: &EventLoop| {
            let event_loop = event_loop.clone();
            // Through the queue once more, where panics are caught.
            event_loop.clone().call_soon(move || callback(&event_loop));
        });
        self.mailbox.put(Mail::Call(callback));
    }
}
