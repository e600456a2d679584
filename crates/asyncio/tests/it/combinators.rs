//! The combinators, which wait for several futures at once.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{
    AnyFuture, ReturnWhen, as_completed, ensure_future, gather, gather_outcomes, multi, multi_map,
    raised, shield, wait, wait_for,
};
use stage2_coroutines::{
    Elapsed, EventLoop, Exception, Future, Inspect, InvalidState, Runtime, Selected, Task, join,
    select, sleep, sleep_and_return, timeout_at, yield_now,
};
use test_support::event_loops::{run, virtual_loop};

const SECOND: Duration = Duration::from_secs(1);

/// Spawns a task that returns `result` after so many seconds.
fn later<T: 'static>(event_loop: &EventLoop, seconds: u32, result: T) -> Task<T> {
    let event_loop_inside = event_loop.clone();
    Task::spawn(event_loop, async move {
        sleep(&event_loop_inside, SECOND * seconds).await;
        result
    })
}

/// Spawns a task that panics after so many seconds.
fn panics_later(event_loop: &EventLoop, seconds: u32, message: &'static str) -> Task<u32> {
    let event_loop_inside = event_loop.clone();
    Task::spawn(event_loop, async move {
        sleep(&event_loop_inside, SECOND * seconds).await;
        panic!("{message}")
    })
}

fn resolved<T: 'static>(event_loop: &EventLoop, result: T) -> Future<T> {
    let future = Future::new(event_loop);
    future.set_result(result).unwrap();
    future
}

/// Collects what the exception handler is told.
fn reports(event_loop: &EventLoop) -> Rc<RefCell<Vec<String>>> {
    let reports: Rc<RefCell<Vec<String>>> = Rc::default();
    let log = Rc::clone(&reports);
    event_loop.set_exception_handler(move |error| log.borrow_mut().push(error.to_string()));
    reports
}

fn is_cancelled<T>(outcome: &Result<T, Exception>) -> bool {
    matches!(outcome, Err(Exception::Cancelled))
}

fn is_timed_out<T>(outcome: &Result<T, Exception>) -> bool {
    matches!(outcome, Err(Exception::TimedOut))
}

/// Runs one round of the loop, so that a spawned task begins to wait.
fn run_one_round(runtime: &Runtime) {
    run(runtime, yield_now(runtime.event_loop()));
}

