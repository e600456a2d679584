//! The loop: waits for the world, then resumes whoever the news concerns.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::Location;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::{Key, Os, Selector, Slots, Timers, World};
use transport::{Addresses, LookUp, NameError, Resolver, system_look_up};

use crate::diagnose::{Complaint, ExceptionHandler, Note};
use crate::task::Step;
use crate::waker::{RunQueue, TaskWaker, Turn};
use crate::{Coroutine, Future, InvalidState};

/// One thread's loop. Handles are cheap to clone and stand for the same loop.
#[derive(Clone)]
pub struct EventLoop(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    selector: RefCell<Selector<Waker>>,
    timers: RefCell<Timers<Waker>>,
    resolver: RefCell<Resolver<Answer>>,
    pub(crate) tasks: RefCell<Slots<TaskSlot>>,
    pub(crate) run_queue: Arc<RunQueue>,
    stopping: Cell<bool>,
    /// Whose turn it is.
    pub(crate) current: Cell<Option<Key>>,
    /// What the one whose turn it is has begun to wait for.
    pub(crate) note: Cell<Note>,
    pub(crate) names: RefCell<HashMap<Key, String>>,
    pub(crate) exception_handler: RefCell<Option<Rc<ExceptionHandler>>>,
    pub(crate) started: Instant,
    /// Whom a closed connection leaves its descriptor to.
    pub(crate) starved: RefCell<VecDeque<Future<()>>>,
    scratch: Cell<Vec<u8>>,
    ticks: Cell<u64>,
    polls: Cell<u64>,
}

/// A task, or a callback, which is a task of one step.
pub(crate) struct TaskSlot {
    /// Empty while the step is being taken.
    step: Option<Box<dyn Step>>,
    /// Where it was spawned; a callback was not.
    pub(crate) spawned: Option<&'static Location<'static>>,
    pub(crate) note: Note,
}

thread_local! {
    /// The loop that this thread runs, if it does.
    static RUNNING: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Keeps it known that this thread runs a loop.
struct Running;

impl Running {
    fn new(event_loop: &EventLoop) -> io::Result<Self> {
        if RUNNING.get().is_some() {
            let message = "this thread runs an event loop already";
            return Err(io::Error::new(io::ErrorKind::ResourceBusy, message));
        }
        RUNNING.set(Some(event_loop.id()));
        Ok(Self)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.set(None);
    }
}

/// Those whose turn it is. Should a panic end the loop, the rest keep theirs.
struct Batch<'q> {
    turns: VecDeque<Turn>,
    queue: &'q RunQueue,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.turns.drain(..).for_each(|turn| self.queue.push(turn));
    }
}

/// Who waits for the addresses of a name.
type Answer = Future<Result<Addresses, NameError>>;

/// What a loop has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How often it asked the selector for news.
    pub ticks: u64,
    /// How often it resumed a coroutine.
    pub polls: u64,
}

impl EventLoop {
    /// The size of the one buffer that every read of this loop goes through.
    const SCRATCH: usize = 64 * 1024;

    /// A loop in the real world.
    ///
    /// # Errors
    /// When the process may not open another descriptor.
    pub fn new() -> io::Result<Self> {
        Ok(Self::in_world(Os::new()?, Arc::new(system_look_up)))
    }

    /// A loop that knows the world only through these two.
    pub fn in_world(world: impl World + 'static, look_up: Arc<LookUp>) -> Self {
        let selector = Selector::in_world(world);
        let started = selector.now();
        let notifier = selector.notifier();
        let run_queue = Arc::new(RunQueue::new(notifier.clone()));
        let resolver = Resolver::new(look_up, move || notifier.notify());
        Self(Rc::new(Inner {
            selector: RefCell::new(selector),
            timers: RefCell::new(Timers::new()),
            resolver: RefCell::new(resolver),
            tasks: RefCell::new(Slots::new()),
            run_queue,
            stopping: Cell::new(false),
            current: Cell::new(None),
            note: Cell::new(Note::NONE),
            names: RefCell::new(HashMap::new()),
            exception_handler: RefCell::new(None),
            started,
            starved: RefCell::new(VecDeque::new()),
            scratch: Cell::new(Vec::new()),
            ticks: Cell::new(0),
            polls: Cell::new(0),
        }))
    }

