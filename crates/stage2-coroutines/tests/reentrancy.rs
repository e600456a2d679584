//! Nothing is borrowed while foreign code runs: wakers, callbacks, destructors
//! and handlers may do anything to the loop, from within anything.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::net::{Ipv4Addr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use selector_core::VirtualTime;
use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Task, connect, gather, shield, sleep, wait_for,
    yield_now,
};
use transport::{Layer, system_look_up};

const SECOND: Duration = Duration::from_secs(1);

fn virtual_loop() -> EventLoop {
    EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up))
}

fn run<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) -> T {
    event_loop.run_until_complete(coroutine).unwrap()
}

fn let_time_pass(event_loop: &EventLoop) {
    run(event_loop, sleep(event_loop, SECOND));
}

/// Calls a function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A task that waits for ever and does something when it is dropped.
fn ends_with(event_loop: &EventLoop, at_the_end: impl FnMut() + 'static) -> Task<()> {
    let at_the_end = OnDrop(at_the_end);
    Task::spawn(event_loop, async move {
        let _at_the_end = at_the_end;
        pending::<()>().await;
    })
}

/// What a destructor, a callback or a handler may think of doing to a loop:
/// all of it at once. Returns a count of what came of it.
fn meddle(event_loop: &EventLoop, came_of_it: &Rc<Cell<u32>>) {
    let counter = || {
        let came_of_it = Rc::clone(came_of_it);
        move || came_of_it.set(came_of_it.get() + 1)
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
    let refused = event_loop.run_until_complete(async {});
    let _ = (refused, event_loop.describe_tasks(), event_loop.stats(), event_loop.now());
}

/// How much comes of meddling once.
const OF_MEDDLING: u32 = 4;

fn meddling() -> (EventLoop, Rc<Cell<u32>>, impl FnMut() + Clone) {
    let event_loop = virtual_loop();
    let came_of_it: Rc<Cell<u32>> = Rc::default();
    let (inside, counter) = (event_loop.clone(), Rc::clone(&came_of_it));
    (event_loop, came_of_it, move || meddle(&inside, &counter))
}

/// Afterwards everything that was begun has ended, and the loop still works.
fn all_is_well(event_loop: &EventLoop, came_of_it: &Rc<Cell<u32>>, times: u32) {
    let_time_pass(event_loop);
    assert_eq!(came_of_it.get(), OF_MEDDLING * times);
    assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    assert_eq!(event_loop.current_task(), None);
}

#[test]
fn a_coroutine_that_is_cancelled_meddles() {
    let (event_loop, came_of_it, meddle) = meddling();
    let task = ends_with(&event_loop, meddle);
    let_time_pass(&event_loop);
    task.cancel();
    all_is_well(&event_loop, &came_of_it, 1);
}

#[test]
fn a_coroutine_that_never_ran_meddles_too() {
    let (event_loop, came_of_it, meddle) = meddling();
    let task = ends_with(&event_loop, meddle);
    task.cancel();
    all_is_well(&event_loop, &came_of_it, 1);
}

#[test]
fn a_done_callback_meddles() {
    let (event_loop, came_of_it, mut meddle) = meddling();
    let future = Future::new(&event_loop);
    future.add_done_callback(move |_| meddle());
    future.set_result(()).unwrap();
    all_is_well(&event_loop, &came_of_it, 1);
}

#[test]
fn a_callback_that_is_never_called_meddles_when_it_is_dropped() {
    let (event_loop, came_of_it, meddle) = meddling();
    let holder = || {
        let on_drop = OnDrop(meddle.clone());
        move || drop(on_drop)
    };
    event_loop.call_soon(holder()).cancel();
    event_loop.call_later(SECOND, holder()).cancel();
    let future = Future::<()>::new(&event_loop);
    let (taken_back, forgotten) = (holder(), holder());
    let id = future.add_done_callback(move |_| taken_back());
    future.add_done_callback(move |_| forgotten());
    assert_eq!(future.remove_done_callback(id), 1);
    drop(future);
    all_is_well(&event_loop, &came_of_it, 4);
}

#[test]
fn a_callback_that_is_dropped_turns_to_the_future_that_held_it() {
    let event_loop = virtual_loop();
    let asked = Rc::new(Cell::new(0));
    let asks = |future: &Future<()>| {
        let (future, asked) = (future.clone(), Rc::clone(&asked));
        let on_drop = OnDrop(move || {
            asked.set(asked.get() + u32::from(!future.done()));
            future.add_done_callback(|_| ());
        });
        move || drop(on_drop)
    };
    let future = Future::new(&event_loop);
    let call = asks(&future);
    let id = future.add_done_callback(move |_| call());
    assert_eq!(future.remove_done_callback(id), 1);
    assert_eq!(asked.get(), 1, "dropped while the future is pending");

    let call = asks(&future);
    event_loop.call_soon(call).cancel();
    assert_eq!(asked.get(), 2);
    let call = asks(&future);
    let task = ends_with(&event_loop, || ());
    task.add_done_callback(move |_| call());
    task.cancel();
    let_time_pass(&event_loop);
    assert_eq!(asked.get(), 3);
}

#[test]
fn a_result_meddles_when_it_is_dropped() {
    let (event_loop, came_of_it, meddle) = meddling();
    let result = || OnDrop(meddle.clone());
    // Nobody takes it, it is refused, its task was cancelled, its task is
    // nobody's.
    let future = Future::new(&event_loop);
    future.set_result(result()).unwrap();
    assert!(future.set_result(result()).is_err());
    drop(future);
    let cancelled = Future::new(&event_loop);
    cancelled.cancel();
    assert!(cancelled.set_result(result()).is_err());
    let result = result();
    drop(Task::spawn(&event_loop, async move { result }));
    all_is_well(&event_loop, &came_of_it, 4);
}

#[test]
fn a_panic_meddles_while_it_unwinds() {
    let (event_loop, came_of_it, meddle) = meddling();
    let on_drop = OnDrop(meddle);
    let task = Task::spawn(&event_loop, async move {
        let _on_drop = on_drop;
        panic!("on purpose");
    });
    let outcome: Result<(), Exception> = run(&event_loop, task);
    assert!(matches!(outcome, Err(Exception::Panicked(_))));
    all_is_well(&event_loop, &came_of_it, 1);
}

#[test]
fn an_exception_handler_meddles() {
    let (event_loop, came_of_it, meddle) = meddling();
    event_loop.set_exception_handler(move |_| meddle.clone()());
    event_loop.call_soon(|| panic!("a callback"));
    drop(Task::spawn(&event_loop, async { panic!("a task") }));
    let future = Future::<()>::new(&event_loop);
    future.set_exception("a future").unwrap();
    drop(future);
    all_is_well(&event_loop, &came_of_it, 3);
    // The handler holds the loop that holds the handler.
    event_loop.set_exception_handler(|_| ());
}

#[test]
fn an_exception_handler_may_install_another_one() {
    let event_loop = virtual_loop();
    let heard_by: Rc<RefCell<Vec<&str>>> = Rc::default();
    let (inside, log) = (event_loop.clone(), Rc::clone(&heard_by));
    event_loop.set_exception_handler(move |_| {
        log.borrow_mut().push("first");
        let log = Rc::clone(&log);
        inside.set_exception_handler(move |_| log.borrow_mut().push("second"));
    });
    event_loop.call_soon(|| panic!("once"));
    event_loop.call_soon(|| panic!("twice"));
    let_time_pass(&event_loop);
    assert_eq!(*heard_by.borrow(), ["first", "second"]);
}

#[test]
fn a_waker_of_somebody_elses_meddles() {
    // A waker must be Send, so that it cannot hold the loop; what it does to
    // it goes through a remote, and through wakers of tasks.
    struct Meddler {
        remote: stage2_coroutines::Remote,
        task: Waker,
    }
    impl std::task::Wake for Meddler {
        fn wake(self: Arc<Self>) {
            self.remote.call_soon(|event_loop| drop(event_loop.call_soon(|| ())));
            self.task.wake_by_ref();
        }
    }
    impl Drop for Meddler {
        fn drop(&mut self) {
            self.remote.call_soon(|event_loop| event_loop.stop());
            self.task.wake_by_ref();
        }
    }
    let event_loop = virtual_loop();
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
    run(&event_loop, yield_now(&event_loop));
    let meddler = Meddler { remote: event_loop.remote(), task: own_waker.take().unwrap() };
    let waker = Waker::from(Arc::new(meddler));
    let awaited = future.clone();
    let mut awaited = std::pin::pin!(awaited);
    let context = &mut std::task::Context::from_waker(&waker);
    assert!(awaited.as_mut().poll(context).is_pending());
    drop(waker);
    future.set_result(()).unwrap();
    event_loop.run_forever().expect("the destructor of the waker stops it");
    assert_eq!(steps.get(), 2);
    assert!(task.done());
}

#[test]
fn one_cancelled_coroutine_cancels_another_which_cancels_a_third() {
    let event_loop = virtual_loop();
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
    let watched: Future<()> = Future::clone(&third);
    let second = ends(2, Some(third));
    let first = ends(1, Some(second));
    let_time_pass(&event_loop);
    first.cancel();
    assert_eq!(*order.borrow(), [1, 2, 3]);
    assert!(watched.cancelled());
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn two_that_cancel_each_other_when_they_are_cancelled_end_once_each() {
    let event_loop = virtual_loop();
    let tasks: Rc<RefCell<Vec<Future<()>>>> = Rc::default();
    let ended = Rc::new(Cell::new(0));
    for other in [1, 0] {
        let (all, count) = (Rc::clone(&tasks), Rc::clone(&ended));
        let task = ends_with(&event_loop, move || {
            count.set(count.get() + 1);
            let other = all.borrow()[other].clone();
            other.cancel();
        });
        tasks.borrow_mut().push(task.into());
    }
    let_time_pass(&event_loop);
    let first = tasks.borrow()[0].clone();
    assert!(first.cancel());
    assert_eq!(ended.get(), 2);
    assert!(tasks.borrow().iter().all(Future::cancelled));
    tasks.take();
}

#[test]
fn a_task_cancels_itself_and_others_in_the_middle_of_its_step() {
    let event_loop = virtual_loop();
    let all: Rc<RefCell<Vec<Future<u32>>>> = Rc::default();
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
                // From here to the next suspension it still runs.
                steps.set(steps.get() + 10);
            }
            yield_now(&inside).await;
            steps.set(steps.get() + 100);
            number
        });
        all.borrow_mut().push(task.into());
    }
    let_time_pass(&event_loop);
    assert_eq!(steps.get(), 12, "the last was cancelled before its turn came");
    assert_eq!(ended.get(), 3);
    assert!(all.borrow().iter().all(Future::cancelled));
    assert_eq!(event_loop.pending_tasks(), 0);
    all.take();
}

