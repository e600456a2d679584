//! `join` and `select`: coroutines of different types within one task; and `catch`.
//!
//! They poll their coroutines whenever the task takes a step, and spawn nothing.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::Poll;

use crate::{Coroutine, Exception};

/// Waits for all coroutines of a tuple, two to four, and returns their values as
/// a tuple. If it is dropped, all are dropped where they are suspended.
pub fn join<J: Join>(coroutines: J) -> impl Coroutine<Output = J::Output> {
    coroutines.join()
}

// ANCHOR: select
/// Waits for the first coroutine of a tuple, two to four, that returns, and drops
/// the others where they are suspended.
///
/// It is fair: if several are ready, each has the same chance to be the first.
///
/// Cancel safety: a coroutine that is dropped while it waits must lose nothing if
/// it is called again. That holds for [`crate::read`], [`crate::yield_now`],
/// [`crate::lookup()`], and for awaiting a [`crate::Future`] or a [`crate::Task`],
/// which go on. A [`crate::sleep`] that is called again starts again. It does not hold
/// for [`crate::write_all`] and [`crate::read_all`], which forget what they have
/// written or read.
pub fn select<S: Select>(coroutines: S) -> impl Coroutine<Output = S::Output> {
    coroutines.select()
}
// ANCHOR_END: select

/// A tuple of coroutines for [`join`].
pub trait Join {
    /// The tuple of their values.
    type Output;

    /// See [`join`].
    fn join(self) -> impl Coroutine<Output = Self::Output>;
}

/// A tuple of coroutines for [`select`].
pub trait Select {
    /// The value of the first.
    type Output;

    /// See [`select`].
    fn select(self) -> impl Coroutine<Output = Self::Output>;
}

/// The value of one coroutine among two to four, by its place in the tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected<A, B, C = Infallible, D = Infallible> {
    /// The first of the tuple.
    First(A),
    /// The second of the tuple.
    Second(B),
    /// The third of the tuple.
    Third(C),
    /// The fourth of the tuple.
    Fourth(D),
}

/// Returns a random number below `limit`.
///
/// Not a counter: a loop of two calls of [`select`] would give each of them the same
/// order forever.
fn random(limit: usize) -> usize {
    thread_local! {
        static RANDOM: Cell<u32> = const { Cell::new(0x9E37_79B9) };
    }
    // Marsaglia's xorshift generator.
    let next = |mut random: u32| {
        random ^= random << 13;
        random ^= random >> 17;
        random ^ (random << 5)
    };
    RANDOM.with(|random| random.update(next));
    RANDOM.get() as usize % limit
}

macro_rules! for_tuples {
    ($(($($coroutine:ident: $type:ident, $value:ident, $place:ident;)+))+) => {$(
        impl<$($type: Coroutine),+> Join for ($($type,)+) {
            type Output = ($($type::Output,)+);

            async fn join(self) -> Self::Output {
                let ($($coroutine,)+) = self;
                $(
                    let mut $coroutine = pin!($coroutine);
                    let mut $value = None;
                )+
                poll_fn(|context| {
                    $(
                        if $value.is_none()
                            && let Poll::Ready(ready) = $coroutine.as_mut().poll(context)
                        {
                            $value = Some(ready);
                        }
                    )+
                    // The values stay where they are until all are there.
                    if $($value.is_none())||+ {
                        return Poll::Pending;
                    }
                    match ($($value.take(),)+) {
                        ($(Some($value),)+) => Poll::Ready(($($value,)+)),
                        _ => Poll::Pending,
                    }
                })
                .await
            }
        }

        impl<$($type: Coroutine),+> Select for ($($type,)+) {
            type Output = Selected<$($type::Output),+>;

            async fn select(self) -> Self::Output {
                let ($($coroutine,)+) = self;
                $(let mut $coroutine = pin!($coroutine);)+
                poll_fn(|context| {
                    let count = [$(stringify!($coroutine)),+].len();
                    // Shuffled one by one (Fisher and Yates): all orders are alike.
                    let mut places = [0_usize, 1, 2, 3];
                    for turn in 0..count {
                        places.swap(turn, turn + random(count - turn));
                        let mut place = places[turn];
                        $(
                            if place == 0
                                && let Poll::Ready(ready) = $coroutine.as_mut().poll(context)
                            {
                                return Poll::Ready(Selected::$place(ready));
                            }
                            place = place.wrapping_sub(1);
                        )+
                        let _ = place;
                    }
                    Poll::Pending
                })
                .await
            }
        }
    )+};
}

for_tuples! {
    (a: A, a_value, First; b: B, b_value, Second;)
    (a: A, a_value, First; b: B, b_value, Second; c: C, c_value, Third;)
    (a: A, a_value, First; b: B, b_value, Second; c: C, c_value, Third; d: D, d_value, Fourth;)
}

// ANCHOR: catch
/// Runs a coroutine and returns its panic as an error.
pub fn catch<T>(
    mut coroutine: Pin<&mut impl Coroutine<Output = T>>,
) -> impl Coroutine<Output = Result<T, Exception>> {
    poll_fn(move |context| {
        let poll = || coroutine.as_mut().poll(context);
        match catch_unwind(AssertUnwindSafe(poll)) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(Exception::panicked(&*panic))),
        }
    })
}
// ANCHOR_END: catch
