//! The future: a value that is pending, and later has a result.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use selector_core::Key;

use crate::{EventLoop, Exception, InvalidState, Wait};

// ANCHOR: future
/// The chapter's `Future`: pending until [`Future::set_result`] is called. Code
/// that needs the result adds a callback, or awaits the future.
///
/// Handles are cheap to clone and stand for the same future: one for the code
/// that will set the result, the others for the code that waits for it. (The
/// trait that Rust calls `Future` is what the chapter calls a coroutine; its
/// name here is [`crate::Coroutine`].)
///
/// The first `.await` moves the result out, unless the future is
/// [shared](Future::shared): then each gets a copy. An exception is always copied.
pub struct Future<T>(pub(crate) Rc<RefCell<State<T>>>);
// ANCHOR_END: future

pub(crate) struct State<T> {
    pub(crate) outcome: Outcome<T>,
    pub(crate) event_loop: EventLoop,
    /// The task whose result this is, if it is the future of a task.
    task: Option<Key>,
    /// True once the outcome has been retrieved.
    pub(crate) retrieved: bool,
    /// The function that copies the result, if it is shared.
    pub(crate) copy: Option<fn(&T) -> T>,
}

// ANCHOR: outcome
pub(crate) enum Outcome<T> {
    Pending(Vec<Callback<T>>),
    Done(Option<Result<T, Exception>>),
}

pub(crate) enum Callback<T> {
    Wake(Waker),
    Call(CallbackId, DoneCallback<T>),
}
// ANCHOR_END: outcome

pub(crate) type DoneCallback<T> = Box<dyn FnOnce(&Future<T>)>;

/// The id of a done callback, for [`Future::remove_done_callback`]. It is
/// unique among all futures of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackId(u64);

impl<T: 'static> Future<T> {
    /// Returns a pending future of this loop.
    pub fn new(event_loop: &EventLoop) -> Self {
        Self(Rc::new(RefCell::new(State {
            outcome: Outcome::Pending(Vec::new()),
            event_loop: event_loop.clone(),
            task: None,
            retrieved: false,
            copy: None,
        })))
    }

    /// Returns true if it has a result or an exception, even one that has been
    /// taken.
    pub fn done(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(_))
    }

    /// Moves the result out, or copies it if it is shared, or copies the exception.
    /// Returns `None` if the future is pending or the result has been taken.
    pub fn take_result(&self) -> Option<Result<T, Exception>> {
        let mut state = self.0.borrow_mut();
        if let Some(copy) = state.copy
            && let Some(Ok(result)) = state.take()
        {
            drop(state);
            // Not borrowed meanwhile: the result's own code makes the copy.
            let copied = copy(&result);
            self.0.borrow_mut().outcome = Outcome::Done(Some(Ok(result)));
            return Some(Ok(copied));
        }
        state.take()
    }

    /// Resolves the future with a result.
    ///
    /// # Errors
    /// When it is done already, or the future of a task; `result` is dropped.
    pub fn set_result(&self, result: T) -> Result<(), InvalidState> {
        self.resolve(Ok(result))
    }

    // ANCHOR: finish
    pub(crate) fn finish(&self, end: Result<T, Exception>) -> Result<(), InvalidState> {
        let mut state = self.0.borrow_mut();
        let Outcome::Pending(callbacks) = &state.outcome else {
            return Err(InvalidState::Done);
        };
        state.forget_wakers(callbacks);
        let done = Outcome::Done(Some(end));
        let replaced = std::mem::replace(&mut state.outcome, done);
        // The borrow ends here: the wakers may use this future in any way.
        drop(state);
        if let Outcome::Pending(callbacks) = replaced {
            for callback in callbacks {
                match callback {
                    Callback::Wake(waker) => waker.wake(),
                    Callback::Call(_, call) => self.call_soon(call),
                }
            }
        }
        Ok(())
    }
    // ANCHOR_END: finish

    fn call_soon(&self, callback: DoneCallback<T>) {
        let future = self.clone();
        self.event_loop().call_soon(move || callback(&future));
    }

    /// Has the loop call `callback` with this future when it is done. It is
    /// never called from within this function or the one that resolves the
    /// future. If the future is done already, it is called soon.
    pub fn add_done_callback(&self, callback: impl FnOnce(&Self) + 'static) -> CallbackId {
        let mut state = self.0.borrow_mut();
        let next_id = &state.event_loop.0.next_callback_id;
        let id = CallbackId(next_id.replace(next_id.get() + 1));
        if let Outcome::Pending(callbacks) = &mut state.outcome {
            callbacks.reserve_exact(usize::from(callbacks.is_empty()));
            callbacks.push(Callback::Call(id, Box::new(callback)));
        } else {
            drop(state);
            self.call_soon(Box::new(callback));
        }
        id
    }

    pub(crate) fn set_task(&self, task: Key) {
        self.0.borrow_mut().task = Some(task);
    }

    pub(crate) fn task(&self) -> Option<Key> {
        self.0.borrow().task
    }

    // ANCHOR: cancel
    /// Cancels the future and its task, if it is the future of one: the
    /// coroutine is dropped where it is suspended. Returns false if the future
    /// was done already.
    pub fn cancel(&self) -> bool {
        if self.finish(Err(Exception::Cancelled)).is_err() {
            return false;
        }
        if let Some(task) = self.task() {
            self.event_loop().0.scheduler.drop_task(task);
        }
        true
    }
    // ANCHOR_END: cancel
}

// ANCHOR: poll
/// The chapter's `yield from future`. Before it returns `Pending`, the waker is
/// stored. A future that is done does not suspend the coroutine that awaits it.
impl<T: 'static> std::future::Future for Future<T> {
    type Output = Result<T, Exception>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.borrow_mut();
        let State { outcome, event_loop, task, .. } = &mut *state;
        let Outcome::Pending(callbacks) = outcome else {
            drop(state);
            return Poll::Ready(self.take_result().ok_or(InvalidState::Taken)?);
        };
        event_loop.0.scheduler.may_wait_for(*task)?;
        event_loop.set_wait(task.map_or(Wait::Future, Wait::Task), None, &mut None);
        let waker = context.waker();
        let mut stored = callbacks.iter();
        if !stored.any(|c| matches!(c, Callback::Wake(it) if it.will_wake(waker))) {
            event_loop.0.inspector.make_room(callbacks);
            callbacks.push(Callback::Wake(waker.clone()));
            event_loop.0.inspector.waker_stored(waker);
        }
        Poll::Pending
    }
}
// ANCHOR_END: poll

impl<T> State<T> {
    /// Moves the result out, or copies the exception, which stays.
    fn take(&mut self) -> Option<Result<T, Exception>> {
        let Outcome::Done(outcome) = &mut self.outcome else { return None };
        self.retrieved = true;
        match outcome {
            Some(Err(exception)) => Some(Err(exception.clone())),
            _ => outcome.take(),
        }
    }
}

impl<T> Clone for Future<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}
