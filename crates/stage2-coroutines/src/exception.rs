//! What takes the place of a result.

use std::any::Any;
use std::error::Error;
use std::rc::Rc;

/// Why a future or a task has no result for you. Cheap to clone: like a
/// result, it may be looked at by many.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Exception {
    /// Somebody cancelled it.
    #[error("cancelled")]
    Cancelled,
    /// It was not done in time.
    #[error("timed out")]
    TimedOut,
    /// The coroutine panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(Rc<String>),
    /// Somebody called [`crate::Future::set_exception`].
    #[error("{0}")]
    Raised(Rc<Box<dyn Error>>),
    /// It was asked at the wrong time, or in the wrong place.
    #[error(transparent)]
    InvalidState(#[from] InvalidState),
}

impl Exception {
    /// An exception with an error of your own.
    pub fn raised(error: impl Into<Box<dyn Error>>) -> Self {
        Self::Raised(Rc::new(error.into()))
    }

    /// What a caught panic said, as far as it was text.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(Rc::new(text.unwrap_or("no message").to_owned()))
    }

    /// Whether somebody cancelled it.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

/// What cannot be asked of a future in the state in which it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidState {
    /// It has no result yet.
    #[error("the result is not there yet")]
    Pending,
    /// It has a result, or is cancelled, and keeps to that.
    #[error("there is a result already")]
    Done,
    /// The result has been moved to somebody else.
    #[error("the result was taken already")]
    Taken,
    /// A task awaits itself: it would wait for ever.
    #[error("a task cannot await itself")]
    AwaitsItself,
    /// The future belongs to another loop, whose turn never comes.
    #[error("the future belongs to another loop")]
    OtherLoop,
}
