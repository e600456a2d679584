//! A trace by its public interface.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use trace::{Event, OS, RUN_QUEUE, SELECTOR, Trace, Tracer};

/// Returns the trace of what `run` does.
fn traced(limit: usize, run: impl FnOnce()) -> Trace {
    let tracer = Tracer::new(limit);
    let guard = tracer.enter();
    run();
    drop(guard);
    tracer.take()
}

fn unnamed() -> (Option<String>, Option<trace::At>) {
    (None, None)
}

#[test]
fn without_a_tracer_no_event_is_even_made() {
    assert!(!trace::is_on());
    trace::emit(|| unreachable!("nothing is traced"));
    let trace = traced(10, || assert!(trace::is_on()));
    assert!(!trace::is_on() && trace.records.is_empty());
    trace::emit(|| unreachable!("nothing is traced any more"));
}

#[test]
fn a_trace_is_bounded_and_tells_how_much_is_missing() {
    let trace = traced(3, || {
        trace::step_begin(1, unnamed);
        (0..10).for_each(|number| trace::emit(|| Event::TickBegin { number }));
        // Its beginning would be before the step.
        trace::fetch_begin("http://a.test/");
        trace::step_end(None, "done");
        for id in 2..100 {
            trace::step_begin(id, unnamed);
            trace::step_end(None, "done");
        }
    });
    assert_eq!((trace.records.len(), trace.dropped), (3, 10 + 2 * 98));
    assert_eq!(trace.tasks.len(), 1, "a task that begins later has no lane");
}

#[test]
fn a_thread_writes_to_the_trace_that_it_has_entered() {
    let tracer = Tracer::new(10);
    let guard = tracer.enter();
    let current = trace::current().unwrap();
    std::thread::spawn(move || {
        let _guard = current.enter();
        let _lane = trace::enter_lane(0, Some("thread"));
        trace::emit(|| Event::Close { key: 7 });
    })
    .join()
    .unwrap();
    let current = trace::current().unwrap();
    std::thread::spawn(move || {
        for key in [8, 9] {
            current.enter_thread("thread");
            trace::emit(|| Event::Close { key });
        }
    })
    .join()
    .unwrap();
    std::thread::spawn(|| trace::emit(|| unreachable!("it has entered none"))).join().unwrap();
    drop(guard);
    let trace = tracer.take();
    let lanes: Vec<u32> = trace.records.iter().map(|record| record.lane).collect();
    assert_eq!(lanes, [4, 5, 5], "a thread has one lane");
    assert_eq!(trace.records[0].event, Event::Close { key: 7 });
    assert!(trace.tasks.iter().all(|task| task.name.as_deref() == Some("thread")));
}

/// The spans of a lane are nested, although a fetch begins and ends in the middle of a
/// step.
#[test]
fn a_fetch_contains_the_steps_of_its_task() {
    let trace = traced(100, || {
        trace::step_begin(1, unnamed);
        trace::fetch_begin("http://a.test/");
        trace::step_end(None, "pending");
        trace::step_begin(1, unnamed);
        trace::fetch_end("http://a.test/", Some(200), || "page");
        trace::fetch_begin("http://b.test/");
        trace::step_end(None, "pending");
        trace::fetch_end("http://b.test/", None, || "failed");
        // What no fetch has begun is no end of one.
        trace::fetch_end("http://c.test/", None, || "skipped");
    });
    let short = |event: &Event| match event {
        Event::StepBegin => "step {".to_owned(),
        Event::StepEnd { .. } => "} step".to_owned(),
        Event::FetchBegin { url } => format!("{url} {{"),
        Event::FetchEnd { url, .. } => format!("}} {url}"),
        other => format!("{other:?}"),
    };
    let events: Vec<String> = trace.records.iter().map(|record| short(&record.event)).collect();
    let expected = [
        "http://a.test/ {",
        "step {",
        "} step",
        "step {",
        "} step",
        "} http://a.test/",
        "http://b.test/ {",
        "} http://b.test/",
    ];
    assert_eq!(events, expected);
    assert!(trace.records.iter().all(|record| record.lane == RUN_QUEUE + 1));
    assert_eq!(trace.tasks[0].name.as_deref(), Some("fetch http://a.test/"));
}

#[test]
fn a_wake_up_tells_its_cause() {
    let trace = traced(100, || {
        trace::step_begin(1, unnamed);
        trace::step_end(None, "pending");
        trace::emit(|| Event::SelectEnd { ready: 1 });
        trace::wake(1);
        trace::timer_fired(0);
        trace::wake(1);
        trace::by_threads();
        trace::wake(1);
        trace::step_begin(2, unnamed);
        trace::wake(1);
        trace::step_end(None, "done");
        trace::closure(trace::wake)(1);
    });
    let causes = trace.records.iter().filter_map(|record| match record.event {
        Event::Wake { by, from } => Some((by, from)),
        _ => None,
    });
    let expected =
        [("event", None), ("timer", None), ("thread", None), ("task", Some(5)), ("callback", None)];
    assert_eq!(causes.collect::<Vec<_>>(), expected);
}

