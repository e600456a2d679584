// ANCHOR: all
//! The smallest runtime that is true, on the standard library alone: futures, tasks,
//! wakers, a run queue and timers. No wake-up is lost, and an idle loop takes no CPU
//! time.
//!
//! `cargo run -p stage2-coroutines --example smallest_runtime`
#![allow(clippy::new_without_default)] // A default would say less.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future as Coroutine;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

// ANCHOR: future
/// The chapter's future: pending until it has a result, which one task awaits.
#[derive(Clone)]
pub struct Future<T>(Rc<RefCell<(Option<T>, Option<Waker>)>>);

impl<T> Future<T> {
    /// Returns a pending future.
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new((None, None))))
    }

    /// Sets the result, and wakes the task that waits for it.
    pub fn set_result(&self, result: T) {
        self.0.borrow_mut().0 = Some(result);
        let waker = self.0.borrow_mut().1.take();
        // Not borrowed any more: a waker may be foreign code.
        waker.into_iter().for_each(Waker::wake);
    }
}

impl<T> Coroutine for Future<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let waker = context.waker().clone();
        // Pending means stored. The old waker is dropped last, with nothing borrowed.
        let _old = self.0.borrow_mut().1.replace(waker);
        let result = self.0.borrow_mut().0.take();
        result.map_or(Poll::Pending, Poll::Ready)
    }
}
// ANCHOR_END: future

// ANCHOR: waker
/// The waker of a task. It runs nothing: it puts the task into the run queue.
struct TaskWaker(usize, Sender<usize>);

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        // Refused when the loop is gone, and with it the task.
        let _ = self.1.send(self.0);
    }
}
// ANCHOR_END: waker

// ANCHOR: event_loop
type Task = Pin<Box<dyn Coroutine<Output = ()>>>;

/// The loop. Clones stand for the same one.
#[derive(Clone)]
pub struct EventLoop(Rc<Inner>);

struct Inner {
    tasks: RefCell<BTreeMap<usize, Task>>,
    timers: RefCell<BTreeMap<(Instant, usize), Future<()>>>,
    /// The run queue: the tasks that were woken, in this order.
    run_queue: (Sender<usize>, Receiver<usize>),
    next_id: Cell<usize>,
}
// ANCHOR_END: event_loop

impl EventLoop {
    /// Returns a loop without tasks.
    pub fn new() -> Self {
        let (tasks, timers, next_id) = Default::default();
        Self(Rc::new(Inner { tasks, timers, run_queue: channel(), next_id }))
    }

    // ANCHOR: spawn
    /// Adds a task, which takes its first step when the loop runs. A task is a future
    /// of what its coroutine returns.
    pub fn spawn<C: Coroutine + 'static>(&self, coroutine: C) -> Future<C::Output> {
        let (task, future) = (self.next_id(), Future::new());
        let result = Future(Rc::clone(&future.0));
        let coroutine = Box::pin(async move { result.set_result(coroutine.await) });
        self.0.tasks.borrow_mut().insert(task, coroutine);
        self.waker(task).wake();
        future
    }
    // ANCHOR_END: spawn

    // ANCHOR: sleep
    /// Returns a future that has a result after some time.
    pub fn sleep(&self, duration: Duration) -> Future<()> {
        let future = Future::new();
        let timer = (Instant::now() + duration, self.next_id());
        self.0.timers.borrow_mut().insert(timer, future.clone());
        future
    }
    // ANCHOR_END: sleep

    // ANCHOR: run
    /// Runs until all tasks have ended.
    pub fn run(&self) {
        while !self.0.tasks.borrow().is_empty() {
            if !self.0.timers.borrow().is_empty() {
                self.fire_timers();
            }
            self.wait().into_iter().for_each(|task| self.step(task));
        }
    }

    /// Sets the results of the timers that are due.
    fn fire_timers(&self) {
        let later = self.0.timers.borrow_mut().split_off(&(Instant::now(), usize::MAX));
        let due = self.0.timers.replace(later);
        due.values().for_each(|future| future.set_result(()));
    }

    /// Takes a task from the run queue. Sleeps while it is empty, until the next timer
    /// is due. To look and to fall asleep are one step of the channel: no wake-up can
    /// come between them and be lost.
    fn wait(&self) -> Option<usize> {
        let next = self.0.timers.borrow().keys().next().map(|(at, _)| *at);
        let (_, woken) = &self.0.run_queue;
        let Some(at) = next else { return woken.recv().ok() };
        woken.recv_timeout(at.saturating_duration_since(Instant::now())).ok()
    }

    /// Has a task take one step. It is kept for the next one, unless it has ended.
    fn step(&self, task: usize) {
        // Taken out during the step, which may spawn tasks.
        let coroutine = self.0.tasks.borrow_mut().remove(&task);
        let Some(mut coroutine) = coroutine else { return };
        let poll = coroutine.as_mut().poll(&mut Context::from_waker(&self.waker(task)));
        if poll.is_pending() {
            self.0.tasks.borrow_mut().insert(task, coroutine);
        }
    }
    // ANCHOR_END: run

    fn waker(&self, task: usize) -> Waker {
        Arc::new(TaskWaker(task, self.0.run_queue.0.clone())).into()
    }

    fn next_id(&self) -> usize {
        self.0.next_id.replace(self.0.next_id.get() + 1)
    }
}

// ANCHOR: main
#[allow(clippy::print_stdout, dead_code)] // For people; a test does not call it.
fn main() {
    let event_loop = EventLoop::new();
    let inside = event_loop.clone();
    let answer = event_loop.spawn(async move {
        println!("one sleeps");
        inside.sleep(Duration::from_millis(100)).await;
        42
    });
    event_loop.spawn(async move {
        println!("other waits");
        println!("other has got {}", answer.await);
    });
    event_loop.run();
}
// ANCHOR_END: main
// ANCHOR_END: all
