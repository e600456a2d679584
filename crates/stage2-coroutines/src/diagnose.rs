//! Where is everybody? What each task waits for, and since when; and what
//! went wrong while nobody looked.
//!
//! This is always on, and costs 24 bytes a task. Since when a task waits is told
//! to the round: nobody looks at the clock for it.

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

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: it is running, or about to.
    Nothing,
    /// Its next turn.
    Turn,
    /// A future to be resolved.
    Future,
    /// Another task to end.
    Task(Key),
    /// Bytes from the peer of this connection.
    Read(Key),
    /// Room for bytes to the peer of this connection.
    Write(Key),
    /// This connection to be made.
    Connect(Key),
    /// The addresses of a name.
    LookUp,
    /// A moment, in milliseconds since the loop was made.
    Sleep(u32),
    /// An item from a queue.
    Get,
    /// The end of all work on a queue.
    Join,
}

/// What a task waits for, where in the code, and since when. Small, since
/// every task has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    wait: Wait,
    at: Option<&'static Location<'static>>,
    since: u32,
}

impl Note {
    pub(crate) const NONE: Self = Self { wait: Wait::Nothing, at: None, since: 0 };

    /// Replaces this note by the next one, unless it may be the same wait: a
    /// bare future does not know since when it is awaited.
    pub(crate) fn follow(&mut self, next: &Cell<Self>) {
        // Who says nothing in two steps costs a look at each.
        let is_blank = |note: Self| note.wait == Wait::Nothing;
        if is_blank(next.get()) && is_blank(*self) {
            return;
        }
        let next = next.replace(Self::NONE);
        if next.at.is_some() || self.wait != next.wait {
            *self = next;
        }
    }
}

/// A task that is not done, as it was when somebody asked.
#[derive(Clone, Debug)]
pub struct TaskInfo {
    /// Which task.
    pub key: Key,
    /// Its name, if it was given one.
    pub name: Option<String>,
    /// Where it was spawned.
    pub spawned: &'static Location<'static>,
    /// What it waits for.
    pub wait: Wait,
    /// The same in words.
    pub waiting: String,
    /// Where in the code it waits, if that is known.
    pub at: Option<&'static Location<'static>>,
    /// For how long, if it does.
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

/// What a loop has to say that nobody has asked for.
#[derive(Clone, Debug)]
pub enum Complaint {
    /// The loop was closed while the task was pending.
    TaskDestroyed(TaskInfo),
    /// A future or task ended with an exception that nobody has looked at.
    ExceptionNeverRetrieved(Exception),
    /// A callback panicked, a task without a future, or a destructor while the
    /// loop dropped a task.
    Panicked(Exception),
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TaskDestroyed(task) => write!(f, "destroyed but pending: {task}"),
            Self::ExceptionNeverRetrieved(e) => write!(f, "exception was never retrieved: {e}"),
            Self::Panicked(e) => write!(f, "exception in a callback or destructor: {e}"),
        }
    }
}

/// What a loop has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often it asked the selector for news.
    pub ticks: u64,
    /// How often it resumed a coroutine.
    pub polls: u64,
}

pub(crate) type ExceptionHandler = dyn Fn(&Complaint);