    /// Runs this coroutine, and all tasks beside it, until it has returned,
    /// which stops the loop. Tasks that are not done by then stay where they
    /// are, to go on with the next call.
    ///
    /// # Errors
    /// When the selector fails, so that nobody would ever be woken; when
    /// somebody calls [`EventLoop::stop`] first; or when this thread runs a
    /// loop already.
    pub fn run_until_complete<T>(&self, coroutine: impl Coroutine<Output = T>) -> io::Result<T> {
        let mut coroutine = pin!(coroutine);
        let mut result = None;
        Waker::from(TaskWaker::new(None, &self.0.run_queue)).wake();
        self.run(|context| {
            if result.is_none()
                && let Poll::Ready(value) = coroutine.as_mut().poll(context)
            {
                result = Some(value);
                self.stop();
            }
        })?;
        result.ok_or_else(|| io::Error::other("the loop was stopped before the coroutine was done"))
    }

    /// Runs until somebody calls [`EventLoop::stop`].
    ///
    /// # Errors
    /// As for [`EventLoop::run_until_complete`].
    pub fn run_forever(&self) -> io::Result<()> {
        self.run(|_| ())
    }

    /// Has the loop return when everybody who was woken so far has had a turn.
    pub fn stop(&self) {
        self.0.stopping.set(true);
    }

