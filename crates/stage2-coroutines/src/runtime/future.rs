//! The future: a value that is pending, and later has a result.

use std::cell::{Cell, RefCell};
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use selector_core::Key;

use super::Coroutine;
use super::event_loop::EventLoop;
use super::exception::{Exception, InvalidState};
use super::observer::{Unhandled, Wait};
use super::scheduler::Scheduler;

// ANCHOR: future
/// The chapter's `Future`: pending until [`Future::set_result`] is called. Code
/// that needs the result awaits it.
///
/// Handles are cheap to clone and stand for the same future: one for the code
/// that will set the result, the others for the code that waits for it. (The
/// trait that Rust calls `Future` is what the chapter calls a coroutine, and its
/// name here is [`Coroutine`].)
///
/// The first `.await` moves the result out. An exception is copied.
pub struct Future<T>(Rc<State<T>>);

struct State<T> {
    event_loop: EventLoop,
    outcome: RefCell<Outcome<T>>,
    /// True once somebody has seen the exception.
    is_retrieved: Cell<bool>,
}

enum Outcome<T> {
    Pending(Waiters),
    /// `None` once the result has been moved out.
    Done(Option<Result<T, Exception>>),
}
// ANCHOR_END: future

impl<T> Future<T> {
    /// Returns a pending future of this loop.
    pub fn new(event_loop: &EventLoop) -> Self {
        Self(Rc::new(State {
            event_loop: event_loop.clone(),
            outcome: RefCell::new(Outcome::Pending(Waiters::default())),
            is_retrieved: Cell::new(false),
        }))
    }

    /// Returns the loop that the future belongs to.
    pub fn event_loop(&self) -> &EventLoop {
        &self.0.event_loop
    }

    /// Returns true if the two handles stand for the same future.
    pub fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Returns a number that no other future has as long as this one exists.
    pub fn address(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// Returns true if it has a result or an exception, even one that has been
    /// taken.
    pub fn done(&self) -> bool {
        matches!(*self.0.outcome.borrow(), Outcome::Done(_))
    }

    /// Returns true if it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        matches!(*self.0.outcome.borrow(), Outcome::Done(Some(Err(Exception::Cancelled))))
    }

    // ANCHOR: finish
    /// Resolves the future with a result.
    ///
    /// # Errors
    /// When it is done already. The result is dropped.
    pub fn set_result(&self, result: T) -> Result<(), InvalidState> {
        self.finish(Ok(result))
    }

    /// Cancels the future. Returns false if it was done already.
    pub fn cancel(&self) -> bool {
        self.finish(Err(Exception::Cancelled)).is_ok()
    }

    /// Resolves the future with a result or an exception, and wakes everybody who waits for
    /// it.
    ///
    /// # Errors
    /// When it is done already. The outcome is dropped.
    pub fn finish(&self, outcome: Result<T, Exception>) -> Result<(), InvalidState> {
        let mut state = self.0.outcome.borrow_mut();
        let Outcome::Pending(waiters) = &mut *state else {
            return Err(InvalidState::Done);
        };
        let waiters = mem::take(waiters);
        *state = Outcome::Done(Some(outcome));
        // A waker may be foreign code that comes straight back to this future.
        drop(state);
        waiters.wake(self.scheduler());
        Ok(())
    }
    // ANCHOR_END: finish

    /// Moves the result out, or copies the exception. Returns `None` if the future is
    /// pending or the result has been taken.
    pub fn take_result(&self) -> Option<Result<T, Exception>> {
        let Outcome::Done(outcome) = &mut *self.0.outcome.borrow_mut() else { return None };
        self.0.is_retrieved.set(true);
        match outcome {
            Some(Err(exception)) => Some(Err(exception.clone())),
            _ => outcome.take(),
        }
    }