mod gathering {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_arguments() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let tasks = [3, 1, 2].map(|seconds| later(&event_loop, seconds, seconds * 10));
        let results = run(&runtime, gather(&event_loop, tasks));
        assert_eq!(results.unwrap(), [30, 10, 20]);
        assert_eq!(event_loop.now() - start, SECOND * 3, "all at the same time");
    }

    #[test]
    fn futures_that_are_done_take_no_time() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let futures = ["a", "b"].map(|result| resolved(&event_loop, result));
        assert_eq!(run(&runtime, gather(&event_loop, futures)).unwrap(), ["a", "b"]);
        assert_eq!(event_loop.now(), start);
    }

    #[test]
    fn no_futures_give_no_results() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let none: [Future<()>; 0] = [];
        assert_eq!(run(&runtime, gather(&event_loop, none.clone())).unwrap(), []);
        assert!(run(&runtime, gather_outcomes(&event_loop, none)).unwrap().is_empty());
    }

    #[test]
    fn the_first_exception_is_returned_at_once_and_other_futures_continue() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let slow = later(&event_loop, 3, 3);
        let slow_result = slow.clone();
        let fails = panics_later(&event_loop, 1, "no luck");
        let outcome = run(&runtime, gather(&event_loop, [slow, fails]));
        assert_eq!(outcome.unwrap_err().to_string(), "panicked: no luck");
        assert_eq!(event_loop.now() - start, SECOND);
        assert!(!slow_result.done());
        assert_eq!(run(&runtime, slow_result).unwrap(), 3);
    }

    #[test]
    fn an_exception_of_a_done_future_is_returned() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let failed: Future<u32> = Future::new(&event_loop);
        failed.set_exception("broken").unwrap();
        let pending = Future::new(&event_loop);
        let outcome = run(&runtime, gather(&event_loop, [pending.clone(), failed]));
        assert_eq!(outcome.unwrap_err().to_string(), "broken");
        assert!(!pending.done());
    }

    #[test]
    fn cancelling_the_gathering_task_cancels_the_children() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let done = later(&event_loop, 0, 0);
        let children = [done, later(&event_loop, 2, 2), later(&event_loop, 3, 3)];
        let watched = children.clone();
        let gathers = {
            let event_loop = event_loop.clone();
            async move { gather(&event_loop, children).await }
        };
        let gathers = Task::spawn(&event_loop, gathers);
        run(&runtime, sleep(&event_loop, SECOND));
        gathers.cancel();
        let cancelled = watched.map(|child| child.cancelled());
        assert_eq!(cancelled, [false, true, true], "what is done stays as it is");
        run_one_round(&runtime);
        assert_eq!(event_loop.pending_tasks(), 0);
        assert_eq!(event_loop.pending_timers(), 0);
    }

    #[test]
    fn cancelling_a_child_is_an_exception_like_any_other() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let cancelled = later(&event_loop, 3, 3);
        let other = later(&event_loop, 3, 3);
        let others_result = other.clone();
        cancelled.cancel();
        let gathers = {
            let event_loop = event_loop.clone();
            async move { gather(&event_loop, [cancelled, other]).await }
        };
        let gathers = Task::spawn(&event_loop, gathers);
        let outcome = run(&runtime, gathers).expect("the one who gathers is not cancelled");
        assert!(is_cancelled(&outcome));
        assert_eq!(run(&runtime, others_result).unwrap(), 3, "nor is the other child");
    }

    #[test]
    fn gather_outcomes_returns_results_and_exceptions() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let cancelled = later(&event_loop, 9, 9);
        cancelled.cancel();
        let tasks = [later(&event_loop, 2, 2), panics_later(&event_loop, 1, "bad"), cancelled];
        let outcomes = run(&runtime, gather_outcomes(&event_loop, tasks)).unwrap();
        assert_eq!(*outcomes[0].as_ref().unwrap(), 2);
        assert_eq!(outcomes[1].as_ref().unwrap_err().to_string(), "panicked: bad");
        assert!(is_cancelled(&outcomes[2]));
    }

    #[test]
    fn a_result_that_was_taken_gives_an_exception() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future = resolved(&event_loop, 1);
        assert_eq!(run(&runtime, future.clone()).unwrap(), 1);
        let outcome = run(&runtime, gather(&event_loop, [future]));
        assert!(matches!(outcome, Err(Exception::InvalidState(InvalidState::Taken))));
    }

    #[test]
    fn the_same_future_may_be_given_twice_and_keeps_its_result() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future: AnyFuture<u32> = later(&event_loop, 1, 5).into();
        let twice = gather(&event_loop, [future.clone(), future.clone()]);
        assert_eq!(run(&runtime, twice).unwrap(), [5, 5]);
        assert_eq!(run(&runtime, future).unwrap(), 5);
    }

    #[test]
    fn the_exception_that_was_raised_first_is_returned() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let (a, b): (Future<()>, Future<()>) = (Future::new(&event_loop), Future::new(&event_loop));
        let both = gather(&event_loop, [a.clone(), b.clone()]);
        event_loop.call_soon(move || {
            b.set_exception("b was first").unwrap();
            a.set_exception("a was second").unwrap();
        });
        assert_eq!(run(&runtime, both).unwrap_err().to_string(), "b was first");
    }

    #[test]
    fn an_exception_is_not_hidden_by_a_later_cancellation() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let (a, b): (Future<()>, Future<()>) = (Future::new(&event_loop), Future::new(&event_loop));
        let both = gather(&event_loop, [a.clone(), b.clone()]);
        event_loop.call_soon(move || {
            b.set_exception("b was first").unwrap();
            a.cancel();
        });
        assert_eq!(run(&runtime, both).unwrap_err().to_string(), "b was first");
    }

    /// A coroutine that fails after one second.
    async fn fails(event_loop: EventLoop) -> Result<u32, std::io::Error> {
        sleep(&event_loop, SECOND).await;
        Err(std::io::Error::other("no route"))
    }

    #[test]
    fn a_coroutine_that_raises_ends_the_wait() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let slow = AnyFuture::from(later(&event_loop, 3, 3));
        let fails = AnyFuture::from(Task::try_spawn(&event_loop, fails(event_loop.clone())));
        let outcome = run(&runtime, gather(&event_loop, [slow, fails]));
        assert_eq!(outcome.unwrap_err().to_string(), "no route");
        assert_eq!(event_loop.now() - start, SECOND);
    }

    #[test]
    fn coroutines_are_taken_as_well_as_futures() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let outcome = run(&runtime, gather(&event_loop, [fails(event_loop.clone())]));
        assert_eq!(outcome.unwrap_err().to_string(), "no route");
        let outcomes = gather_outcomes(&event_loop, [fails(event_loop.clone())]);
        assert_eq!(
            run(&runtime, outcomes).unwrap()[0].as_ref().unwrap_err().to_string(),
            "no route"
        );
    }

    #[test]
    fn it_is_a_future_that_waits_from_the_call_on() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let both = gather(&event_loop, [later(&event_loop, 1, 1), later(&event_loop, 2, 2)]);
        run(&runtime, sleep(&event_loop, SECOND * 3));
        assert!(both.done(), "without a poll");
        assert_eq!(both.result().unwrap(), [1, 2]);
    }

    #[test]
    fn cancelling_or_dropping_it_before_the_first_poll_cancels_the_children() {
        for drops in [false, true] {
            let runtime = virtual_loop();
            let event_loop = runtime.event_loop().clone();
            let child: Future<()> = Future::new(&event_loop);
            let gathers = gather(&event_loop, [child.clone()]);
            if drops {
                drop(gathers);
            } else {
                assert!(gathers.cancel() && !gathers.cancel());
                assert!(is_cancelled(&run(&runtime, gathers)));
            }
            assert!(child.cancelled());
        }
    }

    #[test]
    fn a_gather_is_taken_as_the_future_that_it_is() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let child: Future<u32> = Future::new(&event_loop);
        let inner = gather(&event_loop, [child.clone()]);
        let given = ensure_future(&event_loop, inner);
        assert_eq!(event_loop.all_tasks().len(), 0, "it needs no task");
        assert!(ensure_future(&event_loop, given.clone()).is(&given));
        // A handle of it can be dropped, like that of a task.
        drop(given.clone());
        let outer = gather(&event_loop, [given.clone()]);
        drop(given);
        child.set_result(7).unwrap();
        assert_eq!(run(&runtime, outer).unwrap(), [[7]]);
    }

    #[test]
    fn cancelling_a_gather_of_gathers_cancels_their_children() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let child: Future<u32> = Future::new(&event_loop);
        let outer = gather(&event_loop, [gather(&event_loop, [child.clone()])]);
        assert!(outer.cancel());
        assert!(child.is_cancelled());
        assert!(is_cancelled(&run(&runtime, outer)));
    }

    #[test]
    fn the_exceptions_after_the_first_count_as_retrieved() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let reports = reports(&event_loop);
        let tasks = [panics_later(&event_loop, 1, "first"), panics_later(&event_loop, 2, "second")];
        let outcome = run(&runtime, gather(&event_loop, tasks));
        assert_eq!(outcome.unwrap_err().to_string(), "panicked: first");
        run(&runtime, sleep(&event_loop, SECOND * 3));
        assert!(reports.take().is_empty());
    }
}

