//! Many tasks: the work for each must not depend on their number. (The benches
//! have a million of them, and measure the memory for each.)

use std::cell::Cell;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use asyncio::gather;
use stage2_coroutines::{Future, Inspect, Task, sleep, yield_now};
use test_support::event_loops::{run, virtual_loop};

const MANY: u64 = 100_000;

#[test]
fn many_tasks_await_a_future_each_and_take_two_steps() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let futures: Vec<Future<u64>> = (0..MANY).map(|_| Future::new(&event_loop)).collect();
    let sum = Rc::new(Cell::new(0));
    for future in &futures {
        let (future, sum) = (future.clone(), Rc::clone(&sum));
        drop(Task::spawn(&event_loop, async move {
            let number = future.await.unwrap();
            sum.set(sum.get() + number);
        }));
    }
    run(&runtime, yield_now(&event_loop));
    assert_eq!(event_loop.pending_tasks() as u64, MANY);
    let before = event_loop.stats();
    for (number, future) in (0..).zip(&futures) {
        future.set_result(number).unwrap();
    }
    run(&runtime, yield_now(&event_loop));
    assert_eq!(sum.get(), (0..MANY).sum::<u64>());
    assert_eq!(event_loop.pending_tasks(), 0);
    let after = event_loop.stats();
    assert_eq!(after.polls - before.polls, MANY + 2, "one for each, two for whoever watches");
    assert!(after.ticks - before.ticks <= 2, "all of them in one round");
}

#[test]
fn many_sleepers_wake_in_the_order_of_the_clock() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let start = event_loop.now();
    let awake: Rc<Cell<u64>> = Rc::default();
    // Those spawned last sleep least.
    for number in (0..MANY).rev() {
        let (inside, awake) = (event_loop.clone(), Rc::clone(&awake));
        drop(Task::spawn(&event_loop, async move {
            sleep(&inside, Duration::from_micros(number)).await;
            assert_eq!(awake.replace(number + 1), number);
        }));
    }
    run(&runtime, yield_now(&event_loop));
    assert!(event_loop.pending_timers() as u64 >= MANY - 1);
    run(&runtime, sleep(&event_loop, Duration::from_micros(MANY)));
    assert_eq!(awake.get(), MANY);
    assert_eq!(event_loop.now() - start, Duration::from_micros(MANY));
    assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
}

#[test]
fn many_tasks_are_gathered() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let tasks: Vec<_> = (0..MANY).map(|n| Task::spawn(&event_loop, async move { n })).collect();
    let results = run(&runtime, gather(&event_loop, tasks)).unwrap();
    assert!(results.into_iter().eq(0..MANY));
}

#[test]
fn many_tasks_are_cancelled() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let alive = Rc::new(());
    let tasks: Vec<Task<()>> = (0..MANY)
        .map(|_| {
            let alive = Rc::clone(&alive);
            Task::spawn(&event_loop, async move {
                let _alive = alive;
                pending().await
            })
        })
        .collect();
    run(&runtime, yield_now(&event_loop));
    assert_eq!(Rc::strong_count(&alive) as u64, MANY + 1);
    assert!(tasks.iter().all(|task| task.cancel()));
    assert_eq!(Rc::strong_count(&alive), 1);
    assert_eq!(event_loop.pending_tasks(), 0);
}
