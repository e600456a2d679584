//! Callbacks: their order, their time, and calls from other threads.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use asyncio::prelude::*;
use selector_core::VirtualClock;
use stage2_coroutines::{
    EventLoop, Future, Inspect, LoopError, Observer, Runtime, Task, sleep, system_runtime,
};
use test_support::event_loops::{run, virtual_loop};

const SECOND: Duration = Duration::from_secs(1);

/// A log of events, in order.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    /// Returns a callback that adds this line.
    fn push_later(&self, line: &str) -> impl FnOnce() + use<> {
        let (log, line) = (self.clone(), line.to_owned());
        move || log.add(line)
    }

    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

fn loop_errors(event_loop: &EventLoop) -> Log {
    let log = Log::default();
    let handler_log = log.clone();
    event_loop.set_exception_handler(move |error: &LoopError| handler_log.add(error.to_string()));
    log
}

/// The way of asyncio to run one round.
#[test]
fn a_run_that_is_to_stop_at_once_looks_at_sockets_and_timers() {
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    event_loop.call_later(Duration::ZERO, log.push_later("a timer"));
    event_loop.stop();
    runtime.run_forever().unwrap();
    assert_eq!(log.take(), ["a timer"]);
}

#[test]
fn a_handler_that_panics_ends_nothing() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let handler_log = log.clone();
    event_loop.set_exception_handler(move |error| {
        handler_log.add("called");
        panic!("{error}");
    });
    event_loop.call_soon(|| panic!("a callback"));
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["called"]);
}

#[test]
fn call_soon_runs_callbacks_and_tasks_in_the_order_of_the_calls() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    event_loop.call_soon(log.push_later("first"));
    let task_log = log.clone();
    let task = Task::spawn(&event_loop, async move { task_log.add("second, a task") });
    event_loop.call_soon(log.push_later("third"));
    let (again, later_log) = (event_loop.clone(), log.clone());
    event_loop.call_soon(move || {
        later_log.add("fourth");
        again.call_soon(later_log.push_later("sixth, asked for by the fourth"));
    });
    event_loop.call_soon(log.push_later("fifth"));
    run(&runtime, sleep(&event_loop, SECOND));
    run(&runtime, task).unwrap();
    let expected =
        ["first", "second, a task", "third", "fourth", "fifth", "sixth, asked for by the fourth"];
    assert_eq!(log.take(), expected);
}

#[test]
fn call_later_runs_callbacks_in_the_order_of_their_times() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let start = event_loop.now();
    event_loop.call_later(SECOND * 2, log.push_later("two seconds"));
    event_loop.call_later(SECOND, log.push_later("one second"));
    event_loop.call_at(start + SECOND, log.push_later("one second, asked for second"));
    event_loop.call_at(start, log.push_later("at once"));
    event_loop.call_later(Duration::ZERO, log.push_later("in no time"));
    event_loop.call_later(Duration::MAX, log.push_later("never"));
    run(&runtime, sleep(&event_loop, SECOND * 3));
    let expected =
        ["at once", "in no time", "one second", "one second, asked for second", "two seconds"];
    assert_eq!(log.take(), expected);
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn a_callback_is_called_at_its_time_and_not_before() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let start = event_loop.now();
    let called: Rc<Cell<Option<Duration>>> = Rc::default();
    let (clock, when) = (event_loop.clone(), Rc::clone(&called));
    event_loop.call_later(SECOND * 5, move || when.set(Some(clock.now() - start)));
    run(&runtime, sleep(&event_loop, SECOND * 4));
    assert_eq!(called.get(), None);
    run(&runtime, sleep(&event_loop, SECOND * 4));
    assert_eq!(called.get(), Some(SECOND * 5));
}

#[test]
fn a_cancelled_callback_is_not_called_and_leaves_nothing_behind() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let alive = Rc::new(());
    let held = Rc::clone(&alive);
    let soon = event_loop.call_soon(log.push_later("soon"));
    let later = event_loop.call_later(SECOND, move || drop(held));
    let again = later.clone();
    soon.cancel();
    later.cancel();
    again.cancel();
    assert_eq!(Rc::strong_count(&alive), 1, "the callback is gone, not only mute");
    assert_eq!((event_loop.pending_timers(), event_loop.pending_tasks()), (0, 0));
    run(&runtime, sleep(&event_loop, SECOND * 2));
    assert!(log.take().is_empty());
}

