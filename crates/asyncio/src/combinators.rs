//! The combinators of asyncio: functions that wait for several futures at once.
//!
//! They take futures, tasks and coroutines that return a `Result` alike; see
//! [`ensure_future`]. Cancelling a coroutine drops it. When the dropped coroutine
//! waits in [`crate::gather`] or [`wait_for`], the futures that it waits for are
//! cancelled as well. When it waits in [`wait`], [`as_completed`] or [`shield`],
//! they are not. asyncio does the same.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, VecDeque};
use std::error::Error;
use std::panic::Location;
use std::rc::Rc;
use std::time::{Duration, Instant};

use stage2_coroutines::sync::WaitQueue;
use stage2_coroutines::{
    Coroutine, Elapsed, EventLoop, Exception, Future, InvalidState, timeout_at, yield_now,
};

use crate::{AnyFuture, CallbackId, FutureExt, ensure_future};

/// The condition on which [`wait`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnWhen {
    /// One future is done.
    FirstCompleted,
    /// One future has an exception other than a cancellation, or all are done.
    FirstException,
    /// All futures are done.
    AllCompleted,
}

/// Waits for awaitables, no longer than `timeout`, and returns the futures that
/// are done and those that are pending, each of them once. It cancels nothing, and
/// raises no exception.
pub async fn wait<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
    return_when: ReturnWhen,
    timeout: Option<Duration>,
) -> (Vec<AnyFuture<T>>, Vec<AnyFuture<T>>) {
    let futures = each_once(event_loop, awaitables);
    let watch = Watch::new(event_loop, &futures, move |future| match return_when {
        ReturnWhen::FirstCompleted => true,
        ReturnWhen::FirstException => future.has_failed() && !future.cancelled(),
        ReturnWhen::AllCompleted => false,
    });
    // In time or not, the futures themselves tell which of them are done.
    let _ = watch.settled(event_loop, timeout).await;
    drop(watch);
    futures.into_iter().partition(FutureExt::done)
}

// ANCHOR: wait_for
/// Waits for an awaitable, but no longer than `timeout`; then cancels it.
///
/// # Errors
/// [`Exception::TimedOut`], or the exception of the future.
pub async fn wait_for<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitable: impl Coroutine<Output = Result<T, E>> + 'static,
    timeout: Duration,
) -> Result<T, Exception> {
    let child = CancelOnDrop(ensure_future(event_loop, awaitable));
    let wait = Watch::new(event_loop, std::slice::from_ref(&child.0), |_| false);
    match wait.settled(event_loop, Some(timeout)).await {
        // A future that is done exactly at the deadline is in time.
        Err(exception) if !child.0.done() => Err(exception),
        _ => child.0.outcome(),
    }
}
// ANCHOR_END: wait_for

// ANCHOR: shield
/// Returns a second future with the outcome of an awaitable. Cancelling or
/// dropping the second does not cancel the first, which keeps its result: the
/// second gets a copy. A first that is done already is returned itself.
pub fn shield<T: Clone + 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitable: impl Coroutine<Output = Result<T, E>> + 'static,
) -> AnyFuture<T> {
    let inner = ensure_future(event_loop, awaitable).shared();
    if inner.done() {
        return inner;
    }
    let outer = Future::new(event_loop);
    let (shielded, watched) = (outer.clone(), inner.clone());
    let callback = DoneCallback::add(&inner, move |_| {
        // If the outer one was cancelled, the outcome is not retrieved.
        if !shielded.done() {
            let _ = shielded.finish(watched.outcome());
        }
    });
    AnyFuture::from(outer).with_guard(callback)
}
// ANCHOR_END: shield

/// Returns the outcomes of awaitables in the order of completion, one for each
/// call of [`AsCompleted::next`]. A future that is given twice counts once.
pub fn as_completed<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
    timeout: Option<Duration>,
) -> AsCompleted<T> {
    let completed = Rc::new(Completed {
        futures: RefCell::default(),
        waiting: WaitQueue::new(event_loop, &"waiting for the next of several futures"),
    });
    let add = |future: AnyFuture<T>| {
        let (completed, done) = (Rc::clone(&completed), future.clone());
        DoneCallback::add(&future, move |_| {
            completed.futures.borrow_mut().push_back(done);
            completed.waiting.wake_one();
        })
    };
    let callbacks: Vec<_> = each_once(event_loop, awaitables).into_iter().map(add).collect();
    let deadline = timeout.and_then(|timeout| event_loop.now().checked_add(timeout));
    let event_loop = event_loop.clone();
    AsCompleted { event_loop, completed, remaining: callbacks.len(), callbacks, deadline }
}

/// The outcomes that [`as_completed`] returns one by one.
pub struct AsCompleted<T: 'static> {
    event_loop: EventLoop,
    completed: Rc<Completed<T>>,
    /// The number of outcomes that `next` has not returned yet.
    remaining: usize,
    /// Removed when it is dropped, and when there will be no further outcome.
    callbacks: Vec<DoneCallback>,
    deadline: Option<Instant>,
}

