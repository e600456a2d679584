//! The trace of a loop: the steps of its tasks, and the causes of their wake-ups.

use std::future::poll_fn;
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::thread;
use std::time::Duration;

use stage2_coroutines::{Task, sleep, system_runtime};
use test_support::event_loops::virtual_loop;
use trace::{Event, Trace, Tracer};

/// Returns the trace of what `run` does.
fn traced(run: impl FnOnce()) -> Trace {
    let tracer = Tracer::new(Tracer::LIMIT);
    let guard = tracer.enter();
    run();
    drop(guard);
    tracer.take()
}

/// Returns how each step ended, with the name of its task.
fn steps(trace: &Trace) -> Vec<(&str, &'static str)> {
    let name = |lane: u32| {
        let task = &trace.tasks[(lane - trace::RUN_QUEUE - 1) as usize];
        task.name.as_deref().unwrap_or("unnamed")
    };
    let step_end = |record: &trace::Record| match record.event {
        Event::StepEnd { result, .. } => Some((record.lane, result)),
        _ => None,
    };
    trace.records.iter().filter_map(step_end).map(|(lane, end)| (name(lane), end)).collect()
}

#[test]
fn the_main_coroutine_is_done_when_it_has_returned() {
    let trace = traced(|| {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        runtime.run_until_complete(sleep(&event_loop, Duration::from_secs(1))).unwrap();
    });
    assert_eq!(steps(&trace), [("main", "pending"), ("main", "done")]);
}

#[test]
fn a_task_that_another_one_cancels_is_over() {
    let trace = traced(|| {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let other = Task::spawn(&event_loop, {
            let event_loop = event_loop.clone();
            async move { sleep(&event_loop, Duration::from_secs(9)).await }
        });
        let main = async {
            sleep(&event_loop, Duration::from_secs(1)).await;
            other.cancel();
        };
        runtime.run_until_complete(main).unwrap();
    });
    let of_other: Vec<_> = steps(&trace).into_iter().filter(|(name, _)| *name != "main").collect();
    assert_eq!(of_other, [("unnamed", "pending"), ("unnamed", "cancelled")]);
}

/// On a real selector, which the thread wakes.
#[test]
fn a_wake_up_of_another_thread_is_told_as_one() {
    let trace = traced(|| {
        let runtime = system_runtime().unwrap();
        let (sender, wakers) = channel::<Waker>();
        let thread = thread::spawn(move || wakers.recv().unwrap().wake());
        let mut is_first = true;
        let woken = poll_fn(|context| match std::mem::take(&mut is_first) {
            true => {
                sender.send(context.waker().clone()).unwrap();
                Poll::Pending
            }
            false => Poll::Ready(()),
        });
        runtime.run_until_complete(woken).unwrap();
        thread.join().unwrap();
    });
    let causes = trace.records.iter().filter_map(|record| match record.event {
        Event::Wake { by, .. } => Some(by),
        _ => None,
    });
    assert_eq!(causes.collect::<Vec<_>>(), ["thread"]);
}
