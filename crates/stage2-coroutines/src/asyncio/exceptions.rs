//! Exceptions: the outcomes of futures and tasks that have no result.

use std::any::Any;
use std::error::Error;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;

use crate::Coroutine;

/// The reason why a future or a task has no result. It is cheap to clone, so
/// that every waiter can have a copy.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Exception {
    /// The future or task was cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The future or task was not done in time.
    #[error("timed out")]
    TimedOut,
    /// The coroutine panicked, with this message.
    #[error("panicked: {0}")]
    Panicked(Rc<String>),
    /// The error that was passed to [`crate::Future::set_exception`], or with
    /// which the coroutine of [`crate::Task::try_spawn`] ended.
    #[error("{0}")]
    Raised(Rc<Box<dyn Error>>),
    /// The operation is not valid in the state of the future, or in this loop.
    #[error(transparent)]
    InvalidState(#[from] InvalidState),
    /// Tasks wait for each other in a circle; their names, as text. None of them
    /// would ever be resumed.
    #[error("these tasks wait for each other: {0}")]
    Circle(Rc<String>),
}

impl Exception {
    /// Returns an exception that carries an error of your own. An error that is
    /// an exception already, or [`Elapsed`], is that exception.
    pub fn raised(error: impl Into<Box<dyn Error>>) -> Self {
        let error = match error.into().downcast::<Self>() {
            Ok(exception) => return *exception,
            Err(error) => error,
        };
        if error.is::<Elapsed>() {
            return Self::TimedOut;
        }
        Self::Raised(Rc::new(error))
    }

    /// Returns the exception for a caught panic, with its message if that is
    /// text.
    pub fn panicked(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::Panicked(Rc::new(text.unwrap_or("no message").to_owned()))
    }

    /// Calls `f`, and returns its panic as an exception.
    pub(crate) fn caught<R>(f: impl FnOnce() -> R) -> Result<R, Self> {
        catch_unwind(AssertUnwindSafe(f)).map_err(|panic| Self::panicked(&*panic))
    }

    /// Returns true if the future or task was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Cancelled)
    }
}

/// The error of [`crate::timeout_at`]: the deadline has passed. It converts into
/// the other errors that stand for a timeout, [`Exception::TimedOut`] and
/// [`ErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timed out")]
pub struct Elapsed;

impl From<Elapsed> for Exception {
    fn from(Elapsed: Elapsed) -> Self {
        Self::TimedOut
    }
}

/// Keeps the kind of a timeout: [`ErrorKind::TimedOut`].
impl From<Exception> for io::Error {
    fn from(exception: Exception) -> Self {
        match exception {
            Exception::TimedOut => Elapsed.into(),
            // The error of the exception stays on the thread of its loop.
            other => Self::other(other.to_string()),
        }
    }
}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(ErrorKind::TimedOut, elapsed)
    }
}

/// An operation that is not valid in the state of the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidState {
    /// The future has no result yet.
    #[error("the result is not there yet")]
    Pending,
    /// The future has a result or an exception already, which stays.
    #[error("there is a result already")]
    Done,
    /// The result has been moved out already.
    #[error("the result was taken already")]
    Taken,
    /// A task awaits itself: it would wait for ever.
    #[error("a task cannot await itself")]
    AwaitsItself,
    /// The future is that of a task: its result is what its coroutine returns.
    #[error("the result of a task is what its coroutine returns")]
    IsTask,
    /// The future belongs to another loop, which does not run on this thread.
    #[error("the future belongs to another loop")]
    OtherLoop,
}

// ANCHOR: catch
/// Runs a coroutine and returns its panic as an error.
pub fn catch<T>(
    mut coroutine: Pin<&mut impl Coroutine<Output = T>>,
) -> impl Coroutine<Output = Result<T, Exception>> {
    poll_fn(move |context| {
        let caught = Exception::caught(|| coroutine.as_mut().poll(context));
        match caught {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    })
}
// ANCHOR_END: catch
