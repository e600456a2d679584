//! The scheduler, or executor: the task table, the run queue, and the steps of
//! the tasks.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use selector_core::{Key, Notifier, Slab};

use super::Coroutine;
use super::exception::{Exception, InvalidState};
use super::observer::{Observer, Origin, StepEnd, Unhandled};
use super::waker::{Inbox, TaskWaker};

thread_local! {
    /// The scheduler that this thread runs; `None` if it runs none.
    static CURRENT: RefCell<Option<Rc<Scheduler>>> = const { RefCell::new(None) };
}

/// Puts a woken task into the run queue, if this thread runs its loop.
pub(super) fn schedule_here(task: &TaskWaker) -> bool {
    let schedule = |current: &RefCell<Option<Rc<Scheduler>>>| match &*current.borrow() {
        Some(scheduler) if Arc::ptr_eq(&scheduler.inbox, &task.inbox) => {
            scheduler.schedule(task.key);
            true
        }
        _ => false,
    };
    // A thread that is about to end has no `CURRENT` any more.
    CURRENT.try_with(schedule).unwrap_or(false)
}

/// A coroutine as the scheduler sees it. It returns nothing, because it passes its result
/// on itself: a task resolves its future.
pub(super) type Body<'c> = dyn Coroutine<Output = ()> + 'c;

struct Slot {
    /// `None` while it takes a step. The main coroutine is never here: it borrows from the
    /// caller of `run_until_complete`, and stays on the stack of that function.
    coroutine: Option<Pin<Box<Body<'static>>>>,
    waker: Arc<TaskWaker>,
}

/// What could still resume a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakers {
    /// The number of its wakers that others have: timers, sockets, threads. The futures of
    /// its own loop know its key instead.
    pub given_away: usize,
    /// True if it is in the run queue already.
    pub is_queued: bool,
}

/// The tasks of a loop, and the order of their steps.
pub struct Scheduler {
    /// The task table: the coroutines are kept here between two steps.
    tasks: RefCell<Slab<Slot>>,
    /// The keys of the tasks that are to take a step, in the order in which they were woken.
    run_queue: RefCell<VecDeque<Key>>,
    /// The wake-ups that come from other threads.
    inbox: Arc<Inbox>,
    /// The task that takes a step.
    current: Cell<Option<Key>>,
    /// The address of its waker, valid as long as the task takes its step.
    current_waker: Cell<*const ()>,
    main: Cell<Option<Key>>,
    is_running: Cell<bool>,
    is_closed: Cell<bool>,
    pub(crate) observer: Box<dyn Observer>,
}

impl Scheduler {
    pub(super) fn new(notifier: Notifier, observer: Box<dyn Observer>) -> Self {
        Self {
            tasks: RefCell::new(Slab::new()),
            run_queue: RefCell::default(),
            inbox: Arc::new(Inbox::new(notifier)),
            current: Cell::new(None),
            current_waker: Cell::new(ptr::null()),
            main: Cell::new(None),
            is_running: Cell::new(false),
            is_closed: Cell::new(false),
            observer,
        }
    }

    /// Adds a task that takes no step before it is woken. If the loop is closed, the task is
    /// dropped at once.
    pub fn add(&self, coroutine: Pin<Box<Body<'static>>>, origin: Origin) -> Key {
        let key = self.insert(Some(coroutine), origin);
        if self.is_closed.get() {
            self.remove(key);
        }
        key
    }

    fn insert(&self, coroutine: Option<Pin<Box<Body<'static>>>>, origin: Origin) -> Key {
        let key = self.tasks.borrow_mut().insert_with(|key| {
            let inbox = Arc::clone(&self.inbox);
            let waker = Arc::new(TaskWaker { key, is_queued: false.into(), inbox });
            Slot { coroutine, waker }
        });
        self.observer.spawned(key, origin);
        key
    }

    /// Drops a task where it is suspended, without an outcome. Does nothing if it has ended.
    pub fn remove(&self, key: Key) {
        let removed = self.tasks.borrow_mut().remove(key);
        // A task that takes a step is dropped at the end of the step.
        if let Some(coroutine) = removed.and_then(|slot| slot.coroutine) {
            self.observer.dropped(key);
            self.contain(|| drop(coroutine));
        }
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        self.tasks.borrow().get(key).is_some()
    }

