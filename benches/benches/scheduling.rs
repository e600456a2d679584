//! What it costs to take turns, for our runtime and for what one would use
//! instead: `scheduling/<what>/<subject>`, in time for one of it.
//!
//! Criterion has one do all it has to do, and then the next, and meanwhile the
//! machine may have become twice as slow. So, of the two figures that we quote
//! by tokio's, the ratio is measured once more with both in turns, and kept
//! beside the figure of tokio.
//!
//! What a task costs in memory while it waits is measured by `memory`.
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

use benches::figures;
use criterion::{Bencher, Criterion, criterion_group, criterion_main};
use futures::StreamExt;
use runtimes::{AsyncExecutor, Ours, Pool, Runtime, Tokio};
use stage2_coroutines::sleep;
use stage3_queue::JoinableQueue;
use tasks::{TASKS, spawns, switches};

/// How often both have their turn.
const ROUNDS: usize = 201;
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
        per_time(bencher, 1000 * TASKS, |times| switches(&runtime, times));
    });
}

fn spawn<R: Runtime>(criterion: &mut Criterion) {
    criterion.benchmark_group("scheduling/spawn").bench_function(R::NAME, |bencher| {
        let runtime = R::new();
        per_time(bencher, TASKS, |times| spawns(&runtime, times));
    });
}

/// Ours by tokio's, round by round: the median, and between which two the middle
/// half of the rounds lay.
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
        timers, queue, in_turns
);
criterion_main!(benches);
