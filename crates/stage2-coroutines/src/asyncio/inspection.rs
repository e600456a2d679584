//! Structured inspection of a loop: what each task waits for and since when,
//! and the errors that reach the exception handler.
//!
//! It is always on, and costs 24 bytes for each task. The start of a wait is
//! taken from the time of the tick, so that it needs no reading of the clock.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Write};
use std::panic::Location;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use selector_core::Key;

use crate::asyncio::inspector::WaitInfo;
use crate::runtime::event_loop::Inner;
use crate::{Coroutine, EventLoop, Future, LoopError, Task, TaskInfo, Wait};

/// Counters of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of ticks: calls of the selector for events.
    pub ticks: u64,
    /// The number of steps that tasks, callbacks and main coroutines took.
    pub polls: u64,
}

impl EventLoop {
    /// Returns the counters of the loop.
    pub fn stats(&self) -> Stats {
        Stats { ticks: self.0.reactor.ticks.get(), polls: self.0.scheduler.polls.get() }
    }

    /// Returns the number of pending timers.
    pub fn pending_timers(&self) -> usize {
        self.0.reactor.timers.borrow().len()
    }

    /// Returns the number of connections, those that are being opened included.
    pub fn connections(&self) -> usize {
        self.0.reactor.selector.borrow().len()
    }

    /// Sets the exception handler, which the loop calls with every
    /// [`LoopError`]. Without a handler these errors are lost.
    pub fn set_exception_handler(&self, handler: impl Fn(&LoopError) + 'static) {
        let replaced = self.0.inspector.exception_handler.replace(Some(Rc::new(handler)));
        drop(replaced);
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
        let Inner { inspector, reactor, .. } = &**self.0;
        if inspector.current_wait.get().wait == Wait::Nothing {
            let now = || inspector.milliseconds_at(Some(reactor.tick_start.get()));
            let since = *since.get_or_insert_with(now);
            inspector.current_wait.set(WaitInfo { wait, at, since });
        }
    }
    // ANCHOR_END: set_wait

    /// Returns the key of the task that is taking a step. There is none in a callback,
    /// in the main coroutine, and in a task that has cancelled itself.
    pub fn current_task(&self) -> Option<Key> {
        let key = self.0.scheduler.current_task.get()?;
        let tasks = self.0.scheduler.tasks.borrow();
        tasks.get(key)?.spawned.map(|_| key)
    }

    pub(crate) fn name_task(&self, key: Key, name: String) {
        if self.0.scheduler.tasks.borrow().get(key).is_some() {
            self.0.inspector.task_names.borrow_mut().insert(key, name.into());
        }
    }

    /// Returns the wait of an operation that this crate does not know. The
    /// description is what inspection shows. It stands in a table of the loop,
    /// so that the wait itself takes four bytes for it.
    pub fn other_wait(&self, description: &'static str) -> Wait {
        let mut descriptions = self.0.inspector.other_waits.borrow_mut();
        let known = descriptions.iter().position(|known| *known == description);
        let number = known.unwrap_or_else(|| {
            descriptions.push(description);
            descriptions.len() - 1
        });
        Wait::Other(number as u32)
    }

    /// Returns the number of tasks and callbacks that have not ended.
    pub fn pending_tasks(&self) -> usize {
        self.0.scheduler.tasks.borrow().len()
    }

    /// Returns all tasks that are not done.
    pub fn all_tasks(&self) -> Vec<TaskInfo> {
        let keys: Vec<Key> = self.0.scheduler.tasks.borrow().keys().collect();
        keys.into_iter().filter_map(|key| self.task(key)).collect()
    }

