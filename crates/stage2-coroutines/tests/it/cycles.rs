//! Reference cycles, and the operations that free them.
//!
//! The rules; each test shows one case:
//!
//! - A waiting task is held by its loop alone. The coroutine of a task holds
//!   everything that it captured, which may be its own handle or the loop.
//!   **Completion, cancelling and closing drop the coroutine**, and all it
//!   holds with it.
//! - A done callback is a task that waits for its future, and is held by the loop, too.
//!   **Its call, its removal and closing drop it**, even if it holds its own future and
//!   nobody resolves that.
//! - The drop of its owner closes a loop. After that only handles outside hold the loop,
//!   and its exception handler if that holds one: then set another.

use std::cell::RefCell;
use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use asyncio::{ReturnWhen, as_completed, gather, shield, wait, wait_for};
use selector_core::{Backend, Event, Key, Notifier, Socket, VirtualClock};
use stage2_coroutines::{
    Coroutine, EventLoop, Future, Inspect, InspectTask, Runtime, Task, lookup, runtime_on, sleep,
};
use test_support::event_loops::{run, virtual_loop};
use transport::system_lookup;

const SECOND: Duration = Duration::from_secs(1);

fn run_for_a_second(runtime: &Runtime) {
    run(runtime, sleep(runtime.event_loop(), SECOND));
}

/// Returns a value to be held, and a weak reference that shows if it is freed.
fn witness() -> (Rc<()>, Weak<()>) {
    let held = Rc::new(());
    let watch = Rc::downgrade(&held);
    (held, watch)
}

fn is_gone(watch: &Weak<()>) -> bool {
    watch.strong_count() == 0
}

/// Returns a weak reference that shows if a loop is freed: its exception handler
/// holds the value, and is freed with the loop.
fn watch_loop(event_loop: &EventLoop) -> Weak<()> {
    let (held, watch) = witness();
    event_loop.set_exception_handler(move |_| {
        let _ = &held;
    });
    watch
}

/// Spawns a task whose coroutine holds its own handle and a witness, and waits
/// for `until`.
fn holds_itself(event_loop: &EventLoop, until: &Future<()>) -> (Task<()>, Weak<()>) {
    let (held, watch) = witness();
    let own: Rc<RefCell<Option<Task<()>>>> = Rc::default();
    let (inside, until) = (Rc::clone(&own), until.clone());
    let task = Task::spawn(event_loop, async move {
        let _held = (inside, held);
        // It ends, one way or the other.
        let _ = until.await;
    });
    own.replace(Some(task.clone()));
    (task, watch)
}

#[test]
fn a_task_that_holds_its_own_handle_is_freed_when_it_is_done() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let until = Future::new(&event_loop);
    let (_, watch) = holds_itself(&event_loop, &until);
    run_for_a_second(&runtime);
    assert!(!is_gone(&watch));
    until.set_result(()).unwrap();
    run_for_a_second(&runtime);
    assert!(is_gone(&watch));
}

#[test]
fn a_task_that_holds_its_own_handle_is_freed_when_it_is_cancelled() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let until = Future::new(&event_loop);
    let (task, watch) = holds_itself(&event_loop, &until);
    run_for_a_second(&runtime);
    task.cancel();
    assert!(is_gone(&watch));
}

#[test]
fn a_task_that_holds_its_own_handle_is_freed_when_its_loop_is_closed() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let until = Future::new(&event_loop);
    let (_, watch) = holds_itself(&event_loop, &until);
    run_for_a_second(&runtime);
    drop(runtime);
    assert!(is_gone(&watch));
}

/// Adds a callback that holds its own future and a witness.
fn holds_its_future(event_loop: &EventLoop) -> (Future<()>, asyncio::CallbackId, Weak<()>) {
    let (held, watch) = witness();
    let future = Future::new(event_loop);
    let own = future.clone();
    let id = future.add_done_callback(move |_| drop((own, held)));
    (future, id, watch)
}

#[test]
fn a_callback_that_holds_its_future_is_freed_when_the_future_is_resolved() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let (future, _, watch) = holds_its_future(&event_loop);
    future.set_result(()).unwrap();
    run_for_a_second(&runtime);
    assert!(is_gone(&watch));
}