    // ANCHOR: wake
    /// Puts a task at the end of the run queue, unless it is there already or has ended.
    pub fn wake(&self, key: Key) {
        // While the loop does not run, wakers use the inbox. The tasks that they woke were
        // woken before this one.
        if !self.is_running.get() {
            self.take_inbox();
        }
        let was_queued = |slot: &Slot| slot.waker.is_queued.swap(true, AcqRel);
        if self.tasks.borrow().get(key).map(was_queued) == Some(false) {
            self.schedule(key);
        }
    }

    /// Queues a task whose flag the caller has set.
    fn schedule(&self, key: Key) {
        self.observer.woken(key);
        self.run_queue.borrow_mut().push_back(key);
    }
    // ANCHOR_END: wake

    fn take_inbox(&self) {
        self.inbox.take().into_iter().for_each(|key| self.schedule(key));
    }

    /// Returns true if no task is to take a step, so that the loop may sleep. From then on, a
    /// wake-up by another thread ends the sleep.
    pub fn may_sleep(&self) -> bool {
        self.run_queue.borrow().is_empty() && self.inbox.may_sleep()
    }

    // ANCHOR: run_batch
    /// Lets each task that is in the run queue now take one step, the main coroutine
    /// included. A task that is woken from here on takes its step after the next tick: tasks
    /// that keep waking each other cannot hold up those that wait for a socket or a timer.
    pub(super) fn run_batch(&self, mut main: Pin<&mut Body<'_>>) {
        self.take_inbox();
        self.observer.order(&mut self.run_queue.borrow_mut());
        let batch = self.run_queue.borrow().len();
        for _ in 0..batch {
            let next = self.run_queue.borrow_mut().pop_front();
            match next {
                Some(key) if self.main.get() == Some(key) => self.step_main(key, main.as_mut()),
                Some(key) => self.step(key),
                None => return,
            }
        }
    }
    // ANCHOR_END: run_batch

    // ANCHOR: step
    /// Lets a task take one step, and removes it if that was its last one.
    fn step(&self, key: Key) {
        // The coroutine is taken out of the table: it may call any method of the loop, and
        // even cancel itself. A stale key belongs to a task that is gone.
        let taken = self.tasks.borrow_mut().get_mut(key).and_then(|slot| {
            let coroutine = slot.coroutine.take()?;
            Some((coroutine, Arc::clone(&slot.waker)))
        });
        let Some((mut coroutine, waker)) = taken else { return };
        let is_pending = self.poll(waker, coroutine.as_mut()).is_pending();
        let mut tasks = self.tasks.borrow_mut();
        match tasks.get_mut(key) {
            Some(slot) if is_pending => {
                slot.coroutine = Some(coroutine);
                self.observer.step_ends(key, StepEnd::Pending);
            }
            Some(_) => {
                tasks.remove(key);
                // The key is stale before the coroutine is dropped, which may run any code.
                drop(tasks);
                self.observer.step_ends(key, StepEnd::Done);
                self.contain(|| drop(coroutine));
            }
            // It was cancelled during the step, by itself or by a task that it called.
            None => {
                drop(tasks);
                self.observer.step_ends(key, StepEnd::Cancelled);
                self.contain(|| drop(coroutine));
            }
        }
    }

    fn step_main(&self, key: Key, main: Pin<&mut Body<'_>>) {
        let waker = self.tasks.borrow().get(key).map(|slot| Arc::clone(&slot.waker));
        let Some(waker) = waker else { return };
        if self.poll(waker, main).is_pending() {
            self.observer.step_ends(key, StepEnd::Pending);
        } else {
            self.tasks.borrow_mut().remove(key);
            self.observer.step_ends(key, StepEnd::Done);
        }
    }

    /// Polls the coroutine of a task with its waker. A panic ends the task.
    fn poll(&self, waker: Arc<TaskWaker>, coroutine: Pin<&mut Body<'_>>) -> Poll<()> {
        let key = waker.key;
        // Before the poll, so that an event during the poll can queue the task again: the
        // coroutine may have looked for it already. And a swap, because with it the step sees
        // all that was written before the wake-up, on any thread.
        waker.is_queued.swap(false, AcqRel);
        let waker = Waker::from(waker);
        self.current.set(Some(key));
        self.current_waker.set(waker.data());
        self.observer.step_begins(key);
        let poll = || coroutine.poll(&mut Context::from_waker(&waker));
        let poll = catch_unwind(AssertUnwindSafe(poll)).unwrap_or_else(|panic| {
            self.report(&*panic);
            Poll::Ready(())
        });
        self.current.set(None);
        poll
    }
    // ANCHOR_END: step

