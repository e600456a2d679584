//! Waiting in line: what tasks of one loop use to wait for each other.
//!
//! [`WaitQueue`] is the one place where waiting in line is written. [`Event`],
//! [`Semaphore`] and [`Mutex`] stand on it. All of them are fair, as asyncio's are: whoever
//! came first goes on first, and nobody overtakes. And all of them are cancellation-safe: a
//! task that is dropped while it waits leaves the queue, and what it was given already goes to
//! the next one.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::net::leaf::leaf_at;
use crate::{Coroutine, EventLoop, Future, Place, Wait};

/// A queue of waiting tasks, the one that has waited longest first.
pub struct WaitQueue {
    event_loop: EventLoop,
    /// What inspection shows of a task in the queue.
    description: Wait,
    /// The turns that nobody has got yet.
    turns: RefCell<VecDeque<Future<()>>>,
}

impl WaitQueue {
    /// Returns a queue in which nobody waits. Inspection describes its tasks like this.
    pub fn new(event_loop: &EventLoop, description: &'static &'static str) -> Self {
        let (event_loop, description) = (event_loop.clone(), Wait::Other(description));
        Self { event_loop, description, turns: RefCell::default() }
    }

    // ANCHOR: wait
    /// Waits for a turn. `at` is the place that inspection shows.
    ///
    /// The task may be dropped after it got its turn and before it goes on. Then `pass_on`
    /// is called, to give the turn to somebody else.
    ///
    /// # Panics
    /// When it is awaited in another loop than its own.
    pub fn wait<'q>(
        &'q self,
        at: Place,
        pass_on: impl Fn() + 'q,
    ) -> impl Coroutine<Output = ()> + 'q {
        // Not in the queue before the first poll: until then nobody waits.
        let mut turn = Turn { queue: self, future: None, pass_on };
        leaf_at(&self.event_loop, self.description, at, move |context| turn.poll(context))
    }
    // ANCHOR_END: wait

    /// Gives the first in the queue its turn. Returns false if nobody waits.
    pub fn wake_one(&self) -> bool {
        let first = self.turns.borrow_mut().pop_front();
        // Never refused: a turn leaves the queue before it is done.
        first.is_some_and(|turn| turn.set_result(()).is_ok())
    }

    /// Gives all who wait now their turn.
    pub fn wake_all(&self) {
        for turn in self.turns.take() {
            // Never refused, as above.
            let _ = turn.set_result(());
        }
    }

    /// Returns the number of tasks that wait.
    pub fn len(&self) -> usize {
        self.turns.borrow().len()
    }

    /// Returns true if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

// ANCHOR: turn
/// The turn of one task.
struct Turn<'q, F: Fn()> {
    queue: &'q WaitQueue,
    /// `None` before it is in the queue, and after the task has gone on.
    future: Option<Future<()>>,
    pass_on: F,
}

impl<F: Fn()> Turn<'_, F> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let future = self.future.get_or_insert_with(|| {
            let future = Future::new(&self.queue.event_loop);
            self.queue.turns.borrow_mut().push_back(future.clone());
            future
        });
        ready!(Pin::new(future).poll(context)).expect("a wait queue is used in its own loop");
        self.future = None;
        Poll::Ready(())
    }
}

impl<F: Fn()> Drop for Turn<'_, F> {
    fn drop(&mut self) {
        let Some(future) = &self.future else { return };
        if future.done() {
            (self.pass_on)();
            return;
        }
        let mut turns = self.queue.turns.borrow_mut();
        // Usually the first one: tasks are mostly cancelled in the order in which they came.
        if let Some(index) = turns.iter().position(|it| it.is(future)) {
            turns.remove(index);
        }
    }
}
// ANCHOR_END: turn

impl fmt::Debug for WaitQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitQueue").field("len", &self.len()).finish()
    }
}

/// A flag that tasks can wait for: asyncio's `Event`.
#[derive(Debug)]
pub struct Event {
    is_set: Cell<bool>,
    waiting: WaitQueue,
}

impl Event {
    /// Returns an event that is not set.
    pub fn new(event_loop: &EventLoop) -> Self {
        Self::described(event_loop, &"waiting for an event")
    }

    /// As [`Event::new`], with the words in which inspection describes a waiting task.
    pub fn described(event_loop: &EventLoop, description: &'static &'static str) -> Self {
        Self { is_set: Cell::new(false), waiting: WaitQueue::new(event_loop, description) }
    }

