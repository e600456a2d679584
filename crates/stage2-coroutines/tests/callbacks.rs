//! Functions that the loop calls: in which order, when, and from where.
#![allow(clippy::unwrap_used, missing_docs)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::io::ErrorKind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use selector_core::VirtualTime;
use stage2_coroutines::{Complaint, Coroutine, EventLoop, Future, Task, sleep};
use transport::system_look_up;

const SECOND: Duration = Duration::from_secs(1);

fn virtual_loop() -> EventLoop {
    EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up))
}

fn run<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) -> T {
    event_loop.run_until_complete(coroutine).unwrap()
}

/// Remembers what happened, in order.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<String>>>);

impl Log {
    fn add(&self, line: impl Into<String>) {
        self.0.borrow_mut().push(line.into());
    }

    /// A callback that adds this line.
    fn adder(&self, line: &str) -> impl FnOnce() + use<> {
        let (log, line) = (self.clone(), line.to_owned());
        move || log.add(line)
    }

    fn take(&self) -> Vec<String> {
        self.0.take()
    }
}

fn complaints(event_loop: &EventLoop) -> Log {
    let log = Log::default();
    let heard = log.clone();
    event_loop.set_exception_handler(move |complaint: &Complaint| heard.add(complaint.to_string()));
    log
}

#[test]
fn soon_means_in_the_order_of_asking_with_tasks_among_them() {
    let event_loop = virtual_loop();
    let log = Log::default();
    event_loop.call_soon(log.adder("first"));
    let task_log = log.clone();
    let task = Task::spawn(&event_loop, async move { task_log.add("second, a task") });
    event_loop.call_soon(log.adder("third"));
    let (again, later_log) = (event_loop.clone(), log.clone());
    event_loop.call_soon(move || {
        later_log.add("fourth");
        again.call_soon(later_log.adder("sixth, asked for by the fourth"));
    });
    event_loop.call_soon(log.adder("fifth"));
    run(&event_loop, sleep(&event_loop, SECOND));
    run(&event_loop, task).unwrap();
    let expected =
        ["first", "second, a task", "third", "fourth", "fifth", "sixth, asked for by the fourth"];
    assert_eq!(log.take(), expected);
}

#[test]
fn later_means_in_the_order_of_the_clock() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let start = event_loop.now();
    event_loop.call_later(SECOND * 2, log.adder("two seconds"));
    event_loop.call_later(SECOND, log.adder("one second"));
    event_loop.call_at(start + SECOND, log.adder("one second, asked for second"));
    event_loop.call_at(start, log.adder("at once"));
    event_loop.call_later(Duration::ZERO, log.adder("in no time"));
    event_loop.call_later(Duration::MAX, log.adder("never"));
    run(&event_loop, sleep(&event_loop, SECOND * 3));
    let expected =
        ["at once", "in no time", "one second", "one second, asked for second", "two seconds"];
    assert_eq!(log.take(), expected);
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn a_callback_comes_at_its_time_and_not_before() {
    let event_loop = virtual_loop();
    let start = event_loop.now();
    let called: Rc<Cell<Option<Duration>>> = Rc::default();
    let (clock, when) = (event_loop.clone(), Rc::clone(&called));
    event_loop.call_later(SECOND * 5, move || when.set(Some(clock.now() - start)));
    run(&event_loop, sleep(&event_loop, SECOND * 4));
    assert_eq!(called.get(), None);
    run(&event_loop, sleep(&event_loop, SECOND * 4));
    assert_eq!(called.get(), Some(SECOND * 5));
}

#[test]
fn what_is_taken_back_is_not_called_and_leaves_nothing() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let alive = Rc::new(());
    let held = Rc::clone(&alive);
    let soon = event_loop.call_soon(log.adder("soon"));
    let later = event_loop.call_later(SECOND, move || drop(held));
    let again = later.clone();
    soon.cancel();
    later.cancel();
    again.cancel();
    assert_eq!(Rc::strong_count(&alive), 1, "the callback is gone, not only mute");
    assert_eq!((event_loop.pending_timers(), event_loop.pending_tasks()), (0, 0));
    run(&event_loop, sleep(&event_loop, SECOND * 2));
    assert!(log.take().is_empty());
}

#[test]
fn taking_back_what_was_called_hits_nobody_else() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let called = event_loop.call_soon(log.adder("called"));
    run(&event_loop, sleep(&event_loop, SECOND));
    // In the place that the first one had.
    event_loop.call_soon(log.adder("its successor"));
    called.cancel();
    run(&event_loop, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["called", "its successor"]);
}

