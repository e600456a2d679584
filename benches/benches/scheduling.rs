//! What it costs to take turns, for our runtime and for what one would use
//! instead: `scheduling/<what>/<subject>`, in time for one of it.
//!
//! What a task costs in memory while it waits is measured by `memory`.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "subjects/runtimes.rs"]
mod runtimes;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use futures::StreamExt;
use runtimes::{AsyncExecutor, Ours, Pool, Runtime, Tokio, yield_once};
use stage2_coroutines::sleep;
use stage3_queue::JoinableQueue;

/// How many tasks take turns with each other.
const TASKS: u64 = 100;
/// How many tasks are started before the first of them is awaited.
const BATCH: u64 = 1000;
/// How far away a deadline is: that of a fetch. None of them ever fires.
const DEADLINE: Duration = Duration::from_secs(30);

/// Measures `run`, which does a thing so many times, per time. It does it
/// `least` times at least, so that what comes before and after does not count.
fn per_time(bencher: &mut Bencher<'_>, least: u64, mut run: impl FnMut(u64)) {
    bencher.iter_custom(|iterations| {
        let times = iterations.div_ceil(least) * least;
        let begun = Instant::now();
        run(times);
        begun.elapsed().mul_f64(iterations as f64 / times as f64)
    });
}

fn switch<R: Runtime>(criterion: &mut Criterion) {
    criterion.benchmark_group("scheduling/switch").bench_function(R::NAME, |bencher| {
        let runtime = R::new();
        per_time(bencher, 1000 * TASKS, |times| {
            let handle = runtime.clone();
            runtime.run(async move {
                let task = || handle.spawn(yield_often(times / TASKS));
                let tasks: Vec<_> = (0..TASKS).map(|_| task()).collect();
                for task in tasks {
                    task.await;
                }
            });
        });
    });
}

async fn yield_often(times: u64) {
    for _ in 0..times {
        yield_once().await;
    }
}

/// Starts tasks that return at once, and awaits the handle of each.
fn spawn<R: Runtime>(criterion: &mut Criterion) {
    criterion.benchmark_group("scheduling/spawn").bench_function(R::NAME, |bencher| {
        let runtime = R::new();
        per_time(bencher, BATCH, |times| {
            let handle = runtime.clone();
            let sum = runtime.run(async move {
                let mut sum = 0;
                for _ in 0..times / BATCH {
                    let tasks: Vec<_> =
                        (0..BATCH).map(|number| handle.spawn(async move { number })).collect();
                    for task in tasks {
                        sum += task.await;
                    }
                }
                sum
            });
            assert_eq!(sum, times / BATCH * (BATCH * (BATCH - 1) / 2));
        });
    });
}

/// There and back: hands its waker to another thread, sleeps, and is woken.
fn foreign_wake<R: Runtime>(criterion: &mut Criterion) {
    let (hand_over, wakers) = mpsc::channel::<Waker>();
    let waking = thread::spawn(move || wakers.into_iter().for_each(Waker::wake));
    criterion.benchmark_group("scheduling/foreign-wake").bench_function(R::NAME, |bencher| {
        let runtime = R::new();
        per_time(bencher, 100, |times| {
            let hand_over = hand_over.clone();
            runtime.run(async move {
                for _ in 0..times {
                    let mut handed = false;
                    poll_fn(|context| {
                        if std::mem::replace(&mut handed, true) {
                            return Poll::Ready(());
                        }
                        hand_over.send(context.waker().clone()).unwrap();
                        Poll::Pending
                    })
                    .await;
                }
            });
        });
    });
    drop(hand_over);
    waking.join().unwrap();
}

/// Sets a deadline and takes it back, while so many others are pending.
fn timer<R: Runtime, S: Future + 'static>(criterion: &mut Criterion, sleep: fn(R, Duration) -> S) {
    for pending in [0, 1000, 1_000_000_u32] {
        let mut group = criterion.benchmark_group(format!("scheduling/timer-{pending}"));
        let runtime = R::new();
        let handle = runtime.clone();
        let others: Vec<_> = runtime.run(async move {
            let mut others: Vec<Pin<Box<S>>> = Vec::new();
            for number in 0..pending {
                let later = DEADLINE + Duration::from_micros(number.into());
                others.push(Box::pin(sleep(handle.clone(), later)));
            }
            poll_all(&mut others);
            others
        });
        group.bench_function(R::NAME, |bencher| {
            per_time(bencher, 1000, |times| {
                let handle = runtime.clone();
                runtime.run(async move {
                    for _ in 0..times {
                        let mut sleep = pin!(sleep(handle.clone(), DEADLINE));
                        poll_fn(|context| {
                            assert!(sleep.as_mut().poll(context).is_pending());
                            Poll::Ready(())
                        })
                        .await;
                    }
                });
            });
        });
        group.finish();
        runtime.run(async move { drop(others) });
    }
}

fn poll_all(sleeps: &mut [Pin<Box<impl Future>>]) {
    for sleep in sleeps {
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
}

fn timers(criterion: &mut Criterion) {
    timer(criterion, |ours: Ours, time| async move { sleep(&ours.0, time).await });
    timer(criterion, |_: Tokio, time| tokio::time::sleep(time));
}

/// Puts something in, takes it out, and notes that it is done with. Beside
/// channels that cannot tell when all is done, something counts.
fn queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduling/queue");
    group.bench_function(Ours::NAME, |bencher| {
        let runtime = Ours::new();
        let queue = JoinableQueue::new(&runtime.0);
        per_time(bencher, 1000, |times| {
            let all = async {
                for number in 0..times {
                    queue.put_nowait(number);
                    assert_eq!(*queue.get().await, number);
                }
                queue.join().await;
            };
            runtime.0.run_until_complete(all).unwrap();
        });
    });
    group.bench_function(Tokio::NAME, |bencher| {
        let runtime = Tokio::new();
        per_time(bencher, 1000, |times| {
            runtime.run(async move {
                let (put, mut get) = tokio::sync::mpsc::unbounded_channel();
                let unfinished = Cell::new(0);
                for number in 0..times {
                    put.send(number).unwrap();
                    unfinished.update(|count| count + 1);
                    assert_eq!(get.recv().await, Some(number));
                    unfinished.update(|count| count - 1);
                }
            });
        });
    });
    group.bench_function(Pool::NAME, |bencher| {
        let runtime = Pool::new();
        per_time(bencher, 1000, |times| {
            runtime.run(async move {
                let (put, mut get) = futures::channel::mpsc::unbounded();
                let unfinished = Cell::new(0);
                for number in 0..times {
                    put.unbounded_send(number).unwrap();
                    unfinished.update(|count| count + 1);
                    assert_eq!(get.next().await, Some(number));
                    unfinished.update(|count| count - 1);
                }
            });
        });
    });
    group.finish();
}

criterion_group!(
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30);
    targets =
        switch<Ours>, switch<Tokio>, switch<AsyncExecutor>, switch<Pool>,
        spawn<Ours>, spawn<Tokio>, spawn<AsyncExecutor>, spawn<Pool>,
        foreign_wake<Ours>, foreign_wake<Tokio>, foreign_wake<AsyncExecutor>, foreign_wake<Pool>,
        timers, queue
);
criterion_main!(benches);