#[test]
fn cancelling_a_called_callback_does_not_cancel_its_successor() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let called = event_loop.call_soon(log.push_later("called"));
    run(&runtime, sleep(&event_loop, SECOND));
    // It gets the slot that the first one had.
    event_loop.call_soon(log.push_later("its successor"));
    called.cancel();
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["called", "its successor"]);
}

#[test]
fn a_callback_may_cancel_itself_and_the_next_one() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let handles: Rc<RefCell<Vec<asyncio::CallbackHandle>>> = Rc::default();
    let (taken, first_log) = (Rc::clone(&handles), log.clone());
    let first = event_loop.call_soon(move || {
        first_log.add("first");
        taken.borrow().iter().for_each(asyncio::CallbackHandle::cancel);
    });
    let second = event_loop.call_soon(log.push_later("second"));
    handles.borrow_mut().extend([first, second]);
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["first"]);
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn a_panic_in_a_callback_is_reported_and_the_next_callback_runs() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = loop_errors(&event_loop);
    event_loop.call_soon(|| panic!("oops"));
    event_loop.call_soon(log.push_later("the next one"));
    let future = Future::new(&event_loop);
    future.add_done_callback(|_| panic!("oops again"));
    future.set_result(()).unwrap();
    run(&runtime, sleep(&event_loop, SECOND));
    let expected = [
        "exception in a callback or destructor: panicked: oops",
        "the next one",
        "exception in a callback or destructor: panicked: oops again",
    ];
    assert_eq!(log.take(), expected);
    assert_eq!(event_loop.pending_tasks(), 0);
    assert_eq!(event_loop.current_task(), None);
}

#[test]
fn a_done_callback_is_removed_once() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let future = Future::new(&event_loop);
    let add = |line: &str| {
        let call = log.push_later(line);
        future.add_done_callback(move |_| call())
    };
    let (first, second, third) = (add("first"), add("second"), add("third"));
    assert_eq!(future.remove_done_callback(second), 1);
    assert_eq!(future.remove_done_callback(second), 0);
    future.set_result(()).unwrap();
    assert_eq!(future.remove_done_callback(first), 0, "it is about to be called");
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(future.remove_done_callback(third), 0);
    assert_eq!(log.take(), ["first", "third"]);
}

#[test]
fn another_thread_calls_through_a_remote() {
    // On a real selector: the loop really sleeps, and the call wakes it.
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let remote = event_loop.remote();
    let here = thread::current().id();
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || {
        for number in 0..3 {
            let sender = sender.clone();
            remote.call_soon(move |event_loop| {
                sender.send((number, thread::current().id())).unwrap();
                if number == 2 {
                    event_loop.stop();
                }
            });
        }
    });
    // If the calls do not come, this ends the wait, and the test fails.
    let watchdog = event_loop.call_later(SECOND * 10, {
        let event_loop = event_loop.clone();
        move || event_loop.stop()
    });
    runtime.run_forever().unwrap();
    watchdog.cancel();
    thread.join().unwrap();
    let calls: Vec<_> = receiver.try_iter().collect();
    assert_eq!(calls, [(0, here), (1, here), (2, here)]);
}

#[test]
fn a_remote_call_that_panics_is_reported_and_the_next_one_is_made() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = loop_errors(&event_loop);
    let remote = event_loop.remote();
    let (sender, receiver) = channel();
    let calls = move || {
        remote.call_soon(|_| panic!("from afar"));
        remote.call_soon(move |_| sender.send("next").unwrap());
    };
    thread::spawn(calls).join().unwrap();
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["exception in a callback or destructor: panicked: from afar"]);
    assert_eq!(receiver.try_recv(), Ok("next"));
}

#[test]
fn a_remote_call_to_a_closed_loop_is_dropped() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let remote = event_loop.remote();
    let alive = Arc::new(());
    let [before, after] = [Arc::clone(&alive), Arc::clone(&alive)];
    remote.call_soon(move |_| drop(before));
    drop(runtime);
    remote.call_soon(move |_| drop(after));
    assert_eq!(Arc::strong_count(&alive), 1, "dropped, the waiting one and the late one");
}

#[test]
fn run_forever_runs_until_the_loop_is_stopped() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let (stops, stop_log) = (event_loop.clone(), log.clone());
    event_loop.call_later(SECOND, move || {
        stops.stop();
        // A task that is woken after this waits for the next run.
        stops.call_soon(stop_log.push_later("after"));
    });
    event_loop.call_later(SECOND, log.push_later("in the same round"));
    runtime.run_forever().unwrap();
    assert_eq!(log.take(), ["in the same round"]);
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["after"]);
}

