//! Catching the panic of a coroutine.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use crate::{Coroutine, Exception};

// ANCHOR: catch
/// Runs a coroutine and returns its panic as an error.
pub fn catch<T>(
    mut coroutine: Pin<&mut impl Coroutine<Output = T>>,
) -> impl Coroutine<Output = Result<T, Exception>> {
    poll_fn(move |context| {
        let poll = AssertUnwindSafe(|| coroutine.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(Exception::panicked(&*panic))),
        }
    })
}
// ANCHOR_END: catch
