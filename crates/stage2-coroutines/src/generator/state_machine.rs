//! The chapter's two generators as state machines, as a compiler would write
//! them.

use std::fmt::Display;
use std::mem;
use std::ops::ControlFlow;

use super::{CoroutineState, ENDED, Generator, NOT_BEGUN, Sent, Step, delegate};

// ANCHOR: gen_fn
// ANCHOR: gen_fn_frame
/// The chapter's `gen_fn`. If Rust had `yield`, it would read:
///
/// ```text
/// let result = (yield 1)?;
/// print("the first yield gave ...");
/// let result2 = (yield 2)?;
/// print("the second yield gave ...");
/// return "done";
/// ```
///
/// It prints through `print`, since a library prints nothing itself.
pub struct GenFn<T, P> {
    print: P,
    frame: GenFnFrame<T>,
}

/// The frame of a [`GenFn`]: the resume point, and the local variables that are
/// alive there.
#[derive(Debug)]
pub enum GenFnFrame<T> {
    /// Not begun.
    Start,
    /// Suspended at the first `yield`.
    First,
    /// Suspended at the second `yield`.
    Second {
        /// The value of the first `yield`.
        result: Option<T>,
    },
    /// Returned, or raised an error.
    Ended,
}
// ANCHOR_END: gen_fn_frame

impl<T: Display, P: Fn(String)> Generator for GenFn<T, P> {
    type Input = T;
    type Yield = i32;
    type Return = &'static str;

    // ANCHOR: gen_fn_advance
    fn advance(&mut self, sent: Sent<T>) -> Step<i32, &'static str> {
        // Until it is suspended again the function is running. If it raises an
        // error now, it has ended.
        match mem::replace(&mut self.frame, GenFnFrame::Ended) {
            GenFnFrame::Start => {
                sent?;
                self.frame = GenFnFrame::First;
                Ok(CoroutineState::Yielded(1))
            }
            GenFnFrame::First => {
                let result = sent?;
                (self.print)(format!("the first yield gave {}", text(result.as_ref())));
                self.frame = GenFnFrame::Second { result };
                Ok(CoroutineState::Yielded(2))
            }
            GenFnFrame::Second { result: _alive_to_the_end } => {
                let result2 = sent?;
                let gave = text(result2.as_ref());
                (self.print)(format!("the second yield gave {gave}"));
                Ok(CoroutineState::Complete("done"))
            }
            GenFnFrame::Ended => {
                sent?;
                panic!("{ENDED}")
            }
        }
    }
    // ANCHOR_END: gen_fn_advance

    fn last_yield(&self) -> Option<i32> {
        match self.frame {
            GenFnFrame::Start => Some(NOT_BEGUN),
            GenFnFrame::First => Some(1),
            GenFnFrame::Second { .. } => Some(2),
            GenFnFrame::Ended => None,
        }
    }
}
// ANCHOR_END: gen_fn

impl<T, P> GenFn<T, P> {
    /// Calls the function. The call runs nothing of it, but makes a frame whose
    /// resume point is the start.
    pub fn new(print: P) -> Self {
        Self { print, frame: GenFnFrame::Start }
    }

    /// Returns the frame: Python's `gi_frame`, with `f_lasti` and `f_locals` in
    /// one.
    pub fn frame(&self) -> &GenFnFrame<T> {
        &self.frame
    }
}

/// Returns the text that Python prints for a value that may be `None`.
pub(super) fn text<T: Display>(value: Option<&T>) -> String {
    value.map_or_else(|| "None".to_owned(), T::to_string)
}

// ANCHOR: caller_fn
/// The chapter's `caller_fn`. If Rust had `yield from`, it would read:
///
/// ```text
/// let generator = gen_fn();
/// let rv = (yield from generator)?;
/// print("gen_fn returned ...");
/// ```
pub struct CallerFn<T, P> {
    print: P,
    frame: CallerFnFrame<T, P>,
}

// ANCHOR: caller_fn_frame
/// The frame of a [`CallerFn`]. The inner generator is one of its local
/// variables: the frame of one coroutine contains the frame of the next, with no
/// pointer between them.
pub enum CallerFnFrame<T, P> {
    /// Not begun.
    Start,
    /// Suspended at the `yield from`, at whichever `yield` the inner generator
    /// is.
    Delegating {
        /// The inner generator.
        generator: GenFn<T, P>,
    },
    /// Returned, or raised an error.
    Ended,
}
// ANCHOR_END: caller_fn_frame

impl<T: Display, P: Fn(String) + Clone> Generator for CallerFn<T, P> {
    type Input = T;
    type Yield = i32;
    type Return = ();

    // ANCHOR: caller_fn_advance
    fn advance(&mut self, mut sent: Sent<T>) -> Step<i32, ()> {
        let mut generator = match mem::replace(&mut self.frame, CallerFnFrame::Ended) {
            CallerFnFrame::Start => {
                sent?;
                // The inner generator has not begun, so no value is sent to it.
                sent = Ok(None);
                GenFn::new(self.print.clone())
            }
            CallerFnFrame::Delegating { generator } => generator,
            CallerFnFrame::Ended => {
                sent?;
                panic!("{ENDED}")
            }
        };
        match delegate(&mut generator, sent) {
            ControlFlow::Break(value) => {
                self.frame = CallerFnFrame::Delegating { generator };
                Ok(CoroutineState::Yielded(value))
            }
            ControlFlow::Continue(result) => {
                let rv = result?;
                (self.print)(format!("gen_fn returned {rv}"));
                Ok(CoroutineState::Complete(()))
            }
        }
    }
    // ANCHOR_END: caller_fn_advance

    fn last_yield(&self) -> Option<i32> {
        match self.frame {
            CallerFnFrame::Start => Some(NOT_BEGUN),
            CallerFnFrame::Delegating { .. } => Some(1),
            CallerFnFrame::Ended => None,
        }
    }
}
// ANCHOR_END: caller_fn

impl<T, P> CallerFn<T, P> {
    /// Calls the function, as [`GenFn::new`] does.
    pub fn new(print: P) -> Self {
        Self { print, frame: CallerFnFrame::Start }
    }

    /// Returns the frame: Python's `gi_frame`.
    pub fn frame(&self) -> &CallerFnFrame<T, P> {
        &self.frame
    }
}
