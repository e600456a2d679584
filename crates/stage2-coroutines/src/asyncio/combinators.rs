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
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::{
    CallbackId, Coroutine, EventLoop, Exception, Future, InvalidState, ensure_future, timeout_at,
    yield_now,
};

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
) -> (Vec<Future<T>>, Vec<Future<T>>) {
    let futures = each_once(event_loop, awaitables);
    let watch = Watch::new(event_loop, &futures, move |future| match return_when {
        ReturnWhen::FirstCompleted => true,
        ReturnWhen::FirstException => future.has_failed() && !future.cancelled(),
        ReturnWhen::AllCompleted => false,
    });
    // In time or not, the futures themselves tell which of them are done.
    let _ = with_timeout(event_loop, timeout, watch.settled()).await;
    drop(watch);
    futures.into_iter().partition(Future::done)
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
    match with_timeout(event_loop, Some(timeout), wait.settled()).await {
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
) -> Future<T> {
    let inner = ensure_future(event_loop, awaitable).shared();
    if inner.done() {
        return inner;
    }
    let outer = Future::new(event_loop);
    // Weak: if the outer future is gone, the outcome is not for it.
    let shielded = outer.downgrade();
    inner.add_done_callback(move |inner| {
        // One that was cancelled takes no outcome: it is not retrieved.
        if let Some(outer) = shielded().filter(|outer| !outer.done()) {
            let _ = outer.finish(inner.outcome());
        }
    });
    outer
}
// ANCHOR_END: shield

/// Returns the outcomes of awaitables in the order of completion, one for each
/// call of [`AsCompleted::next`]. A future that is given twice counts once.
pub fn as_completed<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
    timeout: Option<Duration>,
) -> AsCompleted<T> {
    let completed: Rc<RefCell<Completed<T>>> = Rc::default();
    let futures = each_once(event_loop, awaitables);
    let remaining = futures.len();
    for future in futures {
        let completed = Rc::clone(&completed);
        future.add_done_callback(move |future| {
            let mut completed = completed.borrow_mut();
            completed.futures.push_back(future.clone());
            let waiter = completed.waiter.take();
            drop(completed);
            if let Some(waiter) = waiter {
                // Refused only if `next` has stopped waiting.
                let _ = waiter.set_result(());
            }
        });
    }
    let deadline = timeout.and_then(|timeout| event_loop.now().checked_add(timeout));
    AsCompleted { event_loop: event_loop.clone(), completed, remaining, deadline }
}

/// The outcomes that [`as_completed`] returns one by one.
pub struct AsCompleted<T: 'static> {
    event_loop: EventLoop,
    completed: Rc<RefCell<Completed<T>>>,
    /// The number of outcomes that `next` has not returned yet.
    remaining: usize,
    deadline: Option<Instant>,
}

/// The futures that are done and not yet returned, and the caller of `next`
/// that waits for one.
struct Completed<T> {
    futures: VecDeque<Future<T>>,
    waiter: Option<Future<()>>,
}

impl<T> Default for Completed<T> {
    fn default() -> Self {
        Self { futures: VecDeque::new(), waiter: None }
    }
}

impl<T: 'static> AsCompleted<T> {
    /// Waits for the next outcome and returns it; `None` after the outcome of
    /// the last future. At the timeout it returns one last outcome,
    /// [`Exception::TimedOut`].
    pub async fn next(&mut self) -> Option<Result<T, Exception>> {
        if self.remaining == 0 {
            return None;
        }
        if self.completed.borrow().futures.is_empty() {
            let waiter = Future::new(&self.event_loop);
            self.completed.borrow_mut().waiter = Some(waiter.clone());
            let timeout =
                self.deadline.map(|at| at.saturating_duration_since(self.event_loop.now()));
            if let Err(exception) = with_timeout(&self.event_loop, timeout, waiter).await {
                // One may be done whose callback is in the run queue still.
                yield_now(&self.event_loop).await;
                if self.completed.borrow().futures.is_empty() {
                    self.remaining = 0;
                    return Some(Err(exception));
                }
            }
        }
        let future = self.completed.borrow_mut().futures.pop_front()?;
        self.remaining -= 1;
        Some(future.outcome())
    }
}

/// Returns the futures of awaitables, each of them once.
fn each_once<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
) -> Vec<Future<T>> {
    let mut addresses = BTreeSet::new();
    let mut futures: Vec<Future<T>> =
        awaitables.into_iter().map(|awaitable| ensure_future(event_loop, awaitable)).collect();
    futures.retain(|future| addresses.insert(future.address()));
    futures
}

impl<T: 'static> Future<T> {
    /// Moves the outcome out, or copies it if it is [shared](Future::shared). A
    /// future without one gives [`InvalidState`].
    pub(crate) fn outcome(&self) -> Result<T, Exception> {
        let missing = if self.done() { InvalidState::Taken } else { InvalidState::Pending };
        self.take_result().unwrap_or(Err(missing.into()))
    }
}

/// Awaits a future, no longer than `timeout` if there is one.
async fn with_timeout(
    event_loop: &EventLoop,
    timeout: Option<Duration>,
    settled: Future<()>,
) -> Result<(), Exception> {
    let Some(deadline) = timeout.and_then(|timeout| event_loop.now().checked_add(timeout)) else {
        return settled.await;
    };
    timeout_at(event_loop, || deadline, settled).await.unwrap_or(Err(Exception::TimedOut))
}

// ANCHOR: cancel_on_drop
/// A drop guard that cancels its future.
struct CancelOnDrop<T: 'static>(Future<T>);

impl<T: 'static> Drop for CancelOnDrop<T> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
// ANCHOR_END: cancel_on_drop

/// Done callbacks on several futures, which resolve `settled` when all of them
/// are done, or when one meets a condition. Dropping it removes the callbacks.
struct Watch<T: 'static> {
    watched: Vec<(Future<T>, CallbackId)>,
    settled: Future<()>,
}

impl<T: 'static> Watch<T> {
    fn new(
        event_loop: &EventLoop,
        futures: &[Future<T>],
        settles: impl Fn(&Future<T>) -> bool + Copy + 'static,
    ) -> Self {
        let settled = Future::new(event_loop);
        let pending = Rc::new(Cell::new(futures.len()));
        // Not refused: no other code has a handle to `settled` yet.
        if futures.is_empty() {
            let _ = settled.set_result(());
        } else if futures.iter().any(|future| !future.event_loop().is(event_loop)) {
            let _ = settled.finish(Err(InvalidState::OtherLoop.into()));
        }
        let watch = |future: &Future<T>| {
            let (settled, pending) = (settled.clone(), Rc::clone(&pending));
            let id = future.add_done_callback(move |future| {
                pending.set(pending.get() - 1);
                if pending.get() == 0 || settles(future) {
                    // Refused if an earlier future has resolved it.
                    let _ = settled.set_result(());
                }
            });
            (future.clone(), id)
        };
        let watched = futures.iter().map(watch).collect();
        Self { watched, settled }
    }

    fn settled(&self) -> Future<()> {
        self.settled.clone()
    }
}

impl<T: 'static> Drop for Watch<T> {
    fn drop(&mut self) {
        for (future, id) in &self.watched {
            future.remove_done_callback(*id);
        }
    }
}