mod waiting {
    use super::*;

    fn numbers(futures: &[AnyFuture<u32>]) -> Vec<u32> {
        futures.iter().map(|future| future.result().unwrap()).collect()
    }

    #[test]
    fn first_completed_returns_after_the_first_future() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let tasks = [3, 1, 2].map(|seconds| later(&event_loop, seconds, seconds));
        let first = wait(&event_loop, tasks, ReturnWhen::FirstCompleted, None);
        let (done, pending) = run(&runtime, first);
        assert_eq!(numbers(&done), [1]);
        assert_eq!(pending.len(), 2);
        assert_eq!(event_loop.now() - start, SECOND);

        let rest = wait(&event_loop, pending, ReturnWhen::AllCompleted, None);
        let (done, pending) = run(&runtime, rest);
        assert_eq!(numbers(&done), [3, 2], "nothing was cancelled; in the order of the arguments");
        assert!(pending.is_empty());
    }

    #[test]
    fn first_completed_counts_a_cancelled_future() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let tasks = [later(&event_loop, 3, 3), later(&event_loop, 9, 9)];
        tasks[1].cancel();
        let start = event_loop.now();
        let (done, pending) =
            run(&runtime, wait(&event_loop, tasks, ReturnWhen::FirstCompleted, None));
        assert!(done.len() == 1 && done[0].cancelled());
        assert_eq!(pending.len(), 1);
        assert_eq!(event_loop.now(), start);
    }

    #[test]
    fn first_exception_does_not_count_a_cancelled_future() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let cancelled = later(&event_loop, 9, 9);
        cancelled.cancel();
        let tasks = [
            later(&event_loop, 1, 1),
            cancelled,
            panics_later(&event_loop, 2, "bad"),
            later(&event_loop, 3, 3),
        ];
        let (done, pending) =
            run(&runtime, wait(&event_loop, tasks, ReturnWhen::FirstException, None));
        assert_eq!(event_loop.now() - start, SECOND * 2);
        assert_eq!((done.len(), pending.len()), (3, 1));
        assert!(done[2].exception().unwrap().is_some(), "not raised, but there");
    }

    #[test]
    fn first_exception_waits_for_all_if_there_is_no_exception() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let tasks = [2, 1].map(|seconds| later(&event_loop, seconds, seconds));
        let (done, pending) =
            run(&runtime, wait(&event_loop, tasks, ReturnWhen::FirstException, None));
        assert_eq!(numbers(&done), [2, 1]);
        assert!(pending.is_empty());
        assert_eq!(event_loop.now() - start, SECOND * 2);
    }

    #[test]
    fn a_timeout_of_wait_raises_and_cancels_nothing() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let tasks = [1, 5].map(|seconds| later(&event_loop, seconds, seconds));
        let in_time = wait(&event_loop, tasks, ReturnWhen::AllCompleted, Some(SECOND * 3));
        let (done, pending) = run(&runtime, in_time);
        assert_eq!(event_loop.now() - start, SECOND * 3);
        assert_eq!(numbers(&done), [1]);
        assert_eq!(event_loop.pending_timers(), 1, "that of the sleeper alone");
        let [pending] = &pending[..] else { panic!("one is left") };
        assert_eq!(run(&runtime, pending.clone()).unwrap(), 5);
    }

    #[test]
    fn no_futures_are_waited_for_in_no_time() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        for mode in
            [ReturnWhen::FirstCompleted, ReturnWhen::FirstException, ReturnWhen::AllCompleted]
        {
            let none: [Future<()>; 0] = [];
            let (done, pending) = run(&runtime, wait(&event_loop, none, mode, Some(SECOND)));
            assert!(done.is_empty() && pending.is_empty());
        }
        assert_eq!(event_loop.now(), start);
    }

    #[test]
    fn a_timeout_of_zero_still_returns_the_done_futures() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let futures = [Future::new(&event_loop), resolved(&event_loop, 7)];
        let at_once = wait(&event_loop, futures, ReturnWhen::AllCompleted, Some(Duration::ZERO));
        let (done, pending) = run(&runtime, at_once);
        assert_eq!(numbers(&done), [7]);
        assert_eq!(pending.len(), 1);
    }

    #[test]
    fn cancelling_the_waiting_task_does_not_cancel_the_futures() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = later(&event_loop, 2, 2);
        let result = task.clone();
        let waits = {
            let event_loop = event_loop.clone();
            async move { drop(wait(&event_loop, [task], ReturnWhen::AllCompleted, None).await) }
        };
        let waits = Task::spawn(&event_loop, waits);
        run_one_round(&runtime);
        waits.cancel();
        assert_eq!(run(&runtime, result).unwrap(), 2);
    }

    #[test]
    fn wait_for_returns_a_result_that_is_in_time() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let task = later(&event_loop, 1, "in time");
        let result = run(&runtime, wait_for(&event_loop, task, SECOND * 9));
        assert_eq!(result.unwrap(), "in time");
        assert_eq!(event_loop.now() - start, SECOND);
        assert_eq!(event_loop.pending_timers(), 0);
    }

    #[test]
    fn wait_for_cancels_the_task_at_the_timeout() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let task = later(&event_loop, 9, ());
        let watched = task.clone();
        let outcome = run(&runtime, wait_for(&event_loop, task, SECOND));
        assert!(is_timed_out(&outcome));
        assert_eq!(event_loop.now() - start, SECOND);
        assert!(watched.cancelled());
        assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    }

    #[test]
    fn wait_for_returns_a_result_that_comes_at_the_deadline() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = later(&event_loop, 1, "just so");
        run_one_round(&runtime);
        let result = run(&runtime, wait_for(&event_loop, task, SECOND));
        assert_eq!(result.unwrap(), "just so");
    }

    #[test]
    fn wait_for_returns_the_exception_of_the_task() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = panics_later(&event_loop, 1, "bad");
        let outcome = run(&runtime, wait_for(&event_loop, task, SECOND * 9));
        assert_eq!(outcome.unwrap_err().to_string(), "panicked: bad");
        let cancelled = later(&event_loop, 1, ());
        cancelled.cancel();
        let outcome = run(&runtime, wait_for(&event_loop, cancelled, SECOND));
        assert!(is_cancelled(&outcome));
    }

    #[test]
    fn cancelling_a_task_in_wait_for_cancels_the_task_it_waits_for() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = later(&event_loop, 9, ());
        let watched = task.clone();
        let waits = {
            let event_loop = event_loop.clone();
            async move { wait_for(&event_loop, task, SECOND * 5).await }
        };
        let waits = Task::spawn(&event_loop, waits);
        run_one_round(&runtime);
        waits.cancel();
        assert!(watched.cancelled());
        assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    }

    #[test]
    fn wait_for_with_the_largest_timeout_has_no_deadline() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = later(&event_loop, 1, 1);
        let result = run(&runtime, wait_for(&event_loop, task, Duration::MAX));
        assert_eq!(result.unwrap(), 1);
    }
}

