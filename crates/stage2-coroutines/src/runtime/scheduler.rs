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
    // A thread that is about to end runs no loop any more.
    CURRENT.try_with(schedule).unwrap_or(false)
}

/// A coroutine that returns nothing and is done with its own result.
pub(super) type Root<'c> = dyn Future<Output = ()> + 'c;

struct Slot {
    /// `None` while it takes a step. The main coroutine is never here: it stays on the stack
    /// of the caller of `run_until_complete`.
    coroutine: Option<Pin<Box<Root<'static>>>>,
    waker: Arc<TaskWaker>,
    /// The number of futures of this loop that will wake the task.
    stored: u32,
}

/// What could still resume a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakers {
    /// The number of futures of its own loop that will wake it.
    pub stored: usize,
    /// The number of its wakers that something else has: a timer, a socket, a thread.
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
    /// The address of its waker.
    current_waker: Cell<*const ()>,
    main: Cell<Option<Key>>,
    /// The exceptions that tasks get from their next `.await` of a task.
    thrown: RefCell<Vec<(Key, Exception)>>,
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
            thrown: RefCell::default(),
            is_running: Cell::new(false),
            is_closed: Cell::new(false),
            observer,
        }
    }

    /// Adds a task that takes no step before it is woken. If the loop is closed, the task is
    /// dropped at once.
    pub fn add(&self, coroutine: Pin<Box<Root<'static>>>, origin: Origin) -> Key {
        let key = self.insert(Some(coroutine), origin);
        if self.is_closed.get() {
            self.remove(key);
        }
        key
    }

    fn insert(&self, coroutine: Option<Pin<Box<Root<'static>>>>, origin: Origin) -> Key {
        let key = self.tasks.borrow_mut().insert_with(|key| {
            let inbox = Arc::clone(&self.inbox);
            let waker = Arc::new(TaskWaker { key, is_queued: false.into(), inbox });
            Slot { coroutine, waker, stored: 0 }
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
        // While the loop does not run, wakers use the inbox. What they woke comes first.
        if !self.is_running.get() {
            self.take_inbox();
        }
        let was_queued = |slot: &Slot| slot.waker.is_queued.swap(true, AcqRel);
        if self.tasks.borrow().get(key).map(was_queued) == Some(false) {
            self.schedule(key);
        }
    }

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
    /// Has each task that is in the run queue now take one step, and the main coroutine, too.
    /// A task that is woken from here on takes its step after the next tick: tasks that keep
    /// waking each other cannot hold up those that wait for a socket or a timer.
    pub(super) fn run_batch(&self, mut main: Pin<&mut Root<'_>>) {
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
        // What was thrown before this batch was for a step in this batch.
        self.thrown.take();
    }
    // ANCHOR_END: run_batch

    // ANCHOR: step
    /// Has a task take one step, and removes it if that was its last one.
    fn step(&self, key: Key) {
        // The coroutine is taken out of the table: it may call any method of the loop, and
        // even cancel itself. A stale key belongs to a task that is gone.
        let taken = self.tasks.borrow_mut().get_mut(key).and_then(|slot| {
            let coroutine = slot.coroutine.take()?;
            Some((coroutine, Arc::clone(&slot.waker)))
        });
        let Some((mut coroutine, waker)) = taken else { return };
        if self.poll(waker, coroutine.as_mut()).is_pending()
            && let Some(slot) = self.tasks.borrow_mut().get_mut(key)
        {
            slot.coroutine = Some(coroutine);
            return;
        }
        // The key is stale before the coroutine is dropped, which may run any code.
        self.tasks.borrow_mut().remove(key);
        self.contain(|| drop(coroutine));
    }

    fn step_main(&self, key: Key, main: Pin<&mut Root<'_>>) {
        let waker = self.tasks.borrow().get(key).map(|slot| Arc::clone(&slot.waker));
        if let Some(waker) = waker
            && self.poll(waker, main).is_ready()
        {
            self.tasks.borrow_mut().remove(key);
        }
    }

    /// Polls the coroutine of a task with its waker. A panic ends the task.
    fn poll(&self, waker: Arc<TaskWaker>, coroutine: Pin<&mut Root<'_>>) -> Poll<()> {
        let key = waker.key;
        // Before the poll: an event that comes during it may be missed by it, and must be
        // able to queue the task again.
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
        self.observer.step_ends(
            key,
            match poll {
                Poll::Ready(()) => StepEnd::Done,
                Poll::Pending if self.contains(key) => StepEnd::Pending,
                Poll::Pending => StepEnd::Cancelled,
            },
        );
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
    /// Checks that the current task may wait for `task`.
    pub(super) fn may_await(&self, task: Key) -> Result<(), Exception> {
        let Some(current) = self.current.get() else { return Ok(()) };
        if task == current {
            return Err(InvalidState::AwaitsItself.into());
        }
        let mut thrown = self.thrown.borrow_mut();
        match thrown.iter().position(|(key, _)| *key == current) {
            Some(position) => Err(thrown.swap_remove(position).1),
            None => Ok(()),
        }
    }

    /// Checks that the future is awaited in its own loop. Another one would not be resumed.
    pub(crate) fn check_loop(&self) -> Result<(), InvalidState> {
        if !self.is_running.get() && CURRENT.with_borrow(Option::is_some) {
            return Err(InvalidState::OtherLoop);
        }
        Ok(())
    }
    // ANCHOR_END: may_await

    /// Resumes a task with an exception, which its next `.await` of a task returns:
    /// the chapter's `throw`.
    pub fn throw(&self, task: Key, exception: Exception) {
        self.thrown.borrow_mut().push((task, exception));
        self.wake(task);
    }

    /// Returns the task that takes a step now.
    pub fn current(&self) -> Option<Key> {
        self.current.get()
    }

    /// Returns the task that takes a step now, if this is its waker.
    pub(super) fn current_of(&self, waker: &Waker) -> Option<Key> {
        if waker.data() == self.current_waker.get() { self.current.get() } else { None }
    }

    /// Adds to the number of futures that will wake a task.
    pub(super) fn add_stored(&self, task: Key, difference: i32) {
        if let Some(slot) = self.tasks.borrow_mut().get_mut(task) {
            slot.stored = slot.stored.wrapping_add_signed(difference);
        }
    }

    /// Returns what could still resume a task; `None` if the task has ended.
    pub fn wakers(&self, task: Key) -> Option<Wakers> {
        let tasks = self.tasks.borrow();
        let Slot { waker, stored, .. } = tasks.get(task)?;
        Some(Wakers {
            stored: *stored as usize,
            given_away: Arc::strong_count(waker) - 1,
            is_queued: waker.is_queued.load(Relaxed),
        })
    }

    /// Returns the keys of all tasks, callbacks and the main coroutine.
    pub fn tasks(&self) -> Vec<Key> {
        self.tasks.borrow().keys().collect()
    }

    /// Runs code of others, whose panic ends nothing.
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
        // The table is empty before the tasks are dropped, so their keys are stale for the
        // code that this runs.
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
