//! `TaskGroup`: tasks that do not outlive the block that creates them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use stage2_coroutines::sync::Event;
use stage2_coroutines::{Coroutine, EventLoop, Exception, Task};

use crate::any_future::{AnyFuture, FutureExt, TaskExt, raised};

/// A group of tasks that end before the block that creates them: asyncio's `TaskGroup`.
///
/// `async with TaskGroup() as group:` is [`TaskGroup::run`], and what is in the block is a
/// closure. A handle is cheap to clone, so that tasks of the group can create others.
///
/// ```
/// use asyncio::{ExceptionGroup, TaskGroup};
/// use stage2_coroutines::{Exception, system_runtime};
///
/// # let runtime = system_runtime()?;
/// # let event_loop = runtime.event_loop();
/// let result = runtime.run_until_complete(TaskGroup::run(event_loop, async |group| {
///     let page = group.create_task(async { Ok::<_, Exception>("a page") })?;
///     group.create_task(async { Err::<(), _>("no route to host") })?;
///     page.await
/// }))?;
/// let exception = result.unwrap_err();
/// let errors = ExceptionGroup::of(&exception).unwrap();
/// assert_eq!(errors.exceptions()[0].to_string(), "no route to host");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct TaskGroup(Rc<GroupState>);

struct GroupState {
    event_loop: EventLoop,
    /// What cancels each task that is not done, by its number.
    tasks: RefCell<BTreeMap<u64, Rc<dyn Fn()>>>,
    created: Cell<u64>,
    errors: RefCell<Vec<Exception>>,
    /// Set when the tasks and the body are to end.
    aborting: Event,
    /// Set when the body has ended and no task is left.
    finished: Event,
    has_body_ended: Cell<bool>,
}

impl TaskGroup {
    /// Runs `body`, and then waits for all tasks that were created in the group.
    ///
    /// The first task that fails cancels the others, and the body, which is dropped where it
    /// is suspended. If the body returns an error, that cancels the tasks. A task that is
    /// cancelled has not failed. When the group itself is dropped, its tasks are cancelled.
    ///
    /// # Errors
    /// An [`ExceptionGroup`] with the exceptions of the tasks, the earliest first, and that of
    /// the body at the end. [`Exception::Cancelled`] if the body
    /// returns that, and no task has failed.
    pub async fn run<T, E: Into<Box<dyn Error>>>(
        event_loop: &EventLoop,
        body: impl AsyncFnOnce(Self) -> Result<T, E>,
    ) -> Result<T, Exception> {
        let group = Self(Rc::new(GroupState {
            event_loop: event_loop.clone(),
            tasks: RefCell::default(),
            created: Cell::new(0),
            errors: RefCell::default(),
            aborting: Event::new(event_loop),
            finished: Event::new(event_loop),
            has_body_ended: Cell::new(false),
        }));
        let _guard = AbortOnDrop(&group.0);
        let result = group.run_body(body(group.clone())).await;
        if matches!(result, Some(Err(_))) {
            group.0.abort();
        }
        group.0.has_body_ended.set(true);
        group.0.check_finished();
        group.0.finished.wait().await;

        let mut errors = group.0.errors.take();
        match result {
            Some(Ok(value)) if errors.is_empty() => return Ok(value),
            Some(Err(Exception::Cancelled)) if errors.is_empty() => {
                return Err(Exception::Cancelled);
            }
            Some(Err(exception)) if !exception.is_cancelled() => errors.push(exception),
            _ => {}
        }
        Err(raised(ExceptionGroup(errors)))
    }

    /// Runs the body until it returns, or until a task has failed: then the body goes no
    /// further, even if it could.
    async fn run_body<T, E: Into<Box<dyn Error>>>(
        &self,
        body: impl Coroutine<Output = Result<T, E>>,
    ) -> Option<Result<T, Exception>> {
        let mut body = pin!(body);
        let mut aborting = pin!(self.0.aborting.wait());
        poll_fn(|context| {
            if aborting.as_mut().poll(context).is_ready() {
                return Poll::Ready(None);
            }
            body.as_mut().poll(context).map(|result| Some(result.map_err(raised)))
        })
        .await
    }

    /// Creates a task in the group, by [`TaskExt::try_spawn`]. You need not keep its handle:
    /// the group waits for it, and its exception is one of the group.
    ///
    /// # Errors
    /// When the group has ended, or is about to because something in it has failed. The
    /// coroutine is dropped.
    #[track_caller]
    pub fn create_task<T: 'static, E: Into<Box<dyn Error>> + 'static>(
        &self,
        coroutine: impl Coroutine<Output = Result<T, E>> + 'static,
    ) -> Result<AnyFuture<T>, TaskGroupClosed> {
        if self.0.aborting.is_set() || self.0.finished.is_set() {
            return Err(TaskGroupClosed);
        }
        let number = self.0.created.get();
        self.0.created.set(number + 1);
        let task = Task::try_spawn(&self.0.event_loop, coroutine);
        let (group, handle) = (Rc::clone(&self.0), task.clone());
        group.tasks.borrow_mut().insert(
            number,
            Rc::new(move || {
                handle.cancel();
            }),
        );
        task.add_done_callback(move |task| group.task_done(number, task.exception()));
        Ok(task.into())
    }
}

impl GroupState {
    fn task_done(&self, number: u64, exception: Result<Option<Exception>, Exception>) {
        let task = self.tasks.borrow_mut().remove(&number);
        drop(task);
        // A task that was cancelled is an `Err`, and not a failure.
        if let Ok(Some(exception)) = exception {
            self.errors.borrow_mut().push(exception);
            self.abort();
        }
        self.check_finished();
    }

    fn check_finished(&self) {
        if self.has_body_ended.get() && self.tasks.borrow().is_empty() {
            self.finished.set();
        }
    }

    /// Cancels the tasks, and has the body dropped.
    fn abort(&self) {
        if !self.aborting.is_set() {
            self.aborting.set();
            // Not borrowed while coroutines are dropped, which may run any code.
            let tasks: Vec<_> = self.tasks.borrow().values().cloned().collect();
            tasks.iter().for_each(|cancel| cancel());
        }
    }
}

/// A drop guard: the tasks do not outlive the group.
struct AbortOnDrop<'g>(&'g GroupState);

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The exceptions of a [`TaskGroup`]: asyncio's `ExceptionGroup`. Python's `except*` is a look
/// through the list.
#[derive(Clone, Debug)]
pub struct ExceptionGroup(Vec<Exception>);

impl ExceptionGroup {
    /// Returns the group, if `exception` is one.
    pub fn of(exception: &Exception) -> Option<&Self> {
        match exception {
            Exception::Raised(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Returns the exceptions, at least one.
    pub fn exceptions(&self) -> &[Exception] {
        &self.0
    }
}

impl fmt::Display for ExceptionGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(Exception::to_string).collect();
        write!(f, "errors in a task group: {}", texts.join("; "))
    }
}

impl Error for ExceptionGroup {}

/// The error of [`TaskGroup::create_task`]: the group takes no more tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroupClosed;

impl fmt::Display for TaskGroupClosed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task group has ended or is about to end")
    }
}

impl Error for TaskGroupClosed {}

impl From<TaskGroupClosed> for Exception {
    fn from(closed: TaskGroupClosed) -> Self {
        raised(closed)
    }
}