mod as_they_complete {
    use super::*;

    #[test]
    fn outcomes_come_in_the_order_of_completion() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let tasks = [3, 1, 2].map(|seconds| later(&event_loop, seconds, seconds));
        let order = run(&runtime, async {
            let mut order = Vec::new();
            let mut completed = as_completed(&event_loop, tasks, None);
            while let Some(outcome) = completed.next().await {
                order.push((outcome.unwrap(), event_loop.now() - start));
            }
            assert!(completed.next().await.is_none(), "and that is all");
            order
        });
        assert_eq!(order, [(1, SECOND), (2, SECOND * 2), (3, SECOND * 3)]);
    }

    #[test]
    fn futures_that_completed_earlier_are_returned_without_waiting() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let tasks = [2, 1].map(|seconds| later(&event_loop, seconds, seconds));
        run(&runtime, async {
            let mut completed = as_completed(&event_loop, tasks, Some(SECOND * 4));
            sleep(&event_loop, SECOND * 9).await;
            // The deadline has passed, but these were in time.
            assert_eq!(completed.next().await.unwrap().unwrap(), 1);
            assert_eq!(completed.next().await.unwrap().unwrap(), 2);
            assert!(completed.next().await.is_none());
        });
    }

    #[test]
    fn a_timeout_of_zero_still_gives_what_is_there() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let futures = [resolved(&event_loop, 1), later(&event_loop, 2, 2).into()];
        run(&runtime, async {
            let mut completed = as_completed(&event_loop, futures, Some(Duration::ZERO));
            assert_eq!(completed.next().await.unwrap().unwrap(), 1);
            assert!(is_timed_out(&completed.next().await.unwrap()));
            assert!(completed.next().await.is_none());
        });
    }

    #[test]
    fn exceptions_are_returned_as_outcomes() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let tasks = [later(&event_loop, 2, 2), panics_later(&event_loop, 1, "bad")];
        run(&runtime, async {
            let mut completed = as_completed(&event_loop, tasks, None);
            assert!(completed.next().await.unwrap().is_err());
            assert_eq!(completed.next().await.unwrap().unwrap(), 2);
        });
    }

    #[test]
    fn the_timeout_is_the_last_outcome_and_cancels_nothing() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let slow = later(&event_loop, 9, 9);
        let slow_result = slow.clone();
        let tasks = [later(&event_loop, 1, 1), slow];
        run(&runtime, async {
            let mut completed = as_completed(&event_loop, tasks, Some(SECOND * 3));
            assert_eq!(completed.next().await.unwrap().unwrap(), 1);
            assert!(is_timed_out(&completed.next().await.unwrap()));
            assert!(completed.next().await.is_none());
        });
        assert_eq!(event_loop.now() - start, SECOND * 3);
        assert_eq!(run(&runtime, slow_result).unwrap(), 9);
    }

    #[test]
    fn no_futures_give_no_outcome_and_no_timeout() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let none: [Future<()>; 0] = [];
        let mut completed = as_completed(&event_loop, none, Some(Duration::ZERO));
        assert!(run(&runtime, completed.next()).is_none());
    }

    #[test]
    fn dropping_a_pending_next_loses_no_outcome() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let mut completed = as_completed(&event_loop, [later(&event_loop, 2, "kept")], None);
        run(&runtime, async {
            let deadline = event_loop.now() + SECOND;
            let next = stage2_coroutines::timeout_at(&event_loop, || deadline, completed.next());
            assert!(next.await.is_err());
            assert_eq!(completed.next().await.unwrap().unwrap(), "kept");
        });
    }
}

mod shielding {
    use super::*;

