//! Waiting for a moment.

use std::future::poll_fn;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::TimerKey;

use crate::{Coroutine, EventLoop, Wait};

/// Waits until this long, at least, has passed since the call.
#[track_caller]
pub fn sleep(event_loop: &EventLoop, duration: Duration) -> impl Coroutine<Output = ()> {
    sleep_and_return(event_loop, duration, ())
}

/// The same, and then returns `result`.
#[track_caller]
pub fn sleep_and_return<T>(
    event_loop: &EventLoop,
    duration: Duration,
    result: T,
) -> impl Coroutine<Output = T> {
    let at = Location::caller();
    // Beyond the end of the clock there is nothing to wake for.
    let until = event_loop.now().checked_add(duration);
    async move {
        let mut timer = Timer::new(event_loop);
        let mut since = None;
        poll_fn(|context| {
            let now = event_loop.now();
            let poll = until.map_or(Poll::Pending, |until| timer.poll(now, until, context));
            if poll.is_pending() {
                let wait = Wait::Sleep(event_loop.milliseconds_at(until));
                event_loop.note(wait, Some(at), &mut since);
            }
            poll
        })
        .await;
        result
    }
}

// ANCHOR: yield_now
/// Lets everybody else have a turn: a bare `yield`, Tornado's `moment`.
#[track_caller]
pub fn yield_now(event_loop: &EventLoop) -> impl Coroutine<Output = ()> {
    let at = Location::caller();
    let mut has_yielded = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        event_loop.note(Wait::Turn, Some(at), &mut None);
        context.waker().wake_by_ref();
        Poll::Pending
    })
}
// ANCHOR_END: yield_now

/// The deadline came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too late")]
pub struct TooLate;

// ANCHOR: within
/// Runs a coroutine until it returns or its deadline passes; then it is
/// dropped where it is suspended.
///
/// The deadline may move while the coroutine runs, which costs nothing: the
/// timer stays as it is, and asks again when it fires too early.
///
/// # Errors
/// [`TooLate`].
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn within<T>(
    event_loop: &EventLoop,
    deadline: impl Fn() -> Instant,
    coroutine: impl Coroutine<Output = T>,
) -> impl Coroutine<Output = Result<T, TooLate>> {
    async move { within_pinned(event_loop, deadline, pin!(coroutine)).await }
}

/// The same with a coroutine that stays where it is.
pub(crate) fn within_pinned<T>(
    event_loop: &EventLoop,
    deadline: impl Fn() -> Instant,
    mut coroutine: Pin<&mut impl Coroutine<Output = T>>,
) -> impl Coroutine<Output = Result<T, TooLate>> {
    let mut timer = Timer::new(event_loop);
    poll_fn(move |context| {
        // Read before the poll: code inside may act at the deadline and move
        // it, so it must not find the clock behind the one that we judge by.
        let now = timer.event_loop.now();
        if let Poll::Ready(value) = coroutine.as_mut().poll(context) {
            return Poll::Ready(Ok(value));
        }
        timer.poll(now, deadline(), context).map(|()| Err(TooLate))
    })
}
// ANCHOR_END: within

/// One entry among the loop's timers, at most; none once it is dropped.
struct Timer<'l> {
    event_loop: &'l EventLoop,
    /// The entry, and who is woken by it.
    set: Option<(TimerKey, Waker)>,
}

impl<'l> Timer<'l> {
    fn new(event_loop: &'l EventLoop) -> Self {
        Self { event_loop, set: None }
    }

    /// Ready when the clock has reached `at`.
    fn poll(&mut self, now: Instant, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        if at <= now {
            return Poll::Ready(());
        }
        // A timer that fires before `at` will do: it leads back here. One that
        // wakes somebody else, who had this coroutine before, will not.
        let is_set = self.set.as_ref().is_some_and(|(key, waker)| {
            let fires = self.event_loop.timers().at(*key);
            fires.is_some_and(|fires| now < fires && fires <= at)
                && waker.will_wake(context.waker())
        });
        if !is_set {
            self.cancel();
            let waker = context.waker();
            let key = self.event_loop.timers().set(at, waker.clone());
            self.set = Some((key, waker.clone()));
        }
        Poll::Pending
    }

    fn cancel(&mut self) {
        if let Some((key, _)) = self.set.take() {
            let waker = self.event_loop.timers().cancel(key);
            drop(waker);
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
