//! Waits that never end: circles of tasks, and loops in which nothing can happen.

use std::cell::RefCell;
use std::future::{pending, poll_fn};
use std::io::ErrorKind;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{AnyFuture, shield};
use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Inspect, InspectTask, InvalidState, Runtime, Task,
    join, select, sleep, system_runtime, timeout_at, yield_now,
};
use test_support::event_loops::{run, virtual_loop};

use crate::reentrancy::Bomb;

const SECOND: Duration = Duration::from_secs(1);

type Outcomes = Rc<RefCell<Vec<(&'static str, Result<(), Exception>)>>>;

/// Spawns tasks of which each awaits the next one, and the last the first.
fn circle(event_loop: &EventLoop, names: &[&'static str], outcomes: &Outcomes) {
    let tasks: Rc<RefCell<Vec<Task<()>>>> = Rc::default();
    for (number, &name) in names.iter().enumerate() {
        let (tasks, outcomes, count) = (Rc::clone(&tasks), Rc::clone(outcomes), names.len());
        let task = Task::spawn(event_loop, {
            let tasks = Rc::clone(&tasks);
            async move {
                let next = tasks.borrow()[(number + 1) % count].clone();
                let outcome = next.await;
                outcomes.borrow_mut().push((name, outcome));
            }
        });
        tasks.borrow_mut().push(task.named(name));
    }
}

fn check_circle(runtime: &Runtime) {
    let event_loop = runtime.event_loop();
    let outcomes = Outcomes::default();
    circle(event_loop, &["a", "b", "c"], &outcomes);
    run(runtime, async {
        while outcomes.borrow().len() < 3 {
            yield_now(event_loop).await;
        }
    });
    let outcomes = outcomes.take();
    // The one that closed it gets the error; then the others get its result.
    let [("c", Err(Exception::Circle(names))), ("b", Ok(())), ("a", Ok(()))] = &outcomes[..] else {
        panic!("{outcomes:?}")
    };
    assert_eq!(names.as_str(), "c, a, b, c");
    assert!(event_loop.all_tasks().is_empty());
}

#[test]
fn a_circle_of_tasks_is_found_when_it_closes() {
    check_circle(&virtual_loop());
}

/// All tasks of the circle begin to wait in one batch. The one that is told goes on to wait
/// for something else; the others wait for it, and may wait for a task later.
#[test]
fn one_task_of_a_circle_is_told() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let tasks: Rc<RefCell<Vec<Task<()>>>> = Rc::default();
    let told = Rc::new(RefCell::new(Vec::new()));
    for number in 0..3 {
        let (tasks, told) = (Rc::clone(&tasks), Rc::clone(&told));
        let inside = event_loop.clone();
        let task = Task::spawn(&event_loop, {
            let tasks = Rc::clone(&tasks);
            async move {
                let next = tasks.borrow()[(number + 1) % 3].clone();
                if let Err(error) = next.await {
                    assert!(matches!(error, Exception::Circle(_)), "{number}: {error}");
                    told.borrow_mut().push(number);
                    sleep(&inside, SECOND).await;
                }
                let clone = inside.clone();
                let later = Task::spawn(&inside, async move { sleep(&clone, SECOND).await });
                later.await.unwrap();
            }
        });
        tasks.borrow_mut().push(task);
    }
    run(&runtime, sleep(&event_loop, SECOND * 10));
    assert_eq!(told.take(), [2]);
    assert!(event_loop.all_tasks().is_empty());
}

/// Leaves the waker of a task that has ended in a future that is never resolved.
fn leave_a_waker(runtime: &Runtime) -> Future<()> {
    let event_loop = runtime.event_loop();
    let never = Future::<()>::new(event_loop);
    let waiting = Task::spawn(event_loop, {
        let never = never.clone();
        async move { never.await.unwrap() }
    });
    run(runtime, yield_now(event_loop));
    assert!(waiting.cancel());
    never
}

#[test]
fn a_waker_of_a_task_that_has_ended_hides_no_deadlock() {
    let runtime = system_runtime().unwrap();
    let never = leave_a_waker(&runtime);
    let error = runtime.run_until_complete(pending::<()>()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadlock);
    drop(never);
}

/// The waker that was left makes up for the one that the thread has.
#[test]
fn a_waker_of_a_task_that_has_ended_makes_no_deadlock() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let never = leave_a_waker(&runtime);
    let woken = Task::spawn(&event_loop, woken_by_a_thread());
    run(&runtime, woken).unwrap();
    drop(never);
}

/// As the one before, but the destructor of the task has panicked when it was cancelled.
#[test]
fn a_waker_of_a_task_whose_destructor_panicked_makes_no_deadlock() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let never = Future::<()>::new(&event_loop).shared();
    let waiting = Task::spawn(&event_loop, {
        let never = never.clone();
        async move {
            let _bomb = Bomb;
            never.await.unwrap();
        }
    });
    run(&runtime, yield_now(&event_loop));
    // The exception handler hears of the panic.
    assert!(waiting.cancel());
    let woken = Task::spawn(&event_loop, woken_by_a_thread());
    run(&runtime, woken).unwrap();
    drop(never);
}

