//! The inspector: the names and waits of tasks, and the errors that reach the exception
//! handler.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use selector_core::Key;

use crate::inspect::peers::Peers;
use crate::runtime::observer::{Observer, Origin, Place, StepEnd, Unhandled, Wait};
use crate::{EventLoop, Exception};

/// The observer that knows what every task does.
pub struct Inspector {
    /// The moment from which the milliseconds of a wait are counted.
    started: Instant,
    /// The tasks, by the indices of their keys.
    tasks: RefCell<Vec<Entry>>,
    /// What the current task has begun to wait for in this step.
    current: Cell<Option<Waiting>>,
    /// The number of futures among it.
    num_futures: Cell<u32>,
    pub(super) main: Cell<Option<Key>>,
    /// The number of steps that were taken.
    pub(super) polls: Cell<u64>,
    pub(super) names: RefCell<HashMap<Key, Box<str>>>,
    pub(super) peers: RefCell<Peers>,
    pub(super) exception_handler: RefCell<Option<Rc<ExceptionHandler>>>,
    pub(super) also_describe: RefCell<Option<Rc<dyn Fn() -> String>>>,
    /// The tasks that have begun to wait for another one in this batch.
    pub(super) awaiting: RefCell<Vec<Key>>,
    /// The tasks that were woken to break a circle, and what their `.await` returns.
    pub(super) broken_circles: RefCell<Vec<(Key, Exception)>>,
}

type ExceptionHandler = dyn Fn(&LoopError);

/// What is known of a task. Small, since every task has one.
#[derive(Clone, Copy)]
struct Entry {
    /// The line that spawned the task; `None` if nothing is known under this index.
    spawned: Option<Place>,
    wait: Option<Wait>,
    at: Option<Place>,
    /// Milliseconds since the inspector was made.
    since: u32,
    generation: u32,
    others: Others,
}

/// Whether a task waits for other futures as well, besides the one that counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    None,
    /// Its last step has polled several, and some of these waits may be over.
    Unknown,
    /// As unknown, in a step that is there to find out: with it, only what the task still
    /// waits for is polled.
    Probed,
    Some,
}

impl Entry {
    const NOTHING: Self =
        Self { spawned: None, wait: None, at: None, since: 0, generation: 0, others: Others::None };
}

/// The wait of a task.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) wait: Wait,
    pub(super) at: Option<Place>,
    /// Milliseconds since the inspector was made.
    since: u32,
}

impl Inspector {
    /// Returns the inspector of a loop that is made at this moment, by the loop's own clock.
    pub fn new(now: Instant) -> Self {
        Self {
            started: now,
            tasks: RefCell::default(),
            current: Cell::new(None),
            num_futures: Cell::new(0),
            main: Cell::new(None),
            polls: Cell::new(0),
            names: RefCell::default(),
            peers: RefCell::default(),
            exception_handler: RefCell::default(),
            also_describe: RefCell::default(),
            awaiting: RefCell::default(),
            broken_circles: RefCell::default(),
        }
    }

    fn milliseconds(&self, moment: Instant) -> u32 {
        let age = moment.saturating_duration_since(self.started).as_millis();
        u32::try_from(age).unwrap_or(u32::MAX)
    }

    fn entry(&self, task: Key) -> Option<Entry> {
        let entry = *self.tasks.borrow().get(task.index())?;
        (entry.generation == generation(task)).then_some(entry)
    }

    /// Returns the line that spawned a task; `None` for a callback and the main coroutine.
    pub(super) fn place(&self, task: Key) -> Option<Place> {
        self.entry(task)?.spawned
    }

    /// Returns the task that a task awaits, and whether it waits for others as well.
    pub(super) fn awaited(&self, task: Key) -> Option<(Key, Others)> {
        match self.entry(task)? {
            Entry { wait: Some(Wait::Task(awaited)), others, .. } => Some((awaited, others)),
            _ => None,
        }
    }

