//! Something that is pending, and later has a result.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use selector_core::Key;

use crate::diagnose::count;
use crate::{EventLoop, Exception, InvalidState, Wait};

mod asking;

// ANCHOR: future
/// The chapter's `Future`: pending, until somebody calls
/// [`Future::set_result`]. Whoever cares has left a callback, or awaits it.
///
/// Handles are cheap to clone and stand for the same future: one stays with
/// whoever will have the result, the other with whoever waits for it. (The
/// trait that Rust calls `Future` is what the chapter calls a coroutine; here
/// it goes by [`crate::Coroutine`].)
///
/// Awaiting moves the result out, to whoever comes first; [`Future::result`]
/// copies it. An exception is there for everybody.
pub struct Future<T>(Rc<RefCell<State<T>>>);
// ANCHOR_END: future

struct State<T> {
    outcome: Outcome<T>,
    event_loop: EventLoop,
    /// The task whose result this is, if it is one's.
    task: Option<Key>,
    /// Whether anybody has looked at the outcome.
    retrieved: bool,
}

// ANCHOR: outcome
enum Outcome<T> {
    Pending(Vec<Callback<T>>),
    Done(Option<Result<T, Exception>>),
}

enum Callback<T> {
    Wake(Waker),
    Call(CallbackId, DoneCallback<T>),
}
// ANCHOR_END: outcome

type DoneCallback<T> = Box<dyn FnOnce(&Future<T>)>;

/// Names a callback among those of all futures of a loop, to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackId(u64);

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
            retrieved: false,
        })))
    }

    /// Whether it has a result or an exception, be it taken or not.
    pub fn done(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(_))
    }

    /// Moves the result out, if it is there and nobody did so before; or
    /// copies the exception.
    pub fn take_result(&self) -> Option<Result<T, Exception>> {
        let mut state = self.0.borrow_mut();
        let Outcome::Done(outcome) = &mut state.outcome else { return None };
        let outcome = take(outcome);
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

    // ANCHOR: finish
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
    // ANCHOR_END: finish

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
        let callbacks_so_far = &state.event_loop.0.callbacks_so_far;
        count(callbacks_so_far);
        let id = CallbackId(callbacks_so_far.get());
        if let Outcome::Pending(callbacks) = &mut state.outcome {
            callbacks.reserve_exact(usize::from(callbacks.is_empty()));
            callbacks.push(Callback::Call(id, Box::new(callback)));
        } else {
            drop(state);
            self.call_soon(Box::new(callback));
        }
        id
    }
}

// ANCHOR: poll
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
                Poll::Ready(take(outcome).unwrap_or(Err(InvalidState::Taken.into())))
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
// ANCHOR_END: poll

/// Only a result can be used up: how a future failed stays known.
fn take<T>(outcome: &mut Option<Result<T, Exception>>) -> Option<Result<T, Exception>> {
    match outcome {
        Some(Err(exception)) => Some(Err(exception.clone())),
        _ => outcome.take(),
    }
}

impl<T> Clone for Future<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}
