//! Structured inspection of tasks, and the errors for the exception handler.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::pin;
use std::rc::Rc;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use asyncio::prelude::*;
use selector_core::OsBackend;
use stage2_coroutines::{
    Coroutine, EventLoop, Future, Inspect, InspectTask, LoopError, Runtime, Task, TaskInfo, Wait,
    connect, lookup, read, runtime_on, sleep, system_runtime, write_all, yield_now,
};
use test_support::event_loops::{run, virtual_loop};
use transport::TlsLayer;

const SECOND: Duration = Duration::from_secs(1);

/// Spawns a task with a name, by which the tests find it.
#[track_caller]
fn spawn(event_loop: &EventLoop, name: &str, coroutine: impl Coroutine<Output = ()> + 'static) {
    drop(Task::spawn(event_loop, coroutine).named(name));
}

fn find(event_loop: &EventLoop, name: &str) -> TaskInfo {
    let tasks = event_loop.all_tasks();
    let task = tasks.into_iter().find(|task| task.name.as_deref() == Some(name));
    task.unwrap_or_else(|| panic!("there is no task {name}"))
}

/// Runs a loop with real sockets and real time until this task waits in this
/// way.
fn run_until_it_waits(runtime: &Runtime, name: &str, waits: fn(Wait) -> bool) -> TaskInfo {
    let event_loop = runtime.event_loop();
    let watchdog = event_loop.now() + SECOND * 10;
    run(runtime, async {
        loop {
            let task = find(event_loop, name);
            if task.wait.is_some_and(waits) {
                return task;
            }
            assert!(event_loop.now() < watchdog, "{task}");
            yield_now(event_loop).await;
        }
    })
}

fn loop_errors(event_loop: &EventLoop) -> Rc<RefCell<Vec<String>>> {
    let errors: Rc<RefCell<Vec<String>>> = Rc::default();
    let log = Rc::clone(&errors);
    event_loop.set_exception_handler(move |error| log.borrow_mut().push(error.to_string()));
    errors
}

#[test]
fn a_task_shows_its_name_and_the_place_of_its_spawn() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let named = Task::spawn(&event_loop, sleep_for(&event_loop, 1)).named("the sleeper");
    let spawn_line = line!() - 1;
    let nameless = Task::spawn(&event_loop, sleep_for(&event_loop, 1));
    assert_eq!(event_loop.all_tasks().len(), 2);

    let info = named.get_stack().unwrap();
    assert_eq!(info.key, named.key());
    assert_eq!(info.name.as_deref(), Some("the sleeper"));
    assert_eq!(info.spawned.file(), file!());
    assert_eq!(info.spawned.line(), spawn_line);
    assert_eq!(info.wait, None, "it has not begun");
    assert_eq!(nameless.get_stack().unwrap().name, None);

    run(&runtime, sleep(&event_loop, SECOND * 2));
    assert!(named.get_stack().is_none(), "it is done");
    assert!(event_loop.all_tasks().is_empty());
}

fn sleep_for(event_loop: &EventLoop, seconds: u32) -> impl Coroutine<Output = ()> + use<> {
    let event_loop = event_loop.clone();
    async move { sleep(&event_loop, SECOND * seconds).await }
}

#[test]
fn callbacks_are_not_tasks() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    event_loop.call_later(SECOND, || ());
    assert!(event_loop.all_tasks().is_empty());
}

#[test]
fn a_sleeping_task_shows_the_end_the_start_and_the_place_of_its_sleep() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let (inside, begun) = (event_loop.clone(), event_loop.now());
    let sleep_line = line!() + 2;
    spawn(&event_loop, "sleeper", async move {
        sleep(&inside, SECOND * 60).await;
    });
    run(&runtime, sleep(&event_loop, SECOND * 20));
    let task = find(&event_loop, "sleeper");
    assert_eq!(task.wait, Some(Wait::Sleep(Some(begun + SECOND * 60))));
    assert_eq!(task.waiting, "sleeping for another 40s");
    assert_eq!(task.waited, SECOND * 20);
    let at = task.at.unwrap();
    assert_eq!((at.file(), at.line()), (file!(), sleep_line));
}

#[test]
fn a_second_sleep_starts_a_new_wait() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    spawn(&event_loop, "sleeper", async move {
        loop {
            sleep(&inside, SECOND * 10).await;
        }
    });
    run(&runtime, sleep(&event_loop, SECOND * 25));
    assert_eq!(find(&event_loop, "sleeper").waited, SECOND * 5);
}

#[test]
fn a_task_that_awaits_a_future_or_a_task_shows_it() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::<()>::new(&event_loop);
    spawn(&event_loop, "for a future", async move { future.await.unwrap() });
    let slow = Task::spawn(&event_loop, sleep_for(&event_loop, 60)).named("slow");
    let slow_key = slow.key();
    spawn(&event_loop, "for a task", async move { slow.await.unwrap() });
    run(&runtime, sleep(&event_loop, SECOND * 7));

    let task = find(&event_loop, "for a future");
    assert_eq!(task.wait, Some(Wait::Future));
    assert_eq!(task.waiting, "waiting for a future");
    assert_eq!(task.waited, SECOND * 7);
    let task = find(&event_loop, "for a task");
    assert_eq!(task.wait, Some(Wait::Task(slow_key)));
    assert_eq!(task.waiting, "waiting for task slow");
}