    #[test]
    fn a_shield_passes_a_result_and_an_exception_on() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let shielded = shield(&event_loop, later(&event_loop, 1, 1));
        assert_eq!(run(&runtime, shielded).unwrap(), 1);
        let shielded = shield(&event_loop, panics_later(&event_loop, 1, "bad"));
        assert_eq!(run(&runtime, shielded).unwrap_err().to_string(), "panicked: bad");
        let shielded = shield(&event_loop, resolved(&event_loop, "there"));
        assert_eq!(run(&runtime, shielded).unwrap(), "there");
    }

    #[test]
    fn cancelling_the_outer_future_does_not_cancel_the_inner_one() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = later(&event_loop, 1, 1);
        let inner = task.clone();
        let outer = shield(&event_loop, task);
        assert!(outer.cancel());
        assert!(outer.cancelled() && !inner.done());
        assert_eq!(run(&runtime, inner).unwrap(), 1, "and its result is not taken away");
    }

    /// The outer future takes no outcome any more, so it is not retrieved.
    #[test]
    fn an_exception_behind_an_outer_future_that_was_cancelled_is_reported() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let errors = reports(&event_loop);
        let outer = shield(&event_loop, panics_later(&event_loop, 1, "bad"));
        assert!(outer.cancel());
        run(&runtime, sleep(&event_loop, SECOND * 2));
        assert_eq!(*errors.borrow(), ["exception was never retrieved: panicked: bad"]);
    }

    #[test]
    fn cancelling_the_inner_future_cancels_the_outer_one() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let inner = Future::<()>::new(&event_loop);
        let outer = shield(&event_loop, inner.clone());
        inner.cancel();
        run_one_round(&runtime);
        assert!(outer.cancelled());
    }

    #[test]
    fn a_timeout_of_wait_for_does_not_cancel_a_shielded_task() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = later(&event_loop, 2, 2);
        let inner = task.clone();
        let outcome = run(&runtime, wait_for(&event_loop, shield(&event_loop, task), SECOND));
        assert!(is_timed_out(&outcome));
        assert_eq!(run(&runtime, inner).unwrap(), 2);
    }
}

mod shielding_the_result {
    use super::*;

    /// A task that awaits a shield of the future.
    fn awaits_shield(event_loop: &EventLoop, inner: &AnyFuture<&'static str>) -> Task<()> {
        let outer = shield(event_loop, inner.clone());
        Task::spawn(event_loop, async move { drop(outer.await) })
    }

    #[test]
    fn it_is_there_when_the_task_that_awaited_the_shield_is_cancelled() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let inner = AnyFuture::from(later(&event_loop, 2, "a page"));
        let waits = awaits_shield(&event_loop, &inner);
        run(&runtime, sleep(&event_loop, SECOND));
        waits.cancel();
        assert_eq!(run(&runtime, inner).unwrap(), "a page");
    }

    #[test]
    fn it_is_there_when_that_task_is_cancelled_before_it_is_resumed() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let inner: Future<&'static str> = Future::new(&event_loop);
        let waits = awaits_shield(&event_loop, &inner.clone().into());
        run_one_round(&runtime);
        inner.set_result("a page").unwrap();
        // In the batch after this one the outer future gets its copy.
        run_one_round(&runtime);
        waits.cancel();
        assert_eq!(run(&runtime, inner).unwrap(), "a page");
    }

    #[test]
    fn it_is_there_after_a_timeout_and_after_a_drop() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let inner = AnyFuture::from(later(&event_loop, 2, "a page"));
        let deadline = event_loop.now() + SECOND;
        let shielded = shield(&event_loop, inner.clone());
        assert!(run(&runtime, timeout_at(&event_loop, || deadline, shielded)).is_err());
        drop(shield(&event_loop, inner.clone()));
        assert_eq!(run(&runtime, inner).unwrap(), "a page");
    }

    #[test]
    fn both_the_shield_and_the_future_give_it() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let inner = AnyFuture::from(later(&event_loop, 1, "a page"));
        let outer = shield(&event_loop, inner.clone());
        assert_eq!(run(&runtime, outer).unwrap(), "a page");
        assert_eq!(run(&runtime, inner.clone()).unwrap(), "a page");
        let done = shield(&event_loop, inner.clone());
        assert!(done.is(&inner), "what is done needs no shield");
    }

    #[test]
    fn an_exception_is_reported_if_the_shield_is_gone() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let reports = reports(&event_loop);
        drop(shield(&event_loop, panics_later(&event_loop, 1, "bad")));
        run(&runtime, sleep(&event_loop, SECOND * 2));
        assert_eq!(reports.take(), ["exception was never retrieved: panicked: bad"]);
    }
}

mod coroutines_that_raise {
    use super::*;

    fn raises(event_loop: &EventLoop, error: impl Into<Exception> + 'static) -> Task<()> {
        let inside = event_loop.clone();
        Task::try_spawn(event_loop, async move {
            sleep(&inside, SECOND).await;
            Err::<(), Exception>(error.into())
        })
    }

    #[test]
    fn the_error_is_the_exception_of_the_task() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = raises(&event_loop, raised("no route"));
        run(&runtime, sleep(&event_loop, SECOND * 2));
        assert_eq!(task.exception().unwrap().unwrap().to_string(), "no route");
        assert_eq!(run(&runtime, task).unwrap_err().to_string(), "no route");
    }

    #[test]
    fn a_result_is_the_result() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = Task::try_spawn(&event_loop, async { Ok::<_, Infallible>(7) });
        assert_eq!(run(&runtime, task).unwrap(), 7);
    }

    #[test]
    fn first_exception_counts_it() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let slow: Task<()> = later(&event_loop, 3, ());
        let tasks = [slow, raises(&event_loop, raised("no route"))];
        let first = wait(&event_loop, tasks, ReturnWhen::FirstException, None);
        assert_eq!(run(&runtime, first).0.len(), 1);
        assert_eq!(event_loop.now() - start, SECOND);
    }

    #[test]
    fn it_is_reported_if_it_is_never_retrieved() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let reports = reports(&event_loop);
        drop(raises(&event_loop, raised("no route")));
        run(&runtime, sleep(&event_loop, SECOND * 2));
        assert_eq!(reports.take(), ["exception was never retrieved: no route"]);
    }

    #[test]
    fn a_cancellation_that_it_returns_makes_the_task_a_cancelled_one() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = raises(&event_loop, Exception::Cancelled);
        run(&runtime, sleep(&event_loop, SECOND * 2));
        assert!(task.cancelled());
    }

    #[test]
    fn a_timeout_is_the_same_error_in_every_type() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let task = raises(&event_loop, Elapsed);
        let outcome = run(&runtime, task);
        assert!(is_timed_out(&outcome));
        assert!(matches!(raised(Elapsed), Exception::TimedOut));
        let error = std::io::Error::from(outcome.unwrap_err());
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(std::io::Error::from(Elapsed).kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(std::io::Error::from(Exception::Cancelled).to_string(), "cancelled");
    }
}

