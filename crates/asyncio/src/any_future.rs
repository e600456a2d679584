//! Futures as asyncio has them: a task is a future, callbacks are called when it is done, and
//! a result can be read more than once.

use std::any::Any;
use std::error::Error;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use selector_core::Key;
use stage2_coroutines::runtime::observer::Origin;
use stage2_coroutines::{Coroutine, Elapsed, EventLoop, Exception, Future, InvalidState, Task};

/// Returns the exception that carries an error of your own. An error that is an exception
/// already, or [`Elapsed`], is that exception.
pub fn raised(error: impl Into<Box<dyn Error>>) -> Exception {
    let error = match error.into().downcast::<Exception>() {
        Ok(exception) => return *exception,
        Err(error) => error,
    };
    if error.is::<Elapsed>() {
        return Exception::TimedOut;
    }
    Exception::Raised(Rc::new(error))
}

/// The id of a done callback, for [`FutureExt::remove_done_callback`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallbackId(Key);

impl CallbackId {
    /// Removes the callback. Returns false if it was called or is about to be.
    pub(crate) fn remove(self, event_loop: &EventLoop) -> bool {
        let scheduler = event_loop.scheduler();
        let is_waiting = scheduler.wakers(self.0).is_some_and(|wakers| !wakers.is_queued);
        if is_waiting {
            scheduler.remove(self.0);
        }
        is_waiting
    }
}

/// What asyncio's futures can do besides, and its tasks, too.
pub trait FutureExt<T: 'static> {
    /// Returns the future itself.
    fn as_future(&self) -> &Future<T>;

    /// Returns true if it has a result or an exception, even one that has been taken.
    fn done(&self) -> bool {
        self.as_future().done()
    }

    /// Returns true if it was cancelled.
    fn cancelled(&self) -> bool {
        self.as_future().is_cancelled()
    }

    /// Moves the result out, or copies the exception. Returns `None` if it is pending or
    /// the result has been taken.
    fn take_result(&self) -> Option<Result<T, Exception>> {
        self.as_future().take_result()
    }

    /// Returns a copy of the result.
    ///
    /// # Errors
    /// The exception of the future, if it has one; [`InvalidState`] if it is
    /// pending or the result was moved out.
    fn result(&self) -> Result<T, Exception>
    where
        T: Clone,
    {
        copy_outcome(self.as_future(), T::clone)
    }

    /// Returns the exception, if the future ended with one.
    ///
    /// # Errors
    /// [`Exception::Cancelled`] if it was cancelled, [`InvalidState`] if it is
    /// pending.
    fn exception(&self) -> Result<Option<Exception>, Exception> {
        let future = self.as_future();
        if !future.done() {
            // There is nothing yet that could count as retrieved.
            return Err(InvalidState::Pending.into());
        }
        future.set_retrieved();
        match future.inspect(|outcome| outcome.as_ref().err().cloned()).flatten() {
            Some(Exception::Cancelled) => Err(Exception::Cancelled),
            exception => Ok(exception),
        }
    }

    /// Resolves the future with an error of your own.
    ///
    /// # Errors
    /// When it is done already. `error` is dropped.
    fn set_exception(&self, error: impl Into<Box<dyn Error>>) -> Result<(), InvalidState> {
        self.as_future().finish(Err(raised(error)))
    }

    // ANCHOR: add_done_callback
    /// Has the loop call `callback` with this future when it is done. It is
    /// never called from within this function or the one that resolves the
    /// future. If the future is done already, it is called soon.
    ///
    /// If the future is never resolved, the callback is dropped when it is removed, or
    /// with the loop.
    fn add_done_callback(&self, callback: impl FnOnce(&Future<T>) + 'static) -> CallbackId {
        let future = self.as_future().clone();
        let scheduler = self.as_future().event_loop().scheduler();
        let call = async move { callback(&future) };
        let key = scheduler.add(Box::pin(call), Origin::Callback);
        self.as_future().wake_when_done(key);
        CallbackId(key)
    }
    // ANCHOR_END: add_done_callback

    /// Removes a callback and returns the number of removed ones: one, or zero
    /// if it was called or is about to be.
    fn remove_done_callback(&self, id: CallbackId) -> usize {
        id.remove(self.as_future().event_loop()).into()
    }

    /// Returns this future, whose result is shared: every `.await` of the returned handle and
    /// of its clones gets a copy. Other handles, which do not share, still move the result out.
    fn shared(self) -> AnyFuture<T>
    where
        T: Clone,
        Self: Into<AnyFuture<T>>,
    {
        AnyFuture { copy: Some(T::clone), ..self.into() }
    }
}

impl<T: 'static> FutureExt<T> for Future<T> {
    fn as_future(&self) -> &Future<T> {
        self
    }
}

impl<T: 'static> FutureExt<T> for Task<T> {
    fn as_future(&self) -> &Future<T> {
        self.future()
    }
}

impl<T: 'static> FutureExt<T> for AnyFuture<T> {
    fn as_future(&self) -> &Future<T> {
        match &self.kind {
            Kind::Future(future) => future,
            Kind::Task(task) => task.future(),
            Kind::Gather(gathering) => gathering.outer(),
        }
    }
}

