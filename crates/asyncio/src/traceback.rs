//! Tracebacks across coroutines: the chain of `.await`s from the outermost
//! coroutine to the one that failed.
//!
//! While a task takes a step, its coroutines are on the machine's stack like
//! any functions that call each other, and a backtrace names them all. But an
//! error is a value that is returned through one `.await` after another, and
//! when it is printed that stack is gone. So the error itself records every
//! place that it passes. As long as there is no error, this costs nothing.
//!
//! ```
//! use asyncio::traceback::{Traced, TracedIn};
//!
//! async fn parse(text: &str) -> Result<i32, Traced<std::num::ParseIntError>> {
//!     text.parse().map_err(|error| Traced::raised_in("parse", error))
//! }
//!
//! async fn sum() -> Result<i32, Traced<std::num::ParseIntError>> {
//!     let one = parse("1").await.traced_in("sum")?;
//!     let two = parse("two").await.traced_in("sum")?; // this line
//!     Ok(one + two)
//! }
//! # let runtime = stage2_coroutines::system_runtime()?;
//! # let traced = runtime.run_until_complete(sum())?.unwrap_err();
//! # let functions: Vec<_> = traced.frames().map(|frame| frame.function.unwrap()).collect();
//! # assert_eq!(functions, ["sum", "parse"]);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::error::Error;
use std::fmt;
use std::panic::Location;

/// A place that an error has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function; `None` if `?` has made the traced error.
    pub function: Option<&'static str>,
    /// The place in the code.
    pub at: &'static Location<'static>,
}

/// An error with the places it has passed. Every call of
/// [`TracedIn::traced_in`] adds one [`Frame`].
///
/// `?` converts an ordinary error into a traced one, and records the line of
/// the `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced<E> {
    /// The error itself, for a `match`.
    pub error: E,
    /// The places in the order in which they were passed, the innermost first.
    frames: Vec<Frame>,
}

impl<E> Traced<E> {
    /// Returns an error that is raised at this line, in the given function.
    #[track_caller]
    pub fn raised_in(function: &'static str, error: E) -> Self {
        let at = Location::caller();
        Self { error, frames: vec![Frame { function: Some(function), at }] }
    }

    /// Returns the places from the outermost to the innermost.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().rev()
    }
}

impl<E> From<E> for Traced<E> {
    #[track_caller]
    fn from(error: E) -> Self {
        Self { error, frames: vec![Frame { function: None, at: Location::caller() }] }
    }
}

/// An extension of `Result` for the value that a coroutine gets from an
/// `.await` or a call.
pub trait TracedIn {
    /// Adds this line, in the given function, to the places that the error has
    /// passed. A value without error is returned as it is.
    #[must_use]
    fn traced_in(self, function: &'static str) -> Self;
}

// ANCHOR: traced_in
impl<T, E> TracedIn for Result<T, Traced<E>> {
    #[track_caller]
    fn traced_in(mut self, function: &'static str) -> Self {
        if let Err(traced) = &mut self {
            // Not in a closure: its caller would be the closure itself.
            let at = Location::caller();
            traced.frames.push(Frame { function: Some(function), at });
        }
        self
    }
}
// ANCHOR_END: traced_in

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.at.file(), self.at.line())?;
        self.function.map_or(Ok(()), |function| write!(f, ", in {function}"))
    }
}

/// Prints the outermost place first and the error itself last, as Python does.
impl<E: fmt::Display> fmt::Display for Traced<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "traceback, innermost last:")?;
        for frame in self.frames() {
            writeln!(f, "  {frame}")?;
        }
        write!(f, "{}", self.error)
    }
}

impl<E: Error> Error for Traced<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}
