//! What the random programs do not show.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::Rc;
use std::time::Duration;

use asyncio::prelude::*;
use asyncio::{ExceptionGroup, TaskGroup, TaskGroupClosed, Timeout, timeout};
use stage2_coroutines::{
    Elapsed, Exception, Future, Inspect, InvalidState, Task, sleep, virtual_runtime, yield_now,
};
use test_support::event_loops::{run, virtual_loop};

const SECOND: Duration = Duration::from_secs(1);

fn texts(exception: &Exception) -> Vec<String> {
    let group = ExceptionGroup::of(exception).expect("it is a group");
    group.exceptions().iter().map(Exception::to_string).collect()
}

#[test]
fn a_group_returns_what_its_body_returns() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let sum = TaskGroup::run(event_loop, async |group| {
        let one = group.create_task(async { Ok::<_, Exception>(1) })?;
        let two = group.create_task(async { Ok::<_, Exception>(2) })?;
        Ok::<_, Exception>(one.await? + two.await?)
    });
    assert_eq!(run(&runtime, sum).unwrap(), 3);
    assert_eq!(event_loop.all_tasks().len(), 0);
}

#[test]
fn a_group_lists_its_errors_in_the_order_in_which_they_were_raised() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let failing = TaskGroup::run(event_loop, async |group| {
        for name in ["first", "second"] {
            group.create_task(async move { Err::<(), _>(name) })?;
        }
        Err::<(), Exception>(asyncio::raised("the body"))
    });
    let exception = run(&runtime, failing).unwrap_err();
    // The body failed before the tasks took a step.
    assert_eq!(texts(&exception), ["the body"]);

    let failing = TaskGroup::run(event_loop, async |group| {
        for name in ["first", "second"] {
            group.create_task(async move { Err::<(), _>(name) })?;
        }
        pending::<Result<(), Exception>>().await
    });
    let exception = run(&runtime, failing).unwrap_err();
    assert_eq!(texts(&exception), ["first", "second"]);
    assert_eq!(exception.to_string(), "errors in a task group: first; second");
}

#[test]
fn a_panic_of_a_task_is_an_error_of_its_group() {
    let runtime = virtual_loop();
    let failing = TaskGroup::run(runtime.event_loop(), async |group| {
        group.create_task(async {
            if true {
                panic!("a bug");
            }
            Ok::<(), Exception>(())
        })?;
        Ok::<_, Exception>(())
    });
    assert_eq!(texts(&run(&runtime, failing).unwrap_err()), ["panicked: a bug"]);
}

#[test]
fn the_errors_of_a_group_count_as_retrieved() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let reports = Rc::new(Cell::new(0));
    let heard = Rc::clone(&reports);
    event_loop.set_exception_handler(move |_| heard.set(heard.get() + 1));
    let failing = TaskGroup::run(event_loop, async |group| {
        group.create_task(async { Err::<(), _>("oops") })?;
        Ok::<_, Exception>(())
    });
    assert!(run(&runtime, failing).is_err());
    drop(runtime);
    assert_eq!(reports.get(), 0);
}

#[test]
fn a_body_that_returns_a_cancellation_cancels_the_tasks_and_passes_it_on() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let future: Future<()> = Future::new(event_loop);
    future.cancel();
    let child = RefCell::new(None);
    let cancelled = TaskGroup::run(event_loop, async |group| {
        let task = group.create_task(pending::<Result<(), Exception>>())?;
        child.replace(Some(task));
        future.await
    });
    assert!(run(&runtime, cancelled).unwrap_err().is_cancelled());
    assert!(child.take().unwrap().cancelled());
}

#[test]
fn dropping_a_group_cancels_its_tasks() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let parent = Task::spawn(&event_loop, async move {
        TaskGroup::run(&inside, async |group| {
            group.create_task(pending::<Result<(), Exception>>())?;
            pending::<Result<(), Exception>>().await
        })
        .await
    });
    run(&runtime, yield_now(&event_loop));
    run(&runtime, yield_now(&event_loop));
    assert_eq!(event_loop.all_tasks().len(), 2);
    parent.cancel();
    assert_eq!(event_loop.all_tasks().len(), 0);
}

#[test]
fn a_group_that_is_about_to_end_takes_no_task() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let kept = RefCell::new(None);
    let refused = Rc::new(Cell::new(None));
    struct OnDrop(TaskGroup, Rc<Cell<Option<TaskGroupClosed>>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            let created = self.0.create_task(async { Ok::<(), Exception>(()) });
            self.1.set(created.err());
        }
    }
    let failing = TaskGroup::run(event_loop, async |group| {
        kept.replace(Some(group.clone()));
        let last_wish = OnDrop(group.clone(), Rc::clone(&refused));
        group.create_task(async move {
            let _last_wish = last_wish;
            pending::<Result<(), Exception>>().await
        })?;
        yield_now(event_loop).await;
        group.create_task(async { Err::<(), _>("oops") })?;
        Ok::<(), Exception>(())
    });
    assert!(run(&runtime, failing).is_err());
    assert_eq!(refused.get(), Some(TaskGroupClosed));
    let late = kept.take().unwrap().create_task(async { Ok::<(), Exception>(()) });
    assert_eq!(late.unwrap_err(), TaskGroupClosed);
    assert_eq!(Exception::from(TaskGroupClosed).to_string(), TaskGroupClosed.to_string());
}

