//! The same functions, and this time the compiler writes the state machines.
//!
//! An `async fn` can be left in the middle, but it has nothing to say when it
//! is, and is told nothing when it goes on. A [`Channel`] between the two sides
//! adds that, and makes a generator of it.

use std::cell::Cell;
use std::fmt::Display;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::state_machine::text;
use super::{CoroutineState, ENDED, Generator, NOT_BEGUN, Resumed, Sent, Thrown};
use crate::Coroutine;

// ANCHOR: async_gen_fn
/// The chapter's `gen_fn`. `channel.give(1).await` is its `yield 1`; `async` is
/// the flag that makes calling it run nothing.
///
/// # Errors
/// What is thrown into it.
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

/// The chapter's `caller_fn`: `yield from` is plain `.await`.
///
/// # Errors
/// What is thrown into it.
pub async fn caller_fn<T: Display>(
    channel: Channel<T, i32>,
    print: impl Fn(String) + Clone,
) -> Result<(), Thrown> {
    let rv = gen_fn(channel, print.clone()).await?;
    print(format!("gen_fn returned {rv}"));
    Ok(())
}
// ANCHOR_END: async_gen_fn

// ANCHOR: channel
/// What lies between a suspended function and whoever resumes it: a place for
/// what is yielded, and one for what is sent. Handles stand for the same
/// channel.
pub struct Channel<I, Y>(Rc<Slots<I, Y>>);

struct Slots<I, Y> {
    yielded: Cell<Option<Y>>,
    sent: Cell<Option<Sent<I>>>,
    /// How often the function has yielded.
    yields: Cell<i32>,
}

impl<I, Y> Channel<I, Y> {
    fn new() -> Self {
        Self(Rc::new(Slots {
            yielded: Cell::new(None),
            sent: Cell::new(None),
            yields: Cell::new(0),
        }))
    }

    /// To be awaited: yields `value`, suspends, and gives what is sent. One at
    /// a time: there is one place for it.
    pub fn give(&self, value: Y) -> Yield<'_, I, Y> {
        Yield { channel: self, value: Some(value) }
    }
}

// ANCHOR: yield
/// See [`Channel::give`]. The one that is asked first has yielded; the one that
/// is asked again has been resumed.
pub struct Yield<'c, I, Y> {
    channel: &'c Channel<I, Y>,
    value: Option<Y>,
}

impl<I, Y: Unpin> Coroutine for Yield<'_, I, Y> {
    type Output = Sent<I>;

    fn poll(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Sent<I>> {
        let slots = &*self.channel.0;
        match self.value.take() {
            // No waker is stored, since nobody waits: whoever holds the
            // generator resumes it whenever they like.
            Some(value) => {
                slots.yielded.set(Some(value));
                slots.yields.set(slots.yields.get().saturating_add(1));
                Poll::Pending
            }
            None => Poll::Ready(slots.sent.take().unwrap_or(Ok(None))),
        }
    }
}
// ANCHOR_END: yield
// ANCHOR_END: channel

// ANCHOR: async_generator
/// Resumes an `async fn` by hand, which takes nothing but a waker that wakes
/// nobody.
pub struct AsyncGenerator<C, I, Y> {
    /// Boxed, because a frame must not move once it has begun: it may hold
    /// references to itself. `None` when it has ended.
    coroutine: Option<Pin<Box<C>>>,
    channel: Channel<I, Y>,
}

impl<C, I, Y, R> Generator for AsyncGenerator<C, I, Y>
where
    C: Coroutine<Output = Result<R, Thrown>>,
{
    type Input = I;
    type Yield = Y;
    type Return = R;

    fn go_on(&mut self, sent: Sent<I>) -> Resumed<Y, R> {
        // Until it is suspended again, the function is running: if an error
        // leaves it now, it has ended.
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
            (Poll::Pending, None) => Err("it awaited something else than its channel".into()),
        }
    }

    /// Here the number says how often it has yielded: the compiler knows the
    /// place, and does not tell.
    fn last_yield(&self) -> Option<i32> {
        self.coroutine.as_ref()?;
        match self.channel.0.yields.get() {
            0 => Some(NOT_BEGUN),
            yields => Some(yields),
        }
    }
}
// ANCHOR_END: async_generator

impl<C: Coroutine, I, Y> AsyncGenerator<C, I, Y> {
    /// Calls an `async fn` with a channel, which runs nothing of it.
    pub fn new(function: impl FnOnce(Channel<I, Y>) -> C) -> Self {
        let channel = Channel::new();
        let coroutine = function(Channel(Rc::clone(&channel.0)));
        Self { coroutine: Some(Box::pin(coroutine)), channel }
    }

    /// The size of the frame in bytes, until it has ended.
    pub fn frame_size(&self) -> Option<usize> {
        self.coroutine.as_deref().map(size_of_val)
    }
}
