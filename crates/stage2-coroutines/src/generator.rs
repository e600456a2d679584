//! A digression: coroutines by hand.
//!
//! The chapter explains Python's generators, on which its coroutines rest: a
//! function that can be left in the middle and gone on with later, because its
//! frame is an object of its own and remembers the last instruction. Rust's
//! stable language has no `yield`, so here is what one would be compiled to: a
//! value whose fields are the frame and whose variant is the resume point.
//!
//! * [`GenFn`] and [`CallerFn`] are the chapter's two functions, written as a
//!   compiler would.
//! * [`delegate`] is `yield from`.
//! * [`gen_fn`] and [`caller_fn`] are the same two as `async fn`s, which a
//!   compiler has in fact written so; [`AsyncGenerator`] resumes them.
//!
//! Such a value lies wherever its owner puts it. Python's frames always lie on
//! the heap; here that takes a `Box`, and buys what it does there: the frame
//! stays when the function that made it has returned.
//!
//! The names are those of `std::ops::Coroutine`, which is not stable yet; the
//! trait goes by [`Generator`], since [`crate::Coroutine`] is what an
//! `async fn` returns.

mod as_async_fn;
mod state_machine;

use std::error::Error;
use std::ops::ControlFlow;

pub use as_async_fn::{AsyncGenerator, Channel, Yield, caller_fn, gen_fn};
pub use state_machine::{CallerFn, CallerFnFrame, GenFn, GenFnFrame};

// ANCHOR: generator
// ANCHOR: coroutine_state
/// What a generator says when it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoroutineState<Y, R> {
    /// It has yielded this and can be resumed.
    Yielded(Y),
    /// It has returned this: Python's `StopIteration`, with its value.
    Complete(R),
}
// ANCHOR_END: coroutine_state

// ANCHOR: sent
/// An error thrown into a generator at the place where it is suspended, or
/// raised by it.
pub type Thrown = Box<dyn Error>;

/// What comes out of a `yield`, inside: what was sent, if anything was, or the
/// error that was thrown. Inside, `?` raises it.
pub type Sent<I> = Result<Option<I>, Thrown>;

/// What comes out of a generator, outside.
pub type Resumed<Y, R> = Result<CoroutineState<Y, R>, Thrown>;
// ANCHOR_END: sent

// ANCHOR: trait
/// A function that can be left in the middle. Closing one is dropping it:
/// its destructor runs those of the local variables that are alive.
pub trait Generator {
    /// What it is sent.
    type Input;
    /// What it yields.
    type Yield;
    /// What it returns.
    type Return;

    /// Goes on from where it is suspended, to the next `yield` or the end. The
    /// body of the function, seen from outside; [`Generator::resume`] and
    /// [`Generator::throw`] are two ways of calling it.
    ///
    /// # Errors
    /// What the generator raises.
    ///
    /// # Panics
    /// When it has ended, and is sent anything but an error.
    fn go_on(&mut self, sent: Sent<Self::Input>) -> Resumed<Self::Yield, Self::Return>;

    /// Where it stands, as Python's `f_lasti` tells: [`NOT_BEGUN`], or else the
    /// number of the `yield` at which it is suspended; `None` when it has
    /// ended.
    fn last_yield(&self) -> Option<i32>;

    /// Goes on from the last `yield`, which gives `input`: Python's `send`.
    ///
    /// # Errors
    /// What the generator raises. [`NotBegun`] when there is no `yield` yet for
    /// `input` to come out of; then it stays as it is.
    ///
    /// # Panics
    /// When it has ended.
    fn resume(&mut self, input: Option<Self::Input>) -> Resumed<Self::Yield, Self::Return> {
        if input.is_some() && self.last_yield() == Some(NOT_BEGUN) {
            return Err(NotBegun.into());
        }
        self.go_on(Ok(input))
    }

    /// Goes on from the last `yield`, which raises `error`. A generator that
    /// does not catch it ends with it.
    ///
    /// # Errors
    /// What the generator raises, usually `error` itself.
    fn throw(&mut self, error: Thrown) -> Resumed<Self::Yield, Self::Return> {
        self.go_on(Err(error))
    }
}
// ANCHOR_END: trait
// ANCHOR_END: generator

/// What [`Generator::last_yield`] says before the first instruction.
pub const NOT_BEGUN: i32 = -1;

/// A generator that has not begun was sent a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a generator that has not begun can only be sent nothing")]
pub struct NotBegun;

// ANCHOR: delegate
/// `yield from`: a channel without friction between whoever resumes the outer
/// generator and the inner one. What was sent or thrown goes in. What comes
/// out is for the outer one to obey:
///
/// * `Break`: yield this in your turn, and stay where you are;
/// * `Continue`: the inner one has ended, and this is the value of the
///   expression. Whether an error in it is raised with `?` or caught with
///   `match` is your business.
pub fn delegate<G: Generator>(
    inner: &mut G,
    sent: Sent<G::Input>,
) -> ControlFlow<G::Yield, Result<G::Return, Thrown>> {
    match inner.go_on(sent) {
        Ok(CoroutineState::Yielded(value)) => ControlFlow::Break(value),
        Ok(CoroutineState::Complete(value)) => ControlFlow::Continue(Ok(value)),
        Err(error) => ControlFlow::Continue(Err(error)),
    }
}
// ANCHOR_END: delegate

const ENDED: &str = "resumed after it had ended";