    /// Returns a snapshot of a task; `None` if it is done.
    pub fn task(&self, key: Key) -> Option<TaskInfo> {
        let tasks = self.0.scheduler.tasks.borrow();
        let slot = tasks.get(key)?;
        let WaitInfo { wait, at, since } = slot.wait;
        Some(TaskInfo {
            key,
            name: self.0.inspector.task_names.borrow().get(&key).map(|name| name.to_string()),
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

    /// Returns the age of the loop in milliseconds.
    fn milliseconds(&self) -> u32 {
        self.0.inspector.milliseconds_at(Some(self.now()))
    }

    fn describe_wait(&self, wait: Wait) -> String {
        let peer = |key| {
            let peer = self.0.reactor.peers.borrow().get(key);
            peer.map_or("nobody any more".to_owned(), |peer| peer.to_string())
        };
        match wait {
            Wait::Nothing => "not waiting".into(),
            Wait::Yield => "waiting for its turn".into(),
            Wait::Future => "waiting for a future".into(),
            Wait::Task(key) => match self.0.inspector.task_names.borrow().get(&key) {
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
            Wait::Other(number) => {
                let descriptions = self.0.inspector.other_waits.borrow();
                descriptions.get(number as usize).copied().unwrap_or("waiting").into()
            }
        }
    }

    /// Returns a text: a line with the number of tasks that are not done, a line for
    /// each of them, and then the lines of [`EventLoop::also_describe`].
    pub fn describe_tasks(&self) -> String {
        let tasks = self.all_tasks();
        let lines = tasks.iter().map(|task| format!("  {task}\n"));
        let describe = self.0.also_describe.borrow().clone();
        let others = describe.map(|describe| describe()).unwrap_or_default();
        let noun = if tasks.len() == 1 { "task" } else { "tasks" };
        format!("{} {noun}\n{}{others}", tasks.len(), lines.collect::<String>())
    }

    /// Has `describe` add lines of its own to the text of
    /// [`EventLoop::describe_tasks`], such as what a program waits for outside its
    /// tasks. It replaces the one before.
    pub fn also_describe(&self, describe: impl Fn() -> String + 'static) {
        let replaced = self.0.also_describe.replace(Some(Rc::new(describe)));
        drop(replaced);
    }

    /// Returns the error of a loop in which nothing can happen any more.
    pub(crate) fn deadlock_error(&self) -> io::Error {
        let message = format!("nothing can happen any more: {}", self.describe_tasks().trim_end());
        io::Error::new(io::ErrorKind::Deadlock, message)
    }

    /// Writes the text of [`EventLoop::describe_tasks`].
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn print_tasks(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.describe_tasks().as_bytes())
    }

    /// Calls `print` with every error of the loop, and on SIGUSR1 with what each
    /// task is doing. A program that has a stderr calls this once.
    ///
    /// # Errors
    /// As for [`EventLoop::report_tasks_on_sigusr1`].
    #[cfg(feature = "os")]
    pub fn report_to(&self, print: impl Fn(&str) + Clone + Send + 'static) -> io::Result<()> {
        let print_error = print.clone();
        self.set_exception_handler(move |error| print_error(&format!("{error}\n")));
        self.report_tasks_on_sigusr1(print)
    }

    /// Calls `report`, whenever the process receives SIGUSR1, with the text of
    /// [`EventLoop::describe_tasks`]. The call is made on the thread of the loop,
    /// and wakes the loop if it sleeps. From then on a loop in which nothing can
    /// happen any more waits for a signal, rather than ending with an error.
    ///
    /// # Errors
    /// When the signal handler cannot be installed, or the thread that waits
    /// for the signal cannot be started.
    #[cfg(feature = "os")]
    pub fn report_tasks_on_sigusr1(
        &self,
        report: impl Fn(&str) + Clone + Send + 'static,
    ) -> io::Result<()> {
        use signal_hook::consts::SIGUSR1;
        use signal_hook::iterator::Signals;
        let mut signals = Signals::new([SIGUSR1])?;
        let remote = self.remote();
        let watch = move || {
            for _ in signals.forever() {
                let report = report.clone();
                remote.call_soon(move |event_loop| report(&event_loop.describe_tasks()));
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(())
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
            event_loop.0.inspector.current_wait.set(WaitInfo::NONE);
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
