//! `gather`: a future of the results of several others; and [`ensure_future`], which makes
//! a future of each argument of a combinator.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use stage2_coroutines::{Coroutine, EventLoop, Exception, Future, InvalidState, Task};

use crate::any_future::{AnyFuture, FutureExt, Gathered, TaskExt};

type Outcomes<T> = Vec<Result<T, Exception>>;

// ANCHOR: gather
/// Returns a future of the results of all awaitables, in the order of the
/// arguments. They are awaited from now on. Cancelling one of them does not
/// cancel the others; the cancellation is an exception like any other.
///
/// The results are copied, so that others can await the same futures, and a
/// future may be given twice.
///
/// # Errors
/// The exception that is raised first, as soon as it is raised. The others go on,
/// and their exceptions count as retrieved.
pub fn gather<T: Clone + 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
) -> Gather<Vec<T>> {
    Gather::new(event_loop, shared(event_loop, awaitables), true, |outcomes| {
        outcomes.into_iter().collect()
    })
}
// ANCHOR_END: gather

/// Returns a future of all outcomes, exceptions included: asyncio's `gather` with
/// `return_exceptions=True`.
pub fn gather_outcomes<T: Clone + 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
) -> Gather<Outcomes<T>> {
    Gather::new(event_loop, shared(event_loop, awaitables), false, Ok)
}

fn shared<T: Clone + 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
) -> Vec<AnyFuture<T>> {
    let shared = |awaitable| ensure_future(event_loop, awaitable).shared();
    awaitables.into_iter().map(shared).collect()
}

/// Runs awaitables in parallel and returns their results, as Tornado does when a
/// list is yielded. Unlike [`gather`] it moves the results, so that they need not
/// be `Clone`. Tornado waits for all of them before it raises, logs the exceptions
/// but the first, and cancels none.
///
/// # Errors
/// As for [`gather`].
pub async fn multi<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item: Coroutine<Output = Result<T, E>> + 'static>,
) -> Result<Vec<T>, Exception> {
    let children = awaitables.into_iter().map(|awaitable| ensure_future(event_loop, awaitable));
    let children = children.collect();
    Gather::new(event_loop, children, true, |outcomes| outcomes.into_iter().collect()).await
}

/// Runs awaitables in parallel and returns their results by key, as Tornado does
/// when a dict is yielded.
///
/// # Errors
/// As for [`gather`].
pub async fn multi_map<K: Ord, T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitables: impl IntoIterator<Item = (K, impl Coroutine<Output = Result<T, E>> + 'static)>,
) -> Result<BTreeMap<K, T>, Exception> {
    let (keys, awaitables): (Vec<K>, Vec<_>) = awaitables.into_iter().unzip();
    let results = multi(event_loop, awaitables).await?;
    Ok(keys.into_iter().zip(results).collect())
}

/// A future of the outcomes of other futures, its children. Cancelling it cancels
/// the children, and so does dropping it, unless it is done.
///
/// A combinator takes it as the future that it is, and so does [`AnyFuture::from`]. From
/// then on, only cancelling cancels it.
#[must_use = "dropping it cancels its children"]
pub struct Gather<R: 'static> {
    gathering: Rc<dyn Gathered<R>>,
    cancels_on_drop: Cell<bool>,
}

// ANCHOR: gathering
/// What a [`Gather`] shares with the callbacks of its children.
struct Gathering<T: 'static, R: 'static> {
    outer: Future<R>,
    /// The children, until the outer future is done.
    children: RefCell<Vec<AnyFuture<T>>>,
    pending: Cell<usize>,
    /// True if the first exception settles the outcome.
    raises: bool,
    collect: fn(Outcomes<T>) -> Result<R, Exception>,
}

impl<T: 'static, R: 'static> Gathering<T, R> {
    /// Counts a child that is done. The last one settles the outcome, or the first
    /// that has an exception.
    fn child_done(&self, child: &AnyFuture<T>) {
        self.pending.update(|pending| pending - 1);
        // Every exception counts as retrieved, also one that is not raised.
        let exception = child.exception().unwrap_or_else(Some);
        match exception {
            Some(exception) if self.raises => self.settle(Err(exception)),
            _ if self.pending.get() > 0 || self.outer.done() => {}
            _ => {
                // Not borrowed while results are copied, by foreign code.
                let children = self.children.borrow().clone();
                self.settle((self.collect)(children.iter().map(AnyFuture::outcome).collect()));
            }
        }
    }

