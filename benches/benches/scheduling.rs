//! The bench `scheduling`: the costs of an executor (spawning a task, switching
//! between tasks), for our runtime and its alternatives, as
//! `scheduling/<what>/<subject>`: the time of one operation.
//!
//! Criterion measures one subject after another, and meanwhile the machine may
//! have become twice as slow. So, for the two figures that are quoted relative to
//! tokio's, the ratio is measured again with both in alternating rounds, and kept
//! beside the figure of tokio.
//!
//! The memory of a waiting task is measured by the bench `memory`.
#![allow(missing_docs, clippy::print_stdout, clippy::unwrap_used)]

#[path = "subjects/runtimes.rs"]
mod runtimes;
#[path = "subjects/tasks.rs"]
mod tasks;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use benches::{RESAMPLES, figures};
use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use futures::StreamExt;
use runtimes::{AsyncExecutor, Ours, Pool, Runtime, Tokio};
use stage2_coroutines::sleep;
use stage3_queue::JoinableQueue;
use tasks::{TASKS, spawns, switches};

/// The number of rounds in which both are measured.
const ROUNDS: usize = 201;
/// The time until a deadline, the same as for a fetch. No deadline ever passes.
const DEADLINE: Duration = Duration::from_secs(30);

/// Measures one operation of `run`, which does it as many times as it is told: at
/// least `least` times, so that the setup does not count.
fn per_time(bencher: &mut Bencher<'_>, least: u64, mut run: impl FnMut(u64)) {
    bencher.iter_custom(|iterations| {
        let times = iterations.div_ceil(least) * least;
        let begun = Instant::now();
        run(times);
        begun.elapsed().mul_f64(iterations as f64 / times as f64)
    });
}

/// Measures a switch from one task to the next.
fn switch<R: Runtime>(criterion: &mut Criterion) {
    criterion.benchmark_group("scheduling/switch").bench_function(R::NAME, |bencher| {
        let runtime = R::new();
        per_time(bencher, 1000 * TASKS, |times| switches(&runtime, times));
    });
}

/// Measures the spawn of a task, with the wait for it.
fn spawn<R: Runtime>(criterion: &mut Criterion) {
    criterion.benchmark_group("scheduling/spawn").bench_function(R::NAME, |bencher| {
        let runtime = R::new();
        per_time(bencher, TASKS, |times| spawns(&runtime, times));
    });
}

/// Measures the ratio of our runtime to tokio in alternating rounds: the median
/// and the quartiles.
fn in_turns(_: &mut Criterion) {
    let (ours, tokio) = (Ours::new(), Tokio::new());
    let rounds = if figures::is_test() { 1 } else { ROUNDS };
    let ratios = |times: u64, run: [&dyn Fn(u64); 2]| {
        let ratio = |_| {
            let [ours, tokio] = run.map(|run| {
                let begun = Instant::now();
                run(times);
                begun.elapsed().as_secs_f64()
            });
            ours / tokio
        };
        let mut sorted: Vec<f64> = (0..rounds).map(ratio).collect();
        sorted.sort_by(f64::total_cmp);
        let names = ["ratio.lower", "ratio.median", "ratio.upper"];
        let at = |quarter: usize| sorted[(sorted.len() - 1) * quarter / 4];
        BTreeMap::from_iter(names.into_iter().zip([1, 2, 3].map(at)))
    };
    let switch =
        ratios(1000 * TASKS, [&|times| switches(&ours, times), &|times| switches(&tokio, times)]);
    let spawn =
        ratios(100 * TASKS, [&|times| spawns(&ours, times), &|times| spawns(&tokio, times)]);
    let by_id =
        BTreeMap::from([("scheduling/switch/tokio", switch), ("scheduling/spawn/tokio", spawn)]);
    println!("in turns: {by_id:.3?}");
    if !figures::is_test() {
        figures::keep("scheduling-in-turns", &by_id).unwrap();
    }
}

/// Measures a wake-up by another thread: a task sends its waker there, parks, and
/// is woken.
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

/// Measures setting and cancelling a timer, while many others are pending.
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
    timer(criterion, |ours: Ours, time| async move { sleep(ours.0.event_loop(), time).await });
    timer(criterion, |_: Tokio, time| tokio::time::sleep(time));
}

/// Measures a put, a get and a `task_done` of the work queue. The channels of the
/// others have no `join`, so a counter of unfinished items is kept beside them.
fn queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scheduling/queue");
    group.bench_function(Ours::NAME, |bencher| {
        let runtime = Ours::new();
        let queue = JoinableQueue::new(runtime.0.event_loop());
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
        .nresamples(RESAMPLES)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .sample_size(30);
    targets =
        switch<Ours>, switch<Tokio>, switch<AsyncExecutor>, switch<Pool>,
        spawn<Ours>, spawn<Tokio>, spawn<AsyncExecutor>, spawn<Pool>,
        foreign_wake<Ours>, foreign_wake<Tokio>, foreign_wake<AsyncExecutor>, foreign_wake<Pool>,
        timers, queue, in_turns
);
criterion_main!(benches);