#[test]
fn tasks_of_a_group_may_create_others_after_the_body_has_ended() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Rc::new(RefCell::new(Vec::new()));
    let start = event_loop.now();
    let (clock, inner_log) = (event_loop.clone(), Rc::clone(&log));
    let grown = TaskGroup::run(&event_loop, async |group| {
        let inside = group.clone();
        group.create_task(async move {
            sleep(&clock, SECOND).await;
            inside.create_task(async move {
                sleep(&clock, SECOND).await;
                inner_log.borrow_mut().push("the last one");
                Ok::<(), Exception>(())
            })?;
            Ok::<(), Exception>(())
        })?;
        Ok::<(), Exception>(())
    });
    run(&runtime, grown).unwrap();
    assert_eq!(*log.borrow(), ["the last one"]);
    assert_eq!(event_loop.now() - start, SECOND * 2);
}

#[test]
fn a_body_that_could_go_on_does_not_after_a_task_has_failed() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let went_on = Cell::new(false);
    let future: Future<()> = Future::new(event_loop);
    let resolver = future.clone();
    let failing = TaskGroup::run(event_loop, async |group| {
        group.create_task(async { Err::<(), _>("oops") })?;
        group.create_task(async move { resolver.set_result(()) })?;
        future.await?;
        went_on.set(true);
        Ok::<(), Exception>(())
    });
    assert_eq!(texts(&run(&runtime, failing).unwrap_err()), ["oops"]);
    assert!(!went_on.get());
}

#[test]
fn a_block_of_no_time_runs_to_its_first_wait() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let at_once = timeout(event_loop, Some(Duration::ZERO), async |_| 7);
    assert_eq!(run(&runtime, at_once), Ok(7));
    let begun = Cell::new(false);
    let waits = timeout(event_loop, Some(Duration::ZERO), async |_| {
        begun.set(true);
        yield_now(event_loop).await;
    });
    assert_eq!(run(&runtime, waits), Err(Elapsed));
    assert!(begun.get());
}

#[test]
fn the_deadline_can_be_moved_from_elsewhere_and_not_after_the_end() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let start = event_loop.now();
    let kept: Rc<RefCell<Option<Timeout>>> = Rc::default();
    let mover = Rc::clone(&kept);
    event_loop.call_later(SECOND, move || {
        let sooner = start + 2 * SECOND;
        mover.borrow().as_ref().unwrap().reschedule(Some(sooner)).unwrap();
    });
    let block = timeout(event_loop, None, async |timeout| {
        assert_eq!(timeout.when(), None);
        kept.replace(Some(timeout));
        pending::<()>().await;
    });
    assert_eq!(run(&runtime, block), Err(Elapsed));
    assert_eq!(event_loop.now() - start, 2 * SECOND);
    let ended = kept.take().unwrap();
    assert!(ended.expired());
    assert_eq!(ended.when(), Some(start + 2 * SECOND));
    assert_eq!(ended.reschedule(None), Err(InvalidState::Done));
}

#[test]
fn a_deadline_that_is_moved_into_the_past_ends_the_block_at_its_next_wait() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop();
    let steps = Cell::new(0);
    let block = timeout(event_loop, None, async |timeout| {
        timeout.reschedule(Some(event_loop.now())).unwrap();
        steps.set(1);
        sleep(event_loop, SECOND).await;
        steps.set(2);
    });
    let start = event_loop.now();
    assert_eq!(run(&runtime, block), Err(Elapsed));
    assert_eq!((steps.get(), event_loop.now() - start), (1, Duration::ZERO));
}

#[test]
fn of_blocks_with_the_same_deadline_the_outermost_ends() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let was_inner = Cell::new(false);
    let nested = timeout(event_loop, Some(SECOND), async |_| {
        let inner = timeout(event_loop, Some(SECOND), async |_| pending::<()>().await);
        assert_eq!(inner.await, Err(Elapsed));
        was_inner.set(true);
    });
    assert_eq!(run(&runtime, nested), Err(Elapsed));
    assert!(!was_inner.get());
}

#[test]
fn the_inner_of_two_blocks_ends_alone() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop();
    let nested = timeout(event_loop, Some(2 * SECOND), async |outer| {
        let inner = timeout(event_loop, Some(SECOND), async |_| pending::<()>().await);
        (inner.await, outer.expired())
    });
    assert_eq!(run(&runtime, nested), Ok((Err(Elapsed), false)));
}
