//! Whoever waits and gives up leaves nothing behind: a thousand timeouts for every function
//! that waits, on the same long-lived future, event or queue. This is a program of its own,
//! since it counts every byte.
#![allow(clippy::unwrap_used, missing_docs)]

use std::alloc::System;
use std::cell::Cell;
use std::future::pending;
use std::panic::Location;
use std::rc::Rc;
use std::time::Duration;

use asyncio::{AnyFuture, ReturnWhen, as_completed, gather, shield, wait, wait_for};
use stage2_coroutines::sync::{Event, Mutex, Semaphore, WaitQueue};
use stage2_coroutines::{
    Coroutine, EventLoop, Exception, Future, Inspect, Task, join, select, sleep, timeout_at,
    virtual_runtime,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// More than the tables of a loop keep for a few tasks, and less than a thousand of anything.
const MAX_LEFT: usize = 64 * 1024;

const MILLISECOND: Duration = Duration::from_millis(1);

fn live_bytes() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated - stats.bytes_deallocated
}

/// What all waits of a test wait for. Nothing of it ever comes.
struct LongLived {
    event_loop: EventLoop,
    future: AnyFuture<u32>,
    task: AnyFuture<u32>,
    event: Event,
    semaphore: Semaphore,
    mutex: Mutex,
    queue: WaitQueue,
}

/// Waits for a coroutine for a millisecond, in vain.
async fn in_vain<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) {
    let deadline = event_loop.now() + MILLISECOND;
    assert!(timeout_at(event_loop, || deadline, coroutine).await.is_err());
}

/// Waits in one of the ways of `NAMES`, which ends with a timeout or a drop.
async fn wait_in_one_way(way: usize, of: Rc<LongLived>) {
    let LongLived { event_loop, future, task, .. } = &*of;
    let both = || [future.clone(), task.clone()];
    match way {
        0 => {
            let all = ReturnWhen::AllCompleted;
            let (done, pending) = wait(event_loop, both(), all, Some(MILLISECOND)).await;
            assert_eq!((done.len(), pending.len()), (0, 2));
        }
        1 => {
            let inside = Rc::clone(&of);
            let waits = async move {
                inside.event.wait().await;
                Ok::<(), Exception>(())
            };
            assert!(wait_for(event_loop, waits, MILLISECOND).await.is_err());
        }
        2 => {
            let shielded = both().map(|future| shield(event_loop, future));
            for outer in shielded {
                assert!(wait_for(event_loop, outer, MILLISECOND).await.is_err());
            }
        }
        3 => {
            let mut completed = as_completed(event_loop, both(), Some(MILLISECOND));
            assert!(completed.next().await.unwrap().is_err());
        }
        4 => drop(as_completed(event_loop, both(), None)),
        5 => {
            let children = both().map(|future| shield(event_loop, future));
            in_vain(event_loop, gather(event_loop, children)).await;
        }
        6 => in_vain(event_loop, join((future.clone(), task.clone()))).await,
        7 => in_vain(event_loop, select((future.clone(), task.clone()))).await,
        8 => in_vain(event_loop, of.event.wait()).await,
        9 => in_vain(event_loop, of.semaphore.acquire()).await,
        10 => in_vain(event_loop, of.mutex.lock()).await,
        11 => {
            let turn = of.queue.wait(Location::caller(), || ());
            in_vain(event_loop, turn).await;
        }
        12 => in_vain(event_loop, future.clone()).await,
        13 => in_vain(event_loop, task.clone()).await,
        _ => unreachable!("one of two ways"),
    }
}

const NAMES: [&str; 14] = [
    "wait",
    "wait_for",
    "shield",
    "as_completed",
    "as_completed, dropped",
    "gather, dropped",
    "join",
    "select",
    "Event",
    "Semaphore",
    "Mutex",
    "WaitQueue",
    "a future",
    "a task",
];

/// Each wait in a task of its own, or all of them in one.
#[test]
fn a_thousand_timeouts_leave_nothing_behind() {
    for (way, name) in NAMES.iter().enumerate() {
        for has_own_tasks in [false, true] {
            let runtime = virtual_runtime();
            let event_loop = runtime.event_loop().clone();
            let of = Rc::new(LongLived {
                event_loop: event_loop.clone(),
                future: Future::new(&event_loop).into(),
                task: Task::spawn(&event_loop, pending()).into(),
                event: Event::new(&event_loop),
                semaphore: Semaphore::new(&event_loop, 0),
                mutex: Mutex::new(&event_loop),
                queue: WaitQueue::new(&event_loop, &"a turn"),
            });
            let locked = Rc::clone(&of);
            drop(Task::spawn(&event_loop, async move {
                let _guard = locked.mutex.lock().await;
                pending::<()>().await;
            }));
            let before = Rc::new(Cell::new(0));
            let (measured, inside) = (Rc::clone(&before), Rc::clone(&of));
            let rounds = async {
                for round in 0..=1000 {
                    let waits = wait_in_one_way(way, Rc::clone(&inside));
                    if has_own_tasks {
                        Task::spawn(&event_loop, waits).await.unwrap();
                    } else {
                        waits.await;
                    }
                    if round == 0 {
                        measured.set(live_bytes());
                    }
                }
                // The callbacks of what was cancelled last are called.
                sleep(&event_loop, MILLISECOND).await;
            };
            runtime.run_until_complete(rounds).unwrap();
            let left = live_bytes().saturating_sub(before.get());
            assert!(left < MAX_LEFT, "{name}, own tasks: {has_own_tasks}: {left} bytes are left");
            assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (2, 0));
        }
    }
}