    /// Notes that the next step of the task is there to find out what it waits for.
    pub(super) fn probe(&self, task: Key) {
        if let Some(entry) = self.tasks.borrow_mut().get_mut(task.index()) {
            entry.others = Others::Probed;
        }
    }

    /// Returns what the current task waits for, as far as it is known in its step.
    pub(super) fn current(&self) -> Option<Waiting> {
        self.current.get()
    }

    pub(super) fn name(&self, task: Key) -> Option<String> {
        self.names.borrow().get(&task).map(|name| name.to_string())
    }

    /// Returns a snapshot of a task; `None` if it is done, or not a task.
    pub(super) fn info(&self, task: Key, now: Instant) -> Option<TaskInfo> {
        let Entry { spawned, wait, at, since, .. } = self.entry(task)?;
        let age = |_| self.milliseconds(now).wrapping_sub(since);
        let waited = wait.map_or(0, age);
        Some(TaskInfo {
            key: task,
            name: self.name(task),
            spawned: spawned?,
            wait,
            waiting: match wait {
                Some(wait) => self.describe(wait, now),
                None => "not waiting".to_owned(),
            },
            at,
            waited: Duration::from_millis(waited.into()),
        })
    }

    fn describe(&self, wait: Wait, now: Instant) -> String {
        let peer = |key| {
            let peer = self.peers.borrow().get(key);
            peer.map_or("nobody any more".to_owned(), |peer| peer.to_string())
        };
        match wait {
            Wait::Yield => "waiting for its turn".into(),
            Wait::Future => "waiting for a future".into(),
            Wait::Task(task) => match self.name(task) {
                Some(name) => format!("waiting for task {name}"),
                None => "waiting for a task".into(),
            },
            Wait::Read(key) => format!("reading from {}", peer(key)),
            Wait::Write(key) => format!("writing to {}", peer(key)),
            Wait::Connect(key) => format!("connecting to {}", peer(key)),
            Wait::Lookup => "looking up a name".into(),
            Wait::Sleep(None) => "sleeping forever".into(),
            Wait::Sleep(Some(until)) => {
                let left = self.milliseconds(until).saturating_sub(self.milliseconds(now));
                format!("sleeping for another {:?}", Duration::from_millis(left.into()))
            }
            Wait::Other(description) => (*description).to_owned(),
        }
    }

    fn forget(&self, task: Key) {
        // A task that cancels itself and spawns another one has left it its index.
        if let Some(entry) = self.tasks.borrow_mut().get_mut(task.index())
            && entry.generation == generation(task)
        {
            entry.spawned = None;
            entry.wait = None;
        }
        // Few loops have names.
        if !self.names.borrow().is_empty() {
            self.names.borrow_mut().remove(&task);
        }
    }

    /// Calls the exception handler.
    fn report(&self, error: &LoopError) {
        let handler = self.exception_handler.borrow().clone();
        if let Some(handler) = handler {
            // As in asyncio, its own panic ends nothing.
            let _ = catch_unwind(AssertUnwindSafe(|| handler(error)));
        }
    }
}

fn generation(task: Key) -> u32 {
    (task.to_bits() >> 32) as u32
}

impl Observer for Inspector {
    fn spawned(&self, task: Key, origin: Origin) {
        let spawned = match origin {
            Origin::Task(place) => place,
            Origin::Main => return self.main.set(Some(task)),
            Origin::Callback => return,
        };
        let mut tasks = self.tasks.borrow_mut();
        let entry =
            Entry { spawned: Some(spawned), generation: generation(task), ..Entry::NOTHING };
        if let Some(known) = tasks.get_mut(task.index()) {
            *known = entry;
            return;
        }
        let needed = task.index() + 1;
        if tasks.capacity() < needed {
            // By a sixteenth rather than doubled, like the table of the tasks.
            let more = needed + needed / 16 + 16 - tasks.len();
            tasks.reserve_exact(more);
        }
        tasks.resize(task.index(), Entry::NOTHING);
        tasks.push(entry);
    }