    /// Takes turns until somebody calls `stop`. `main` is what runs on the
    /// caller's own stack.
    fn run(&self, mut main: impl FnMut(&mut Context<'_>)) -> io::Result<()> {
        let _running = Running::new(self)?;
        let mut batch = Batch { turns: VecDeque::new(), queue: &self.0.run_queue };
        let mut keys = Vec::new();
        loop {
            // Whoever is woken from here on has a turn after the next tick:
            // tasks that keep waking each other cannot hold up those who wait
            // for a socket or for a time.
            self.0.run_queue.take(&mut batch.turns);
            while let Some(turn) = batch.turns.pop_front() {
                let task = match turn {
                    Turn::Resume(task) => task,
                    Turn::Call(call) => {
                        call(self);
                        continue;
                    }
                };
                let key = task.taken_up();
                let waker = Waker::from(task);
                let context = &mut Context::from_waker(&waker);
                match key {
                    Some(key) => self.step(key, context),
                    None => {
                        count(&self.0.polls);
                        main(context);
                    }
                }
            }
            if self.0.stopping.replace(false) {
                return Ok(());
            }
            self.tick(&mut keys)?;
        }
    }

    /// Waits until there is something to do, and wakes whom it concerns.
    fn tick(&self, keys: &mut Vec<Key>) -> io::Result<()> {
        let inner = &*self.0;
        let timeout = if inner.run_queue.may_sleep() {
            let next = inner.timers.borrow().next_due();
            next.map(|at| at.saturating_duration_since(self.now()))
        } else {
            Some(Duration::ZERO)
        };
        count(&inner.ticks);
        let result = inner.selector.borrow_mut().select(timeout, keys);
        inner.run_queue.has_woken_up();
        result?;
        // Each borrow ends before the waker runs: it may belong to anybody.
        for key in keys.drain(..) {
            let waiter = inner.selector.borrow_mut().take(key);
            if let Some(waker) = waiter {
                waker.wake();
            }
        }
        let now = self.now();
        loop {
            let due = inner.timers.borrow_mut().pop_due(now);
            let Some(waker) = due else { break };
            waker.wake();
        }
        let answered = inner.resolver.borrow_mut().answered(now);
        for (future, answer) in answered {
            // Refused only if the future had an answer before.
            let _ = future.set_result(answer);
        }
        Ok(())
    }

    fn step(&self, key: Key, context: &mut Context<'_>) {
        // Taken out of its slot, the coroutine may do anything to the loop,
        // even cancel itself. A stale key belongs to a task that is gone.
        let slot = |slot: &mut TaskSlot| slot.step.take();
        let step = self.0.tasks.borrow_mut().get_mut(key).and_then(slot);
        let Some(mut step) = step else { return };
        count(&self.0.polls);
        let outer = self.0.current.replace(Some(key));
        self.0.note.set(Note::NONE);
        let state = step.step(context);
        self.0.current.set(outer);
        let mut tasks = self.0.tasks.borrow_mut();
        let leftover = match tasks.get_mut(key) {
            Some(slot) if state.is_pending() => {
                slot.note.follow(self.0.note.get());
                slot.step.replace(step)
            }
            _ => Some(step),
        };
        drop(tasks);
        drop(leftover);
        if let Poll::Ready(complaint) = state {
            drop(self.remove_task(key));
            if let Some(exception) = complaint {
                self.complain(&Complaint::CallbackPanicked(exception));
            }
        }
    }

    pub(crate) fn add_task(
        &self,
        step: Box<dyn Step>,
        spawned: Option<&'static Location<'static>>,
    ) -> Key {
        let slot = TaskSlot { step: Some(step), spawned, note: Note::NONE };
        self.0.tasks.borrow_mut().insert(slot)
    }

    /// Has a task take its first step.
    pub(crate) fn wake_task(&self, key: Key) {
        self.waker_of(key).wake();
    }

    pub(crate) fn waker_of(&self, key: Key) -> Waker {
        Waker::from(TaskWaker::new(Some(key), &self.0.run_queue))
    }

    /// To be dropped by the caller, since that runs the code of others.
    #[must_use]
    pub(crate) fn remove_task(&self, key: Key) -> Option<TaskSlot> {
        let slot = self.0.tasks.borrow_mut().remove(key);
        if !self.0.names.borrow().is_empty() {
            self.0.names.borrow_mut().remove(&key);
        }
        slot
    }

    /// Whether the one whose turn it is may wait for a future of this loop,
    /// and of this task.
    pub(crate) fn may_wait_for(&self, task: Option<Key>) -> Result<(), InvalidState> {
        if RUNNING.get().is_some_and(|running| running != self.id()) {
            return Err(InvalidState::OtherLoop);
        }
        if task.is_some() && task == self.0.current.get() {
            return Err(InvalidState::AwaitsItself);
        }
        Ok(())
    }

    fn id(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// The present moment.
    pub fn now(&self) -> Instant {
        self.0.selector.borrow().now()
    }

    /// What it has done so far.
    pub fn stats(&self) -> Stats {
        Stats { ticks: self.0.ticks.get(), polls: self.0.polls.get() }
    }

    /// How many tasks have not ended.
    pub fn pending_tasks(&self) -> usize {
        self.0.tasks.borrow().len()
    }

    /// How many timers are pending.
    pub fn pending_timers(&self) -> usize {
        self.0.timers.borrow().len()
    }

    /// How many connections are open.
    pub fn connections(&self) -> usize {
        self.0.selector.borrow().len()
    }

    /// Drops every task that is still pending, each where it is suspended, and
    /// complains about each. Tasks hold handles to their loop, so that without
    /// this call a loop that has any is never freed.
    pub fn close(&self) {
        for task in self.all_tasks() {
            self.complain(&Complaint::TaskDestroyed(task));
        }
        self.0.run_queue.close();
        // Stale from here on, their keys find nothing while they are dropped.
        drop(self.0.tasks.take());
        drop(self.0.timers.take());
    }

    pub(crate) fn selector(&self) -> RefMut<'_, Selector<Waker>> {
        self.0.selector.borrow_mut()
    }

    pub(crate) fn timers(&self) -> RefMut<'_, Timers<Waker>> {
        self.0.timers.borrow_mut()
    }

    pub(crate) fn resolver(&self) -> RefMut<'_, Resolver<Answer>> {
        self.0.resolver.borrow_mut()
    }

    /// Lends the buffer that all reads of this loop share, so that a waiting
    /// connection owns none. Only from one suspension point to the next.
    pub(crate) fn with_scratch<R>(&self, borrow: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut scratch = self.0.scratch.take();
        scratch.resize(Self::SCRATCH, 0);
        let result = borrow(&mut scratch);
        self.0.scratch.set(scratch);
        result
    }
}

fn count(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}