/// A task or a main coroutine that a thread wakes after a while.
fn woken_by_a_thread() -> impl Coroutine<Output = ()> {
    let mut is_woken = false;
    poll_fn(move |context| {
        if std::mem::replace(&mut is_woken, true) {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        thread::spawn(move || {
            thread::sleep(Duration::from_millis(50));
            waker.wake();
        });
        Poll::Pending
    })
}

/// The foreign waker is in a future, and makes up for the one that the thread has.
#[test]
fn a_foreign_waker_makes_no_deadlock() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let never = Future::<()>::new(&event_loop);
    let mut context = Context::from_waker(Waker::noop());
    assert!(pin!(never.clone()).poll(&mut context).is_pending());
    runtime.run_until_complete(woken_by_a_thread()).unwrap();
}

/// A waker that passes each wake-up on, as those of `FuturesUnordered` do.
struct PassesOn(Waker);

impl Wake for PassesOn {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

/// It waits for two tasks, and one of them waits for it: the other can still resume it.
#[test]
fn a_task_with_wakers_of_its_own_is_in_no_circle() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let both: Rc<RefCell<Option<Task<()>>>> = Rc::default();
    let awaited = Rc::clone(&both);
    let mut one = Task::spawn(&event_loop, async move {
        let both = awaited.take().unwrap();
        both.await
    });
    let sleeping = event_loop.clone();
    let mut other = Task::spawn(&event_loop, async move { sleep(&sleeping, SECOND).await });
    let waits = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            let waker = Waker::from(Arc::new(PassesOn(context.waker().clone())));
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut one).poll(&mut context).is_pending());
            Pin::new(&mut other).poll(&mut context).map(|_| ())
        }),
    );
    both.replace(Some(waits));
    run(&runtime, sleep(&event_loop, SECOND * 2));
    assert_eq!(event_loop.pending_tasks(), 0);
}

/// One task of two that wait for each other does something else as well, and goes on by
/// itself: it has yielded, or a future was resolved since its step.
#[test]
fn a_task_that_was_woken_already_is_in_no_circle() {
    for yields in [true, false] {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let partner: Rc<RefCell<Option<Task<()>>>> = Rc::default();
        let (later, inside) = (Rc::clone(&partner), event_loop.clone());
        let resolved = Future::<()>::new(&event_loop);
        let resolves = resolved.clone();
        let goes_on = Task::spawn(&event_loop, async move {
            let other = async {
                if yields {
                    yield_now(&inside).await;
                } else {
                    resolved.await.unwrap();
                }
                sleep(&inside, SECOND).await;
            };
            let (mut awaited, mut other) = (later.take().unwrap(), pin!(other));
            poll_fn(|context| {
                assert!(Pin::new(&mut awaited).poll(context).is_pending());
                other.as_mut().poll(context)
            })
            .await;
        });
        let awaited = goes_on.clone();
        let waits = Task::spawn(&event_loop, async move {
            resolves.set_result(()).unwrap();
            awaited.await.unwrap();
        });
        partner.replace(Some(waits.clone()));
        run(&runtime, waits).unwrap();
    }
}

/// A wake-up that changes nothing puts the circle off, and does not hide it.
#[test]
fn a_circle_is_found_after_a_wake_up_in_vain() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let partner: Rc<RefCell<Option<AnyFuture<bool>>>> = Rc::default();
    let later = Rc::clone(&partner);
    let first = Task::spawn(&event_loop, async move {
        let (mut awaited, mut is_woken) = (later.take().unwrap(), false);
        let outcome = poll_fn(|context| {
            if !std::mem::replace(&mut is_woken, true) {
                context.waker().wake_by_ref();
            }
            Pin::new(&mut awaited).poll(context)
        });
        outcome.await.is_ok()
    });
    let second = Task::spawn(&event_loop, async move { first.await.is_err() });
    partner.replace(Some(second.clone().shared()));
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(event_loop.pending_tasks(), 0, "one of them was told");
}

/// The deadline that is over has no use for the waker any more.
#[test]
fn a_deadline_that_is_over_hides_no_deadlock() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let soon = event_loop.now() + Duration::from_millis(20);
    let timed_out = timeout_at(&event_loop, || soon, pending::<()>());
    let error = runtime.run_until_complete(join((timed_out, Future::<()>::new(&event_loop))));
    assert_eq!(error.map(|_| ()).unwrap_err().kind(), ErrorKind::Deadlock);
}

#[test]
fn a_circle_is_found_in_real_time() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    // A timer that is pending: the loop does not sleep for ever.
    event_loop.call_later(SECOND * 600, || ());
    check_circle(&runtime);
}