/// The futures that are done and not yet returned, and the caller of `next`
/// that waits for one.
struct Completed<T: 'static> {
    futures: RefCell<VecDeque<AnyFuture<T>>>,
    waiting: WaitQueue,
}

impl<T: 'static> AsCompleted<T> {
    /// Waits for the next outcome and returns it; `None` after the outcome of
    /// the last future. At the timeout it returns one last outcome,
    /// [`Exception::TimedOut`].
    pub async fn next(&mut self) -> Option<Result<T, Exception>> {
        if self.remaining == 0 {
            return None;
        }
        if self.completed.futures.borrow().is_empty() {
            // If the turn is not taken, the future is still in the list.
            let turn = self.completed.waiting.wait(Location::caller(), || ());
            if let Err(Elapsed) = until(&self.event_loop, self.deadline, turn).await {
                // One may be done whose callback is in the run queue still.
                yield_now(&self.event_loop).await;
                if self.completed.futures.borrow().is_empty() {
                    self.remaining = 0;
                    self.callbacks.clear();
                    return Some(Err(Exception::TimedOut));
                }
            }
        }
        let future = self.completed.futures.borrow_mut().pop_front()?;
        self.remaining -= 1;
        Some(future.outcome())
    }
}

/// Returns the futures of awaitables, each of them once.
fn each_once<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
) -> Vec<AnyFuture<T>> {
    let mut futures: Vec<AnyFuture<T>> = Vec::new();
    for awaitable in awaitables {
        futures.push(ensure_future(event_loop, awaitable));
    }
    let mut addresses = BTreeSet::new();
    futures.retain(|future| addresses.insert(future.address()));
    futures
}

/// Awaits a coroutine, but no longer than until `deadline` if there is one.
async fn until<T>(
    event_loop: &EventLoop,
    deadline: Option<Instant>,
    coroutine: impl Coroutine<Output = T>,
) -> Result<T, Elapsed> {
    match deadline {
        Some(deadline) => timeout_at(event_loop, || deadline, coroutine).await,
        None => Ok(coroutine.await),
    }
}

// ANCHOR: cancel_on_drop
/// A drop guard that cancels its future.
struct CancelOnDrop<T: 'static>(AnyFuture<T>);

impl<T: 'static> Drop for CancelOnDrop<T> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
// ANCHOR_END: cancel_on_drop

/// A done callback that is removed when this is dropped: whoever stops waiting for a
/// future leaves nothing behind in it. It does not hold the future, whose exception is
/// reported when nobody else does.
struct DoneCallback {
    event_loop: EventLoop,
    id: CallbackId,
}

impl DoneCallback {
    fn add<T: 'static>(future: &AnyFuture<T>, callback: impl FnOnce(&Future<T>) + 'static) -> Self {
        let event_loop = future.as_future().event_loop().clone();
        Self { event_loop, id: future.add_done_callback(callback) }
    }
}

impl Drop for DoneCallback {
    fn drop(&mut self) {
        self.id.remove(&self.event_loop);
    }
}

/// Done callbacks on several futures, which resolve `settled` when all of them
/// are done, or when one meets a condition.
struct Watch {
    _callbacks: Vec<DoneCallback>,
    settled: Future<()>,
}

impl Watch {
    fn new<T: 'static>(
        event_loop: &EventLoop,
        futures: &[AnyFuture<T>],
        settles: impl Fn(&AnyFuture<T>) -> bool + Copy + 'static,
    ) -> Self {
        let settled = Future::new(event_loop);
        let pending = Rc::new(Cell::new(futures.len()));
        // Not refused: no other code has a handle to `settled` yet.
        if futures.is_empty() {
            let _ = settled.set_result(());
        } else if futures.iter().any(|future| !future.as_future().event_loop().is(event_loop)) {
            let _ = settled.finish(Err(InvalidState::OtherLoop.into()));
        }
        let watch = |future: &AnyFuture<T>| {
            let (settled, pending) = (settled.clone(), Rc::clone(&pending));
            let watched = future.clone();
            DoneCallback::add(future, move |_| {
                pending.set(pending.get() - 1);
                if pending.get() == 0 || settles(&watched) {
                    // Refused if an earlier future has resolved it.
                    let _ = settled.set_result(());
                }
            })
        };
        Self { _callbacks: futures.iter().map(watch).collect(), settled }
    }

    /// Waits until it is settled, but no longer than `timeout`.
    async fn settled(
        &self,
        event_loop: &EventLoop,
        timeout: Option<Duration>,
    ) -> Result<(), Exception> {
        let deadline = timeout.and_then(|timeout| event_loop.now().checked_add(timeout));
        until(event_loop, deadline, self.settled.clone()).await?
    }
}