#[test]
fn a_callback_may_take_itself_back_and_whoever_comes_after_it() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let handles: Rc<RefCell<Vec<stage2_coroutines::Handle>>> = Rc::default();
    let (taken, first_log) = (Rc::clone(&handles), log.clone());
    let first = event_loop.call_soon(move || {
        first_log.add("first");
        taken.borrow().iter().for_each(stage2_coroutines::Handle::cancel);
    });
    let second = event_loop.call_soon(log.adder("second"));
    handles.borrow_mut().extend([first, second]);
    run(&event_loop, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["first"]);
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn a_panic_is_complained_about_and_harms_nobody() {
    let event_loop = virtual_loop();
    let log = complaints(&event_loop);
    event_loop.call_soon(|| panic!("oops"));
    event_loop.call_soon(log.adder("the next one"));
    let future = Future::new(&event_loop);
    future.add_done_callback(|_| panic!("oops again"));
    future.set_result(()).unwrap();
    run(&event_loop, sleep(&event_loop, SECOND));
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
fn a_done_callback_is_taken_back_once() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let future = Future::new(&event_loop);
    let add = |line: &str| {
        let call = log.adder(line);
        future.add_done_callback(move |_| call())
    };
    let (first, second, third) = (add("first"), add("second"), add("third"));
    assert_eq!(future.remove_done_callback(second), 1);
    assert_eq!(future.remove_done_callback(second), 0);
    future.set_result(()).unwrap();
    assert_eq!(future.remove_done_callback(first), 0, "it is about to be called");
    run(&event_loop, sleep(&event_loop, SECOND));
    assert_eq!(future.remove_done_callback(third), 0);
    assert_eq!(log.take(), ["first", "third"]);
}

#[test]
fn another_thread_calls_through_a_remote() {
    // On real sockets: the loop really sleeps, and the call wakes it.
    let event_loop = EventLoop::new().unwrap();
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
    // Should the calls not come, this ends the wait and the test fails.
    let watchdog = event_loop.call_later(SECOND * 10, {
        let event_loop = event_loop.clone();
        move || event_loop.stop()
    });
    event_loop.run_forever().unwrap();
    watchdog.cancel();
    thread.join().unwrap();
    let calls: Vec<_> = receiver.try_iter().collect();
    assert_eq!(calls, [(0, here), (1, here), (2, here)]);
}

#[test]
fn a_remote_call_that_panics_is_complained_about() {
    let event_loop = virtual_loop();
    let log = complaints(&event_loop);
    let remote = event_loop.remote();
    thread::spawn(move || remote.call_soon(|_| panic!("from afar"))).join().unwrap();
    run(&event_loop, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["exception in a callback or destructor: panicked: from afar"]);
}

#[test]
fn nothing_comes_of_a_remote_call_to_a_closed_loop() {
    let event_loop = virtual_loop();
    let remote = event_loop.remote();
    let alive = Arc::new(());
    let [before, after] = [Arc::clone(&alive), Arc::clone(&alive)];
    remote.call_soon(move |_| drop(before));
    event_loop.close();
    remote.call_soon(move |_| drop(after));
    assert_eq!(Arc::strong_count(&alive), 1, "dropped, the waiting one and the late one");
}

#[test]
fn a_loop_runs_until_it_is_stopped() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let (stops, stop_log) = (event_loop.clone(), log.clone());
    event_loop.call_later(SECOND, move || {
        stops.stop();
        // Whoever is woken after this waits for the next run.
        stops.call_soon(stop_log.adder("after"));
    });
    event_loop.call_later(SECOND, log.adder("in the same round"));
    event_loop.run_forever().unwrap();
    assert_eq!(log.take(), ["in the same round"]);
    run(&event_loop, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["after"]);
}

#[test]
fn a_loop_stopped_before_the_coroutine_is_done_says_so() {
    let event_loop = virtual_loop();
    let stops = event_loop.clone();
    event_loop.call_soon(move || stops.stop());
    let error = event_loop.run_until_complete(pending::<()>()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Other);
    assert!(error.to_string().contains("stopped"), "{error}");
    run(&event_loop, sleep(&event_loop, SECOND));
}

#[test]
fn a_panic_of_the_main_coroutine_ends_the_run_and_loses_nobody_elses_turn() {
    let event_loop = virtual_loop();
    let log = Log::default();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut is_first = true;
        event_loop.run_until_complete(poll_fn(|context| {
            assert!(std::mem::take(&mut is_first), "the main coroutine panics");
            // In the next round its own turn comes first, and then this.
            context.waker().wake_by_ref();
            event_loop.call_soon(log.adder("whose turn it was"));
            Poll::<()>::Pending
        }))
    }));
    assert!(caught.is_err());
    assert!(log.take().is_empty());
    run(&event_loop, sleep(&event_loop, SECOND));
    assert_eq!(log.take(), ["whose turn it was"]);
}
