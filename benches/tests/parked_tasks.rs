//! The memory of a waiting task, without its coroutine's frame and the future
//! that it waits for.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;
use std::pin::pin;
use std::task::{Context, Waker};

use stage2_coroutines::{Coroutine, EventLoop, Future, Inspect, Task, virtual_runtime, yield_now};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

/// The counting allocator. It counts the requested bytes, before the allocator
/// rounds them up.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The number of tasks: many, and nearly the power of two to which tables grow.
const TASKS: usize = 250_000;
/// The limit in bytes: 5 % above what was measured.
const MAX_PER_TASK: usize = 230;

async fn wait_for_a_future(future: Future<u64>) -> u64 {
    future.await.unwrap()
}

fn heap(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

/// Returns the memory of a pending future that is awaited, with the waker that it
/// stores but without the waiting task.
fn awaited_future(event_loop: &EventLoop) -> usize {
    const MANY: usize = 1000;
    let region = Region::new(ALLOCATOR);
    let mut futures = [const { None }; MANY];
    for future in &mut futures {
        let future = pin!(future.insert(Future::<u64>::new(event_loop)));
        assert!(future.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    heap(&region) / MANY
}

/// The one test of this program, since the allocator counts for all threads.
#[test]
fn many_waiting_tasks_take_little_memory_and_all_end() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let run_once = || runtime.run_until_complete(yield_now(&event_loop)).unwrap();
    run_once();
    let future_size = awaited_future(&event_loop);
    let mut futures: Vec<Future<u64>> = Vec::with_capacity(TASKS);
    let mut tasks: Vec<Task<u64>> = Vec::with_capacity(TASKS);
    let mut frame = 0;
    let region = Region::new(ALLOCATOR);
    for _ in 0..TASKS {
        let future = Future::new(&event_loop);
        futures.push(future.clone());
        let coroutine = wait_for_a_future(future);
        frame = size_of_val(&coroutine);
        tasks.push(Task::spawn(&event_loop, coroutine));
    }
    run_once();
    assert_eq!(event_loop.pending_tasks(), TASKS);
    let handle = size_of::<Task<u64>>();
    let per_task = heap(&region).div_ceil(TASKS) + handle - frame - future_size;
    println!("{per_task} bytes a task, of which {handle} are its handle");
    println!("beside {frame} of its frame and {future_size} of a future that is awaited");
    assert!(per_task <= MAX_PER_TASK, "{per_task} bytes");

    for (number, future) in (0..).zip(&futures) {
        future.set_result(number).unwrap();
    }
    run_once();
    assert_eq!(event_loop.pending_tasks(), 0);
    let results = tasks.iter().map(|task| task.future().take_result().unwrap().unwrap());
    assert!(results.eq(0..TASKS as u64));

    futures.clear();
    tasks.clear();
    drop((runtime, event_loop));
    let remaining = heap(&region);
    println!("{remaining} bytes are left of all of them");
    assert!(remaining < TASKS, "{remaining} bytes");
}
