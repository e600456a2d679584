//! Something that is pending, and later has a result.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// The chapter's `Future`: pending, until somebody calls
/// [`Future::set_result`]. Whoever cares has left a callback, or awaits it.
///
/// Handles are cheap to clone and stand for the same future: one stays with
/// whoever will have the result, the other with whoever waits for it. (The
/// trait that Rust calls `Future` is what the chapter calls a coroutine; here
/// it goes by [`crate::Coroutine`].)
///
/// The result is moved to whoever takes it first, by awaiting or by
/// [`Future::take_result`].
pub struct Future<T>(Rc<RefCell<State<T>>>);

enum State<T> {
    Pending(Vec<Callback<T>>),
    Resolved(Option<T>),
}

type DoneCallback<T> = Box<dyn FnOnce(&Future<T>)>;

enum Callback<T> {
    Call(DoneCallback<T>),
    Wake(Waker),
}

/// The future has a result already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the future has a result already")]
pub struct InvalidState;

impl<T> Future<T> {
    /// A pending future.
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(State::Pending(Vec::new()))))
    }

    /// Whether it has a result, be it taken or not.
    pub fn done(&self) -> bool {
        matches!(*self.0.borrow(), State::Resolved(_))
    }

    /// Resolves the future, and then calls everybody who left a callback, in
    /// the order in which they did.
    ///
    /// # Errors
    /// When it was resolved before; `result` is dropped.
    pub fn set_result(&self, result: T) -> Result<(), InvalidState> {
        if self.done() {
            return Err(InvalidState);
        }
        let resolved = State::Resolved(Some(result));
        // The borrow ends here: a callback may do anything with this future.
        let before = self.0.replace(resolved);
        if let State::Pending(callbacks) = before {
            for callback in callbacks {
                match callback {
                    Callback::Call(call) => call(self),
                    Callback::Wake(waker) => waker.wake(),
                }
            }
        }
        Ok(())
    }

    /// The result, if it is there and nobody took it before.
    pub fn take_result(&self) -> Option<T> {
        match &mut *self.0.borrow_mut() {
            State::Pending(_) => None,
            State::Resolved(result) => result.take(),
        }
    }

    /// Has `callback` called with this future when it is resolved; at once if
    /// it is already.
    pub fn add_done_callback(&self, callback: impl FnOnce(&Self) + 'static) {
        if self.done() {
            callback(self);
        } else if let State::Pending(callbacks) = &mut *self.0.borrow_mut() {
            callbacks.push(Callback::Call(Box::new(callback)));
        }
    }

    /// Whether these two handles stand for the same future.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

/// `yield from future` of the chapter: pending means that the waker is stored.
///
/// # Panics
/// When awaited after the result was taken: it would wait for ever.
impl<T> std::future::Future for Future<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut *self.0.borrow_mut() {
            State::Resolved(result) => {
                Poll::Ready(result.take().expect("a result is awaited only once"))
            }
            State::Pending(callbacks) => {
                let waker = context.waker();
                let is_stored = callbacks.iter().any(|callback| match callback {
                    Callback::Wake(stored) => stored.will_wake(waker),
                    Callback::Call(_) => false,
                });
                if !is_stored {
                    callbacks.push(Callback::Wake(waker.clone()));
                }
                Poll::Pending
            }
        }
    }
}

impl<T> Clone for Future<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Default for Future<T> {
    fn default() -> Self {
        Self::new()
    }
}