#[test]
fn run_until_complete_fails_if_the_loop_is_stopped_first() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let stops = event_loop.clone();
    event_loop.call_soon(move || stops.stop());
    let error = runtime.run_until_complete(pending::<()>()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(error.to_string().contains("stopped"), "{error}");
    run(&runtime, sleep(&event_loop, SECOND));
}

#[test]
fn a_panic_of_the_main_coroutine_ends_the_run_and_keeps_the_run_queue() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Log::default();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let mut is_first = true;
        runtime.run_until_complete(poll_fn(|context| {
            if !std::mem::take(&mut is_first) {
                event_loop.call_soon(log.push_later("woken later"));
                panic!("the main coroutine panics");
            }
            // In the next batch its own step comes first, and then this.
            context.waker().wake_by_ref();
            event_loop.call_soon(log.push_later("whose turn it was"));
            Poll::<()>::Pending
        }))
    }));
    assert!(caught.is_err());
    assert_eq!(log.take(), ["whose turn it was"], "the batch is finished");
    run(&runtime, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["woken later"]);
}

/// A stop ends one run, even if a panic goes through the loop in the same batch.
#[test]
fn a_panic_that_goes_through_a_loop_that_stops_stops_no_later_run() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    event_loop.call_soon({
        let event_loop = event_loop.clone();
        move || event_loop.stop()
    });
    let run_all = || runtime.run_until_complete(async { panic!("in the same batch") });
    assert!(catch_unwind(AssertUnwindSafe(run_all)).is_err());
    run(&runtime, sleep(&event_loop, SECOND));
}

/// An observer that ends the run when something panics, for programs that want no task
/// to go on then.
#[derive(Default)]
struct StopAtPanic {
    has_panicked: Cell<bool>,
}

impl Observer for StopAtPanic {
    fn panicked(&self) {
        self.has_panicked.set(true);
    }

    fn batch_ends(&self, event_loop: &EventLoop) {
        if self.has_panicked.get() {
            event_loop.stop();
        }
    }

    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any)) {
        visit(self);
    }
}

#[test]
fn a_panic_goes_through_the_loop_if_an_observer_stops_it() {
    let runtime = Runtime::with(VirtualClock::new(), StopAtPanic::default());
    let event_loop = runtime.event_loop().clone();
    let observer: &StopAtPanic = event_loop.observer().unwrap();
    let log = Log::default();
    let panics: Task<()> = Task::spawn(&event_loop, async { panic!("an exit") });
    event_loop.call_soon(log.push_later("the rest of the batch"));
    let run_all = || {
        let result = runtime.run_until_complete(sleep(&event_loop, SECOND));
        if observer.has_panicked.take() {
            panic!("{}", panics.exception().unwrap().unwrap());
        }
        result
    };
    let caught = catch_unwind(AssertUnwindSafe(run_all)).unwrap_err();
    assert_eq!(caught.downcast_ref::<String>().unwrap(), "panicked: an exit");
    assert_eq!(log.take(), ["the rest of the batch"]);

    event_loop.call_soon(|| panic!("in a callback"));
    runtime.run_until_complete(sleep(&event_loop, SECOND)).expect_err("the loop was stopped");
    assert!(observer.has_panicked.take());
    // The loop can be run again, and nothing of it is lost.
    run(&runtime, sleep(&event_loop, SECOND));
}

#[test]
fn a_closed_loop_takes_no_callback() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let before = event_loop.call_later(SECOND, || panic!("called"));
    assert!(before.is_pending());
    drop(runtime);
    assert!(!before.is_pending());
    let alive = Rc::new(());
    let [soon, later, at] = [0; 3].map(|_| Rc::clone(&alive));
    assert!(!event_loop.call_soon(move || drop(soon)).is_pending());
    assert!(!event_loop.call_later(SECOND, move || drop(later)).is_pending());
    assert!(!event_loop.call_at(event_loop.now(), move || drop(at)).is_pending());
    assert_eq!(Rc::strong_count(&alive), 1, "dropped at once");
}

#[test]
fn a_callback_is_pending_until_it_is_called_or_cancelled() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let [called, cancelled] = [0; 2].map(|_| event_loop.call_later(SECOND, || ()));
    cancelled.cancel();
    assert!(called.is_pending() && !cancelled.is_pending());
    run(&runtime, sleep(&event_loop, SECOND * 2));
    assert!(!called.is_pending());
}
