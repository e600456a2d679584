//! Exceptions: the outcomes of futures and tasks that have no result.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::rc::Rc;

/// The reason why a future or a task has no result. It is cheap to clone, so
/// that everybody who waits can have a copy.
#[derive(Clone, Debug)]
pub enum Exception {
    /// The future or task was cancelled.
    Cancelled,
    /// The future or task was not done in time.
    TimedOut,
    /// The coroutine panicked, with this message.
    Panicked(Rc<String>),
    /// An error of your own.
    Raised(Rc<Box<dyn Error>>),
    /// The operation is not valid in the state of the future, or in this loop.
    InvalidState(InvalidState),
    /// Tasks wait for each other in a circle, and nothing would ever resume them.
    /// Their names, as text.
    Circle(Rc<String>),
}

/// An operation that is not valid in the state of the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidState {
    /// The future has no result yet.
    Pending,
    /// The future has a result or an exception already, which stays.
    Done,
    /// The result has been moved out already.
    Taken,
    /// A task awaits itself, so it would wait forever.
    AwaitsItself,
    /// The future belongs to another loop, which does not run on this thread.
    OtherLoop,
}

impl Exception {
    /// Returns the exception for a caught panic, with its message if that is text.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(Rc::new(text.unwrap_or("no message").to_owned()))
    }

    /// Returns true if the future or task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::TimedOut => f.write_str("timed out"),
            Self::Panicked(message) => write!(f, "panicked: {message}"),
            Self::Raised(error) => error.fmt(f),
            Self::InvalidState(state) => state.fmt(f),
            Self::Circle(names) => write!(f, "these tasks wait for each other: {names}"),
        }
    }
}

impl fmt::Display for InvalidState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "the result is not there yet",
            Self::Done => "there is a result already",
            Self::Taken => "the result was taken already",
            Self::AwaitsItself => "a task cannot await itself",
            Self::OtherLoop => "the future belongs to another loop",
        })
    }
}

impl Error for Exception {}

impl Error for InvalidState {}

impl From<InvalidState> for Exception {
    fn from(state: InvalidState) -> Self {
        Self::InvalidState(state)
    }
}

/// An error of your own stays on the thread of its loop: only its text goes on.
impl From<Exception> for io::Error {
    fn from(exception: Exception) -> Self {
        let kind = match exception {
            Exception::TimedOut => ErrorKind::TimedOut,
            _ => ErrorKind::Other,
        };
        Self::new(kind, exception.to_string())
    }
}
