//! Graceful shutdown: stops a crawl before all work is done.

use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crawl_core::StopReason;
use stage2_coroutines::{Coroutine, EventLoop, timeout_at};

/// Time that fetches in flight have to finish after the first request to stop.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// A handle that stops a crawl. Handles are cheap to clone, refer to the same
/// crawl, and may be used from any thread.
#[derive(Clone)]
pub struct ShutdownHandle(Arc<Mutex<ShutdownState>>);

struct ShutdownState {
    times_requested: u32,
    reason: Option<StopReason>,
    /// Waker of the task that runs [`ShutdownHandle::run_until_stopped`].
    waker: Option<Waker>,
}

impl Default for ShutdownHandle {
    fn default() -> Self {
        Self::new()
    }
}

impl ShutdownHandle {
    /// Creates a handle for a crawl that has not begun.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(ShutdownState { times_requested: 0, reason: None, waker: None })))
    }

    /// Requests the crawl to stop: no new fetch starts, and fetches in flight have
    /// two seconds to finish. A second call stops them at once. The first reason
    /// counts.
    pub fn stop(&self, reason: StopReason) {
        let mut state = self.state();
        state.times_requested = state.times_requested.saturating_add(1);
        state.reason.get_or_insert(reason);
        wake(state);
    }

    /// Returns true if a stop was requested.
    pub fn is_stopped(&self) -> bool {
        self.state().times_requested > 0
    }

    /// Stops the crawl at once, because the journal cannot be written. This reason
    /// replaces all others.
    pub(crate) fn abort(&self, reason: StopReason) {
        let mut state = self.state();
        state.times_requested = u32::MAX;
        // The first failure is the cause of those that follow it.
        if !matches!(state.reason, Some(StopReason::Journal(_))) {
            state.reason = Some(reason);
        }
        wake(state);
    }

    // ANCHOR: run_until_stopped
    /// Waits until all work is done, or until the crawl was stopped; returns the reason
    /// then. Calls `start_draining` when no new fetch may start.
    pub(crate) async fn run_until_stopped(
        &self,
        event_loop: &EventLoop,
        max_time: Option<Duration>,
        all_done: impl Coroutine<Output = ()>,
        start_draining: impl FnOnce(),
    ) -> Option<StopReason> {
        let mut all_done = pin!(all_done);
        let running = self.done_or_stopped(1, all_done.as_mut());
        let result = match max_time.and_then(|max| event_loop.now().checked_add(max)) {
            Some(deadline) => {
                timeout_at(event_loop, || deadline, running).await.unwrap_or_else(|_| {
                    self.stop(StopReason::MaxTime);
                    WaitResult::StopRequested
                })
            }
            None => running.await,
        };
        if result == WaitResult::AllDone {
            // Writing the record of the very last URL may have failed, too.
            return self.take_failure();
        }
        start_draining();
        let deadline = event_loop.now() + DRAIN_TIMEOUT;
        // The result does not matter: either way, the crawl ends now.
        let done_or_stopped = self.done_or_stopped(2, all_done);
        let _ = timeout_at(event_loop, || deadline, done_or_stopped).await;
        self.state().reason.take()
    }
    // ANCHOR_END: run_until_stopped

    /// Waits until all work is done, or until a stop was requested `times` times.
    async fn done_or_stopped(
        &self,
        times: u32,
        mut all_done: Pin<&mut impl Coroutine<Output = ()>>,
    ) -> WaitResult {
        poll_fn(|context| {
            if all_done.as_mut().poll(context).is_ready() {
                return Poll::Ready(WaitResult::AllDone);
            }
            self.poll_stopped(times, context).map(|()| WaitResult::StopRequested)
        })
        .await
    }

    fn poll_stopped(&self, times: u32, context: &Context<'_>) -> Poll<()> {
        let mut state = self.state();
        if state.times_requested >= times {
            return Poll::Ready(());
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Returns the reason if it is the failure of the journal.
    fn take_failure(&self) -> Option<StopReason> {
        self.state().reason.take_if(|reason| matches!(reason, StopReason::Journal(_)))
    }

    fn state(&self) -> MutexGuard<'_, ShutdownState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes the waiting task. Unlocks the state first, because a waker may run foreign code.
fn wake(mut state: MutexGuard<'_, ShutdownState>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

#[derive(PartialEq)]
enum WaitResult {
    AllDone,
    StopRequested,
}

impl fmt::Debug for ShutdownHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("ShutdownHandle")
            .field("times_requested", &state.times_requested)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use stage2_coroutines::runtime_on;
    use std::io;

    use selector_core::VirtualClock;
    use transport::system_lookup;

    use super::*;

    /// Runs work that is done at once.
    fn run_until_stopped(shutdown: &ShutdownHandle) -> Option<StopReason> {
        let runtime = runtime_on(VirtualClock::new(), Arc::new(system_lookup));
        let event_loop = runtime.event_loop().clone();
        let run_until_stopped = shutdown.run_until_stopped(&event_loop, None, async {}, || ());
        runtime.run_until_complete(run_until_stopped).unwrap()
    }

    #[test]
    fn a_stop_that_comes_when_all_work_is_done_stops_nothing() {
        let shutdown = ShutdownHandle::new();
        shutdown.stop(StopReason::Signal(2));
        assert!(run_until_stopped(&shutdown).is_none());
    }

    /// The record of the last URL that is left to do may be the one that cannot be written.
    #[test]
    fn a_journal_that_cannot_be_written_stops_a_crawl_that_has_nothing_left() {
        let shutdown = ShutdownHandle::new();
        shutdown.stop(StopReason::Signal(2));
        shutdown.abort(StopReason::Journal(io::Error::other("disk full")));
        assert!(matches!(run_until_stopped(&shutdown), Some(StopReason::Journal(_))));
        shutdown.stop(StopReason::Signal(2));
        assert!(shutdown.is_stopped());
    }
}