/// Waits without recording the wait, and leaves its waker for the test.
fn wait_without_a_record(waker: &Rc<Cell<Option<Waker>>>) -> impl Coroutine<Output = ()> + use<> {
    let waker = Rc::clone(waker);
    poll_fn(move |context| {
        waker.set(Some(context.waker().clone()));
        Poll::Pending
    })
}

#[test]
fn the_wait_of_one_task_is_not_recorded_for_the_next() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waker = Rc::default();
    let inside = event_loop.clone();
    spawn(&event_loop, "waits and returns", async move {
        let mut sleep = pin!(sleep(&inside, SECOND));
        let once = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context)));
        assert!(once.await.is_pending());
    });
    spawn(&event_loop, "silent", wait_without_a_record(&waker));
    run(&runtime, async {
        yield_now(&event_loop).await;
        assert_eq!(find(&event_loop, "silent").wait, None);
        // It takes its step after the yield, and before the next step of this
        // coroutine.
        waker.take().unwrap().wake();
        yield_now(&event_loop).await;
        assert!(waker.take().is_some());
        assert_eq!(find(&event_loop, "silent").wait, None);
    });
}

#[test]
fn a_spurious_wake_does_not_begin_the_wait_anew() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::<()>::new(&event_loop);
    let inside = event_loop.clone();
    // Its timer wakes it every second, while its future stays pending.
    spawn(&event_loop, "patient", async move {
        let start = inside.now();
        let deadline = || inside.now().max(start + SECOND * 9) + SECOND;
        let _ = stage2_coroutines::timeout_at(&inside, deadline, future).await;
    });
    run(&runtime, sleep(&event_loop, SECOND * 5));
    assert_eq!(find(&event_loop, "patient").waited, SECOND * 5);
}

#[test]
fn a_reading_and_a_writing_task_show_the_address_of_their_peer() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap();
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let read_line = line!() + 3;
    spawn(&event_loop, "reader", async move {
        let mut connection = connect(&inside, address, plain()).await.unwrap();
        read(&mut connection, |_| ()).await.unwrap();
    });
    let inside = event_loop.clone();
    spawn(&event_loop, "writer", async move {
        let mut connection = connect(&inside, address, plain()).await.unwrap();
        // More than any system buffers for a peer that does not read.
        write_all(&mut connection, &vec![0; 32 * 1024 * 1024]).await.unwrap();
    });
    let reader = run_until_it_waits(&runtime, "reader", |wait| matches!(wait, Wait::Read(_)));
    assert_eq!(reader.waiting, format!("reading from {address}"));
    let at = reader.at.unwrap();
    assert_eq!((at.file(), at.line()), (file!(), read_line));
    let writer = run_until_it_waits(&runtime, "writer", |wait| matches!(wait, Wait::Write(_)));
    assert_eq!(writer.waiting, format!("writing to {address}"));

    let mut text = Vec::new();
    event_loop.print_tasks(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("2 tasks\n"), "{text}");
    let line =
        format!("task reader, spawned at {}, reading from {address} at {at}", reader.spawned);
    assert!(text.contains(&line), "{text}");
    drop(runtime);
}

fn plain() -> TlsLayer {
    TlsLayer::plain()
}

#[test]
fn a_connecting_task_shows_the_address() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap();
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let connect_line = line!() + 2;
    spawn(&event_loop, "connects", async move {
        connect(&inside, address, plain()).await.unwrap();
    });
    // Even a local connection is not reported before the next tick.
    let observed = event_loop.clone();
    let observer = Task::spawn(&event_loop, async move { find(&observed, "connects") });
    let task = run(&runtime, observer).unwrap();
    assert_eq!(task.waiting, format!("connecting to {address}"));
    let at = task.at.unwrap();
    assert_eq!((at.file(), at.line()), (file!(), connect_line));
    drop(runtime);
}

