//! Structured inspection of a loop: what each task waits for and since when,
//! and the errors that reach the exception handler.
//!
//! It is always on, and costs 24 bytes for each task. The start of a wait is
//! taken from the time of the tick, so that it needs no reading of the clock.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, Write};
use std::panic::Location;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use selector_core::Key;

use crate::{Coroutine, EventLoop, Exception, Future, Task};

/// The operation that a task waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No wait: the task is running or ready.
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
    /// A `get` from a queue.
    Get,
    /// A `join` of a queue, until all its work is done.
    Join,
}

/// The wait of a task: the operation, its place in the code, and its start.
/// Small, since every task has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitInfo {
    wait: Wait,
    at: Option<&'static Location<'static>>,
    /// Milliseconds since the loop was made.
    since: u32,
}

impl WaitInfo {
    pub(crate) const NONE: Self = Self { wait: Wait::Nothing, at: None, since: 0 };

    /// Replaces this wait by that of the last step, unless both may be the same
    /// one: a bare future does not know since when it is awaited.
    pub(crate) fn update(&mut self, next: &Cell<Self>) {
        // A task that has set no wait in two steps costs two comparisons.
        let is_blank = |info: Self| info.wait == Wait::Nothing;
        if is_blank(next.get()) && is_blank(*self) {
            return;
        }
        let next = next.replace(Self::NONE);
        if next.at.is_some() || self.wait != next.wait {
            *self = next;
        }
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
    /// The operation that the task waits in.
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
    /// A panic of a callback, of a task without a future, or of a destructor
    /// while the loop dropped a task.
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

/// Counters of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of ticks: calls of the selector for events.
    pub ticks: u64,
    /// The number of steps that tasks, callbacks and main coroutines took.
    pub polls: u64,
}

pub(crate) type ExceptionHandler = dyn Fn(&LoopError);

impl EventLoop {
    /// Returns the counters of the loop.
    pub fn stats(&self) -> Stats {
        Stats { ticks: self.0.ticks.get(), polls: self.0.polls.get() }
    }

    /// Returns the number of pending timers.
    pub fn pending_timers(&self) -> usize {
        self.0.timers.borrow().len()
    }

    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.selector().len()
    }

    /// Sets the exception handler, which the loop calls with every
    /// [`LoopError`]. Without a handler these errors are lost.
    pub fn set_exception_handler(&self, handler: impl Fn(&LoopError) + 'static) {
        let replaced = self.0.exception_handler.replace(Some(Rc::new(handler)));
        drop(replaced);
    }

    pub(crate) fn report(&self, error: &LoopError) {
        let handler = self.0.exception_handler.borrow().clone();
        if let Some(handler) = handler {
            handler(error);
        }
    }

    pub(crate) fn report_unretrieved(&self, exception: &Exception) {
        self.report(&LoopError::ExceptionNeverRetrieved(exception.clone()));
    }

    // ANCHOR: set_wait
    /// Records the wait of the current task. An operation calls it before it
    /// returns `Poll::Pending`. `since` is filled in at the first call. If there
    /// are several calls in one step, the first one counts: it comes from the
    /// innermost coroutine.
    pub(crate) fn set_wait(
        &self,
        wait: Wait,
        at: Option<&'static Location<'static>>,
        since: &mut Option<u32>,
    ) {
        if self.0.current_wait.get().wait == Wait::Nothing {
            let since =
                *since.get_or_insert_with(|| self.milliseconds_at(Some(self.0.tick_start.get())));
            self.0.current_wait.set(WaitInfo { wait, at, since });
        }
    }
    // ANCHOR_END: set_wait

    /// Clears the recorded wait of the current task: it is over.
    pub(crate) fn clear_wait(&self) {
        self.0.current_wait.set(WaitInfo::NONE);
    }

    /// Returns the age of the loop in milliseconds.
    pub(crate) fn milliseconds(&self) -> u32 {
        self.milliseconds_at(Some(self.now()))
    }

    pub(crate) fn milliseconds_at(&self, moment: Option<Instant>) -> u32 {
        let age = moment.map(|at| at.saturating_duration_since(self.0.started).as_millis());
        age.and_then(|age| u32::try_from(age).ok()).unwrap_or(u32::MAX)
    }

    /// Returns the key of the task that is taking a step.
    pub fn current_task(&self) -> Option<Key> {
        self.0.current_task.get()
    }

    pub(crate) fn name_task(&self, key: Key, name: String) {
        if self.0.tasks.borrow().get(key).is_some() {
            self.0.task_names.borrow_mut().insert(key, name.into());
        }
    }

