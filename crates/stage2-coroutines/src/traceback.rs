//! Which coroutine awaited which, down to the one that failed.
//!
//! While a task takes a step, its coroutines lie on the machine's stack like
//! any functions that call each other, and a backtrace names them all. But an
//! error is a value that is handed up one `.await` at a time, and by the time
//! anybody looks at it the stack is gone. So the error itself takes a note of
//! every place it passes, which costs nothing as long as there is none.
//!
//! ```
//! use stage2_coroutines::traceback::{Traced, TracedIn};
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
//! # let event_loop = stage2_coroutines::EventLoop::new()?;
//! # let traced = event_loop.run_until_complete(sum())?.unwrap_err();
//! # let functions: Vec<_> = traced.frames().map(|frame| frame.what.unwrap()).collect();
//! # assert_eq!(functions, ["sum", "parse"]);
//! # Ok::<(), std::io::Error>(())
//! ```

use std::error::Error;
use std::fmt;
use std::panic::Location;

/// A place that an error has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// In which function; not known of an error that `?` has made a traced one.
    pub what: Option<&'static str>,
    /// Where in the code.
    pub at: &'static Location<'static>,
}

/// An error, and the places it has passed. It grows by one [`Frame`] for every
/// call of [`TracedIn::traced_in`].
///
/// `?` makes one of an ordinary error, and notes the line it stands on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced<E> {
    /// What went wrong: for a `match`.
    pub error: E,
    /// The innermost first, in the order in which they were passed.
    frames: Vec<Frame>,
}

impl<E> Traced<E> {
    /// An error that is raised here, in the function called `what`.
    #[track_caller]
    pub fn raised_in(what: &'static str, error: E) -> Self {
        let at = Location::caller();
        Self { error, frames: vec![Frame { what: Some(what), at }] }
    }

    /// The places from the outermost to the innermost.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.frames.iter().rev()
    }
}

impl<E> From<E> for Traced<E> {
    #[track_caller]
    fn from(error: E) -> Self {
        Self { error, frames: vec![Frame { what: None, at: Location::caller() }] }
    }
}

/// What a coroutine does with the result of one it has awaited, or of a
/// function it has called.
pub trait TracedIn {
    /// Has the error, if it is one, remember that it came this way: through
    /// this line, in the function called `what`.
    #[must_use]
    fn traced_in(self, what: &'static str) -> Self;
}

// ANCHOR: traced_in
impl<T, E> TracedIn for Result<T, Traced<E>> {
    #[track_caller]
    fn traced_in(mut self, what: &'static str) -> Self {
        if let Err(traced) = &mut self {
            // Not in a closure, which would be its own caller.
            traced.frames.push(Frame { what: Some(what), at: Location::caller() });
        }
        self
    }
}
// ANCHOR_END: traced_in

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.at.file(), self.at.line())?;
        self.what.map_or(Ok(()), |what| write!(f, ", in {what}"))
    }
}

/// The outermost place first and the error itself last, as Python does it: the
/// end is what one reads first.
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