    fn settle(&self, outcome: Result<R, Exception>) {
        drop(self.children.take());
        // Refused if it is settled already.
        let _ = self.outer.finish(outcome);
    }
}
// ANCHOR_END: gathering

impl<T: 'static, R: 'static> Gathered<R> for Gathering<T, R> {
    fn outer(&self) -> &Future<R> {
        &self.outer
    }

    fn cancel(&self) -> bool {
        let children = self.children.borrow().clone();
        if children.iter().filter(|child| child.cancel()).count() == 0 {
            return false;
        }
        drop(self.children.take());
        self.outer.cancel()
    }
}

impl<R: 'static> Gather<R> {
    fn new<T: 'static>(
        event_loop: &EventLoop,
        children: Vec<AnyFuture<T>>,
        raises: bool,
        collect: fn(Outcomes<T>) -> Result<R, Exception>,
    ) -> Self {
        let outer = Future::new(event_loop);
        let pending = Cell::new(children.len());
        let gathering = Rc::new(Gathering {
            outer,
            children: RefCell::new(children.clone()),
            pending,
            raises,
            collect,
        });
        if children.is_empty() {
            gathering.settle(collect(Vec::new()));
        } else if children.iter().any(|child| !child.as_future().event_loop().is(event_loop)) {
            gathering.settle(Err(InvalidState::OtherLoop.into()));
        }
        for child in children {
            let gathering = Rc::clone(&gathering);
            let done = child.clone();
            child.add_done_callback(move |_| gathering.child_done(&done));
        }
        Self { gathering, cancels_on_drop: Cell::new(true) }
    }

    /// Cancels all children, and then the future itself. Returns false if all of them were
    /// done already, and so their results are not lost.
    pub fn cancel(&self) -> bool {
        self.gathering.cancel()
    }

    /// Gives it away, as one future among others.
    fn give_away(&self) -> AnyFuture<R> {
        self.cancels_on_drop.set(false);
        AnyFuture::gathered(Rc::clone(&self.gathering))
    }
}

impl<R: 'static> From<Gather<R>> for AnyFuture<R> {
    fn from(gather: Gather<R>) -> Self {
        gather.give_away()
    }
}

impl<R: 'static> FutureExt<R> for Gather<R> {
    fn as_future(&self) -> &Future<R> {
        self.gathering.outer()
    }
}

impl<R: 'static> Coroutine for Gather<R> {
    type Output = Result<R, Exception>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.gathering.outer().clone()).poll(context)
    }
}

// ANCHOR: gather_drop
impl<R: 'static> Drop for Gather<R> {
    fn drop(&mut self) {
        if self.cancels_on_drop.get() {
            self.cancel();
        }
    }
}
// ANCHOR_END: gather_drop

// ANCHOR: ensure_future
/// Returns the future of an awaitable: a future, a task or a gather as it is, and any other
/// coroutine as a task that can raise, by [`TaskExt::try_spawn`]. All combinators of this
/// crate do this with their arguments. In the first versions of asyncio this function was
/// called `async`.
#[track_caller]
pub fn ensure_future<T: 'static, E: Into<Box<dyn Error>> + 'static>(
    event_loop: &EventLoop,
    awaitable: impl Coroutine<Output = Result<T, E>> + 'static,
) -> AnyFuture<T> {
    let any: &dyn Any = &awaitable;
    if let Some(future) = any.downcast_ref::<AnyFuture<T>>() {
        future.clone()
    } else if let Some(future) = any.downcast_ref::<Future<T>>() {
        future.clone().into()
    } else if let Some(task) = any.downcast_ref::<Task<T>>() {
        task.clone().into()
    } else if let Some(gather) = any.downcast_ref::<Gather<T>>() {
        gather.give_away()
    } else {
        Task::try_spawn(event_loop, awaitable).into()
    }
}
// ANCHOR_END: ensure_future