    /// Returns all tasks that are not done.
    pub fn all_tasks(&self) -> Vec<TaskInfo> {
        let keys: Vec<Key> = self.0.tasks.borrow().keys().collect();
        keys.into_iter().filter_map(|key| self.task(key)).collect()
    }

    /// Returns a snapshot of a task; `None` if it is done.
    pub fn task(&self, key: Key) -> Option<TaskInfo> {
        let tasks = self.0.tasks.borrow();
        let slot = tasks.get(key)?;
        let WaitInfo { wait, at, since } = slot.wait;
        Some(TaskInfo {
            key,
            name: self.0.task_names.borrow().get(&key).map(|name| name.to_string()),
            spawned: slot.spawned?,
            wait,
            waiting: self.describe_wait(wait),
            at,
            waited: match wait {
                Wait::Nothing => Duration::ZERO,
                _ => Duration::from_millis(self.milliseconds().wrapping_sub(since).into()),
            },
        })
    }

    fn describe_wait(&self, wait: Wait) -> String {
        let peer = |key| {
            let peer = self.0.peers.borrow().get(key);
            peer.map_or("nobody any more".to_owned(), |peer| peer.to_string())
        };
        match wait {
            Wait::Nothing => "not waiting".into(),
            Wait::Yield => "waiting for its turn".into(),
            Wait::Future => "waiting for a future".into(),
            Wait::Task(key) => match self.0.task_names.borrow().get(&key) {
                Some(name) => format!("waiting for task {name}"),
                None => "waiting for a task".into(),
            },
            Wait::Read(key) => format!("reading from {}", peer(key)),
            Wait::Write(key) => format!("writing to {}", peer(key)),
            Wait::Connect(key) => format!("connecting to {}", peer(key)),
            Wait::Lookup => "looking up a name".into(),
            Wait::Sleep(until) => {
                let remaining = until.saturating_sub(self.milliseconds());
                format!("sleeping for another {:?}", Duration::from_millis(remaining.into()))
            }
            Wait::Get => "waiting for an item of a queue".into(),
            Wait::Join => "waiting for all work on a queue to be done".into(),
        }
    }

    /// Returns a text with one line for each task that is not done.
    pub fn describe_tasks(&self) -> String {
        let tasks = self.all_tasks();
        let lines = tasks.iter().map(|task| format!("  {task}\n"));
        format!("{} tasks\n{}", tasks.len(), lines.collect::<String>())
    }

    /// Writes the text of [`EventLoop::describe_tasks`].
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn print_tasks(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.describe_tasks().as_bytes())
    }
}

/// Runs a coroutine and records `wait` whenever it is pending. An operation that
/// waits is an ordinary function that returns this coroutine, since only such a
/// function knows its caller: `#[track_caller]` has no effect on an `async fn`.
pub async fn with_wait<C: Coroutine>(
    event_loop: &EventLoop,
    wait: Wait,
    at: &'static Location<'static>,
    coroutine: C,
) -> C::Output {
    let mut coroutine = pin!(coroutine);
    let mut since = None;
    poll_fn(|context| {
        // Recorded before the inner coroutine records a less specific wait.
        event_loop.set_wait(wait, Some(at), &mut since);
        let poll = coroutine.as_mut().poll(context);
        if poll.is_ready() {
            event_loop.clear_wait();
        }
        poll
    })
    .await
}

impl<T: 'static> Task<T> {
    /// Gives the task a name, which inspection shows.
    pub fn named(self, name: impl Into<String>) -> Self {
        self.event_loop().name_task(self.key(), name.into());
        self
    }

    /// Returns the place where the task is suspended; `None` when it is done.
    /// There is one such place, since the frames of a coroutine are one value.
    pub fn get_stack(&self) -> Option<TaskInfo> {
        self.event_loop().task(self.key())
    }

    /// Writes the snapshot of [`Task::get_stack`] as one line.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn print_stack(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.get_stack() {
            Some(task) => writeln!(out, "{task}"),
            None => writeln!(out, "the task is done"),
        }
    }
}

pub(crate) fn increment(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

impl fmt::Debug for EventLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventLoop").field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl<T: 'static> fmt::Debug for Future<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.done(), self.cancelled()) {
            (false, _) => "Future(pending)",
            (true, false) => "Future(done)",
            (true, true) => "Future(cancelled)",
        })
    }
}

impl<T: 'static> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").field(&**self).finish()
    }
}