#[test]
fn who_cancels_itself_and_returns_all_the_same_is_cancelled() {
    let event_loop = virtual_loop();
    type Slot = Rc<RefCell<Option<Future<OnDrop<Box<dyn FnMut()>>>>>>;
    let own: Slot = Rc::default();
    let dropped = Rc::new(Cell::new(false));
    let (inside, flag) = (Rc::clone(&own), Rc::clone(&dropped));
    let task = Task::spawn(&event_loop, async move {
        inside.borrow().as_ref().unwrap().cancel();
        OnDrop(Box::new(move || flag.set(true)) as Box<dyn FnMut()>)
    });
    own.replace(Some(task.into()));
    let_time_pass(&event_loop);
    assert!(own.take().unwrap().cancelled());
    assert!(dropped.get(), "the result is refused, and not kept");
}

#[test]
fn a_destructor_resolves_what_another_task_waits_for() {
    let event_loop = virtual_loop();
    let future = Future::new(&event_loop);
    let resolved = future.clone();
    let ends = ends_with(&event_loop, move || resolved.set_result("with my last breath").unwrap());
    let waits = Task::spawn(&event_loop, async move { future.await.unwrap() });
    let_time_pass(&event_loop);
    ends.cancel();
    assert_eq!(run(&event_loop, waits).unwrap(), "with my last breath");
}

