//! Something that is pending, and later has a result.

use std::cell::RefCell;
use std::error::Error;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use selector_core::Key;

use crate::{EventLoop, Exception, InvalidState, Wait};

/// The chapter's `Future`: pending, until somebody calls
/// [`Future::set_result`]. Whoever cares has left a callback, or awaits it.
///
/// Handles are cheap to clone and stand for the same future: one stays with
/// whoever will have the result, the other with whoever waits for it. (The
/// trait that Rust calls `Future` is what the chapter calls a coroutine; here
/// it goes by [`crate::Coroutine`].)
///
/// Awaiting moves the result out, to whoever comes first; [`Future::result`]
/// copies it.
pub struct Future<T>(Rc<RefCell<State<T>>>);

struct State<T> {
    outcome: Outcome<T>,
    event_loop: EventLoop,
    /// The task whose result this is, if it is one's.
    task: Option<Key>,
    callbacks_so_far: u32,
    /// Whether anybody has looked at the outcome.
    retrieved: bool,
}

enum Outcome<T> {
    Pending(Vec<Callback<T>>),
    Done(Option<Result<T, Exception>>),
}

enum Callback<T> {
    Wake(Waker),
    Call(CallbackId, DoneCallback<T>),
}

type DoneCallback<T> = Box<dyn FnOnce(&Future<T>)>;

/// Names a callback of one future, to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackId(u32);

impl<T: 'static> Future<T> {
    /// A pending future of this loop.
    pub fn new(event_loop: &EventLoop) -> Self {
        Self::of_task(event_loop, None)
    }

    pub(crate) fn of_task(event_loop: &EventLoop, task: Option<Key>) -> Self {
        Self(Rc::new(RefCell::new(State {
            outcome: Outcome::Pending(Vec::new()),
            event_loop: event_loop.clone(),
            task,
            callbacks_so_far: 0,
            retrieved: false,
        })))
    }

    pub(crate) fn set_task(&self, task: Key) {
        self.0.borrow_mut().task = Some(task);
    }

    /// Whether it has a result or an exception, be it taken or not.
    pub fn done(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(_))
    }

    /// Whether it was cancelled.
    pub fn cancelled(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(Some(Err(Exception::Cancelled))))
    }

    /// Whether it has an exception, or was cancelled. Asking is not looking at
    /// it.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(Some(Err(_))))
    }

    /// Cancels it, and the task whose result it would have been: the coroutine
    /// is dropped where it is suspended. Returns whether there was anything to
    /// cancel.
    pub fn cancel(&self) -> bool {
        if self.finish(Err(Exception::Cancelled)).is_err() {
            return false;
        }
        let (event_loop, task) = {
            let state = self.0.borrow();
            (state.event_loop.clone(), state.task)
        };
        if let Some(task) = task {
            drop(event_loop.remove_task(task));
        }
        true
    }

    /// A copy of the result.
    ///
    /// # Errors
    /// The exception it has instead; or [`InvalidState`], if it is pending or
    /// the result was moved out.
    pub fn result(&self) -> Result<T, Exception>
    where
        T: Clone,
    {
        let mut state = self.0.borrow_mut();
        state.retrieved = true;
        match &state.outcome {
            Outcome::Pending(_) => Err(InvalidState::Pending.into()),
            Outcome::Done(Some(outcome)) => outcome.clone(),
            Outcome::Done(None) => Err(InvalidState::Taken.into()),
        }
    }

    /// The exception, if that is how it ended.
    ///
    /// # Errors
    /// [`Exception::Cancelled`] if it was cancelled, [`InvalidState`] if it is
    /// pending.
    pub fn exception(&self) -> Result<Option<Exception>, Exception> {
        let mut state = self.0.borrow_mut();
        state.retrieved = true;
        match &state.outcome {
            Outcome::Pending(_) => Err(InvalidState::Pending.into()),
            Outcome::Done(Some(Err(Exception::Cancelled))) => Err(Exception::Cancelled),
            Outcome::Done(Some(Err(exception))) => Ok(Some(exception.clone())),
            Outcome::Done(_) => Ok(None),
        }
    }

    /// Moves the outcome out, if it is there and nobody did so before.
    pub fn take_result(&self) -> Option<Result<T, Exception>> {
        let mut state = self.0.borrow_mut();
        let Outcome::Done(outcome) = &mut state.outcome else { return None };
        let outcome = outcome.take();
        state.retrieved = true;
        outcome
    }

    /// Resolves the future.
    ///
    /// # Errors
    /// When it is done already; `result` is dropped.
    pub fn set_result(&self, result: T) -> Result<(), InvalidState> {
        self.finish(Ok(result))
    }

    /// Ends the future with an error of your own.
    ///
    /// # Errors
    /// When it is done already; `error` is dropped.
    pub fn set_exception(&self, error: impl Into<Box<dyn Error>>) -> Result<(), InvalidState> {
        self.finish(Err(Exception::raised(error)))
    }

    pub(crate) fn finish(&self, outcome: Result<T, Exception>) -> Result<(), InvalidState> {
        if self.done() {
            return Err(InvalidState::Done);
        }
        let done = Outcome::Done(Some(outcome));
        // The borrow ends here: whoever is called may do anything with this.
        let before = std::mem::replace(&mut self.0.borrow_mut().outcome, done);
        if let Outcome::Pending(callbacks) = before {
            for callback in callbacks {
                match callback {
                    Callback::Wake(waker) => waker.wake(),
                    Callback::Call(_, call) => self.call_soon(call),
                }
            }
        }
        Ok(())
    }

    fn call_soon(&self, callback: DoneCallback<T>) {
        let event_loop = self.0.borrow().event_loop.clone();
        let future = self.clone();
        event_loop.call_soon(move || callback(&future));
    }

    /// Has `callback` called with this future when it is done, through the
    /// loop: never from within this call or the one that resolves it. A
    /// callback that comes late is called all the same.
    pub fn add_done_callback(&self, callback: impl FnOnce(&Self) + 'static) -> CallbackId {
        let mut state = self.0.borrow_mut();
        let id = CallbackId(state.callbacks_so_far);
        state.callbacks_so_far += 1;
        if let Outcome::Pending(callbacks) = &mut state.outcome {
            callbacks.push(Callback::Call(id, Box::new(callback)));
        } else {
            drop(state);
            self.call_soon(Box::new(callback));
        }
        id
    }

    /// Takes a callback back and returns how many were: one, or none if it was
    /// called or is about to be.
    pub fn remove_done_callback(&self, id: CallbackId) -> usize {
        let mut state = self.0.borrow_mut();
        let Outcome::Pending(callbacks) = &mut state.outcome else { return 0 };
        let is_it = |callback: &Callback<T>| matches!(callback, Callback::Call(i, _) if *i == id);
        let Some(place) = callbacks.iter().position(is_it) else { return 0 };
        let removed = callbacks.remove(place);
        drop(state);
        drop(removed);
        1
    }

    /// Whether these two handles stand for the same future.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The loop it belongs to.
    pub fn event_loop(&self) -> EventLoop {
        self.0.borrow().event_loop.clone()
    }
}