    fn step_begins(&self, _task: Key) {
        self.polls.update(|polls| polls + 1);
        self.current.set(None);
        self.num_futures.set(0);
    }

    fn awaits(&self, task: Key, _awaited: Key) -> Result<(), Exception> {
        let mut broken = self.broken_circles.borrow_mut();
        match broken.iter().position(|(key, _)| *key == task) {
            Some(position) => Err(broken.swap_remove(position).1),
            None => Ok(()),
        }
    }

    fn waits(&self, wait: Wait, at: Option<Place>, since: Instant) {
        if wait == Wait::Future {
            self.num_futures.update(|futures| futures + 1);
        }
        let since = self.milliseconds(since);
        self.current.set(Some(Waiting { wait, at, since }));
    }

    fn step_ends(&self, task: Key, end: StepEnd) {
        // It was meant for this step.
        self.broken_circles.borrow_mut().retain(|(key, _)| *key != task);
        if end != StepEnd::Pending {
            return self.forget(task);
        }
        let next = self.current.get();
        let mut tasks = self.tasks.borrow_mut();
        let Some(entry) = tasks.get_mut(task.index()) else { return };
        if entry.spawned.is_none() || entry.generation != generation(task) {
            return;
        }
        if let Some(Waiting { wait: Wait::Task(_), .. }) = next
            && entry.others != Others::Probed
        {
            self.awaiting.borrow_mut().push(task);
        }
        entry.others = match (self.num_futures.get(), entry.others) {
            (0 | 1, _) => Others::None,
            (_, Others::Probed) => Others::Some,
            _ => Others::Unknown,
        };
        match next {
            // Two steps in a row that did not say what they wait for.
            None if entry.wait.is_none() => {}
            // A wait without a place does not know when it began: the first time counts.
            Some(Waiting { wait, at: None, .. }) if entry.wait == Some(wait) => {}
            Some(Waiting { wait, at, since }) => {
                *entry = Entry { wait: Some(wait), at, since, ..*entry };
            }
            None => *entry = Entry { wait: None, at: None, ..*entry },
        }
    }

    fn dropped(&self, task: Key) {
        self.forget(task);
    }

    fn unhandled(&self, what: &Unhandled<'_>) {
        match *what {
            Unhandled::Panicked(e) => self.report(&LoopError::Panicked(e.clone())),
            Unhandled::NeverRetrieved(e) => {
                self.report(&LoopError::ExceptionNeverRetrieved(e.clone()));
            }
            Unhandled::Destroyed(task, now) => {
                if let Some(info) = self.info(task, now) {
                    self.report(&LoopError::TaskDestroyed(info));
                }
            }
        }
    }

    fn batch_ends(&self, event_loop: &EventLoop) {
        self.break_circles(event_loop);
    }

    fn idle(&self, event_loop: &EventLoop) -> io::Result<()> {
        self.find_deadlock(event_loop)
    }

    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any)) {
        visit(self);
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
    pub spawned: Place,
    /// What the task waits for. `None` if it has taken no step yet, or its last step did not
    /// say. A task that is running or ready has the wait of its last step.
    pub wait: Option<Wait>,
    /// A description of the wait in words.
    pub waiting: String,
    /// The place in the code of the wait, if that is known.
    pub at: Option<Place>,
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
        if self.wait.is_none() {
            return Ok(());
        }
        write!(f, " for {waited:.1?}")
    }
}

/// An error that no caller receives, so that it goes to the exception handler.
#[derive(Clone, Debug)]
pub enum LoopError {
    /// The loop was closed while the task was pending.
    TaskDestroyed(TaskInfo),
    /// A future or task ended with an exception that was never retrieved.
    ExceptionNeverRetrieved(Exception),
    /// A panic of a callback, of a task without a future, or of a destructor.
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
