//! Callbacks: functions that the loop calls soon, later, or on behalf of
//! another thread.

use std::future::poll_fn;
use std::io;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::{Key, TimerKey};
use stage2_coroutines::runtime::observer::Origin;
use stage2_coroutines::{Coroutine, Elapsed, EventLoop, Runtime, timeout_at};

/// A handle to a callback.
#[derive(Clone)]
pub struct CallbackHandle {
    event_loop: EventLoop,
    key: Key,
    timer: Option<TimerKey>,
}

impl CallbackHandle {
    /// Cancels the callback, unless it has been called.
    pub fn cancel(&self) {
        if let Some(timer) = self.timer {
            self.event_loop.reactor().cancel_timer(timer);
        }
        self.event_loop.scheduler().remove(self.key);
    }

    /// Returns true if the callback is still to be called, and false if it was called or
    /// cancelled. A closed loop calls nothing: false from the start, or from its end on.
    pub fn is_pending(&self) -> bool {
        self.event_loop.scheduler().wakers(self.key).is_some()
    }
}

/// What asyncio's event loop can do besides.
///
/// A closed loop takes no callback: it drops the callback at once, and the handle says
/// so by [`CallbackHandle::is_pending`]. asyncio raises a `RuntimeError`.
pub trait EventLoopExt {
    /// Calls `callback` in the next batch, after all tasks that were woken
    /// before. If it panics, the exception handler is called.
    fn call_soon(&self, callback: impl FnOnce() + 'static) -> CallbackHandle;

    /// Calls `callback` after a delay.
    fn call_later(&self, delay: Duration, callback: impl FnOnce() + 'static) -> CallbackHandle;

    /// Calls `callback` at a point in time, or as soon as possible if that is
    /// past.
    fn call_at(&self, at: Instant, callback: impl FnOnce() + 'static) -> CallbackHandle;

    /// Returns a handle to the loop for other threads.
    fn remote(&self) -> Remote;
}

impl EventLoopExt for EventLoop {
    fn call_soon(&self, callback: impl FnOnce() + 'static) -> CallbackHandle {
        let key = add_callback(self, callback);
        self.scheduler().wake(key);
        CallbackHandle { event_loop: self.clone(), key, timer: None }
    }

    fn call_later(&self, delay: Duration, callback: impl FnOnce() + 'static) -> CallbackHandle {
        call_when(self, self.now().checked_add(delay), callback)
    }

    fn call_at(&self, at: Instant, callback: impl FnOnce() + 'static) -> CallbackHandle {
        call_when(self, Some(at), callback)
    }

    fn remote(&self) -> Remote {
        let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
        let remote = Arc::downgrade(&calls);
        let event_loop = self.clone();
        let task = self.scheduler().add(
            Box::pin(poll_fn(move |_| {
                for call in take(&mut *lock(&calls)) {
                    // Through the run queue, where each has a step of its own.
                    let inside = event_loop.clone();
                    event_loop.call_soon(move || call(&inside));
                }
                // The last remote wakes this when it is dropped.
                if Arc::weak_count(&calls) == 0 { Poll::Ready(()) } else { Poll::Pending }
            })),
            Origin::Callback,
        );
        Remote { calls: remote, waker: self.scheduler().waker(task) }
    }
}

/// Adds a callback: a task of one step, which takes it when it is woken.
fn add_callback(event_loop: &EventLoop, callback: impl FnOnce() + 'static) -> Key {
    event_loop.scheduler().add(Box::pin(async move { callback() }), Origin::Callback)
}

/// Calls `callback` at a point in time; never at `None`, which is beyond the end of the clock.
fn call_when(
    event_loop: &EventLoop,
    at: Option<Instant>,
    callback: impl FnOnce() + 'static,
) -> CallbackHandle {
    let key = add_callback(event_loop, callback);
    let waker = event_loop.scheduler().waker(key);
    let timer = at.map(|at| event_loop.reactor().set_timer(at, waker));
    CallbackHandle { event_loop: event_loop.clone(), key, timer }
}

type Call = Box<dyn FnOnce(&EventLoop) + Send>;

/// A handle to a loop for other threads.
#[derive(Clone)]
pub struct Remote {
    /// The calls that the loop has not made yet. They are the loop's, so that they end with
    /// it.
    calls: Weak<Mutex<Vec<Call>>>,
    waker: Waker,
}

impl Remote {
    /// Has the loop call `callback`, on the thread of the loop and with a handle
    /// to it: asyncio's `call_soon_threadsafe`. If the loop is closed, the
    /// callback is dropped.
    pub fn call_soon(&self, callback: impl FnOnce(&EventLoop) + Send + 'static) {
        if let Some(calls) = self.calls.upgrade() {
            lock(&calls).push(Box::new(callback));
            drop(calls);
            self.waker.wake_by_ref();
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.calls = Weak::new();
        self.waker.wake_by_ref();
    }
}

fn lock(calls: &Mutex<Vec<Call>>) -> std::sync::MutexGuard<'_, Vec<Call>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What Tornado's loop can do besides.
pub trait RuntimeExt {
    /// Runs a coroutine, no longer than `timeout`: Tornado's `run_sync`.
    ///
    /// # Errors
    /// `TimedOut`, and the errors of [`Runtime::run_until_complete`].
    fn run_sync<T>(
        &self,
        coroutine: impl Coroutine<Output = T>,
        timeout: Duration,
    ) -> io::Result<T>;
}

impl RuntimeExt for Runtime {
    fn run_sync<T>(
        &self,
        coroutine: impl Coroutine<Output = T>,
        timeout: Duration,
    ) -> io::Result<T> {
        let event_loop = self.event_loop();
        let Some(deadline) = event_loop.now().checked_add(timeout) else {
            return self.run_until_complete(coroutine);
        };
        let result = self.run_until_complete(timeout_at(event_loop, || deadline, coroutine))?;
        result.map_err(|Elapsed| {
            let message = format!("the coroutine was not done within {timeout:?}");
            io::Error::new(io::ErrorKind::TimedOut, message)
        })
    }
}