/// Tasks by asyncio's rules: their coroutines can raise.
pub trait TaskExt<T: 'static>: Sized {
    // ANCHOR: try_spawn
    /// Spawns a coroutine that can raise. If it returns an error, that is the
    /// exception of the task: code that awaits the task gets it, and if it is
    /// never retrieved, the exception handler does. A coroutine that returns
    /// [`Exception::Cancelled`] is a cancelled task.
    #[track_caller]
    fn try_spawn<E: Into<Box<dyn Error>> + 'static>(
        event_loop: &EventLoop,
        coroutine: impl Coroutine<Output = Result<T, E>> + 'static,
    ) -> Self;
    // ANCHOR_END: try_spawn
}

impl<T: 'static> TaskExt<T> for Task<T> {
    fn try_spawn<E: Into<Box<dyn Error>> + 'static>(
        event_loop: &EventLoop,
        coroutine: impl Coroutine<Output = Result<T, E>> + 'static,
    ) -> Self {
        Self::spawn_with(event_loop, coroutine, |result| result.map_err(raised))
    }
}

/// A future, a task or a gather, or one of them with a shared result: for code that, like
/// asyncio, does not tell them apart.
pub struct AnyFuture<T: 'static> {
    kind: Kind<T>,
    /// The function that copies the result, if it is shared.
    copy: Option<fn(&T) -> T>,
    /// What is dropped with the last clone of this handle.
    guard: Option<Rc<dyn Any>>,
}

enum Kind<T: 'static> {
    Future(Future<T>),
    Task(Task<T>),
    Gather(Rc<dyn Gathered<T>>),
}

/// A future with other futures behind it, which are cancelled with it.
pub(crate) trait Gathered<R> {
    fn outer(&self) -> &Future<R>;
    fn cancel(&self) -> bool;
}

impl<T: 'static> AnyFuture<T> {
    pub(crate) fn gathered(gathering: Rc<dyn Gathered<T>>) -> Self {
        Self { kind: Kind::Gather(gathering), copy: None, guard: None }
    }

    /// Cancels it, and its task or its children if it has any. Returns false if it was done already.
    pub fn cancel(&self) -> bool {
        match &self.kind {
            Kind::Future(future) => future.cancel(),
            Kind::Task(task) => task.cancel(),
            Kind::Gather(gathering) => gathering.cancel(),
        }
    }

    /// Returns true if the two handles stand for the same future.
    pub fn is(&self, other: &Self) -> bool {
        self.as_future().is(other.as_future())
    }

    /// Returns true if it has an exception or was cancelled. The exception does not count as
    /// retrieved.
    pub(crate) fn has_failed(&self) -> bool {
        self.as_future().inspect(Result::is_err).unwrap_or(false)
    }

    /// Returns a number that no other future has as long as this one exists.
    pub(crate) fn address(&self) -> usize {
        self.as_future().address()
    }

    /// Returns this handle, which keeps `guard` until it and its clones are dropped.
    pub(crate) fn with_guard(self, guard: impl Any) -> Self {
        Self { guard: Some(Rc::new(guard)), ..self }
    }

    /// Moves the outcome out, or copies it if it is shared. A future without one gives
    /// [`InvalidState`].
    pub fn outcome(&self) -> Result<T, Exception> {
        if let Some(copy) = self.copy {
            return copy_outcome(self.as_future(), copy);
        }
        let missing = if self.done() { InvalidState::Taken } else { InvalidState::Pending };
        self.as_future().take_result().unwrap_or(Err(missing.into()))
    }
}

/// Returns a copy of the outcome of a future, or says that there is none.
fn copy_outcome<T>(future: &Future<T>, copy: fn(&T) -> T) -> Result<T, Exception> {
    if !future.done() {
        return Err(InvalidState::Pending.into());
    }
    future.set_retrieved();
    let copied = future.inspect(|outcome| outcome.as_ref().map(copy).map_err(Exception::clone));
    copied.unwrap_or(Err(InvalidState::Taken.into()))
}

impl<T: 'static> Coroutine for AnyFuture<T> {
    type Output = Result<T, Exception>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.done() {
            return Poll::Ready(self.outcome());
        }
        // It is pending, so this only stores the waker, and moves no result out.
        match &mut self.kind {
            Kind::Future(future) => Pin::new(future).poll(context),
            Kind::Task(task) => Pin::new(task).poll(context),
            Kind::Gather(gathering) => Pin::new(&mut gathering.outer().clone()).poll(context),
        }
    }
}

impl<T: 'static> Clone for AnyFuture<T> {
    fn clone(&self) -> Self {
        let kind = match &self.kind {
            Kind::Future(future) => Kind::Future(future.clone()),
            Kind::Task(task) => Kind::Task(task.clone()),
            Kind::Gather(gathering) => Kind::Gather(Rc::clone(gathering)),
        };
        Self { kind, copy: self.copy, guard: self.guard.clone() }
    }
}

impl<T: 'static> From<Future<T>> for AnyFuture<T> {
    fn from(future: Future<T>) -> Self {
        Self { kind: Kind::Future(future), copy: None, guard: None }
    }
}

impl<T: 'static> From<Task<T>> for AnyFuture<T> {
    fn from(task: Task<T>) -> Self {
        Self { kind: Kind::Task(task), copy: None, guard: None }
    }
}

impl<T: 'static> std::fmt::Debug for AnyFuture<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_future().fmt(f)
    }
}