mod results_that_many_have {
    use super::*;

    #[test]
    fn every_await_of_a_shared_future_gives_the_result() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future = AnyFuture::from(later(&event_loop, 1, String::from("a page"))).shared();
        let all = [0; 3].map(|_| future.clone());
        assert_eq!(run(&runtime, multi(&event_loop, all)).unwrap(), ["a page"; 3]);
        assert_eq!(run(&runtime, future.clone()).unwrap(), "a page");
        assert_eq!(run(&runtime, wait_for(&event_loop, future.clone(), SECOND)).unwrap(), "a page");
        assert_eq!(future.result().unwrap(), "a page");
    }

    #[test]
    fn a_future_that_is_not_shared_gives_it_once() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future = resolved(&event_loop, 1);
        assert_eq!(future.result().unwrap(), 1, "a copy");
        assert_eq!(run(&runtime, future.clone()).unwrap(), 1);
        let again = run(&runtime, future);
        assert!(matches!(again, Err(Exception::InvalidState(InvalidState::Taken))));
    }

    /// A value whose copy looks at its own future.
    struct Nosy(Rc<RefCell<Option<AnyFuture<Nosy>>>>);

    impl Clone for Nosy {
        fn clone(&self) -> Self {
            let future = self.0.borrow().clone().unwrap();
            assert!(future.done() && !future.cancel());
            Self(Rc::clone(&self.0))
        }
    }

    #[test]
    fn nothing_is_borrowed_while_a_result_is_copied() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let own = Rc::default();
        let future = resolved(&event_loop, Nosy(Rc::clone(&own))).shared();
        own.replace(Some(future.clone()));
        drop(run(&runtime, future.clone()).unwrap());
        drop(future.result().unwrap());
        own.take();
    }

    #[test]
    fn wait_and_as_completed_take_a_future_once_that_is_given_twice() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future = resolved(&event_loop, 1);
        let twice = || [future.clone(), future.clone()];
        let all = wait(&event_loop, twice(), ReturnWhen::AllCompleted, None);
        assert_eq!(run(&runtime, all).0.len(), 1);
        let mut completed = as_completed(&event_loop, twice(), None);
        assert_eq!(run(&runtime, completed.next()).unwrap().unwrap(), 1);
        assert!(run(&runtime, completed.next()).is_none());
    }
}

mod tasks_themselves {
    use super::*;

    #[test]
    fn all_tasks_can_be_cancelled() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let tasks = [later(&event_loop, 1, 1), later(&event_loop, 2, 2)];
        run_one_round(&runtime);
        for task in &tasks {
            assert!(task.cancel());
            assert!(!task.cancel(), "it is done");
        }
        assert!(tasks.iter().all(|task| task.cancelled()));
        assert_eq!((event_loop.pending_tasks(), event_loop.pending_timers()), (0, 0));
    }

    #[test]
    fn a_task_can_cancel_itself() {
        for returns in [false, true] {
            let runtime = virtual_loop();
            let event_loop = runtime.event_loop().clone();
            let handle: Rc<RefCell<Option<Task<()>>>> = Rc::default();
            let own = Rc::clone(&handle);
            let task = Task::spawn(&event_loop, async move {
                assert!(own.take().unwrap().cancel());
                if !returns {
                    pending::<()>().await;
                }
            });
            handle.replace(Some(task.clone()));
            assert!(is_cancelled(&run(&runtime, task)));
            assert_eq!(event_loop.pending_tasks(), 0);
        }
    }

    #[test]
    fn a_callback_is_no_task() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let seen: Rc<RefCell<Vec<bool>>> = Rc::default();
        let look = || {
            let (event_loop, seen) = (event_loop.clone(), Rc::clone(&seen));
            move || seen.borrow_mut().push(event_loop.current_task().is_some())
        };
        let (in_task, in_done_callback) = (look(), look());
        let task = Task::spawn(&event_loop, async move { in_task() });
        task.add_done_callback(move |_| in_done_callback());
        event_loop.call_soon(look());
        run(&runtime, sleep(&event_loop, SECOND));
        assert_eq!(seen.take(), [true, false, false]);
    }

    #[test]
    fn whoever_resolves_the_future_of_a_task_takes_its_place() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let result = Rc::new(1);
        let task = later(&event_loop, 1, Rc::clone(&result));
        task.future().set_result(Rc::new(99)).unwrap();
        assert_eq!(*run(&runtime, task).unwrap(), 99);
        assert_eq!(event_loop.pending_tasks(), 1, "its coroutine goes on");
        run(&runtime, sleep(&event_loop, SECOND * 2));
        assert_eq!((event_loop.pending_tasks(), Rc::strong_count(&result)), (0, 1));
    }
}

mod of_different_types {
    use super::*;