#[test]
fn a_task_that_looks_up_a_name_shows_it() {
    let (answer, blocked) = channel::<SocketAddr>();
    let blocked = Mutex::new(blocked);
    // Times out by itself if the test has ended without an answer.
    let blocking_lookup = move |_: &str, _: u16| {
        let blocked = blocked.lock().unwrap();
        let answer = blocked.recv_timeout(SECOND * 10);
        answer.map(|address| vec![address]).map_err(std::io::Error::other)
    };
    let runtime = runtime_on(OsBackend::new().unwrap(), Arc::new(blocking_lookup));
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let resolved: Rc<RefCell<Option<SocketAddr>>> = Rc::default();
    let result = Rc::clone(&resolved);
    let lookup_line = line!() + 2;
    let task = Task::spawn(&event_loop, async move {
        let addresses = lookup(&inside, "example.test", 80).await.unwrap();
        result.replace(Some(addresses[0]));
    })
    .named("asks");
    let info = run_until_it_waits(&runtime, "asks", |wait| wait == Wait::Lookup);
    assert_eq!(info.waiting, "looking up a name");
    assert_eq!((info.at.unwrap().file(), info.at.unwrap().line()), (file!(), lookup_line));

    answer_with(&answer, 7);
    run(&runtime, task).unwrap();
    assert_eq!(*resolved.borrow(), Some(address(7)));
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn answer_with(answer: &Sender<SocketAddr>, port: u16) {
    answer.send(address(port)).unwrap();
}

#[test]
fn a_task_describes_itself_in_one_line() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let task = Task::spawn(&event_loop, sleep_for(&event_loop, 2)).named("nap");
    run(&runtime, sleep(&event_loop, SECOND));
    let mut text = Vec::new();
    task.print_stack(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let here = file!();
    assert!(text.starts_with(&format!("task nap, spawned at {here}:")), "{text}");
    assert!(text.contains(&format!(", sleeping for another 1s at {here}:")), "{text}");
    assert!(text.ends_with(" for 1.0s\n"), "{text}");

    run(&runtime, sleep(&event_loop, SECOND * 2));
    let mut text = Vec::new();
    task.print_stack(&mut text).unwrap();
    assert_eq!(text, b"the task is done\n");
}

#[test]
fn a_writer_that_fails_is_an_error_and_no_panic() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = virtual_loop().event_loop().print_tasks(&mut Full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn the_current_task_is_the_one_that_takes_a_step() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move { inside.current_task() });
    let key = task.key();
    let (of_task, of_main) = run(&runtime, async { (task.await, event_loop.current_task()) });
    assert_eq!(of_task.unwrap(), Some(key));
    assert_eq!(of_main, None, "the main coroutine is no task");
    assert_eq!(event_loop.current_task(), None);
}

#[test]
fn closing_a_loop_reports_each_pending_task() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let errors = loop_errors(&event_loop);
    spawn(&event_loop, "forgotten", sleep_for(&event_loop, 60));
    let cancelled = Task::spawn(&event_loop, sleep_for(&event_loop, 60));
    drop(Task::spawn(&event_loop, async {}));
    run(&runtime, sleep(&event_loop, SECOND));
    cancelled.cancel();
    drop(runtime);
    let errors = errors.take();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(
        errors[0].starts_with("destroyed but pending: task forgotten, spawned at"),
        "{errors:?}"
    );
    assert!(errors[0].contains("sleeping for another 59s"), "{errors:?}");
}

#[test]
fn an_exception_that_is_never_retrieved_is_reported_once() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let errors = loop_errors(&event_loop);
    drop(Task::spawn(&event_loop, async { panic!("unseen") }));
    let future = Future::<()>::new(&event_loop);
    future.set_exception("unheard").unwrap();
    drop(future);
    run(&runtime, sleep(&event_loop, SECOND));
    let expected = [
        "exception was never retrieved: unheard",
        "exception was never retrieved: panicked: unseen",
    ];
    assert_eq!(errors.take(), expected);
}

#[test]
fn a_retrieved_exception_and_a_cancellation_are_not_reported() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let errors = loop_errors(&event_loop);
    let failed = || {
        let future = Future::<()>::new(&event_loop);
        future.set_exception("seen").unwrap();
        future
    };
    assert!(failed().result().is_err());
    assert!(failed().exception().unwrap().is_some());
    assert!(failed().take_result().unwrap().is_err());
    assert!(run(&runtime, failed()).is_err());
    let cancelled = Future::<()>::new(&event_loop);
    cancelled.cancel();
    drop(cancelled);
    let resolved = Future::new(&event_loop);
    resolved.set_result(()).unwrap();
    drop((resolved, Future::<()>::new(&event_loop)));
    assert!(errors.borrow().is_empty(), "{errors:?}");
}

#[test]
fn a_test_of_the_state_and_an_early_call_do_not_retrieve_the_exception() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let errors = loop_errors(&event_loop);
    let future = Future::<()>::new(&event_loop);
    assert!(future.result().is_err() && future.exception().is_err(), "too early");
    future.set_exception("unseen").unwrap();
    assert!(future.done() && !future.cancelled());
    drop(future);
    assert_eq!(errors.take(), ["exception was never retrieved: unseen"]);
}

#[test]
fn only_the_last_exception_handler_is_called() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let first = loop_errors(&event_loop);
    let kinds: Rc<RefCell<Vec<&str>>> = Rc::default();
    let log = Rc::clone(&kinds);
    event_loop.set_exception_handler(move |error| {
        log.borrow_mut().push(match error {
            LoopError::TaskDestroyed(_) => "task destroyed",
            LoopError::ExceptionNeverRetrieved(_) => "never retrieved",
            LoopError::Panicked(_) => "callback panicked",
        });
    });
    event_loop.call_soon(|| panic!("in a callback"));
    drop(Task::spawn(&event_loop, async { panic!("in a task") }));
    spawn(&event_loop, "forgotten", std::future::pending());
    run(&runtime, sleep(&event_loop, SECOND));
    drop(runtime);
    assert!(first.borrow().is_empty());
    assert_eq!(kinds.take(), ["callback panicked", "never retrieved", "task destroyed"]);
}