#[test]
fn a_callback_that_holds_its_future_is_freed_when_the_loop_is_closed_before_the_call() {
    for is_resolved in [true, false] {
        let runtime = virtual_loop();
        let (future, _, watch) = holds_its_future(runtime.event_loop());
        if is_resolved {
            future.set_result(()).unwrap();
        }
        drop((future, runtime));
        assert!(is_gone(&watch));
    }
}

#[test]
fn a_callback_that_holds_its_future_is_freed_by_cancel_and_by_removal() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let (cancelled, _, watch) = holds_its_future(&event_loop);
    cancelled.cancel();
    run_for_a_second(&runtime);
    assert!(is_gone(&watch));
    let (future, id, watch) = holds_its_future(&event_loop);
    future.remove_done_callback(id);
    assert!(is_gone(&watch));
}

#[test]
fn a_callback_that_holds_its_task_is_freed_when_the_task_is_cancelled() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let (held, watch) = witness();
    let task = Task::spawn(&event_loop, pending::<()>());
    let own = task.clone();
    task.add_done_callback(move |_| drop((own, held)));
    run_for_a_second(&runtime);
    task.cancel();
    run_for_a_second(&runtime);
    assert!(is_gone(&watch));
}

/// Spawns two tasks that await a shield of each other; only cancelling or closing
/// ends them. (If they awaited each other directly, one would get an error.)
fn await_each_other(event_loop: &EventLoop) -> ([Task<()>; 2], Weak<()>) {
    let (held, watch) = witness();
    let partner: Rc<RefCell<Option<Task<()>>>> = Rc::default();
    let (later, first_held, inside) = (Rc::clone(&partner), Rc::clone(&held), event_loop.clone());
    let first = Task::spawn(event_loop, async move {
        let _held = first_held;
        let second = shield(&inside, later.take().unwrap());
        // It ends, one way or the other.
        let _ = second.await;
    });
    let awaited = shield(event_loop, first.clone());
    let second = Task::spawn(event_loop, async move {
        let _held = held;
        let _ = awaited.await;
    });
    partner.replace(Some(second.clone()));
    ([first, second], watch)
}

#[test]
fn two_tasks_that_await_each_other_are_freed_when_one_is_cancelled() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let ([first, second], watch) = await_each_other(&event_loop);
    run_for_a_second(&runtime);
    assert!(!first.done() && !second.done());
    first.cancel();
    run_for_a_second(&runtime);
    assert!(second.done() && !second.cancelled());
    assert!(is_gone(&watch));
}

#[test]
fn two_tasks_that_await_each_other_are_freed_when_their_loop_is_closed() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let loop_watch = watch_loop(&event_loop);
    let (_, watch) = await_each_other(&event_loop);
    run_for_a_second(&runtime);
    drop(runtime);
    assert!(is_gone(&watch));
    drop(event_loop);
    assert!(is_gone(&loop_watch));
}

#[test]
fn a_loop_without_tasks_is_freed_with_its_last_handle() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let watch = watch_loop(&event_loop);
    let remote = event_loop.remote();
    run_for_a_second(&runtime);
    let held = Arc::new(());
    let call = || {
        let held = Arc::clone(&held);
        remote.call_soon(move |_| drop(held));
    };
    call();
    drop(runtime);
    assert_eq!(Arc::strong_count(&held), 1, "the call is dropped when the loop is closed");
    call();
    assert_eq!(Arc::strong_count(&held), 1, "and a later one at once");
    assert!(!is_gone(&watch));
    drop(event_loop);
    assert!(is_gone(&watch), "a remote does not hold it");
}

