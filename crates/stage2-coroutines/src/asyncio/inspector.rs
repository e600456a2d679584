//! The inspector of a loop: the names and waits of its tasks, and the errors
//! that reach the exception handler.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use selector_core::Key;

use crate::asyncio::exceptions::Exception;
use crate::runtime::inject_queue::TaskWaker;

/// A place in the code.
pub(crate) type CallSite = &'static Location<'static>;

/// The operation that a task waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No wait is known: the task has taken no step yet, or its last step has recorded
    /// none. A task that is running or ready has the wait of its last step.
    Nothing,
    /// A yield: the task waits for its next step.
    Yield,
    /// A future that is pending.
    Future,
    /// Another task that is pending.
    Task(Key),
    /// A read from this connection.
    Read(Key),
    /// A write to this connection.
    Write(Key),
    /// The opening of this connection.
    Connect(Key),
    /// A lookup of the addresses of a name.
    Lookup,
    /// A sleep until this time, in milliseconds since the loop was made.
    Sleep(u32),
    /// An operation of another crate, by the number of its description; see
    /// [`crate::EventLoop::other_wait`].
    Other(u32),
}

/// The wait of a task: the operation, its place in the code, and its start.
/// Small, since every task has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitInfo {
    pub(crate) wait: Wait,
    pub(crate) at: Option<CallSite>,
    /// Milliseconds since the loop was made.
    pub(crate) since: u32,
}

impl WaitInfo {
    pub(crate) const NONE: Self = Self { wait: Wait::Nothing, at: None, since: 0 };

    /// Replaces this wait by that of the last step, unless both may be the same
    /// one: a bare future does not know since when it is awaited. Returns true if it is
    /// a wait for another task.
    pub(crate) fn update(&mut self, next: &Cell<Self>) -> bool {
        // A task that has set no wait in two steps costs two comparisons.
        let is_blank = |info: Self| info.wait == Wait::Nothing;
        if is_blank(next.get()) && is_blank(*self) {
            return false;
        }
        let next = next.replace(Self::NONE);
        if next.at.is_some() || self.wait != next.wait {
            *self = next;
        }
        matches!(next.wait, Wait::Task(_))
    }
}

/// A snapshot of a task that is not done.
#[derive(Clone, Debug)]
pub struct TaskInfo {
    /// The key of the task.
    pub key: Key,
    /// The name of the task, if it was given one.
    pub name: Option<String>,
    /// The place in the code that spawned the task.
    pub spawned: &'static Location<'static>,
    /// The operation that the task waits in, or has waited in last.
    pub wait: Wait,
    /// A description of the wait in words.
    pub waiting: String,
    /// The place in the code of the wait, if that is known.
    pub at: Option<&'static Location<'static>>,
    /// The time since the wait began; zero if the task does not wait.
    pub waited: Duration,
}

impl fmt::Display for TaskInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, spawned, waiting, at, waited, .. } = self;
        write!(f, "task {}", name.as_deref().unwrap_or("without a name"))?;
        write!(f, ", spawned at {spawned}, {waiting}")?;
        if let Some(at) = at {
            write!(f, " at {at}")?;
        }
        if self.wait == Wait::Nothing {
            return Ok(());
        }
        write!(f, " for {waited:.1?}")
    }
}

/// An error that no caller receives, so that the loop passes it to the exception
/// handler.
#[derive(Clone, Debug)]
pub enum LoopError {
    /// The loop was closed while the task was pending.
    TaskDestroyed(TaskInfo),
    /// A future or task ended with an exception that was never retrieved.
    ExceptionNeverRetrieved(Exception),
    /// A panic of a callback, of a task without a future, or of a destructor when a
    /// task has ended. One that panics in a `cancel` or in `close` panics in the caller.
    Panicked(Exception),
}

impl fmt::Display for LoopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TaskDestroyed(task) => write!(f, "destroyed but pending: {task}"),
            Self::ExceptionNeverRetrieved(e) => write!(f, "exception was never retrieved: {e}"),
            Self::Panicked(e) => write!(f, "exception in a callback or destructor: {e}"),
        }
    }
}

type ExceptionHandler = dyn Fn(&LoopError);

