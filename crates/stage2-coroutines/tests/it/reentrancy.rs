//! Reentrancy: nothing is borrowed while foreign code runs, so wakers,
//! callbacks, destructors and exception handlers may call any method of the
//! loop.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{Gather, gather, shield, wait_for};
use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Inspect, Runtime, Task, sleep, yield_now,
};
use test_support::event_loops::{run, virtual_loop};

const SECOND: Duration = Duration::from_secs(1);

fn run_for_a_second(runtime: &Runtime) {
    run(runtime, sleep(runtime.event_loop(), SECOND));
}

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Spawns a task that waits forever and calls a function when it is dropped.
fn ends_with(event_loop: &EventLoop, at_the_end: impl FnMut() + 'static) -> Task<()> {
    let at_the_end = OnDrop(at_the_end);
    Task::spawn(event_loop, async move {
        let _at_the_end = at_the_end;
        pending::<()>().await;
    })
}

/// Calls all methods of the loop that a destructor, a callback or a handler may
/// call, and counts in `effects` the functions that the loop runs because of it.
fn use_loop(event_loop: &EventLoop, effects: &Rc<Cell<u32>>) {
    let counter = || {
        let effects = Rc::clone(effects);
        move || effects.set(effects.get() + 1)
    };
    let spawned = counter();
    drop(Task::spawn(event_loop, async move { spawned() }));
    event_loop.call_soon(counter());
    event_loop.call_later(SECOND / 2, counter());
    event_loop.call_soon(counter()).cancel();
    event_loop.call_later(SECOND, counter()).cancel();
    let future = Future::new(event_loop);
    let called = counter();
    future.add_done_callback(move |_| called());
    future.set_result(()).unwrap();
    let cancelled = Task::spawn(event_loop, async { unreachable!("it was cancelled") });
    let _: &Task<()> = &cancelled;
    cancelled.cancel();
    // Refused during a run; at other times nothing speaks against it.
    let refused = virtual_loop().run_until_complete(async {});
    let _ = (refused, event_loop.describe_tasks(), event_loop.stats(), event_loop.now());
}

/// The number of functions that the loop runs for one call of `use_loop`.
const EFFECTS_PER_USE: u32 = 4;

/// Returns a loop, the counter of effects, and a function that uses the loop.
fn loop_with_use() -> (Runtime, Rc<Cell<u32>>, impl FnMut() + Clone) {
    let runtime = virtual_loop();
    let effects: Rc<Cell<u32>> = Rc::default();
    let (inside, counter) = (runtime.event_loop().clone(), Rc::clone(&effects));
    (runtime, effects, move || use_loop(&inside, &counter))
}

/// Asserts that all that was begun has ended, and that the loop still works.
fn assert_loop_works(runtime: &Runtime, effects: &Rc<Cell<u32>>, times: u32) {
    run_for_a_second(runtime);
    let event_loop = runtime.event_loop();
    assert_eq!(effects.get(), EFFECTS_PER_USE * times);
    assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    assert_eq!(event_loop.current_task(), None);
}

#[test]
fn a_cancelled_coroutine_may_use_the_loop_in_its_destructor() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let task = ends_with(&event_loop, use_loop);
    run_for_a_second(&runtime);
    task.cancel();
    assert_loop_works(&runtime, &effects, 1);
}

#[test]
fn a_coroutine_that_never_ran_may_use_the_loop_in_its_destructor() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let task = ends_with(&event_loop, use_loop);
    task.cancel();
    assert_loop_works(&runtime, &effects, 1);
}

#[test]
fn a_done_callback_may_use_the_loop() {
    let (runtime, effects, mut use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let future = Future::new(&event_loop);
    future.add_done_callback(move |_| use_loop());
    future.set_result(()).unwrap();
    assert_loop_works(&runtime, &effects, 1);
}

#[test]
fn a_dropped_callback_may_use_the_loop() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let holder = || {
        let on_drop = OnDrop(use_loop.clone());
        move || drop(on_drop)
    };
    event_loop.call_soon(holder()).cancel();
    event_loop.call_later(SECOND, holder()).cancel();
    let future = Future::<()>::new(&event_loop);
    let removed = holder();
    let id = future.add_done_callback(move |_| removed());
    assert_eq!(future.remove_done_callback(id), 1);
    assert_loop_works(&runtime, &effects, 3);
}