    #[test]
    fn join_waits_for_all() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let all = join((
            sleep_and_return(&event_loop, SECOND * 2, "text"),
            sleep_and_return(&event_loop, SECOND, 1),
            async { vec![()] },
        ));
        assert_eq!(run(&runtime, all), ("text", 1, vec![()]));
        assert_eq!(event_loop.now() - start, SECOND * 2);
        assert_eq!(event_loop.pending_tasks(), 0, "none was spawned");
    }

    #[test]
    fn join_does_not_poll_what_has_returned() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let mut polls = 0;
        let once = std::future::poll_fn(|_| {
            polls += 1;
            std::task::Poll::Ready(())
        });
        run(&runtime, join((once, sleep(&event_loop, SECOND))));
        assert_eq!(polls, 1);
    }

    #[test]
    fn select_returns_the_first_and_drops_the_others() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let first = select((
            sleep_and_return(&event_loop, SECOND * 9, "text"),
            sleep_and_return(&event_loop, SECOND, 1),
        ));
        let text = match run(&runtime, first) {
            Selected::First(text) => text.to_owned(),
            Selected::Second(number) => number.to_string(),
        };
        assert_eq!(text, "1");
        assert_eq!(event_loop.pending_timers(), 0);
    }

    #[test]
    fn select_is_fair() {
        let runtime = virtual_loop();
        let mut counts = [0; 3];
        for _ in 0..3000 {
            let ready = std::future::ready::<()>;
            let place = match run(&runtime, select((ready(()), ready(()), ready(())))) {
                Selected::First(()) => 0,
                Selected::Second(()) => 1,
                Selected::Third(()) => 2,
            };
            counts[place] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
    }

    #[test]
    fn select_is_fair_among_those_that_are_ready() {
        let runtime = virtual_loop();
        let mut firsts = 0;
        for _ in 0..3000 {
            let (ready, pending) = (std::future::ready::<()>, std::future::pending::<()>);
            let coroutines = (ready(()), ready(()), pending(), pending());
            firsts += u32::from(matches!(run(&runtime, select(coroutines)), Selected::First(())));
        }
        assert!((1350..1650).contains(&firsts), "{firsts} of 3000");
    }

    #[test]
    fn what_select_drops_loses_nothing_if_it_is_a_future() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let page = AnyFuture::from(later(&event_loop, 2, "a page"));
        let first = select((page.clone(), sleep(&event_loop, SECOND)));
        assert!(matches!(run(&runtime, first), Selected::Second(())));
        assert_eq!(run(&runtime, page).unwrap(), "a page");
    }
}

mod in_parallel {
    use super::*;

    #[test]
    fn multi_runs_a_list_of_coroutines_in_parallel() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let coroutines = [2, 3, 1].map(|seconds| {
            let event_loop = event_loop.clone();
            async move {
                Ok::<_, Infallible>(sleep_and_return(&event_loop, SECOND * seconds, seconds).await)
            }
        });
        assert_eq!(run(&runtime, multi(&event_loop, coroutines)).unwrap(), [2, 3, 1]);
        assert_eq!(event_loop.now() - start, SECOND * 3);
    }

    #[test]
    fn multi_map_runs_coroutines_in_parallel_and_keeps_their_keys() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let coroutines = [("two", 2), ("one", 1)].map(|(key, seconds)| {
            let event_loop = event_loop.clone();
            (key, async move {
                Ok::<_, Infallible>(sleep_and_return(&event_loop, SECOND * seconds, seconds).await)
            })
        });
        let results = run(&runtime, multi_map(&event_loop, coroutines)).unwrap();
        assert_eq!(results, BTreeMap::from([("one", 1), ("two", 2)]));
        assert_eq!(event_loop.now() - start, SECOND * 2);
    }

    #[test]
    fn an_exception_of_one_coroutine_is_returned() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let coroutines =
            [1, 0].map(|divisor| async move { 10_u32.checked_div(divisor).ok_or("by zero") });
        let outcome = run(&runtime, multi(&event_loop, coroutines));
        assert_eq!(outcome.unwrap_err().to_string(), "by zero");
        let panics = async || -> Result<(), Infallible> { panic!("bad") };
        let outcome = run(&runtime, multi_map(&event_loop, [("only", panics())]));
        assert_eq!(outcome.unwrap_err().to_string(), "panicked: bad");
    }

    #[test]
    fn no_coroutines_give_no_results() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let none: [std::future::Ready<Result<(), Infallible>>; 0] = [];
        assert_eq!(run(&runtime, multi(&event_loop, none)).unwrap(), []);
        let none: [((), std::future::Ready<Result<(), Infallible>>); 0] = [];
        assert!(run(&runtime, multi_map(&event_loop, none)).unwrap().is_empty());
    }
}

mod single_coroutines {
    use super::*;

