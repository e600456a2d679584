//! The end before the end.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crawl_core::Stopped;
use stage2_coroutines::{Coroutine, EventLoop, within};

/// How long what is under way may go on after somebody has asked for the end.
const DRAIN: Duration = Duration::from_secs(2);

/// Stops a crawl. Handles are cheap to clone, stand for the same crawl, and
/// may be used from any thread.
#[derive(Clone)]
pub struct Stopper(Arc<Mutex<State>>);

struct State {
    times_asked: u32,
    why: Option<Stopped>,
    /// Who is to hear of it.
    waker: Option<Waker>,
}

impl Stopper {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State { times_asked: 0, why: None, waker: None })))
    }

    /// Asks for the end: nothing more is begun, and what is under way has two
    /// seconds. Asked once more, not even that. The first reason counts.
    pub fn stop(&self, why: Stopped) {
        let mut state = self.state();
        state.times_asked += 1;
        state.why.get_or_insert(why);
        wake(state);
    }

    /// Asks for the end at once, for a reason before which others are nothing.
    pub(crate) fn give_up(&self, why: Stopped) {
        let mut state = self.state();
        state.times_asked = u32::MAX;
        // The first failure explains those that follow from it.
        if !matches!(state.why, Some(Stopped::Journal(_))) {
            state.why = Some(why);
        }
        wake(state);
    }

    // ANCHOR: supervise
    /// Waits until all is done, or else until the crawl has been stopped, and
    /// says why in that case. `take_no_more` is called when nothing more is to
    /// be begun.
    pub(crate) async fn supervise(
        &self,
        event_loop: &EventLoop,
        max_time: Option<Duration>,
        all_done: impl Coroutine<Output = ()>,
        take_no_more: impl FnOnce(),
    ) -> Option<Stopped> {
        let mut all_done = pin!(all_done);
        let asked = self.unless_asked(1, all_done.as_mut());
        let ended = match max_time.and_then(|max_time| event_loop.now().checked_add(max_time)) {
            Some(deadline) => {
                within(event_loop, || deadline, asked).await.unwrap_or_else(|_late| {
                    self.stop(Stopped::MaxTime);
                    Ended::Stopped
                })
            }
            None => asked.await,
        };
        if ended == Ended::AllDone {
            return None;
        }
        take_no_more();
        let deadline = event_loop.now() + DRAIN;
        // However it ends, this is the end.
        let _ = within(event_loop, || deadline, self.unless_asked(2, all_done)).await;
        self.state().why.take()
    }
    // ANCHOR_END: supervise

    /// Waits for the end of all work, or until somebody has asked so often.
    async fn unless_asked(
        &self,
        times: u32,
        mut all_done: Pin<&mut impl Coroutine<Output = ()>>,
    ) -> Ended {
        poll_fn(|context| {
            if all_done.as_mut().poll(context).is_ready() {
                return Poll::Ready(Ended::AllDone);
            }
            self.poll_asked(times, context).map(|()| Ended::Stopped)
        })
        .await
    }

    fn poll_asked(&self, times: u32, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.times_asked >= times {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing is locked while the waker runs: it may belong to anybody.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[derive(PartialEq)]
enum Ended {
    AllDone,
    Stopped,
}

impl fmt::Debug for Stopper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Stopper").field("times_asked", &state.times_asked).finish_non_exhaustive()
    }
}