#[test]
fn a_task_that_another_one_cancels_is_over() {
    let trace = traced(100, || {
        trace::step_begin(1, unnamed);
        trace::step_end(None, "pending");
        trace::step_begin(2, unnamed);
        trace::cancelled(1);
        // It has taken no step.
        trace::cancelled(3);
        trace::step_end(None, "done");
    });
    let results = trace.records.iter().filter_map(|record| match record.event {
        Event::StepEnd { result, .. } => Some((record.lane, result)),
        _ => None,
    });
    let expected =
        [(RUN_QUEUE + 1, "pending"), (RUN_QUEUE + 1, "cancelled"), (RUN_QUEUE + 2, "done")];
    assert_eq!(results.collect::<Vec<_>>(), expected);
    assert_eq!(trace.tasks.len(), 2);
}

#[test]
fn a_callback_ends_before_a_timer_fires() {
    let trace = traced(100, || {
        trace::callback(&"state", "state", Some(9));
        trace::timer_fired(0);
        trace::closure(());
        trace::timer_fired(1);
        trace::emit(|| Event::TickEnd);
    });
    let names: Vec<&str> = trace
        .records
        .iter()
        .map(|record| match record.event {
            Event::CallbackBegin { .. } => "begin",
            Event::CallbackEnd => "end",
            Event::TimerFired { .. } => "timer",
            _ => "tick",
        })
        .collect();
    assert_eq!(names, ["begin", "end", "timer", "begin", "end", "timer", "tick"]);
}

/// As `call_later` does: it wakes what is no task, and takes no step.
#[test]
fn a_callback_that_a_timer_calls_has_no_lane_of_its_own() {
    let trace = traced(100, || {
        trace::timer_fired(0);
        trace::wake(1);
        trace::closure(());
        trace::emit(|| Event::TickEnd);
    });
    assert_eq!(trace.tasks, []);
    assert_eq!(trace.records[1].event, Event::Wake { by: "timer", from: None });
    // The wake-up, and the callback that it leads to.
    assert_eq!([1, 2].map(|index| trace.records[index].lane), [RUN_QUEUE; 2]);
}

/// The destructor of a task panics when the task has ended.
#[test]
fn a_panic_after_the_end_of_a_step_is_not_that_of_the_next() {
    let trace = traced(100, || {
        trace::step_begin(1, unnamed);
        trace::step_end(None, "done");
        trace::panicked();
        trace::step_begin(2, unnamed);
        trace::step_end(None, "pending");
        trace::step_begin(2, unnamed);
        trace::panicked();
        trace::step_end(None, "done");
    });
    let results = trace.records.iter().filter_map(|record| match record.event {
        Event::StepEnd { result, .. } => Some(result),
        _ => None,
    });
    assert_eq!(results.collect::<Vec<_>>(), ["done", "pending", "panicked"]);
}

#[test]
fn a_timer_that_is_cancelled_and_set_at_once_is_moved() {
    let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(1));
    let trace = traced(100, || {
        trace::timer_set(1, now);
        trace::timer_cancelled(1, || true);
        trace::timer_cancelled(7, || false);
        trace::timer_set(2, later);
        trace::timer_cancelled(2, || true);
    });
    let events: Vec<Event> = trace.records.into_iter().map(|record| record.event).collect();
    let expected = [
        Event::TimerSet { timer: 1, at: now },
        Event::TimerMoved { timer: 2, from: 1, at: later },
        Event::TimerCancelled { timer: 2 },
    ];
    assert_eq!(events, expected);
}

/// A callback lasts until the next one begins, or the loop waits.
#[test]
fn a_callback_is_on_the_lane_of_its_fetch() {
    let fetcher = Box::new("state");
    let trace = traced(100, || {
        let lane = trace::enter_fetch(&*fetcher, "http://a.test/");
        trace::callback_stored(&*fetcher, true, || 9);
        drop(lane);
        trace::callback(&*fetcher, "fetcher", Some(9));
        trace::emit(|| Event::Read { key: 9, result: Ok(1) });
        trace::closure(());
        trace::emit(|| Event::TickEnd);
    });
    let lanes: Vec<u32> = trace.records.iter().map(|record| record.lane).collect();
    // Fetch, waker; callback, read, end; callback, end; tick.
    assert_eq!(lanes, [4, 4, 4, OS, 4, RUN_QUEUE, RUN_QUEUE, SELECTOR]);
    assert_eq!(trace.records[3].task, 4);
}

#[test]
fn a_clock_that_is_told_makes_the_times_the_same_every_time() {
    let start = Instant::now();
    let trace = traced(100, || {
        trace::set_time(start);
        trace::emit(|| Event::TickEnd);
        trace::set_time(start + Duration::from_secs(5));
        trace::emit(|| Event::TickEnd);
    });
    let times: Vec<Duration> = trace.records.iter().map(|record| record.time).collect();
    assert_eq!(times, [Duration::ZERO, Duration::from_secs(5)]);
}