#[test]
fn a_dropped_callback_may_use_the_future_that_held_it() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let uses = Rc::new(Cell::new(0));
    let make_callback = |future: &Future<()>| {
        let (future, uses) = (future.clone(), Rc::clone(&uses));
        let on_drop = OnDrop(move || {
            uses.set(uses.get() + u32::from(!future.done()));
            future.add_done_callback(|_| ());
        });
        move || drop(on_drop)
    };
    let future = Future::new(&event_loop);
    let call = make_callback(&future);
    let id = future.add_done_callback(move |_| call());
    assert_eq!(future.remove_done_callback(id), 1);
    assert_eq!(uses.get(), 1, "dropped while the future is pending");

    let call = make_callback(&future);
    event_loop.call_soon(call).cancel();
    assert_eq!(uses.get(), 2);
    let call = make_callback(&future);
    let task = ends_with(&event_loop, || ());
    task.add_done_callback(move |_| call());
    task.cancel();
    run_for_a_second(&runtime);
    assert_eq!(uses.get(), 3);
}

#[test]
fn a_dropped_result_may_use_the_loop() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let result = || OnDrop(use_loop.clone());
    // Four cases: the result is never taken, it is refused, its future was
    // cancelled, and the handle of its task was dropped.
    let future = Future::new(&event_loop);
    future.set_result(result()).unwrap();
    assert!(future.set_result(result()).is_err());
    drop(future);
    let cancelled = Future::new(&event_loop);
    cancelled.cancel();
    assert!(cancelled.set_result(result()).is_err());
    let result = result();
    drop(Task::spawn(&event_loop, async move { result }));
    assert_loop_works(&runtime, &effects, 4);
}

#[test]
fn an_unwinding_panic_may_use_the_loop() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let on_drop = OnDrop(use_loop);
    let task = Task::spawn(&event_loop, async move {
        let _on_drop = on_drop;
        panic!("on purpose");
    });
    let outcome: Result<(), Exception> = run(&runtime, task);
    assert!(matches!(outcome, Err(Exception::Panicked(_))));
    assert_loop_works(&runtime, &effects, 1);
}

#[test]
fn an_exception_handler_may_use_the_loop() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    event_loop.set_exception_handler(move |_| use_loop.clone()());
    event_loop.call_soon(|| panic!("a callback"));
    drop(Task::spawn(&event_loop, async { panic!("a task") }));
    let future = Future::<()>::new(&event_loop);
    future.set_exception("a future").unwrap();
    drop(future);
    assert_loop_works(&runtime, &effects, 3);
    // The handler holds the loop that holds the handler.
    event_loop.set_exception_handler(|_| ());
}

#[test]
fn an_exception_handler_may_install_another_one() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let handlers: Rc<RefCell<Vec<&str>>> = Rc::default();
    let (inside, log) = (event_loop.clone(), Rc::clone(&handlers));
    event_loop.set_exception_handler(move |_| {
        log.borrow_mut().push("first");
        let log = Rc::clone(&log);
        inside.set_exception_handler(move |_| log.borrow_mut().push("second"));
    });
    event_loop.call_soon(|| panic!("once"));
    event_loop.call_soon(|| panic!("twice"));
    run_for_a_second(&runtime);
    assert_eq!(*handlers.borrow(), ["first", "second"]);
}

#[test]
fn a_description_that_is_replaced_may_use_the_loop() {
    let (runtime, effects, use_loop) = loop_with_use();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let mut use_loop = use_loop.clone();
    let at_the_end = OnDrop(move || {
        assert!(inside.describe_tasks().ends_with("the second\n"));
        use_loop();
    });
    event_loop.also_describe(move || {
        let _ = &at_the_end;
        "the first\n".into()
    });
    event_loop.also_describe(|| "the second\n".into());
    assert_loop_works(&runtime, &effects, 1);
}

