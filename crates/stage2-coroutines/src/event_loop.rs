//! The loop: waits for the world, then resumes whoever the news concerns.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use selector_core::{Key, Os, Selector, Slots, Timers, World};
use transport::{Addresses, LookUp, NameError, Resolver, system_look_up};

use crate::task::Step;
use crate::waker::{RunQueue, TaskWaker};
use crate::{Coroutine, Future};

/// One thread's loop. Handles are cheap to clone and stand for the same loop.
#[derive(Clone)]
pub struct EventLoop(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    selector: RefCell<Selector<Waker>>,
    timers: RefCell<Timers<Waker>>,
    resolver: RefCell<Resolver<Answer>>,
    tasks: RefCell<Slots<TaskSlot>>,
    run_queue: Arc<RunQueue>,
    /// Whom a closed connection leaves its descriptor to.
    pub(crate) starved: RefCell<VecDeque<Future<()>>>,
    scratch: Cell<Vec<u8>>,
    ticks: Cell<u64>,
    polls: Cell<u64>,
}

/// Empty while the coroutine is being stepped.
pub(crate) type TaskSlot = Option<Box<dyn Step>>;

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
        let notifier = selector.notifier();
        let run_queue = Arc::new(RunQueue::new(notifier.clone()));
        let resolver = Resolver::new(look_up, move || notifier.notify());
        Self(Rc::new(Inner {
            selector: RefCell::new(selector),
            timers: RefCell::new(Timers::new()),
            resolver: RefCell::new(resolver),
            tasks: RefCell::new(Slots::new()),
            run_queue,
            starved: RefCell::new(VecDeque::new()),
            scratch: Cell::new(Vec::new()),
            ticks: Cell::new(0),
            polls: Cell::new(0),
        }))
    }

    /// Runs this coroutine, and all tasks beside it, until it has returned.
    /// Tasks that are not done by then stay where they are, to go on with the
    /// next call.
    ///
    /// # Errors
    /// When the selector fails: nobody would ever be woken.
    pub fn run_until_complete<T>(&self, coroutine: impl Coroutine<Output = T>) -> io::Result<T> {
        let mut coroutine = pin!(coroutine);
        let main = TaskWaker::new(None, &self.0.run_queue);
        Waker::from(main).wake();
        let mut woken = VecDeque::new();
        let mut keys = Vec::new();
        loop {
            self.0.run_queue.take(&mut woken);
            let mut result = Poll::Pending;
            // Whoever is woken from here on has a turn after the next tick:
            // tasks that keep waking each other cannot hold up those who wait
            // for a socket or for a time.
            for task in woken.drain(..) {
                let key = task.taken_up();
                let waker = Waker::from(task);
                let context = &mut Context::from_waker(&waker);
                match key {
                    Some(key) => self.step(key, context),
                    None if result.is_pending() => {
                        count(&self.0.polls);
                        result = coroutine.as_mut().poll(context);
                    }
                    None => {}
                }
            }
            if let Poll::Ready(value) = result {
                return Ok(value);
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
        let coroutine = self.0.tasks.borrow_mut().get_mut(key).and_then(Option::take);
        let Some(mut coroutine) = coroutine else {
            return;
        };
        count(&self.0.polls);
        let state = coroutine.step(context);
        let mut tasks = self.0.tasks.borrow_mut();
        let leftover = match tasks.get_mut(key) {
            Some(slot) if state.is_pending() => slot.replace(coroutine),
            _ => {
                tasks.remove(key);
                Some(coroutine)
            }
        };
        drop(tasks);
        drop(leftover);
    }

    pub(crate) fn add_task(&self, coroutine: Box<dyn Step>) -> Key {
        let key = self.0.tasks.borrow_mut().insert(Some(coroutine));
        Waker::from(TaskWaker::new(Some(key), &self.0.run_queue)).wake();
        key
    }

    /// To be dropped by the caller, since that runs the code of others.
    #[must_use]
    pub(crate) fn remove_task(&self, key: Key) -> Option<TaskSlot> {
        self.0.tasks.borrow_mut().remove(key)
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

    /// Drops every task that is still pending, each where it is suspended.
    /// Tasks hold handles to their loop, so that without this call a loop that
    /// has any is never freed.
    pub fn close(&self) {
        self.0.run_queue.close();
        // Stale from here on, their keys find nothing while they are dropped.
        drop(self.0.tasks.take());
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
