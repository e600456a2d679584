//! The workloads of tasks: switches and spawns.

use super::runtimes::{Runtime, yield_once};

/// The number of tasks that yield to each other, or are spawned before the first
/// of them is awaited. With ten times as many, glibc returns their memory to the
/// system after every batch, and page faults are half of the figure.
pub(crate) const TASKS: u64 = 100;

/// Runs tasks that yield to each other, `times` times in all.
pub(crate) fn switches<R: Runtime>(runtime: &R, times: u64) {
    let handle = runtime.clone();
    runtime.run(async move {
        let task = || handle.spawn(yield_often(times / TASKS));
        let tasks: Vec<_> = (0..TASKS).map(|_| task()).collect();
        for task in tasks {
            task.await;
        }
    });
}

async fn yield_often(times: u64) {
    for _ in 0..times {
        yield_once().await;
    }
}

/// Spawns and awaits `times` tasks, in batches.
pub(crate) fn spawns<R: Runtime>(runtime: &R, times: u64) {
    let handle = runtime.clone();
    let sum = runtime.run(async move {
        let mut sum = 0;
        for _ in 0..times / TASKS {
            let tasks: Vec<_> =
                (0..TASKS).map(|number| handle.spawn(async move { number })).collect();
            for task in tasks {
                sum += task.await;
            }
        }
        sum
    });
    assert_eq!(sum, times / TASKS * (TASKS * (TASKS - 1) / 2));
}
