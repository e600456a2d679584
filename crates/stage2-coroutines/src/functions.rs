//! Waiting for several futures at once, in every way asyncio knows.
//!
//! All of them take futures, and a task is one. Dropping a coroutine that waits
//! for others, which is what cancelling it does, cancels the others where it
//! does so in asyncio: [`gather`] and [`wait_for`] do, [`wait`],
//! [`as_completed`] and [`shield`] do not.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::{CallbackId, Coroutine, EventLoop, Exception, Future, InvalidState, Task, within};

/// `ensure_future`, in the first versions called `async`: a future for a
/// coroutine. What is one already need not become one; types tell which is
/// which.
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
/// arguments. Cancelling one of them does not cancel the one who gathers; it
/// is an exception like others.
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

/// The same with every outcome, exceptions included: `return_exceptions=True`.
pub async fn gather_outcomes<T: 'static>(
    event_loop: &EventLoop,
    futures: impl IntoIterator<Item: Into<Future<T>>>,
) -> Vec<Result<T, Exception>> {
    let mut children = Children::new(futures);
    let settled = Watch::new(event_loop, &children.0, |_| false).settled().await;
    let outcome = |child| settled.clone().and_then(|()| outcome(child));
    children.release().iter().map(outcome).collect()
}

/// When [`wait`] returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReturnWhen {
    /// When one future is done.
    FirstCompleted,
    /// When one has an exception, or all are done.
    FirstException,
    /// When all are done.
    AllCompleted,
}

/// Waits for futures, for so long at most, and returns those that are done and
/// those that are not. Nothing is cancelled, and no exception raised.
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
    // In time or not, the futures say how far they are.
    let _ = until(event_loop, timeout, watch.settled()).await;
    drop(watch);
    futures.into_iter().partition(Future::done)
}

// ANCHOR: wait_for
/// Waits for a future, but no longer than `timeout`; then cancels it.
///
/// # Errors
/// [`Exception::TimedOut`], or that of the future.
pub async fn wait_for<T: 'static>(
    event_loop: &EventLoop,
    future: impl Into<Future<T>>,
    timeout: Duration,
) -> Result<T, Exception> {
    let child = Children::new([future]);
    let wait = Watch::new(event_loop, &child.0, |_| false);
    match until(event_loop, Some(timeout), wait.settled()).await {
        // Done at the very moment of the deadline is done in time.
        Err(exception) if !child.0[0].done() => Err(exception),
        _ => outcome(&child.0[0]),
    }
}
// ANCHOR_END: wait_for

// ANCHOR: shield
/// A future of its own for the outcome of another. Cancelling the one does not
/// cancel the other.
pub fn shield<T: 'static>(future: impl Into<Future<T>>) -> Future<T> {
    let inner = future.into();
    let outer = Future::new(&inner.event_loop());
    let shielded = outer.clone();
    inner.add_done_callback(move |inner| {
        if !shielded.done() {
            // Not refused, since it was not done a moment ago.
            let _ = shielded.finish(outcome(inner));
        }
    });
    outer
}
// ANCHOR_END: shield

/// Runs coroutines in parallel: what Tornado does with a list that is yielded.
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

/// The same with a name for each: what Tornado does with a dict.
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

/// The outcomes of futures, each as it comes; see [`AsCompleted::next`].
pub fn as_completed<T: 'static>(
    event_loop: &EventLoop,
    futures: impl IntoIterator<Item: Into<Future<T>>>,
    timeout: Option<Duration>,
) -> AsCompleted<T> {
    let completed: Rc<RefCell<Completed<T>>> = Rc::default();
    let mut left = 0;
    for future in futures {
        left += 1;
        let completed = Rc::clone(&completed);
        future.into().add_done_callback(move |future| {
            let mut completed = completed.borrow_mut();
            completed.futures.push_back(future.clone());
            let waiting = completed.waiting.take();
            drop(completed);
            if let Some(waiting) = waiting {
                // Refused only if nobody waits any more.
                let _ = waiting.set_result(());
            }
        });
    }
    let deadline = timeout.and_then(|timeout| event_loop.now().checked_add(timeout));
    AsCompleted { event_loop: event_loop.clone(), completed, left, deadline }
}

/// See [`as_completed`].
pub struct AsCompleted<T: 'static> {
    event_loop: EventLoop,
    completed: Rc<RefCell<Completed<T>>>,
    left: usize,
    deadline: Option<Instant>,
}

struct Completed<T> {
    futures: VecDeque<Future<T>>,
    waiting: Option<Future<()>>,
}

impl<T> Default for Completed<T> {
    fn default() -> Self {
        Self { futures: VecDeque::new(), waiting: None }
    }
}

impl<T: 'static> AsCompleted<T> {
    /// The next outcome; `None` when there was one for each future. When the
    /// time is up there is one last outcome, [`Exception::TimedOut`].
    pub async fn next(&mut self) -> Option<Result<T, Exception>> {
        if self.left == 0 {
            return None;
        }
        if self.completed.borrow().futures.is_empty() {
            let waiting = Future::new(&self.event_loop);
            self.completed.borrow_mut().waiting = Some(waiting.clone());
            let timeout =
                self.deadline.map(|at| at.saturating_duration_since(self.event_loop.now()));
            if let Err(exception) = until(&self.event_loop, timeout, waiting).await {
                self.left = 0;
                return Some(Err(exception));
            }
        }
        let future = self.completed.borrow_mut().futures.pop_front()?;
        self.left -= 1;
        Some(outcome(&future))
    }
}

fn outcome<T: 'static>(future: &Future<T>) -> Result<T, Exception> {
    let missing = if future.done() { InvalidState::Taken } else { InvalidState::Pending };
    future.take_result().unwrap_or(Err(missing.into()))
}

async fn until(
    event_loop: &EventLoop,
    timeout: Option<Duration>,
    settled: Future<()>,
) -> Result<(), Exception> {
    let Some(deadline) = timeout.and_then(|timeout| event_loop.now().checked_add(timeout)) else {
        return settled.await;
    };
    within(event_loop, || deadline, settled).await.unwrap_or(Err(Exception::TimedOut))
}

// ANCHOR: children
/// Futures that are cancelled unless somebody releases them first.
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

/// Watches futures until all are done, or one of them settles the matter. What
/// it has left with them it takes away again.
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
        // Nothing of this is refused: nobody else has it yet.
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
                    // Refused if the matter is settled already.
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