/// Only the owner closes the loop, whichever handle was the first.
#[test]
fn a_loop_with_pending_tasks_is_closed_when_its_owner_is_dropped() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let reports: Rc<RefCell<Vec<String>>> = Rc::default();
    let log = Rc::clone(&reports);
    event_loop.set_exception_handler(move |error| log.borrow_mut().push(error.to_string()));
    let (held, watch) = witness();
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move {
        let _held = held;
        sleep(&inside, SECOND * 600).await;
    });
    drop(task.named("sleeper"));
    run_for_a_second(&runtime);
    drop(event_loop);
    assert!(reports.borrow().is_empty() && !is_gone(&watch), "a handle closes nothing");
    drop(runtime);
    assert!(is_gone(&watch));
    let reports = reports.take();
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert!(report.starts_with("destroyed but pending: task sleeper, spawned at "), "{report}");
    assert!(report.contains("sleeping for another 599s at "), "{report}");
}

/// What is left is a clock, and a loop in which nothing happens.
#[test]
fn the_handles_of_a_loop_outlive_its_owner() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let task = Task::spawn(&event_loop, pending::<()>());
    let (future, begun) = (Future::new(&event_loop), event_loop.now());
    run_for_a_second(&runtime);
    drop(runtime);
    assert_eq!(event_loop.now() - begun, SECOND);
    event_loop.stop();
    future.set_result(7).unwrap();
    assert_eq!(future.result().unwrap(), 7, "a future needs no loop that runs");
    assert!(!task.done() && task.get_stack().is_none());
    assert!(task.cancel() && task.cancelled());
    assert_eq!((event_loop.pending_tasks(), event_loop.connections()), (0, 0));
}

#[test]
fn an_exception_handler_that_holds_its_loop_is_freed_when_it_is_replaced() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let (held, watch) = witness();
    let inside = event_loop.clone();
    event_loop.set_exception_handler(move |_| {
        let _ = (&held, &inside);
    });
    drop(runtime);
    assert!(!is_gone(&watch), "closing may have something to complain about");
    event_loop.set_exception_handler(|_| ());
    assert!(is_gone(&watch));
}

#[test]
fn tasks_hold_their_loop_until_they_are_done() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let watch = watch_loop(&event_loop);
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move { sleep(&inside, SECOND).await });
    run(&runtime, task).unwrap();
    drop((event_loop, runtime));
    assert!(is_gone(&watch));
}

/// Starts every operation that can wait, each in a task that is never resumed,
/// and callbacks that are never called.
fn suspend_every_operation(event_loop: &EventLoop, held: &Rc<()>) {
    let spawn_holding = |coroutine: std::pin::Pin<Box<dyn Coroutine<Output = ()>>>| {
        let held = Rc::clone(held);
        let spawned = Task::spawn(event_loop, async move {
            let _held = held;
            coroutine.await;
        });
        drop(spawned.named("waits"));
    };
    let future = || Future::<()>::new(event_loop);
    let task = || Task::spawn(event_loop, pending::<()>());
    let inside = event_loop.clone();
    spawn_holding(Box::pin(async move { sleep(&inside, SECOND * 600).await }));
    let inside = event_loop.clone();
    spawn_holding(Box::pin(async move { sleep(&inside, Duration::MAX).await }));
    let (inside, futures) = (event_loop.clone(), [future(), task().into()]);
    spawn_holding(Box::pin(async move { drop(gather(&inside, futures).await) }));
    let (inside, futures) = (event_loop.clone(), [future(), task().into()]);
    spawn_holding(Box::pin(async move {
        drop(wait(&inside, futures, ReturnWhen::AllCompleted, Some(SECOND * 600)).await);
    }));
    let (inside, awaited) = (event_loop.clone(), task());
    spawn_holding(Box::pin(async move { drop(wait_for(&inside, awaited, SECOND * 600).await) }));
    let shielded = shield(event_loop, task());
    spawn_holding(Box::pin(async move { drop(shielded.await) }));
    let mut completed = as_completed(event_loop, [future(), task().into()], Some(SECOND * 600));
    spawn_holding(Box::pin(async move { drop(completed.next().await) }));
    let inside = event_loop.clone();
    spawn_holding(Box::pin(async move { drop(lookup(&inside, "example.test", 80).await) }));
    let callback_held = Rc::clone(held);
    event_loop.call_later(SECOND * 600, move || drop(callback_held));
    let (callback_held, inside) = (Rc::clone(held), event_loop.clone());
    event_loop.call_later(Duration::MAX, move || drop((callback_held, inside)));
}