    /// Returns true if it is set.
    pub fn is_set(&self) -> bool {
        self.is_set.get()
    }

    /// Sets the event, and wakes all who wait for it, in the order in which they came. They
    /// go on even if it is cleared before their turn.
    pub fn set(&self) {
        self.is_set.set(true);
        self.waiting.wake_all();
    }

    /// Clears the event: from now on, tasks wait again.
    pub fn clear(&self) {
        self.is_set.set(false);
    }

    /// Waits until the event is set. Returns at once if it is.
    ///
    /// # Panics
    /// When it has to wait in another loop than its own.
    #[track_caller]
    pub fn wait(&self) -> impl Coroutine<Output = ()> {
        let at = Location::caller();
        async move {
            if !self.is_set() {
                // There is nothing to pass on: the others were woken as well.
                self.waiting.wait(at, || ()).await;
            }
        }
    }
}

/// A fair semaphore. A permit that is given back goes to the task that has waited longest,
/// even before that task runs: nobody who comes later can take it.
#[derive(Debug)]
pub struct Semaphore {
    /// The number of permits that nobody has. Zero while a task waits.
    free: Cell<usize>,
    waiting: WaitQueue,
}

impl Semaphore {
    /// Returns a semaphore with this number of permits.
    pub fn new(event_loop: &EventLoop, permits: usize) -> Self {
        Self::described(event_loop, permits, &"waiting for a permit")
    }

    /// As [`Semaphore::new`], with the words in which inspection describes a waiting task.
    pub fn described(
        event_loop: &EventLoop,
        permits: usize,
        description: &'static &'static str,
    ) -> Self {
        Self { free: Cell::new(permits), waiting: WaitQueue::new(event_loop, description) }
    }

    // ANCHOR: acquire
    /// Acquires a permit, and waits until there is one.
    ///
    /// # Panics
    /// When it has to wait in another loop than its own.
    #[track_caller]
    pub fn acquire(&self) -> impl Coroutine<Output = Permit<'_>> {
        let at = Location::caller();
        async move {
            match self.free.get().checked_sub(1) {
                Some(left) => self.free.set(left),
                // A task that is cancelled with its permit in hand passes the permit on.
                None => self.waiting.wait(at, || self.release()).await,
            }
            Permit(self)
        }
    }

    /// Adds a permit: gives it to the first task that waits, or keeps it.
    pub fn release(&self) {
        if !self.waiting.wake_one() {
            self.free.update(|free| free + 1);
        }
    }
    // ANCHOR_END: acquire

    /// Returns the number of permits that nobody has.
    pub fn free(&self) -> usize {
        self.free.get()
    }

    /// Returns the number of tasks that wait for a permit.
    pub fn num_waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// A permit. Dropping it gives it back.
#[derive(Debug)]
#[must_use = "the permit is given back when it is dropped"]
pub struct Permit<'s>(&'s Semaphore);

impl Permit<'_> {
    /// Uses the permit up: the semaphore does not get it back.
    pub fn forget(self) {
        std::mem::forget(self);
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A fair mutex: asyncio's `Lock`. It protects no value, since tasks of one loop need no
/// lock for that; it makes them take turns at something that takes several steps.
#[derive(Debug)]
pub struct Mutex(Semaphore);

impl Mutex {
    /// Returns a mutex that nobody holds.
    pub fn new(event_loop: &EventLoop) -> Self {
        Self(Semaphore::described(event_loop, 1, &"waiting for a mutex"))
    }

    /// Locks the mutex, and waits until nobody else holds it.
    ///
    /// # Panics
    /// When it has to wait in another loop than its own.
    #[track_caller]
    pub fn lock(&self) -> impl Coroutine<Output = MutexGuard<'_>> {
        let permit = self.0.acquire();
        async move { MutexGuard { _permit: permit.await } }
    }

    /// Returns true if a task holds it.
    pub fn is_locked(&self) -> bool {
        self.0.free() == 0
    }
}

/// A guard: the mutex is unlocked when it is dropped.
#[derive(Debug)]
#[must_use = "the mutex is unlocked when the guard is dropped"]
pub struct MutexGuard<'m> {
    _permit: Permit<'m>,
}
