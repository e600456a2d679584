//! The chapter's two generators as `async fn`s: the compiler writes the state
//! machines.
//!
//! An `async fn` can be suspended in the middle, but it yields no value then,
//! and receives none when it is resumed. A [`Channel`] between the two sides
//! adds both, and makes a generator of it.

use std::cell::Cell;
use std::fmt::Display;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::state_machine::text;
use super::{CoroutineState, ENDED, Generator, NOT_BEGUN, Sent, Step, Thrown};
use crate::Coroutine;

// ANCHOR: async_gen_fn
/// The chapter's `gen_fn`. `channel.give(1).await` is its `yield 1`. `async` is
/// the flag that makes a call run nothing of the function.
///
/// # Errors
/// The error that is thrown into it.
pub async fn gen_fn<T: Display>(
    channel: Channel<T, i32>,
    print: impl Fn(String),
) -> Result<&'static str, Thrown> {
    let result = channel.give(1).await?;
    print(format!("the first yield gave {}", text(result.as_ref())));
    let result2 = channel.give(2).await?;
    print(format!("the second yield gave {}", text(result2.as_ref())));
    Ok("done")
}

/// The chapter's `caller_fn`: its `yield from` is a plain `.await`.
///
/// # Errors
/// The error that is thrown into it.
pub async fn caller_fn<T: Display>(
    channel: Channel<T, i32>,
    print: impl Fn(String) + Clone,
) -> Result<(), Thrown> {
    let rv = gen_fn(channel, print.clone()).await?;
    print(format!("gen_fn returned {rv}"));
    Ok(())
}
// ANCHOR_END: async_gen_fn

// ANCHOR: cells
/// A channel between a suspended function and the code that resumes it: one
/// cell for the value that is yielded, one for the value that is sent. All
/// handles stand for the same channel.
pub struct Channel<I, Y>(Rc<Cells<I, Y>>);

struct Cells<I, Y> {
    yielded: Cell<Option<Y>>,
    sent: Cell<Option<Sent<I>>>,
    /// The number of times that the function has yielded.
    yields: Cell<i32>,
}
// ANCHOR_END: cells

impl<I, Y> Channel<I, Y> {
    fn new() -> Self {
        Self(Rc::new(Cells {
            yielded: Cell::new(None),
            sent: Cell::new(None),
            yields: Cell::new(0),
        }))
    }

    /// Yields `value` when it is awaited, suspends, and returns what is sent. To
    /// be awaited one at a time, since there is one cell for the value.
    pub fn give(&self, value: Y) -> Yield<'_, I, Y> {
        Yield { channel: self, value: Some(value) }
    }
}

// ANCHOR: yield
/// The coroutine of [`Channel::give`]. The first poll yields; the second poll
/// comes from the code that resumes the generator.
pub struct Yield<'c, I, Y> {
    channel: &'c Channel<I, Y>,
    value: Option<Y>,
}

impl<I, Y: Unpin> Coroutine for Yield<'_, I, Y> {
    type Output = Sent<I>;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Sent<I>> {
        let cells = &*self.channel.0;
        match self.value.take() {
            // No waker is stored, since this waits for no event: the owner of
            // the generator resumes it at any time.
            Some(value) => {
                cells.yielded.set(Some(value));
                cells.yields.set(cells.yields.get().saturating_add(1));
                Poll::Pending
            }
            None => Poll::Ready(cells.sent.take().unwrap_or(Ok(None))),
        }
    }
}
// ANCHOR_END: yield

// ANCHOR: async_generator
/// An `async fn` that is resumed by hand. For that, a waker that does nothing
/// is enough.
pub struct AsyncGenerator<C, I, Y> {
    /// The coroutine; `None` when it has ended. It is boxed because a frame must
    /// not move once it has begun: it may hold references to itself.
    coroutine: Option<Pin<Box<C>>>,
    channel: Channel<I, Y>,
}
// ANCHOR_END: async_generator

// ANCHOR: async_advance
impl<C, I, Y, R> Generator for AsyncGenerator<C, I, Y>
where
    C: Coroutine<Output = Result<R, Thrown>>,
{
    type Input = I;
    type Yield = Y;
    type Return = R;

    fn advance(&mut self, sent: Sent<I>) -> Step<Y, R> {
        // Until it is suspended again the function is running. If it raises an
        // error now, it has ended.
        let last_yield = self.last_yield();
        let coroutine = self.coroutine.take();
        if coroutine.is_none() || last_yield == Some(NOT_BEGUN) {
            sent?;
        } else {
            self.channel.0.sent.set(Some(sent));
        }
        let mut coroutine = coroutine.expect(ENDED);
        let poll = coroutine.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        match (poll, self.channel.0.yielded.take()) {
            (Poll::Ready(result), _) => result.map(CoroutineState::Complete),
            (Poll::Pending, Some(value)) => {
                self.coroutine = Some(coroutine);
                Ok(CoroutineState::Yielded(value))
            }
            (Poll::Pending, None) => {
                let message = "it awaited something else than its channel";
                Err(message.into())
            }
        }
    }

    /// Returns the number of times it has yielded. The compiler knows the resume
    /// point, but gives no access to it.
    fn last_yield(&self) -> Option<i32> {
        self.coroutine.as_ref()?;
        match self.channel.0.yields.get() {
            0 => Some(NOT_BEGUN),
            yields => Some(yields),
        }
    }
}
// ANCHOR_END: async_advance

impl<C: Coroutine, I, Y> AsyncGenerator<C, I, Y> {
    /// Calls an `async fn` with a channel. The call runs nothing of the
    /// function.
    pub fn new(function: impl FnOnce(Channel<I, Y>) -> C) -> Self {
        let channel = Channel::new();
        let coroutine = function(Channel(Rc::clone(&channel.0)));
        Self { coroutine: Some(Box::pin(coroutine)), channel }
    }

    /// Returns the size of the frame in bytes; `None` when it has ended.
    pub fn frame_size(&self) -> Option<usize> {
        self.coroutine.as_deref().map(size_of_val)
    }
}