#[test]
fn a_foreign_waker_may_use_the_loop() {
    // A waker must be Send, so it cannot hold the loop. It uses the loop through
    // a remote, and through the wakers of tasks.
    struct ForeignWaker {
        remote: asyncio::Remote,
        task: Waker,
    }
    impl std::task::Wake for ForeignWaker {
        fn wake(self: Arc<Self>) {
            self.remote.call_soon(|event_loop| drop(event_loop.call_soon(|| ())));
            self.task.wake_by_ref();
        }
    }
    impl Drop for ForeignWaker {
        fn drop(&mut self) {
            self.remote.call_soon(|event_loop| event_loop.stop());
            self.task.wake_by_ref();
        }
    }
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::<()>::new(&event_loop);
    let own_waker: Rc<RefCell<Option<Waker>>> = Rc::default();
    let slot = Rc::clone(&own_waker);
    let steps = Rc::new(Cell::new(0));
    let count = Rc::clone(&steps);
    let task = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            slot.replace(Some(context.waker().clone()));
            count.set(count.get() + 1);
            if count.get() < 2 { Poll::Pending } else { Poll::Ready(()) }
        }),
    );
    run(&runtime, yield_now(&event_loop));
    let foreign_waker =
        ForeignWaker { remote: event_loop.remote(), task: own_waker.take().unwrap() };
    let waker = Waker::from(Arc::new(foreign_waker));
    let awaited = future.clone();
    let mut awaited = std::pin::pin!(awaited);
    let context = &mut std::task::Context::from_waker(&waker);
    assert!(awaited.as_mut().poll(context).is_pending());
    drop(waker);
    future.set_result(()).unwrap();
    runtime.run_forever().expect("the destructor of the waker stops it");
    assert_eq!(steps.get(), 2);
    assert!(task.done());
}

#[test]
fn one_cancelled_coroutine_cancels_another_which_cancels_a_third() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let order: Rc<RefCell<Vec<u32>>> = Rc::default();
    let ends = |number: u32, next: Option<Task<()>>| {
        let order = Rc::clone(&order);
        ends_with(&event_loop, move || {
            order.borrow_mut().push(number);
            if let Some(next) = &next {
                next.cancel();
            }
        })
    };
    let third = ends(3, None);
    let watched = third.clone();
    let second = ends(2, Some(third));
    let first = ends(1, Some(second));
    run_for_a_second(&runtime);
    first.cancel();
    assert_eq!(*order.borrow(), [1, 2, 3]);
    assert!(watched.cancelled());
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn two_coroutines_that_cancel_each_other_are_dropped_once_each() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let tasks: Rc<RefCell<Vec<Task<()>>>> = Rc::default();
    let ended = Rc::new(Cell::new(0));
    for other in [1, 0] {
        let (all, count) = (Rc::clone(&tasks), Rc::clone(&ended));
        let task = ends_with(&event_loop, move || {
            count.set(count.get() + 1);
            let other = all.borrow()[other].clone();
            other.cancel();
        });
        tasks.borrow_mut().push(task);
    }
    run_for_a_second(&runtime);
    let first = tasks.borrow()[0].clone();
    assert!(first.cancel());
    assert_eq!(ended.get(), 2);
    assert!(tasks.borrow().iter().all(FutureExt::cancelled));
    tasks.take();
}

#[test]
fn a_task_cancels_itself_and_others_in_the_middle_of_its_step() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let all: Rc<RefCell<Vec<Task<u32>>>> = Rc::default();
    let ended = Rc::new(Cell::new(0));
    let steps = Rc::new(Cell::new(0));
    for number in 0..3 {
        let (inside, all_inside) = (event_loop.clone(), Rc::clone(&all));
        let (count, steps) = (Rc::clone(&ended), Rc::clone(&steps));
        let on_drop = OnDrop(move || count.set(count.get() + 1));
        let task = Task::spawn(&event_loop, async move {
            let _on_drop = on_drop;
            yield_now(&inside).await;
            steps.set(steps.get() + 1);
            if number == 1 {
                for task in all_inside.borrow().iter() {
                    task.cancel();
                }
                // It still runs from here to the next suspension point.
                steps.set(steps.get() + 10);
            }
            yield_now(&inside).await;
            steps.set(steps.get() + 100);
            number
        });
        all.borrow_mut().push(task);
    }
    run_for_a_second(&runtime);
    assert_eq!(steps.get(), 12, "the last was cancelled before its turn came");
    assert_eq!(ended.get(), 3);
    assert!(all.borrow().iter().all(FutureExt::cancelled));
    assert_eq!(event_loop.pending_tasks(), 0);
    all.take();
}