    /// Shows the outcome to `f`, and leaves it there. Returns `None` if the future is
    /// pending or the result has been taken.
    pub fn inspect<R>(&self, f: impl FnOnce(&Result<T, Exception>) -> R) -> Option<R> {
        let shown = match &mut *self.0.outcome.borrow_mut() {
            // Taken out while `f` runs, which may come back to this future.
            Outcome::Done(outcome) => outcome.take()?,
            Outcome::Pending(_) => return None,
        };
        let result = f(&shown);
        *self.0.outcome.borrow_mut() = Outcome::Done(Some(shown));
        Some(result)
    }

    /// Marks the exception as seen: it is not reported when the last handle is dropped.
    pub fn set_retrieved(&self) {
        self.0.is_retrieved.set(true);
    }

    /// Wakes this task when the future is done, as an `.await` in the task would; at once if
    /// the future is done already.
    pub fn wake_when_done(&self, task: Key) {
        match &mut *self.0.outcome.borrow_mut() {
            Outcome::Pending(waiters) => waiters.add(self.scheduler(), Waiter::Task(task)),
            Outcome::Done(_) => self.scheduler().wake(task),
        }
    }

    fn scheduler(&self) -> &Scheduler {
        self.0.event_loop.scheduler()
    }
}

// ANCHOR: poll
/// The chapter's `yield from future`. A future that is done does not suspend the
/// coroutine that awaits it. Otherwise the waker is stored before the answer is
/// `Pending`: without a stored waker nobody would ever resume the task.
impl<T> Coroutine for Future<T> {
    type Output = Result<T, Exception>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Outcome::Pending(waiters) = &mut *self.0.outcome.borrow_mut() {
            self.scheduler().check_loop()?;
            let waker = context.waker();
            let waiter = match self.scheduler().current_of(waker) {
                Some(task) => Waiter::Task(task),
                None => Waiter::Other(waker.clone()),
            };
            waiters.add(self.scheduler(), waiter);
            self.event_loop().waits(Wait::Future, None);
            return Poll::Pending;
        }
        Poll::Ready(self.take_result().unwrap_or(Err(InvalidState::Taken.into())))
    }
}
// ANCHOR_END: poll

impl<T> Clone for Future<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> Drop for State<T> {
    fn drop(&mut self) {
        if let Outcome::Done(Some(Err(exception))) = self.outcome.get_mut()
            && !self.is_retrieved.get()
            && !exception.is_cancelled()
        {
            let unhandled = Unhandled::NeverRetrieved(exception);
            self.event_loop.scheduler().observer.unhandled(&unhandled);
        }
    }
}

// ANCHOR: waiters
/// Those who wait for a future, each of them once, in the order in which they came.
#[derive(Default)]
struct Waiters(Vec<Waiter>);

enum Waiter {
    /// A task of this loop. Only its key is stored: the key becomes stale when the task
    /// ends, so nobody has to remove it, and all wakers that exist are known to be elsewhere.
    Task(Key),
    /// Any other waker, such as that of a combinator or of another executor.
    Other(Waker),
}

impl Waiter {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Task(this), Self::Task(other)) => this == other,
            (Self::Other(this), Self::Other(other)) => this.will_wake(other),
            _ => false,
        }
    }
}

impl Waiters {
    fn add(&mut self, scheduler: &Scheduler, waiter: Waiter) {
        if self.0.iter().any(|it| it.is_same(&waiter)) {
            return;
        }
        // Tasks come, time out and go, and the future may stay: before the list grows, those
        // that have ended are removed.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|it| !matches!(it, Waiter::Task(task) if !scheduler.contains(*task)));
            // Most futures have one waiter.
            self.0.reserve_exact(self.0.len().max(1));
        }
        self.0.push(waiter);
    }

    fn wake(self, scheduler: &Scheduler) {
        for waiter in self.0 {
            match waiter {
                Waiter::Task(task) => scheduler.wake(task),
                Waiter::Other(waker) => waker.wake(),
            }
        }
    }
}
// ANCHOR_END: waiters
