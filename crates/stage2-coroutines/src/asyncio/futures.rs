//! The rest of the interface of asyncio's futures: outcome, shared results, removal
//! of callbacks, and the report of exceptions that were never retrieved.

use std::error::Error;
use std::rc::Rc;

use crate::runtime::future::{Callback, Outcome, State};
use crate::{CallbackId, EventLoop, Exception, Future, InvalidState, LoopError};

impl<T: 'static> Future<T> {
    /// Returns the loop that the future belongs to.
    pub fn event_loop(&self) -> EventLoop {
        self.0.borrow().event_loop.clone()
    }

    /// Resolves the future, unless it is that of a task.
    pub(crate) fn resolve(&self, outcome: Result<T, Exception>) -> Result<(), InvalidState> {
        if self.task().is_some() {
            return Err(InvalidState::IsTask);
        }
        self.finish(outcome)
    }

    /// Returns true if the two handles stand for the same future.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
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

    /// Returns this future, whose result is shared from now on: every `.await`
    /// gets a copy. It may be shared before it is done.
    #[must_use = "all handles are shared; this one is returned for the `.await`"]
    pub fn shared(self) -> Self
    where
        T: Clone,
    {
        self.0.borrow_mut().copy = Some(T::clone);
        self
    }

    /// Returns a function that returns a handle as long as there is another one.
    pub(crate) fn downgrade(&self) -> impl Fn() -> Option<Self> + use<T> {
        let weak = Rc::downgrade(&self.0);
        move || weak.upgrade().map(Self)
    }

    /// Returns a number that no other future has as long as this one exists.
    pub(crate) fn address(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

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
        let moves = self.0.borrow_mut().copy.replace(T::clone).is_none();
        let result = self.take_result().unwrap_or(Err(InvalidState::Taken.into()));
        if moves {
            self.0.borrow_mut().copy = None;
        }
        result
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
    /// When it is done already, or the future of a task; `error` is dropped.
    pub fn set_exception(&self, error: impl Into<Box<dyn Error>>) -> Result<(), InvalidState> {
        self.resolve(Err(Exception::raised(error)))
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

impl<T> State<T> {
    /// Subtracts the wakers among `callbacks` from those that are stored in futures.
    pub(crate) fn forget_wakers(&self, callbacks: &[Callback<T>]) {
        let wakers = callbacks.iter().filter(|callback| matches!(callback, Callback::Wake(_)));
        let (wakers, stored) = (wakers.count(), &self.event_loop.0.inspector.local_wakers);
        debug_assert!(
            wakers <= stored.get(),
            "a waker was stored, and not counted in local_wakers"
        );
        stored.update(|stored| stored - wakers);
    }
}

/// Reports an exception that was never retrieved to the exception handler.
impl<T> Drop for State<T> {
    fn drop(&mut self) {
        match &self.outcome {
            Outcome::Done(Some(Err(exception))) if !self.retrieved && !exception.is_cancelled() => {
                let error = LoopError::ExceptionNeverRetrieved(exception.clone());
                self.event_loop.0.inspector.report(&error);
            }
            Outcome::Pending(callbacks) => self.forget_wakers(callbacks),
            Outcome::Done(_) => {}
        }
    }
}