/// The state that a loop keeps for its inspection.
pub(crate) struct Inspector {
    pub(crate) started: Instant,
    /// The wait that the current task has begun in this step.
    pub(crate) current_wait: Cell<WaitInfo>,
    /// The descriptions of the waits of other crates.
    pub(crate) other_waits: RefCell<Vec<&'static str>>,
    pub(crate) task_names: RefCell<HashMap<Key, Box<str>>>,
    pub(crate) exception_handler: RefCell<Option<Rc<ExceptionHandler>>>,
    /// True if a panic of a task or callback goes through the loop.
    pub(crate) raises_panics: Cell<bool>,
    /// The panic that is to be raised again.
    panic: Cell<Option<Box<dyn Any + Send>>>,
    /// The number of wakers that are stored in futures of this loop.
    pub(crate) local_wakers: Cell<usize>,
    /// The tasks that have begun to wait for another one in this batch.
    pub(crate) awaiting_tasks: RefCell<Vec<Key>>,
    /// The record from which waits that never end are found.
    pub(crate) deadlocks: Deadlocks,
}

/// The record of a loop from which it tells that waits never end.
pub(crate) struct Deadlocks {
    /// The tasks that are to be told that they wait in a circle, with its names.
    pub(crate) circles: RefCell<HashMap<Key, Rc<String>>>,
    /// The waker of the main coroutine, from one run to the next.
    pub(crate) main_waker: RefCell<Option<Arc<TaskWaker>>>,
    /// The wakers of tasks that have ended that were stored somewhere at that time, by their
    /// addresses.
    pub(crate) left_wakers: RefCell<HashMap<*const (), Weak<TaskWaker>>>,
    /// The address of the waker of the current step.
    pub(crate) current_waker: Cell<*const ()>,
    /// True once a future was polled with a waker that is not of this loop, such as those of
    /// `FuturesUnordered`. What that resumes cannot be known.
    pub(crate) is_blind: Cell<bool>,
}

impl Inspector {
    pub(crate) fn new(started: Instant) -> Self {
        Self {
            started,
            current_wait: Cell::new(WaitInfo::NONE),
            other_waits: RefCell::default(),
            task_names: RefCell::default(),
            exception_handler: RefCell::default(),
            raises_panics: Cell::new(false),
            panic: Cell::new(None),
            local_wakers: Cell::new(0),
            awaiting_tasks: RefCell::default(),
            deadlocks: Deadlocks {
                circles: RefCell::default(),
                main_waker: RefCell::default(),
                left_wakers: RefCell::default(),
                // No waker is there.
                current_waker: Cell::new(ptr::dangling()),
                is_blind: Cell::new(false),
            },
        }
    }

    /// Calls the exception handler.
    pub(crate) fn report(&self, error: &LoopError) {
        let handler = self.exception_handler.borrow().clone();
        if let Some(handler) = handler {
            // As in asyncio, its own panic ends nothing.
            let _ = catch_unwind(AssertUnwindSafe(|| handler(error)));
        }
    }

    /// Calls `f`, and returns its panic as an exception.
    pub(crate) fn catch<R>(&self, f: impl FnOnce() -> R) -> Result<R, Exception> {
        catch_unwind(AssertUnwindSafe(f)).map_err(|panic| self.caught(panic))
    }

    /// Returns the exception for a panic, which is kept if it is to be raised again.
    #[cold]
    pub(crate) fn caught(&self, panic: Box<dyn Any + Send>) -> Exception {
        trace::panicked();
        let exception = Exception::panicked(&*panic);
        self.panic.set(self.raises_panics.get().then_some(panic));
        exception
    }

    /// Raises the panic again that is kept, if there is one.
    #[inline]
    pub(crate) fn raise_panic(&self) {
        if self.raises_panics.get()
            && let Some(panic) = self.panic.take()
        {
            resume_unwind(panic);
        }
    }

    /// Returns the name of a task, or the place that spawned it.
    pub(crate) fn name(&self, key: Key, spawned: Option<CallSite>) -> String {
        let name = self.task_names.borrow().get(&key).map(|name| name.to_string());
        name.unwrap_or_else(|| spawned.map_or("a callback".into(), |at| format!("task of {at}")))
    }

    /// Removes the name of a task that has ended.
    #[inline]
    pub(crate) fn forget(&self, key: Key) {
        // Few loops have names.
        if !self.task_names.borrow().is_empty() {
            self.forget_name(key);
        }
    }

    #[cold]
    fn forget_name(&self, key: Key) {
        self.task_names.borrow_mut().remove(&key);
    }

    /// Returns the age of the loop at this time, in milliseconds.
    pub(crate) fn milliseconds_at(&self, moment: Option<Instant>) -> u32 {
        let age = moment.map(|at| at.saturating_duration_since(self.started).as_millis());
        age.and_then(|age| u32::try_from(age).ok()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of `Wait` and `WaitInfo`: every task has one.
    #[test]
    fn a_wait_takes_24_bytes() {
        assert_eq!((size_of::<Wait>(), size_of::<WaitInfo>()), (12, 24));
    }
}