/// `yield from future` of the chapter: pending means that the waker is stored.
/// A future that is done does not suspend whoever awaits it.
impl<T: 'static> std::future::Future for Future<T> {
    type Output = Result<T, Exception>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.borrow_mut();
        let State { outcome, event_loop, task, retrieved, .. } = &mut *state;
        match outcome {
            Outcome::Done(outcome) => {
                *retrieved = true;
                Poll::Ready(outcome.take().unwrap_or(Err(InvalidState::Taken.into())))
            }
            Outcome::Pending(callbacks) => {
                if let Err(error) = event_loop.may_wait_for(*task) {
                    return Poll::Ready(Err(error.into()));
                }
                event_loop.note(task.map_or(Wait::Future, Wait::Task), None, &mut None);
                let waker = context.waker();
                let is_stored = callbacks.iter().any(
                    |callback| matches!(callback, Callback::Wake(stored) if stored.will_wake(waker)),
                );
                if !is_stored {
                    // Most futures are awaited by one.
                    callbacks.reserve_exact(usize::from(callbacks.is_empty()));
                    callbacks.push(Callback::Wake(waker.clone()));
                }
                Poll::Pending
            }
        }
    }
}

/// An error that nobody looked at is not lost in silence.
impl<T> Drop for State<T> {
    fn drop(&mut self) {
        if let Outcome::Done(Some(Err(exception))) = &self.outcome
            && !self.retrieved
            && !exception.is_cancelled()
        {
            self.event_loop.report_unretrieved(exception);
        }
    }
}

impl<T> Clone for Future<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}