#[test]
fn a_destructor_wakes_and_so_does_the_one_it_woke() {
    let event_loop = virtual_loop();
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
    let_time_pass(&event_loop);
    wakes.cancel();
    run(&event_loop, task).unwrap();
}

#[test]
fn several_wakes_from_a_destructor_are_one_step() {
    let event_loop = virtual_loop();
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
    let_time_pass(&event_loop);
    assert_eq!(steps.get(), 1);
    wakes.cancel();
    let_time_pass(&event_loop);
    assert_eq!(steps.get(), 2);
    task.cancel();
}

#[test]
fn a_destructor_cancels_the_one_who_awaits_it() {
    let event_loop = virtual_loop();
    let waits: Rc<RefCell<Option<Future<bool>>>> = Rc::default();
    let inside = Rc::clone(&waits);
    let ends = ends_with(&event_loop, move || {
        let waits = inside.take();
        if let Some(waits) = waits {
            waits.cancel();
        }
    });
    let ending: Future<()> = Future::clone(&ends);
    let waiting = Task::spawn(&event_loop, async move { ends.await.is_err() });
    waits.replace(Some(Future::clone(&waiting)));
    let_time_pass(&event_loop);
    ending.cancel();
    let_time_pass(&event_loop);
    assert!(waiting.cancelled());
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn the_functions_stand_being_cancelled_by_what_they_wait_for() {
    let event_loop = virtual_loop();
    for kind in 0..3 {
        let waits: Rc<RefCell<Option<Future<bool>>>> = Rc::default();
        let inside = Rc::clone(&waits);
        let child = ends_with(&event_loop, move || {
            let waits = inside.take();
            if let Some(waits) = waits {
                waits.cancel();
            }
        });
        let ending: Future<()> = Future::clone(&child);
        let in_task = event_loop.clone();
        let waiting = Task::spawn(&event_loop, async move {
            match kind {
                0 => gather(&in_task, [child]).await.is_err(),
                1 => wait_for(&in_task, child, SECOND * 60).await.is_err(),
                _ => shield(child).await.is_err(),
            }
        });
        waits.replace(Some(Future::clone(&waiting)));
        let_time_pass(&event_loop);
        ending.cancel();
        let_time_pass(&event_loop);
        assert!(waiting.cancelled(), "kind {kind}");
        assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    }
}

#[test]
fn a_task_drops_its_own_handle_and_everybody_elses() {
    let event_loop = virtual_loop();
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
    let_time_pass(&event_loop);
    assert_eq!(steps.get(), 3, "a task runs without its handle");
}

#[test]
fn a_task_closes_the_loop_that_runs_it() {
    let event_loop = virtual_loop();
    let ended = Rc::new(Cell::new(0));
    let count = || {
        let ended = Rc::clone(&ended);
        OnDrop(move || ended.set(ended.get() + 1))
    };
    let (witness, inside) = (count(), event_loop.clone());
    drop(Task::spawn(&event_loop, async move {
        let _witness = witness;
        inside.close();
        pending::<()>().await;
    }));
    let other = count();
    drop(Task::spawn(&event_loop, async move {
        let _other = other;
        pending::<()>().await;
    }));
    // Nobody is there any more who could be woken.
    for _ in 0..2 {
        let error = event_loop.run_until_complete(sleep(&event_loop, SECOND)).unwrap_err();
        assert!(error.to_string().contains("closed"), "{error}");
    }
    assert_eq!(ended.get(), 2);
    assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
}

#[test]
fn a_destructor_meddles_while_the_loop_is_closed() {
    let event_loop = virtual_loop();
    let came_of_it: Rc<Cell<u32>> = Rc::default();
    let ends = |cancels: Option<Future<()>>| {
        let (inside, counter) = (event_loop.clone(), Rc::clone(&came_of_it));
        ends_with(&event_loop, move || {
            meddle(&inside, &counter);
            if let Some(other) = &cancels {
                other.cancel();
            }
        })
    };
    let first: Future<()> = ends(None).into();
    let second: Future<()> = ends(Some(first.clone())).into();
    let third: Future<()> = ends(Some(second)).into();
    drop((first, third));
    let_time_pass(&event_loop);
    event_loop.close();
    assert_eq!(came_of_it.get(), 0, "a closed loop begins nothing");
    assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    event_loop.close();
}

#[test]
fn who_stops_waiting_for_a_descriptor_leaves_it_to_the_next() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap();
    let event_loop = EventLoop::new().unwrap();
    // Cancelled before it is called, or after that and before it is resumed.
    for is_called_first in [false, true] {
        let layer = Layer::plain();
        let connection = run(&event_loop, connect(&event_loop, address, layer)).unwrap();
        let waits = || {
            let inside = event_loop.clone();
            Task::spawn(&event_loop, async move { inside.descriptor_freed().await })
        };
        let (first, second) = (waits(), waits());
        run(&event_loop, yield_now(&event_loop));
        if is_called_first {
            drop(connection);
            first.cancel();
        } else {
            first.cancel();
            drop(connection);
        }
        let result = run(&event_loop, wait_for(&event_loop, second, SECOND * 10));
        result.expect("one descriptor was freed, and one waits for it");
    }
}

/// Panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_destructor_that_panics_harms_nobody_else() {
    let event_loop = virtual_loop();
    let complaints: Rc<RefCell<Vec<String>>> = Rc::default();
    let heard = Rc::clone(&complaints);
    event_loop.set_exception_handler(move |c| heard.borrow_mut().push(c.to_string()));
    // A result that nobody holds, and one that is refused.
    drop(Task::spawn(&event_loop, async { Bomb }));
    let slot: Rc<RefCell<Option<Task<Bomb>>>> = Rc::default();
    let own = Rc::clone(&slot);
    slot.replace(Some(Task::spawn(&event_loop, async move {
        own.borrow().as_ref().unwrap().cancel();
        Bomb
    })));
    event_loop.run_until_complete(sleep(&event_loop, Duration::from_secs(1))).unwrap();
    assert_eq!(event_loop.pending_tasks(), 0);
    assert_eq!(event_loop.current_task(), None);
    let expected = "exception in a callback or destructor: panicked: dropped";
    assert_eq!(*complaints.borrow(), [expected, expected]);
}
