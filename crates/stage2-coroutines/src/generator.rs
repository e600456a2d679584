//! Generators as in Python: coroutines by hand, a digression.
//!
//! The chapter explains Python's generators, the base of its coroutines. A
//! generator is a function that can be suspended in the middle and resumed
//! later, because its frame is an object of its own that remembers the last
//! instruction. Stable Rust has no `yield`. This module shows what a function
//! with `yield` would be compiled to: a value whose fields are the frame and
//! whose variant is the resume point.
//!
//! * [`GenFn`] and [`CallerFn`] are the chapter's two functions, written as a
//!   compiler would write them.
//! * [`delegate`] is `yield from`.
//! * [`gen_fn`] and [`caller_fn`] are the same two functions as `async fn`s,
//!   which the compiler turns into such values; [`AsyncGenerator`] resumes them.
//!
//! Such a value is wherever its owner puts it. Python's frames are always on
//! the heap. Here that takes a `Box`, with the same effect as in Python: the
//! frame stays when the function that made it has returned.
//!
//! The names are those of `std::ops::Coroutine`, which is not stable yet. The
//! trait is called [`Generator`] here, since [`crate::Coroutine`] is the value
//! that an `async fn` returns.

mod as_async_fn;
mod state_machine;

use std::error::Error;
use std::ops::ControlFlow;

pub use as_async_fn::{AsyncGenerator, Channel, Yield, caller_fn, gen_fn};
pub use state_machine::{CallerFn, CallerFnFrame, GenFn, GenFnFrame};

// ANCHOR: generator
// ANCHOR: coroutine_state
/// The result of resuming a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoroutineState<Y, R> {
    /// The generator has yielded this value and can be resumed.
    Yielded(Y),
    /// The generator has returned this value: Python's `StopIteration`.
    Complete(R),
}
// ANCHOR_END: coroutine_state

// ANCHOR: sent
/// An error thrown into a generator at the place where it is suspended, or
/// raised by it.
pub type Thrown = Box<dyn Error>;

/// The value of a `yield`, as the generator sees it: the value that was sent, if
/// any, or the error that was thrown. In the generator, `?` raises the error.
pub type Sent<I> = Result<Option<I>, Thrown>;

/// The result of a step, as the caller of a generator sees it: a value, or an
/// error that the generator raised.
pub type Step<Y, R> = Result<CoroutineState<Y, R>, Thrown>;
// ANCHOR_END: sent

// ANCHOR: trait
/// A function that can be suspended in the middle. Closing a generator is
/// dropping it: that drops the local variables that are alive.
pub trait Generator {
    /// The type of the values that are sent to it.
    type Input;
    /// The type of the values that it yields.
    type Yield;
    /// The type of its return value.
    type Return;

    /// Runs from the place where it is suspended to the next `yield` or the end.
    /// This is the body of the function; [`Generator::resume`] and
    /// [`Generator::throw`] are two ways to call it.
    ///
    /// # Errors
    /// The error that the generator raises.
    ///
    /// # Panics
    /// When it has ended, and is sent anything but an error.
    fn advance(&mut self, sent: Sent<Self::Input>) -> Step<Self::Yield, Self::Return>;

    /// Returns the resume point: [`NOT_BEGUN`], or the number of the `yield` at which
    /// it is suspended; `None` when it has ended. Python has `f_lasti` for this, the
    /// last instruction, which was -1 before the first one up to 3.10.
    fn last_yield(&self) -> Option<i32>;
    // ANCHOR_END: trait

    // ANCHOR: resume
    /// Resumes it at the last `yield`, whose value is `sent`: Python's `send`.
    ///
    /// # Errors
    /// The error that the generator raises. [`NotBegun`] when it has not reached
    /// a `yield` that could receive `sent`; then it stays as it is.
    ///
    /// # Panics
    /// When it has ended.
    fn resume(&mut self, sent: Option<Self::Input>) -> Step<Self::Yield, Self::Return> {
        if sent.is_some() && self.last_yield() == Some(NOT_BEGUN) {
            return Err(NotBegun.into());
        }
        self.advance(Ok(sent))
    }

    /// Resumes it at the last `yield`, which raises `error`. A generator that
    /// does not catch the error ends with it.
    ///
    /// # Errors
    /// The error that the generator raises, usually `error` itself.
    fn throw(&mut self, error: Thrown) -> Step<Self::Yield, Self::Return> {
        self.advance(Err(error))
    }
    // ANCHOR_END: resume
}
// ANCHOR_END: generator

/// The value of [`Generator::last_yield`] before the first instruction.
pub const NOT_BEGUN: i32 = -1;

/// The error for a value that is sent to a generator before its first `yield`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a generator that has not begun can only be sent nothing")]
pub struct NotBegun;

// ANCHOR: delegate
/// Delegates to an inner generator: Python's `yield from`. A value that was sent
/// to the outer generator, or an error that was thrown into it, goes to the
/// inner one. The result tells the outer generator what to do:
///
/// * `Break`: yield this value, and stay at this place;
/// * `Continue`: the inner generator has ended, and this is the value of the
///   `yield from` expression. An error in it can be raised with `?` or caught
///   with `match`.
pub fn delegate<G: Generator>(
    inner: &mut G,
    sent: Sent<G::Input>,
) -> ControlFlow<G::Yield, Result<G::Return, Thrown>> {
    match inner.advance(sent) {
        Ok(CoroutineState::Yielded(value)) => ControlFlow::Break(value),
        Ok(CoroutineState::Complete(value)) => ControlFlow::Continue(Ok(value)),
        Err(error) => ControlFlow::Continue(Err(error)),
    }
}
// ANCHOR_END: delegate

const ENDED: &str = "resumed after it had ended";
