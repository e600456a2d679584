//! The rest of the interface of asyncio's futures: outcome, cancellation,
//! removal of callbacks, and the report of exceptions that were never retrieved.

use std::error::Error;
use std::rc::Rc;

use selector_core::Key;

use super::{Callback, CallbackId, Future, Outcome, State};
use crate::{EventLoop, Exception, InvalidState, LoopError};

impl<T: 'static> Future<T> {
    pub(crate) fn set_task(&self, task: Key) {
        self.0.borrow_mut().task = Some(task);
    }

    pub(crate) fn task(&self) -> Option<Key> {
        self.0.borrow().task
    }

    /// Returns true if the two handles stand for the same future.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the loop that the future belongs to.
    pub fn event_loop(&self) -> EventLoop {
        self.0.borrow().event_loop.clone()
    }

    /// Returns true if it was cancelled.
    pub fn cancelled(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(Some(Err(Exception::Cancelled))))
    }

    /// Returns true if it has an exception or was cancelled. The exception does
    /// not count as retrieved.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(self.0.borrow().outcome, Outcome::Done(Some(Err(_))))
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
            drop(self.event_loop().0.scheduler.remove_task(task));
        }
        true
    }
    // ANCHOR_END: cancel

    /// Returns a copy of the result.
    ///
    /// # Errors
    /// The exception of the future, if it has one; [`InvalidState`] if it is
    /// pending or the result was moved out.
    pub fn result(&self) -> Result<T, Exception>
    where
        T: Clone,
    {
        if let Some(exception) = self.exception()? {
            return Err(exception);
        }
        match &self.0.borrow().outcome {
            Outcome::Done(Some(Ok(result))) => Ok(result.clone()),
            _ => Err(InvalidState::Taken.into()),
        }
    }

    /// Returns the exception, if the future ended with one.
    ///
    /// # Errors
    /// [`Exception::Cancelled`] if it was cancelled, [`InvalidState`] if it is
    /// pending.
    pub fn exception(&self) -> Result<Option<Exception>, Exception> {
        let mut state = self.0.borrow_mut();
        // A pending future has no outcome to be retrieved.
        state.retrieved = matches!(state.outcome, Outcome::Done(_));
        match &state.outcome {
            Outcome::Pending(_) => Err(InvalidState::Pending.into()),
            Outcome::Done(Some(Err(Exception::Cancelled))) => Err(Exception::Cancelled),
            Outcome::Done(Some(Err(exception))) => Ok(Some(exception.clone())),
            Outcome::Done(_) => Ok(None),
        }
    }

    /// Resolves the future with an error of your own.
    ///
    /// # Errors
    /// When it is done already; `error` is dropped.
    pub fn set_exception(&self, error: impl Into<Box<dyn Error>>) -> Result<(), InvalidState> {
        self.finish(Err(Exception::raised(error)))
    }

    /// Removes a callback and returns the number of removed ones: one, or zero
    /// if it was called or is about to be.
    pub fn remove_done_callback(&self, id: CallbackId) -> usize {
        let mut state = self.0.borrow_mut();
        let Outcome::Pending(callbacks) = &mut state.outcome else { return 0 };
        let is_it = |callback: &Callback<T>| matches!(callback, Callback::Call(i, _) if *i == id);
        let removed: Vec<_> = callbacks.extract_if(.., |callback| is_it(callback)).collect();
        drop(state);
        removed.len()
    }
}

/// Reports an exception that was never retrieved to the exception handler.
impl<T> Drop for State<T> {
    fn drop(&mut self) {
        if let Outcome::Done(Some(Err(exception))) = &self.outcome
            && !self.retrieved
            && !exception.is_cancelled()
        {
            let error = LoopError::ExceptionNeverRetrieved(exception.clone());
            self.event_loop.0.inspector.report(&error);
        }
    }
}
