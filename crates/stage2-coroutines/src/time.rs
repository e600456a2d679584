//! Waiting for a moment.

use std::future::poll_fn;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use selector_core::TimerKey;

use crate::{Coroutine, EventLoop};

/// Waits this long, at least.
pub async fn sleep(event_loop: &EventLoop, duration: Duration) {
    let until = event_loop.now().checked_add(duration);
    let mut timer = Timer::new(event_loop);
    poll_fn(|context| match until {
        Some(until) => timer.poll(until, context),
        // Beyond the end of the clock there is nothing to wake for.
        None => Poll::Pending,
    })
    .await;
}

/// The deadline came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLate;

/// Runs a coroutine until it returns or its deadline passes; then it is
/// dropped where it is suspended.
///
/// The deadline may move while the coroutine runs, which costs nothing: the
/// timer stays as it is, and asks again when it fires too early.
///
/// # Errors
/// [`TooLate`].
pub async fn within<T>(
    event_loop: &EventLoop,
    deadline: impl Fn() -> Instant,
    coroutine: impl Coroutine<Output = T>,
) -> Result<T, TooLate> {
    let mut coroutine = pin!(coroutine);
    let mut timer = Timer::new(event_loop);
    poll_fn(|context| {
        if let Poll::Ready(value) = coroutine.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        timer.poll(deadline(), context).map(|()| Err(TooLate))
    })
    .await
}

/// One entry among the loop's timers, at most; none once it is dropped.
struct Timer<'l> {
    event_loop: &'l EventLoop,
    key: Option<TimerKey>,
}

impl<'l> Timer<'l> {
    fn new(event_loop: &'l EventLoop) -> Self {
        let key = None;
        Self { event_loop, key }
    }

    /// Ready when the clock has reached `at`.
    fn poll(&mut self, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        let now = self.event_loop.now();
        if at <= now {
            return Poll::Ready(());
        }
        // A timer that fires before `at` will do: it leads back here.
        let is_set = self.key.is_some_and(|key| now < key.at() && key.at() <= at);
        if !is_set {
            self.cancel();
            let waker = context.waker().clone();
            self.key = Some(self.event_loop.timers().set(at, waker));
        }
        Poll::Pending
    }

    fn cancel(&mut self) {
        if let Some(key) = self.key.take() {
            let waker = self.event_loop.timers().cancel(key);
            drop(waker);
        }
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        self.cancel();
    }
}