impl EventLoop {
    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        Stats { ticks: self.0.ticks.get(), polls: self.0.polls.get() }
    }

    /// How many timers are pending.
    pub fn pending_timers(&self) -> usize {
        self.0.timers.borrow().len()
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.selector().len()
    }

    /// Whom the loop complains to. Unless there is somebody, nobody hears.
    pub fn set_exception_handler(&self, handler: impl Fn(&Complaint) + 'static) {
        let before = self.0.exception_handler.replace(Some(Rc::new(handler)));
        drop(before);
    }

    pub(crate) fn complain(&self, complaint: &Complaint) {
        let handler = self.0.exception_handler.borrow().clone();
        if let Some(handler) = handler {
            handler(complaint);
        }
    }

    pub(crate) fn report_unretrieved(&self, exception: &Exception) {
        self.complain(&Complaint::ExceptionNeverRetrieved(exception.clone()));
    }

    // ANCHOR: note
    /// To be called by whoever is about to say "not yet": what for, where in
    /// the code, and since when, which this fills in the first time. Of several
    /// such notes in one step the first one stands: it is the innermost.
    pub(crate) fn note(
        &self,
        wait: Wait,
        at: Option<&'static Location<'static>>,
        since: &mut Option<u32>,
    ) {
        if self.0.note.get().wait == Wait::Nothing {
            let since =
                *since.get_or_insert_with(|| self.milliseconds_at(Some(self.0.round.get())));
            self.0.note.set(Note { wait, at, since });
        }
    }
    // ANCHOR_END: note

    /// What was noted last is over.
    pub(crate) fn unnote(&self) {
        self.0.note.set(Note::NONE);
    }

    /// The age of the loop: enough of a clock for those who look.
    pub(crate) fn milliseconds(&self) -> u32 {
        self.milliseconds_at(Some(self.now()))
    }

    pub(crate) fn milliseconds_at(&self, moment: Option<Instant>) -> u32 {
        let age = moment.map(|at| at.saturating_duration_since(self.0.started).as_millis());
        age.and_then(|age| u32::try_from(age).ok()).unwrap_or(u32::MAX)
    }

    /// The task whose turn it is.
    pub fn current_task(&self) -> Option<Key> {
        self.0.current.get()
    }

    pub(crate) fn name_task(&self, key: Key, name: String) {
        if self.0.tasks.borrow().get(key).is_some() {
            self.0.names.borrow_mut().insert(key, name.into());
        }
    }

    /// Every task that is not done.
    pub fn all_tasks(&self) -> Vec<TaskInfo> {
        let keys: Vec<Key> = self.0.tasks.borrow().keys().collect();
        keys.into_iter().filter_map(|key| self.task(key)).collect()
    }

    /// What there is to know about a task, until it is done.
    pub fn task(&self, key: Key) -> Option<TaskInfo> {
        let tasks = self.0.tasks.borrow();
        let slot = tasks.get(key)?;
        let Note { wait, at, since } = slot.note;
        Some(TaskInfo {
            key,
            name: self.0.names.borrow().get(&key).map(|name| name.to_string()),
            spawned: slot.spawned?,
            wait,
            waiting: self.in_words(wait),
            at,
            waited: match wait {
                Wait::Nothing => Duration::ZERO,
                _ => Duration::from_millis(self.milliseconds().wrapping_sub(since).into()),
            },
        })
    }

    fn in_words(&self, wait: Wait) -> String {
        let peer = |key| {
            let peer = self.selector().peer(key);
            peer.map_or("nobody any more".to_owned(), |peer| peer.to_string())
        };
        match wait {
            Wait::Nothing => "not waiting".into(),
            Wait::Turn => "waiting for its turn".into(),
            Wait::Future => "waiting for a future".into(),
            Wait::Task(key) => match self.0.names.borrow().get(&key) {
                Some(name) => format!("waiting for task {name}"),
                None => "waiting for a task".into(),
            },
            Wait::Read(key) => format!("reading from {}", peer(key)),
            Wait::Write(key) => format!("writing to {}", peer(key)),
            Wait::Connect(key) => format!("connecting to {}", peer(key)),
            Wait::LookUp => "looking up a name".into(),
            Wait::Sleep(until) => {
                let left = until.saturating_sub(self.milliseconds());
                format!("sleeping for another {:?}", Duration::from_millis(left.into()))
            }
            Wait::Get => "waiting for an item of a queue".into(),
            Wait::Join => "waiting for all work on a queue to be done".into(),
        }
    }

    /// A line about each task that is not done.
    pub fn describe_tasks(&self) -> String {
        let tasks = self.all_tasks();
        let lines = tasks.iter().map(|task| format!("  {task}\n"));
        format!("{} tasks\n{}", tasks.len(), lines.collect::<String>())
    }

    /// Writes what [`EventLoop::describe_tasks`] tells.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print_tasks(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.describe_tasks().as_bytes())
    }
}

/// A coroutine that says what it waits for whenever it does. The operations
/// that wait are ordinary functions around one of these, since only those
/// know who calls them: `#[track_caller]` has no effect on an `async fn`.
pub async fn noting<C: Coroutine>(
    event_loop: &EventLoop,
    wait: Wait,
    at: &'static Location<'static>,
    coroutine: C,
) -> C::Output {
    let mut coroutine = pin!(coroutine);
    let mut since = None;
    poll_fn(|context| {
        // Before the inner one can say something less telling.
        event_loop.note(wait, Some(at), &mut since);
        let poll = coroutine.as_mut().poll(context);
        if poll.is_ready() {
            event_loop.unnote();
        }
        poll
    })
    .await
}

impl<T: 'static> Task<T> {
    /// Gives it a name, for whoever asks what it is doing.
    pub fn named(self, name: impl Into<String>) -> Self {
        self.event_loop().name_task(self.key(), name.into());
        self
    }

    /// Where the task is suspended. A coroutine has one such place, since its
    /// frames are one value; nothing when it is done.
    pub fn get_stack(&self) -> Option<TaskInfo> {
        self.event_loop().task(self.key())
    }

    /// Writes what [`Task::get_stack`] tells.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print_stack(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.get_stack() {
            Some(task) => writeln!(out, "{task}"),
            None => writeln!(out, "the task is done"),
        }
    }
}

pub(crate) fn count(counter: &Cell<u64>) {
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
