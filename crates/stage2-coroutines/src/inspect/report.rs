//! Inspection of a loop by its handle: all tasks with their waits, as values and as text.

use std::fmt;
use std::io::{self, Write};
use std::rc::Rc;

use selector_core::Key;

use crate::inspect::{Inspector, LoopError, TaskInfo};
use crate::{EventLoop, Future, Task};

/// Counters of a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// The number of ticks: calls of the selector for events.
    pub ticks: u64,
    /// The number of steps that tasks, callbacks and main coroutines took.
    pub polls: u64,
}

/// Inspection of a loop. A loop without an [`Inspector`] shows nothing.
pub trait Inspect {
    /// Returns the counters of the loop.
    fn stats(&self) -> Stats;

    /// Returns the number of pending timers.
    fn pending_timers(&self) -> usize;

    /// Returns the number of connections, those that are being opened included.
    fn connections(&self) -> usize;

    /// Returns the number of tasks and callbacks that have not ended.
    fn pending_tasks(&self) -> usize;

    /// Sets the exception handler, which is called with every [`LoopError`]. Without a
    /// handler these errors are lost.
    fn set_exception_handler(&self, handler: impl Fn(&LoopError) + 'static);

    /// Returns the key of the task that is taking a step. There is none in a callback
    /// and in the main coroutine.
    fn current_task(&self) -> Option<Key>;

    /// Returns all tasks that are not done.
    fn all_tasks(&self) -> Vec<TaskInfo>;

    /// Returns a snapshot of a task; `None` if it is done.
    fn task(&self, key: Key) -> Option<TaskInfo>;

    /// Returns a text: a line with the number of tasks that are not done, a line for
    /// each of them, and then the lines of [`Inspect::also_describe`].
    fn describe_tasks(&self) -> String;

    /// Has `describe` add lines of its own to the text of [`Inspect::describe_tasks`], such
    /// as what a program waits for outside its tasks. It replaces the one before.
    fn also_describe(&self, describe: impl Fn() -> String + 'static);

    /// Writes the text of [`Inspect::describe_tasks`].
    ///
    /// # Errors
    /// The errors of `out`.
    fn print_tasks(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(self.describe_tasks().as_bytes())
    }

    /// Calls `print` with every error of the loop, and on SIGUSR1 with what each
    /// task is doing. A program that has a stderr calls this once.
    ///
    /// # Errors
    /// As for [`Inspect::report_tasks_on_sigusr1`].
    #[cfg(feature = "os")]
    fn report_to(&self, print: impl Fn(&str) + Clone + 'static) -> io::Result<()> {
        let print_error = print.clone();
        self.set_exception_handler(move |error| print_error(&format!("{error}\n")));
        self.report_tasks_on_sigusr1(print)
    }

    /// Calls `report`, whenever the process receives SIGUSR1, with the text of
    /// [`Inspect::describe_tasks`]. The call is made on the thread of the loop,
    /// and wakes the loop if it sleeps. From then on a loop in which nothing can
    /// happen any more waits for a signal, rather than ending with an error.
    ///
    /// # Errors
    /// When the signal handler cannot be installed, or the thread that waits
    /// for the signal cannot be started.
    #[cfg(feature = "os")]
    fn report_tasks_on_sigusr1(&self, report: impl Fn(&str) + 'static) -> io::Result<()>;
}

impl Inspect for EventLoop {
    fn stats(&self) -> Stats {
        let polls = self.observer::<Inspector>().map_or(0, |inspector| inspector.polls.get());
        Stats { ticks: self.reactor().ticks(), polls }
    }

    fn pending_timers(&self) -> usize {
        self.reactor().num_timers()
    }

    fn connections(&self) -> usize {
        self.reactor().num_connections()
    }

    fn pending_tasks(&self) -> usize {
        let main = self.observer::<Inspector>().and_then(|inspector| inspector.main.get());
        self.scheduler().tasks().into_iter().filter(|task| Some(*task) != main).count()
    }

    fn set_exception_handler(&self, handler: impl Fn(&LoopError) + 'static) {
        if let Some(inspector) = self.observer::<Inspector>() {
            let replaced = inspector.exception_handler.replace(Some(Rc::new(handler)));
            drop(replaced);
        }
    }

    fn current_task(&self) -> Option<Key> {
        let current = self.scheduler().current()?;
        self.observer::<Inspector>()?.place(current).map(|_| current)
    }

    fn all_tasks(&self) -> Vec<TaskInfo> {
        self.scheduler().tasks().into_iter().filter_map(|task| self.task(task)).collect()
    }

    fn task(&self, key: Key) -> Option<TaskInfo> {
        // A task that was dropped with its loop is still known to the inspector.
        self.scheduler().wakers(key)?;
        self.observer::<Inspector>()?.info(key, self.now())
    }

    fn describe_tasks(&self) -> String {
        let tasks = self.all_tasks();
        let lines = tasks.iter().map(|task| format!("  {task}\n"));
        let inspector = self.observer::<Inspector>();
        let describe = inspector.and_then(|inspector| inspector.also_describe.borrow().clone());
        let others = describe.map(|describe| describe()).unwrap_or_default();
        let noun = if tasks.len() == 1 { "task" } else { "tasks" };
        format!("{} {noun}\n{}{others}", tasks.len(), lines.collect::<String>())
    }

    fn also_describe(&self, describe: impl Fn() -> String + 'static) {
        if let Some(inspector) = self.observer::<Inspector>() {
            let replaced = inspector.also_describe.replace(Some(Rc::new(describe)));
            drop(replaced);
        }
    }

    #[cfg(feature = "os")]
    fn report_tasks_on_sigusr1(&self, report: impl Fn(&str) + 'static) -> io::Result<()> {
        use std::future::poll_fn;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
        use std::task::Poll;

        use signal_hook::consts::SIGUSR1;
        use signal_hook::iterator::Signals;

        use crate::runtime::observer::Origin;

        let mut signals = Signals::new([SIGUSR1])?;
        let (event_loop, requested) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let request = Arc::clone(&requested);
        let report = poll_fn(move |_| {
            if requested.swap(false, Relaxed) {
                report(&event_loop.describe_tasks());
            }
            Poll::Pending
        });
        let task = self.scheduler().add(Box::pin(report), Origin::Callback);
        let waker = self.scheduler().waker(task);
        let watch = move || {
            for _ in signals.forever() {
                request.store(true, Relaxed);
                waker.wake_by_ref();
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(watch)?;
        Ok(())
    }
}

/// Inspection of one task.
pub trait InspectTask {
    /// Gives the task a name, which inspection shows.
    #[must_use = "the task is returned, and its handle is lost if it is not used"]
    fn named(self, name: impl Into<String>) -> Self;

    /// Returns the place where the task is suspended; `None` when it is done.
    /// There is one such place, since the frames of a coroutine are one value.
    fn get_stack(&self) -> Option<TaskInfo>;

    /// Writes the snapshot of [`InspectTask::get_stack`] as one line.
    ///
    /// # Errors
    /// The errors of `out`.
    fn print_stack(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl<T> InspectTask for Task<T> {
    fn named(self, name: impl Into<String>) -> Self {
        let event_loop = self.future().event_loop();
        if let Some(inspector) = event_loop.observer::<Inspector>()
            && inspector.place(self.key()).is_some()
        {
            inspector.names.borrow_mut().insert(self.key(), name.into().into());
        }
        self
    }

    fn get_stack(&self) -> Option<TaskInfo> {
        self.future().event_loop().task(self.key())
    }

    fn print_stack(&self, out: &mut dyn Write) -> io::Result<()> {
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

impl<T> fmt::Debug for Future<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.done(), self.is_cancelled()) {
            (false, _) => "Future(pending)",
            (true, false) => "Future(done)",
            (true, true) => "Future(cancelled)",
        })
    }
}

impl<T> fmt::Debug for Task<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Task").field(self.future()).finish()
    }
}
