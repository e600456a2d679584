//! Surviving a panic.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use stage2_coroutines::{Coroutine, Exception};

// ANCHOR: catch
/// Runs a coroutine and turns its panic into an error.
pub(crate) async fn catch<T>(coroutine: impl Coroutine<Output = T>) -> Result<T, Exception> {
    let mut coroutine = pin!(coroutine);
    poll_fn(|context| {
        let poll = AssertUnwindSafe(|| coroutine.as_mut().poll(context));
        match catch_unwind(poll) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(Exception::panicked(&*panic))),
        }
    })
    .await
}
// ANCHOR_END: catch