    #[test]
    fn ensure_future_spawns_the_coroutine() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future = ensure_future(&event_loop, async { Ok::<_, Infallible>(5) });
        assert!(!future.done());
        run_one_round(&runtime);
        assert_eq!(future.result().unwrap(), 5);
    }

    #[test]
    fn a_sleep_of_no_duration_yields_once() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let log: Rc<RefCell<Vec<String>>> = Rc::default();
        let tasks = ["a", "b"].map(|name| {
            let (inside, log) = (event_loop.clone(), Rc::clone(&log));
            Task::spawn(&event_loop, async move {
                for turn in 0..3 {
                    log.borrow_mut().push(format!("{name}{turn}"));
                    sleep(&inside, Duration::ZERO).await;
                }
            })
        });
        run(&runtime, gather(&event_loop, tasks)).unwrap();
        assert_eq!(log.take(), ["a0", "b0", "a1", "b1", "a2", "b2"]);
    }

    #[test]
    fn sleep_and_return_takes_its_time_and_returns_its_argument() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let start = event_loop.now();
        let result = run(&runtime, sleep_and_return(&event_loop, SECOND, "rested"));
        assert_eq!((result, event_loop.now() - start), ("rested", SECOND));
        run(&runtime, sleep(&event_loop, Duration::ZERO));
        assert_eq!(event_loop.now() - start, SECOND);
    }

    #[test]
    fn yield_now_lets_every_ready_task_take_one_step() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let order = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let tasks = ["a", "b"].map(|name| {
            let (event_loop, order) = (event_loop.clone(), std::rc::Rc::clone(&order));
            async move {
                for round in 1..=2 {
                    order.borrow_mut().push(format!("{name}{round}"));
                    yield_now(&event_loop).await;
                }
                Ok::<(), Infallible>(())
            }
        });
        run(&runtime, multi(&event_loop, tasks)).unwrap();
        assert_eq!(*order.borrow(), ["a1", "b1", "a2", "b2"]);
    }

    /// Tornado's goes on when the loop runs again; see "What Python can do".
    #[test]
    fn after_its_timeout_run_sync_drops_a_coroutine_and_leaves_a_task() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let alive = std::rc::Rc::new(());
        let held = std::rc::Rc::clone(&alive);
        let coroutine = async move {
            pending::<()>().await;
            drop(held);
        };
        runtime.run_sync(coroutine, SECOND).unwrap_err();
        assert_eq!(std::rc::Rc::strong_count(&alive), 1, "the coroutine is dropped");

        let inside = event_loop.clone();
        let resting = async move { sleep_and_return(&inside, SECOND * 3, "rested").await };
        let task = Task::spawn(&event_loop, resting);
        let handle = task.clone();
        runtime.run_sync(task, SECOND).unwrap_err();
        let start = event_loop.now();
        assert_eq!(run(&runtime, handle).unwrap(), "rested");
        assert_eq!(event_loop.now() - start, SECOND * 2, "the task has gone on");
    }

    #[test]
    fn run_sync_returns_in_time_or_fails() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let in_time = runtime.run_sync(sleep_and_return(&event_loop, SECOND, 1), SECOND * 2);
        assert_eq!(in_time.unwrap(), 1);
        let timed_out = runtime.run_sync(pending::<()>(), SECOND).unwrap_err();
        assert_eq!(timed_out.kind(), std::io::ErrorKind::TimedOut);
        assert_eq!(event_loop.pending_timers(), 0);
        let no_limit = runtime.run_sync(async { 2 }, Duration::MAX);
        assert_eq!(no_limit.unwrap(), 2, "beyond the end of the clock is no limit");
    }
}

mod invalid_states {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[test]
    fn a_task_that_awaits_itself_gets_an_error() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let own: Rc<RefCell<Option<Task<()>>>> = Rc::default();
        let outcome: Future<Result<(), Exception>> = Future::new(&event_loop);
        let task = {
            let (own, outcome) = (Rc::clone(&own), outcome.clone());
            Task::spawn(&event_loop, async move {
                let own = own.borrow_mut().take().unwrap();
                outcome.set_result(own.await).unwrap();
            })
        };
        own.replace(Some(task.clone()));
        run(&runtime, task).unwrap();
        let outcome = outcome.result().unwrap();
        assert!(matches!(outcome, Err(Exception::InvalidState(InvalidState::AwaitsItself))));
    }

    #[test]
    fn awaiting_a_future_of_another_loop_is_an_error() {
        let (runtime, other) = (virtual_loop(), virtual_loop());
        let foreign = Future::<()>::new(other.event_loop());
        let outcome = run(&runtime, foreign.clone());
        assert!(matches!(outcome, Err(Exception::InvalidState(InvalidState::OtherLoop))));
        foreign.set_result(()).unwrap();
        run(&runtime, foreign).expect("a result that is there is there for everybody");
    }

    #[test]
    fn running_a_loop_within_a_loop_is_an_error() {
        let (runtime, other) = (virtual_loop(), virtual_loop());
        let nested = async {
            [&runtime, &other].map(|inner| inner.run_until_complete(async {}).unwrap_err().kind())
        };
        assert_eq!(run(&runtime, nested), [std::io::ErrorKind::ResourceBusy; 2]);
        run(&other, async {});
    }

    #[test]
    fn a_result_can_be_read_only_once_it_is_set() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let future = Future::<u32>::new(&event_loop);
        let too_early = future.result().unwrap_err();
        assert!(matches!(too_early, Exception::InvalidState(InvalidState::Pending)));
        assert!(future.exception().is_err());
        assert!(future.take_result().is_none());
        future.set_result(1).unwrap();
        assert_eq!(future.set_exception("late"), Err(InvalidState::Done));
        assert!(!future.cancel());
        assert!(future.exception().unwrap().is_none());
        assert_eq!(run(&runtime, future.clone()).unwrap(), 1);
        assert!(future.done());
        let taken = future.result().unwrap_err();
        assert!(matches!(taken, Exception::InvalidState(InvalidState::Taken)));
        assert!(run(&runtime, future).is_err());
    }

    #[test]
    fn an_exception_is_copied_to_every_caller() {
        let runtime = virtual_loop();
        let event_loop = runtime.event_loop().clone();
        let cancelled = Future::<u32>::new(&event_loop);
        cancelled.cancel();
        let failed = Future::<u32>::new(&event_loop);
        failed.set_exception("bad").unwrap();
        for _ in 0..2 {
            assert!(is_cancelled(&run(&runtime, cancelled.clone())));
            assert!(cancelled.cancelled());
            assert_eq!(failed.take_result().unwrap().unwrap_err().to_string(), "bad");
            assert!(failed.exception().unwrap().is_some());
        }
    }
}

#[test]
fn gathering_what_belongs_to_another_loop_is_an_error() {
    let (here, there) = (virtual_loop(), virtual_loop());
    let event_loop = here.event_loop();
    let foreign = || -> Future<()> { Future::new(there.event_loop()) };
    let result = here.run_until_complete(gather(event_loop, [foreign()])).unwrap();
    assert!(matches!(result, Err(Exception::InvalidState(InvalidState::OtherLoop))));
    let wait = wait_for(event_loop, foreign(), Duration::from_secs(1));
    let result = here.run_until_complete(wait).unwrap();
    assert!(matches!(result, Err(Exception::InvalidState(InvalidState::OtherLoop))));
}
