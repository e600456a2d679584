//! Timers: sleep, yield, and coroutines with a deadline that may move.

use std::io::{self, ErrorKind};
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use pin_project_lite::pin_project;
use selector_core::TimerKey;

use crate::net::leaf::{leaf, leaf_at};
use crate::{Coroutine, EventLoop, Exception, Wait};

/// The error of [`timeout_at`]: the deadline has passed. It converts into the other errors
/// that stand for a timeout, [`Exception::TimedOut`] and [`ErrorKind::TimedOut`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("timed out")]
pub struct Elapsed;

impl From<Elapsed> for Exception {
    fn from(Elapsed: Elapsed) -> Self {
        Self::TimedOut
    }
}

impl From<Elapsed> for io::Error {
    fn from(elapsed: Elapsed) -> Self {
        Self::new(ErrorKind::TimedOut, elapsed)
    }
}

/// Waits until at least `duration` has passed since the call. A sleep of no
/// duration yields once, as [`yield_now`] does.
#[track_caller]
pub fn sleep(event_loop: &EventLoop, duration: Duration) -> impl Coroutine<Output = ()> {
    sleep_and_return(event_loop, duration, ())
}

/// Waits until at least `duration` has passed since the call, and then returns
/// `result`. A sleep of no duration yields once, as [`yield_now`] does.
#[track_caller]
pub fn sleep_and_return<T>(
    event_loop: &EventLoop,
    duration: Duration,
    result: T,
) -> impl Coroutine<Output = T> {
    let at = Location::caller();
    // `None`, which is beyond the end of the clock, is never reached.
    let until = event_loop.now().checked_add(duration);
    async move {
        if duration.is_zero() {
            leaf_at(event_loop, Wait::Yield, at, yield_once()).await;
            return result;
        }
        let mut timer = Timer::new(event_loop);
        leaf_at(event_loop, Wait::Sleep(until), at, |context| match until {
            Some(until) => timer.poll(event_loop.now(), until, context),
            None => Poll::Pending,
        })
        .await;
        result
    }
}

// ANCHOR: yield_now
/// Yields to all other tasks that are ready: a bare `yield` of Python,
/// Tornado's `moment`.
#[track_caller]
pub fn yield_now(event_loop: &EventLoop) -> impl Coroutine<Output = ()> + use<> {
    leaf(event_loop, Wait::Yield, yield_once())
}

/// Returns a poll that is pending once, and wakes the task at once.
fn yield_once() -> impl FnMut(&mut Context<'_>) -> Poll<()> {
    let mut has_yielded = false;
    move |context| {
        if mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
// ANCHOR_END: yield_now

// ANCHOR: timeout_at
/// Runs a coroutine until it returns or its deadline passes. In the second case
/// the coroutine is dropped where it is suspended.
///
/// The deadline may move while the coroutine runs. If it moves on, the timer
/// stays as it is, and is set again if it fires too early.
///
/// # Errors
/// [`Elapsed`].
pub fn timeout_at<T>(
    event_loop: &EventLoop,
    deadline: impl Fn() -> Instant,
    coroutine: impl Coroutine<Output = T>,
) -> impl Coroutine<Output = Result<T, Elapsed>> {
    TimeoutAt { coroutine, deadline, timer: Timer::new(event_loop) }
}

pin_project! {
    // A coroutine with a deadline.
    struct TimeoutAt<'l, C, D> {
        #[pin]
        coroutine: C,
        deadline: D,
        timer: Timer<'l>,
    }
}
// ANCHOR_END: timeout_at

// ANCHOR: timeout_at_poll
impl<C: Coroutine, D: Fn() -> Instant> Coroutine for TimeoutAt<'_, C, D> {
    type Output = Result<C::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        // The clock is read before the poll. The coroutine may act when the
        // deadline is reached, and move it. The time it sees must not be
        // earlier than this one, or it would be dropped before it can act.
        let now = this.timer.event_loop.now();
        if let Poll::Ready(value) = this.coroutine.poll(context) {
            return Poll::Ready(Ok(value));
        }
        this.timer.poll(now, (this.deadline)(), context).map(|()| Err(Elapsed))
    }
}
// ANCHOR_END: timeout_at_poll

/// A timer of one coroutine: at most one entry among the timers of the loop,
/// which is removed when the timer is dropped.
struct Timer<'l> {
    event_loop: &'l EventLoop,
    /// The entry, and the waker it wakes.
    entry: Option<(TimerKey, Waker)>,
}

impl<'l> Timer<'l> {
    fn new(event_loop: &'l EventLoop) -> Self {
        Self { event_loop, entry: None }
    }

    /// Ready when the clock has reached `at`.
    fn poll(&mut self, now: Instant, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        if at <= now {
            self.cancel();
            return Poll::Ready(());
        }
        // An entry that fires before `at` is good enough: then this is polled
        // again. An entry with another waker is not: that waker belongs to the
        // task that polled this coroutine before.
        let is_set = self.entry.as_ref().is_some_and(|(key, waker)| {
            now < key.at() && key.at() <= at && waker.will_wake(context.waker())
        });
        if !is_set {
            self.cancel();
            let waker = context.waker();
            let key = self.event_loop.reactor().set_timer(at, waker.clone());
            self.entry = Some((key, waker.clone()));
        }
        Poll::Pending
    }

    fn cancel(&mut self) {
        if let Some((key, _)) = self.entry.take() {
            self.event_loop.reactor().cancel_timer(key);
        }
    }
}

// ANCHOR: timer_drop
impl Drop for Timer<'_> {
    fn drop(&mut self) {
        self.cancel();
    }
}
// ANCHOR_END: timer_drop