    /// Returns the waker of a task. If the task has ended, the waker does nothing.
    pub fn waker(&self, key: Key) -> Waker {
        match self.tasks.borrow().get(key) {
            Some(slot) => Waker::from(Arc::clone(&slot.waker)),
            None => Waker::noop().clone(),
        }
    }

    // ANCHOR: may_await
    /// Checks that the current task may wait for `task`: it is another one, and the observer
    /// does not object.
    pub(super) fn may_await(&self, task: Key) -> Result<(), Exception> {
        match self.current.get() {
            Some(current) if current == task => Err(InvalidState::AwaitsItself.into()),
            Some(current) => self.observer.awaits(current, task),
            None => Ok(()),
        }
    }

    /// Checks that the future is awaited in its own loop. A task of another loop would not be
    /// resumed.
    pub(crate) fn check_loop(&self) -> Result<(), InvalidState> {
        if !self.is_running.get() && CURRENT.with_borrow(Option::is_some) {
            return Err(InvalidState::OtherLoop);
        }
        Ok(())
    }
    // ANCHOR_END: may_await

    /// Returns the task that takes a step now.
    pub fn current(&self) -> Option<Key> {
        self.current.get()
    }

    /// Returns the task that takes a step now, if this is its waker.
    pub(super) fn current_of(&self, waker: &Waker) -> Option<Key> {
        if waker.data() == self.current_waker.get() { self.current.get() } else { None }
    }

    /// Returns what could still resume a task; `None` if the task has ended.
    pub fn wakers(&self, task: Key) -> Option<Wakers> {
        let tasks = self.tasks.borrow();
        let Slot { waker, .. } = tasks.get(task)?;
        Some(Wakers {
            given_away: Arc::strong_count(waker) - 1,
            is_queued: waker.is_queued.load(Relaxed),
        })
    }

    /// Returns the keys of all tasks, callbacks and the main coroutine.
    pub fn tasks(&self) -> Vec<Key> {
        self.tasks.borrow().keys().collect()
    }

    /// Runs foreign code. If it panics, the observer hears of it, and the loop goes on.
    fn contain(&self, f: impl FnOnce()) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(f)) {
            self.report(&*panic);
        }
    }

    fn report(&self, panic: &(dyn Any + Send)) {
        self.observer.panicked();
        self.observer.unhandled(&Unhandled::Panicked(&Exception::panicked(panic)));
    }

    // ANCHOR: enter
    /// Marks this thread as running the loop, and puts the main coroutine into the run
    /// queue, behind all tasks that were woken before.
    pub(super) fn enter(self: &Rc<Self>, has_main: bool) -> io::Result<Entered> {
        if CURRENT.with_borrow(Option::is_some) {
            let message = "this thread runs an event loop already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        if has_main {
            let main = self.insert(None, Origin::Main);
            self.main.set(Some(main));
            self.wake(main);
        }
        CURRENT.set(Some(Rc::clone(self)));
        self.is_running.set(true);
        Ok(Entered(()))
    }
    // ANCHOR_END: enter

    /// Drops all tasks, and refuses every later one.
    pub(super) fn close(&self, now: Instant) {
        self.is_closed.set(true);
        self.run_queue.take();
        for task in self.tasks() {
            self.observer.unhandled(&Unhandled::Destroyed(task, now));
        }
        // The table is empty before the tasks are dropped, so that their destructors find
        // only stale keys.
        let tasks = self.tasks.take();
        for slot in tasks.into_values() {
            self.contain(|| drop(slot));
        }
    }
}

/// A guard: this thread runs a loop until it is dropped.
pub(super) struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        let Some(scheduler) = CURRENT.take() else { return };
        scheduler.is_running.set(false);
        if let Some(main) = scheduler.main.take() {
            scheduler.tasks.borrow_mut().remove(main);
        }
    }
}