#[test]
fn a_task_that_cancels_itself_and_returns_is_cancelled() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    type Slot = Rc<RefCell<Option<Future<OnDrop<Box<dyn FnMut()>>>>>>;
    let own: Slot = Rc::default();
    let dropped = Rc::new(Cell::new(false));
    let (inside, flag) = (Rc::clone(&own), Rc::clone(&dropped));
    let task = Task::spawn(&event_loop, async move {
        inside.borrow().as_ref().unwrap().cancel();
        OnDrop(Box::new(move || flag.set(true)) as Box<dyn FnMut()>)
    });
    own.replace(Some(task.into()));
    run_for_a_second(&runtime);
    assert!(own.take().unwrap().cancelled());
    assert!(dropped.get(), "the result is refused, and not kept");
}

#[test]
fn a_destructor_may_resolve_a_future_of_another_task() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::new(&event_loop);
    let resolved = future.clone();
    let ends = ends_with(&event_loop, move || resolved.set_result("with my last breath").unwrap());
    let waits = Task::spawn(&event_loop, async move { future.await.unwrap() });
    run_for_a_second(&runtime);
    ends.cancel();
    assert_eq!(run(&runtime, waits).unwrap(), "with my last breath");
}

#[test]
fn a_destructor_may_wake_another_task() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
    let (stored, woken) = (Rc::clone(&waker), Rc::new(Cell::new(false)));
    let flag = Rc::clone(&woken);
    let task = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            if flag.get() {
                return Poll::Ready(());
            }
            stored.replace(Some(context.waker().clone()));
            Poll::Pending
        }),
    );
    let wakes = ends_with(&event_loop, move || {
        woken.set(true);
        if let Some(waker) = waker.take() {
            waker.wake();
        }
    });
    run_for_a_second(&runtime);
    wakes.cancel();
    run(&runtime, task).unwrap();
}

#[test]
fn several_wakes_from_a_destructor_are_one_step() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
    let (stored, steps) = (Rc::clone(&waker), Rc::new(Cell::new(0)));
    let count = Rc::clone(&steps);
    let task = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            count.set(count.get() + 1);
            stored.replace(Some(context.waker().clone()));
            Poll::<()>::Pending
        }),
    );
    let wakes = ends_with(&event_loop, move || {
        let waker: Waker = waker.take().unwrap();
        vec![waker; 3].into_iter().for_each(Waker::wake);
    });
    run_for_a_second(&runtime);
    assert_eq!(steps.get(), 1);
    wakes.cancel();
    run_for_a_second(&runtime);
    assert_eq!(steps.get(), 2);
    task.cancel();
}

#[test]
fn a_destructor_may_cancel_the_task_that_awaits_it() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waits: Rc<RefCell<Option<Task<bool>>>> = Rc::default();
    let inside = Rc::clone(&waits);
    let ends = ends_with(&event_loop, move || {
        let waits = inside.take();
        if let Some(waits) = waits {
            waits.cancel();
        }
    });
    let ending = ends.clone();
    let waiting = Task::spawn(&event_loop, async move { ends.await.is_err() });
    waits.replace(Some(waiting.clone()));
    run_for_a_second(&runtime);
    ending.cancel();
    run_for_a_second(&runtime);
    assert!(waiting.cancelled());
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn a_combinator_may_be_cancelled_by_the_future_it_waits_for() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    for kind in 0..3 {
        let waits: Rc<RefCell<Option<Task<bool>>>> = Rc::default();
        let inside = Rc::clone(&waits);
        let child = ends_with(&event_loop, move || {
            let waits = inside.take();
            if let Some(waits) = waits {
                waits.cancel();
            }
        });
        let ending = child.clone();
        let in_task = event_loop.clone();
        let waiting = Task::spawn(&event_loop, async move {
            match kind {
                0 => gather(&in_task, [child]).await.is_err(),
                1 => wait_for(&in_task, child, SECOND * 60).await.is_err(),
                _ => shield(&in_task, child).await.is_err(),
            }
        });
        waits.replace(Some(waiting.clone()));
        run_for_a_second(&runtime);
        ending.cancel();
        run_for_a_second(&runtime);
        assert!(waiting.cancelled(), "kind {kind}");
        assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    }
}

#[test]
fn a_task_may_drop_its_own_handle_and_all_others() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let handles: Rc<RefCell<Vec<Task<()>>>> = Rc::default();
    let steps = Rc::new(Cell::new(0));
    for _ in 0..3 {
        let (inside, all, count) = (event_loop.clone(), Rc::clone(&handles), Rc::clone(&steps));
        let task = Task::spawn(&event_loop, async move {
            drop(all.take());
            yield_now(&inside).await;
            count.set(count.get() + 1);
        });
        handles.borrow_mut().push(task);
    }
    run_for_a_second(&runtime);
    assert_eq!(steps.get(), 3, "a task runs without its handle");
}

