//! The chapter's generator functions as a compiler would write them.

use std::fmt::Display;
use std::mem;
use std::ops::ControlFlow;

use super::{CoroutineState, ENDED, Generator, NOT_BEGUN, Resumed, Sent, delegate};

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
/// What it prints goes to `print`, since a library prints nothing.
pub struct GenFn<T, P> {
    print: P,
    frame: GenFnFrame<T>,
}

/// The frame of a [`GenFn`]: where it stands, and the local variables that are
/// alive there.
#[derive(Debug)]
pub enum GenFnFrame<T> {
    /// Not begun.
    Start,
    /// Suspended at the first `yield`.
    First,
    /// Suspended at the second.
    Second {
        /// What the first one gave.
        result: Option<T>,
    },
    /// It has returned or raised.
    Ended,
}
// ANCHOR_END: gen_fn_frame

impl<T: Display, P: Fn(String)> Generator for GenFn<T, P> {
    type Input = T;
    type Yield = i32;
    type Return = &'static str;

    // ANCHOR: gen_fn_go_on
    fn go_on(&mut self, sent: Sent<T>) -> Resumed<i32, &'static str> {
        // Until it is suspended again, the function is running: if an error
        // leaves it now, it has ended.
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
                (self.print)(format!("the second yield gave {}", text(result2.as_ref())));
                Ok(CoroutineState::Complete("done"))
            }
            GenFnFrame::Ended => {
                sent?;
                panic!("{ENDED}")
            }
        }
    }
    // ANCHOR_END: gen_fn_go_on

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
    /// Calls the function, which runs nothing of it: there is a frame now, and
    /// it stands at its start.
    pub fn new(print: P) -> Self {
        Self { print, frame: GenFnFrame::Start }
    }

    /// The frame: Python's `gi_frame`, with `f_lasti` and `f_locals` in one.
    pub fn frame(&self) -> &GenFnFrame<T> {
        &self.frame
    }
}

/// What Python prints of a value that may be `None`.
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
/// The frame of a [`CallerFn`]. The one it delegates to is one of its local
/// variables: frames of coroutines lie in each other, and no pointer leads from
/// one to the next.
pub enum CallerFnFrame<T, P> {
    /// Not begun.
    Start,
    /// Suspended at the `yield from`, wherever in there the inner one stands.
    Delegating {
        /// The inner one.
        generator: GenFn<T, P>,
    },
    /// It has returned or raised.
    Ended,
}
// ANCHOR_END: caller_fn_frame

impl<T: Display, P: Fn(String) + Clone> Generator for CallerFn<T, P> {
    type Input = T;
    type Yield = i32;
    type Return = ();

    // ANCHOR: caller_fn_go_on
    fn go_on(&mut self, mut sent: Sent<T>) -> Resumed<i32, ()> {
        let mut generator = match mem::replace(&mut self.frame, CallerFnFrame::Ended) {
            CallerFnFrame::Start => {
                sent?;
                // The inner one has not begun, and is sent nothing to begin.
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
    // ANCHOR_END: caller_fn_go_on

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
    /// Calls the function: see [`GenFn::new`].
    pub fn new(print: P) -> Self {
        Self { print, frame: CallerFnFrame::Start }
    }

    /// The frame: Python's `gi_frame`.
    pub fn frame(&self) -> &CallerFnFrame<T, P> {
        &self.frame
    }
}