#[test]
fn a_task_without_a_name_is_told_by_its_place() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let partner: Rc<RefCell<Option<AnyFuture<String>>>> = Rc::default();
    let later = Rc::clone(&partner);
    let first = Task::spawn(&event_loop, async move {
        let partner = later.take().unwrap();
        partner.await.unwrap();
    });
    let second = Task::spawn(&event_loop, async move { first.await.unwrap_err().to_string() });
    partner.replace(Some(second.clone().shared()));
    let text = run(&runtime, second).unwrap();
    let circle = text.strip_prefix("these tasks wait for each other: ").unwrap();
    assert_eq!(circle.matches(&format!("task of {}:", file!())).count(), 3, "{text}");
}

#[test]
fn a_wait_that_was_given_up_hides_no_circle() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let partner: Rc<RefCell<Option<AnyFuture<bool>>>> = Rc::default();
    let (later, inside) = (Rc::clone(&partner), event_loop.clone());
    let first = Task::spawn(&event_loop, async move {
        let partner = later.take().unwrap();
        // Two waits that begin in the same step as the third, and are over in it.
        assert!(timeout_at(&inside, || inside.now(), Future::<()>::new(&inside)).await.is_err());
        select((Future::<()>::new(&inside), std::future::ready(()))).await;
        partner.await.is_ok()
    });
    let second = Task::spawn(&event_loop, async move { first.await.is_err() });
    partner.replace(Some(second.clone().shared()));
    assert!(run(&runtime, second).unwrap(), "it closes the circle");
}

#[test]
fn a_task_that_can_still_give_up_is_in_no_circle() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let partner: Rc<RefCell<Option<Task<()>>>> = Rc::default();
    let (later, inside) = (Rc::clone(&partner), event_loop.clone());
    let gives_up = Task::spawn(&event_loop, async move {
        let partner = later.take().unwrap();
        let deadline = inside.now() + SECOND;
        timeout_at(&inside, || deadline, partner).await.is_err()
    });
    let awaited = gives_up.clone().shared();
    let waits = Task::spawn(&event_loop, async move { drop(awaited.await) });
    partner.replace(Some(waits));
    assert!(run(&runtime, gives_up).unwrap(), "after a second");
}

#[test]
fn a_task_that_awaits_itself_is_found_at_once() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let handle: Rc<RefCell<Option<Task<()>>>> = Rc::default();
    let own = Rc::clone(&handle);
    let task = Task::spawn(&event_loop, async move {
        let myself = own.take().unwrap();
        let outcome = myself.await;
        assert!(matches!(outcome, Err(Exception::InvalidState(InvalidState::AwaitsItself))));
    });
    handle.replace(Some(task.clone()));
    run(&runtime, task).unwrap();
}

/// Runs a loop in real time, which must end by itself.
fn deadlock(runtime: &Runtime) -> String {
    let error = runtime.run_forever().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadlock);
    error.to_string()
}

#[test]
fn a_loop_in_which_nothing_can_happen_says_so() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    assert!(deadlock(&runtime).contains("0 tasks"));
    let future: Future<()> = Future::new(&event_loop);
    let shielded = shield(&event_loop, future.clone());
    let waits = Task::spawn(&event_loop, async move { drop(shielded.await) }).named("waits");
    let text = deadlock(&runtime);
    assert!(text.contains("1 task\n") && text.contains("task waits, spawned at "), "{text}");
    assert!(text.contains("waiting for a future"), "{text}");
    // Afterwards it can be used again.
    future.set_result(()).unwrap();
    run(&runtime, waits).unwrap();
    drop(Task::spawn(&event_loop, pending::<()>()));
    assert!(deadlock(&runtime).contains("not waiting"));
    let main = runtime.run_until_complete(Future::<()>::new(&event_loop));
    assert_eq!(main.unwrap_err().kind(), ErrorKind::Deadlock);
}

#[test]
fn a_loop_that_another_thread_may_wake_goes_on_waiting() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    // A handle.
    let remote = event_loop.remote();
    let thread = thread::spawn(move || {
        thread::sleep(Duration::from_millis(20));
        remote.call_soon(EventLoop::stop);
    });
    runtime.run_forever().unwrap();
    thread.join().unwrap();
    // A waker.
    let (send, wakers) = channel::<std::task::Waker>();
    let thread = thread::spawn(move || {
        let waker = wakers.recv().unwrap();
        thread::sleep(Duration::from_millis(20));
        waker.wake();
    });
    let mut polls = 0;
    let waits_for_the_thread = std::future::poll_fn(|context| {
        polls += 1;
        if polls > 1 {
            return Poll::Ready(());
        }
        send.send(context.waker().clone()).unwrap();
        Poll::Pending
    });
    run(&runtime, waits_for_the_thread);
    thread.join().unwrap();
    assert!(deadlock(&runtime).contains("0 tasks"), "and nothing else can wake it");
}
