//! The combinators of asyncio: functions that wait for several futures at once.
//!
//! They take futures; a task is a future too. Cancelling a coroutine drops it.
//! When the dropped coroutine waits in [`gather`] or [`wait_for`], the futures
//! that it waits for are cancelled as well. When it waits in [`wait`],
//! [`as_completed`] or [`shield`], they are not. asyncio does the same.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::{CallbackId, Coroutine, EventLoop, Exception, Future, InvalidState, Task, timeout_at};

/// Spawns a coroutine as a task and returns its future. In the first versions of
/// asyncio this function was called `async`. A value that is a future already
/// need not be converted; its type tells.
#[track_caller]
pub fn ensure_future<T: 'static>(
    event_loop: &EventLoop,
    coroutine: impl Coroutine<Output = T> + 'static,
) -> Future<T> {
    Task::spawn(event_loop, coroutine).into()
}

impl<T> From<Task<T>> for Future<T> {
    fn from(task: Task<T>) -> Self {
        task.future
    }
}

// ANCHOR: gather
/// Waits for all futures, and returns their results in the order of the
/// arguments. Cancelling one of the futures does not cancel the coroutine that
/// waits; the cancellation is an exception like any other.
///
/// # Errors
/// The first exception, as soon as there is one. The other futures go on.
pub async fn gather<T: 'static>(
    event_loop: &EventLoop,
    futures: impl IntoIterator<Item: Into<Future<T>>>,
) -> Result<Vec<T>, Exception> {
    let mut children = Children::new(futures);
    Watch::new(event_loop, &children.0, Future::has_failed).settled().await?;
    let children = children.release();
    match children.iter().find(|child| child.has_failed()) {
        Some(failed) => Err(outcome(failed).err().unwrap_or(Exception::Cancelled)),
        None => children.iter().map(outcome).collect(),
    }
}
// ANCHOR_END: gather

/// Waits for all futures, and returns every outcome, exceptions included:
/// asyncio's `gather` with `return_exceptions=True`.
pub async fn gather_outcomes<T: 'static>(
    event_loop: &EventLoop,
    futures: impl IntoIterator<Item: Into<Future<T>>>,
) -> Vec<Result<T, Exception>> {
    let mut children = Children::new(futures);
    let settled = Watch::new(event_loop, &children.0, |_| false).settled().await;
    let outcome = |child| settled.clone().and_then(|()| outcome(child));
    children.release().iter().map(outcome).collect()
}

/// The condition on which [`wait`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnWhen {
    /// One future is done.
    FirstCompleted,
    /// One future has an exception, or all are done.
    FirstException,
    /// All futures are done.
    AllCompleted,
}

/// Waits for futures, no longer than `timeout`, and returns those that are done
/// and those that are pending. It cancels nothing, and raises no exception.
pub async fn wait<T: 'static>(
    event_loop: &EventLoop,
    futures: impl IntoIterator<Item: Into<Future<T>>>,
    return_when: ReturnWhen,
    timeout: Option<Duration>,
) -> (Vec<Future<T>>, Vec<Future<T>>) {
    let futures: Vec<Future<T>> = futures.into_iter().map(Into::into).collect();
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
/// Waits for a future, but no longer than `timeout`; then cancels it.
///
/// # Errors
/// [`Exception::TimedOut`], or the exception of the future.
pub async fn wait_for<T: 'static>(
    event_loop: &EventLoop,
    future: impl Into<Future<T>>,
    timeout: Duration,
) -> Result<T, Exception> {
    let child = Children::new([future]);
    let wait = Watch::new(event_loop, &child.0, |_| false);
    match with_timeout(event_loop, Some(timeout), wait.settled()).await {
        // A future that is done exactly at the deadline is in time.
        Err(exception) if !child.0[0].done() => Err(exception),
        _ => outcome(&child.0[0]),
    }
}
// ANCHOR_END: wait_for

// ANCHOR: shield
/// Returns a second future with the outcome of the given one. Cancelling the
/// second does not cancel the first.
pub fn shield<T: 'static>(future: impl Into<Future<T>>) -> Future<T> {
    let inner = future.into();
    let outer = Future::new(&inner.event_loop());
    let shielded = outer.clone();
    inner.add_done_callback(move |inner| {
        if !shielded.done() {
            // Not refused: the line above has seen that it is pending.
            let _ = shielded.finish(outcome(inner));
        }
    });
    outer
}
// ANCHOR_END: shield

/// Runs coroutines in parallel and returns their results, as Tornado does when
/// a list is yielded.
///
/// # Errors
/// As for [`gather`].
pub async fn multi<T: 'static>(
    event_loop: &EventLoop,
    coroutines: impl IntoIterator<Item: Coroutine<Output = T> + 'static>,
) -> Result<Vec<T>, Exception> {
    let spawn = |coroutine| Task::spawn(event_loop, coroutine);
    let tasks: Vec<Task<T>> = coroutines.into_iter().map(spawn).collect();
    gather(event_loop, tasks).await
}

/// Runs coroutines in parallel and returns their results by key, as Tornado
/// does when a dict is yielded.
///
/// # Errors
/// As for [`gather`].
pub async fn multi_map<K: Ord, T: 'static>(
    event_loop: &EventLoop,
    coroutines: impl IntoIterator<Item = (K, impl Coroutine<Output = T> + 'static)>,
) -> Result<BTreeMap<K, T>, Exception> {
    let (keys, coroutines): (Vec<K>, Vec<_>) = coroutines.into_iter().unzip();
    let results = multi(event_loop, coroutines).await?;
    Ok(keys.into_iter().zip(results).collect())
}

/// Returns the outcomes of futures in the order of completion, one for each
/// call of [`AsCompleted::next`].
pub fn as_completed<T: 'static>(
    event_loop: &EventLoop,
    futures: impl IntoIterator<Item: Into<Future<T>>>,
    timeout: Option<Duration>,
) -> AsCompleted<T> {
    let completed: Rc<RefCell<Completed<T>>> = Rc::default();
    let mut remaining = 0;
    for future in futures {
        remaining += 1;
        let completed = Rc::clone(&completed);
        future.into().add_done_callback(move |future| {
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
                self.remaining = 0;
                return Some(Err(exception));
            }
        }
        let future = self.completed.borrow_mut().futures.pop_front()?;
        self.remaining -= 1;
        Some(outcome(&future))
    }
}

/// Moves the outcome out of a future. A future without one gives
/// [`InvalidState`].
fn outcome<T: 'static>(future: &Future<T>) -> Result<T, Exception> {
    let missing = if future.done() { InvalidState::Taken } else { InvalidState::Pending };
    future.take_result().unwrap_or(Err(missing.into()))
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

// ANCHOR: children
/// A drop guard that cancels its futures, unless they are released first.
struct Children<T: 'static>(Vec<Future<T>>);

impl<T: 'static> Children<T> {
    fn new(futures: impl IntoIterator<Item: Into<Future<T>>>) -> Self {
        Self(futures.into_iter().map(Into::into).collect())
    }

    fn release(&mut self) -> Vec<Future<T>> {
        std::mem::take(&mut self.0)
    }
}

impl<T: 'static> Drop for Children<T> {
    fn drop(&mut self) {
        for child in &self.0 {
            child.cancel();
        }
    }
}
// ANCHOR_END: children

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