#[test]
fn a_destructor_may_use_the_loop_while_it_is_closed() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let effects: Rc<Cell<u32>> = Rc::default();
    let ends = |cancels: Option<Task<()>>| {
        let (inside, counter) = (event_loop.clone(), Rc::clone(&effects));
        ends_with(&event_loop, move || {
            use_loop(&inside, &counter);
            if let Some(other) = &cancels {
                other.cancel();
            }
        })
    };
    let first = ends(None);
    let second = ends(Some(first.clone()));
    let third = ends(Some(second));
    // A callback of a future that nobody resolves is dropped with the loop, too.
    let (inside, counter, is_dropped) =
        (event_loop.clone(), Rc::clone(&effects), Rc::new(Cell::new(false)));
    let dropped = Rc::clone(&is_dropped);
    let callback = OnDrop(move || {
        use_loop(&inside, &counter);
        dropped.set(true);
    });
    Future::<()>::new(&event_loop).add_done_callback(move |_| drop(callback));
    drop((first, third));
    run_for_a_second(&runtime);
    drop(runtime);
    assert!(is_dropped.get());
    assert_eq!(effects.get(), 0, "a closed loop begins nothing");
    assert_eq!(event_loop.pending_tasks(), 0);
}

/// A value that panics when it is dropped.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_panicking_destructor_is_reported_and_the_loop_goes_on() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let errors: Rc<RefCell<Vec<String>>> = Rc::default();
    let log = Rc::clone(&errors);
    event_loop.set_exception_handler(move |c| log.borrow_mut().push(c.to_string()));
    // A result whose task handle was dropped, and one that is refused.
    drop(Task::spawn(&event_loop, async { Bomb }));
    let slot: Rc<RefCell<Option<Task<Bomb>>>> = Rc::default();
    let own = Rc::clone(&slot);
    slot.replace(Some(Task::spawn(&event_loop, async move {
        own.borrow().as_ref().unwrap().cancel();
        Bomb
    })));
    runtime.run_until_complete(sleep(&event_loop, Duration::from_secs(1))).unwrap();
    assert_eq!(event_loop.pending_tasks(), 0);
    assert_eq!(event_loop.current_task(), None);
    let expected = "exception in a callback or destructor: panicked: dropped";
    assert_eq!(*errors.borrow(), [expected, expected]);
}

/// A result that calls a function when it is copied.
struct OnClone(Rc<dyn Fn()>);

impl Clone for OnClone {
    fn clone(&self) -> Self {
        (self.0)();
        Self(Rc::clone(&self.0))
    }
}

/// All children are done, so there is nothing to cancel.
#[test]
fn a_gather_is_not_cancelled_while_its_results_are_copied() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let gathered: Rc<RefCell<Option<Gather<Vec<OnClone>>>>> = Rc::default();
    let child = Future::new(&event_loop);
    let all = gather(&event_loop, [child.clone()]);
    gathered.replace(Some(all));
    let inside = Rc::clone(&gathered);
    let cancel = move || assert!(!inside.borrow().as_ref().unwrap().cancel());
    child.set_result(OnClone(Rc::new(cancel))).unwrap();
    run_for_a_second(&runtime);
    let outcome = gathered.take().unwrap().take_result().unwrap();
    assert_eq!(outcome.unwrap().len(), 1);
}

/// Its key is no key of a task any more, nor that of another one.
#[test]
fn a_destructor_at_the_end_of_a_task_cannot_cancel_it() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let (own, tried) = (Rc::<RefCell<Option<Task<i32>>>>::default(), Rc::new(Cell::new(None)));
    let (inside, result) = (Rc::clone(&own), Rc::clone(&tried));
    let at_the_end = OnDrop(move || result.set(inside.take().map(|task| task.cancel())));
    let first = Task::spawn(
        &event_loop,
        // It keeps what it captures until it is dropped.
        poll_fn(move |_| {
            let _at_the_end = &at_the_end;
            Poll::Ready(1)
        }),
    );
    own.replace(Some(first.clone()));
    let second = Task::spawn(&event_loop, async { 2 });
    assert_eq!(run(&runtime, first).unwrap(), 1);
    assert_eq!(run(&runtime, second).unwrap(), 2);
    assert_eq!(tried.get(), Some(false));
}