#[test]
fn after_close_only_handles_outside_hold_a_loop() {
    // The lookup ends when the test does.
    let (_answer, blocked) = channel::<()>();
    let blocked = std::sync::Mutex::new(blocked);
    let never = move |_: &str, _: u16| {
        let _ = blocked.lock().unwrap().recv();
        Ok(Vec::new())
    };
    let runtime = runtime_on(VirtualClock::new(), Arc::new(never));
    let event_loop = runtime.event_loop().clone();
    let loop_watch = watch_loop(&event_loop);
    let (held, watch) = witness();
    suspend_every_operation(&event_loop, &held);
    drop(held);
    run_for_a_second(&runtime);
    assert_eq!(watch.strong_count(), 10);
    drop(runtime);
    assert!(is_gone(&watch), "{} left", watch.strong_count());
    assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    drop(event_loop);
    assert!(is_gone(&loop_watch));
}

/// A virtual clock whose notifier holds a witness.
struct WatchedNotifier(VirtualClock, Arc<()>);

impl Backend for WatchedNotifier {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn connect(&mut self, address: SocketAddr, key: Key) -> io::Result<Socket> {
        self.0.connect(address, key)
    }

    fn wait(&mut self, timeout: Option<Duration>, events: &mut Vec<Event>) -> io::Result<()> {
        self.0.wait(timeout, events)
    }

    fn notifier(&self) -> Notifier {
        let (notifier, held) = (self.0.notifier(), Arc::clone(&self.1));
        Notifier::new(move || {
            let _ = &held;
            notifier.notify();
        })
    }
}

#[test]
fn a_wake_up_left_in_the_inject_queue_does_not_keep_the_queue_alive() {
    let held = Arc::new(());
    let watch = Arc::downgrade(&held);
    let backend = WatchedNotifier(VirtualClock::new(), held);
    let runtime = runtime_on(backend, Arc::new(system_lookup));
    let wakes_and_returns = std::future::poll_fn(|context| {
        context.waker().wake_by_ref();
        std::task::Poll::Ready(())
    });
    run(&runtime, wakes_and_returns);
    drop(runtime);
    assert_eq!(watch.strong_count(), 0, "the bell, which in the real world is a descriptor");
}

#[test]
fn a_waker_that_outlives_its_loop_holds_neither_task_nor_loop() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let loop_watch = watch_loop(&event_loop);
    let (held, watch) = witness();
    let kept: Rc<RefCell<Option<std::task::Waker>>> = Rc::default();
    let slot = Rc::clone(&kept);
    drop(Task::spawn(&event_loop, async move {
        let _held = held;
        std::future::poll_fn(|context| {
            slot.replace(Some(context.waker().clone()));
            std::task::Poll::<()>::Pending
        })
        .await;
    }));
    run_for_a_second(&runtime);
    let waker = kept.take().unwrap();
    // A waker in the inject queue is held by the queue, and holds the queue.
    waker.wake_by_ref();
    drop(runtime);
    assert!(is_gone(&watch));
    drop(event_loop);
    assert!(is_gone(&loop_watch));
    waker.wake();
}

#[test]
fn a_task_spawned_on_a_closed_loop_is_dropped_at_once() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let loop_watch = watch_loop(&event_loop);
    drop(runtime);
    let (held, watch) = witness();
    let task_held = Rc::clone(&held);
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move {
        let _held = (task_held, inside);
        pending::<()>().await;
    });
    assert!(!task.done() && task.get_stack().is_none());
    let (soon_held, later_held) = (Rc::clone(&held), held);
    let (soon_loop, later_loop) = (event_loop.clone(), event_loop.clone());
    event_loop.call_soon(move || drop((soon_held, soon_loop)));
    event_loop.call_later(SECOND, move || drop((later_held, later_loop)));
    assert!(is_gone(&watch), "{} left", watch.strong_count());
    assert_eq!(event_loop.pending_tasks(), 0);
    drop((event_loop, task));
    assert!(is_gone(&loop_watch));
}
