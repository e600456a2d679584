//! Where is everybody? And what went wrong while nobody looked?
#![allow(clippy::unwrap_used, missing_docs)]

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

use selector_core::{Os, VirtualTime};
use stage2_coroutines::{
    Complaint, Coroutine, EventLoop, Future, Task, TaskInfo, Wait, connect, look_up, read, sleep,
    write_all, yield_now,
};
use transport::{Layer, system_look_up};

const SECOND: Duration = Duration::from_secs(1);

fn virtual_loop() -> EventLoop {
    EventLoop::in_world(VirtualTime::new(), Arc::new(system_look_up))
}

fn run<T>(event_loop: &EventLoop, coroutine: impl Coroutine<Output = T>) -> T {
    event_loop.run_until_complete(coroutine).unwrap()
}

/// Spawns what is known by a name, since that is how the tests find it.
#[track_caller]
fn spawn(event_loop: &EventLoop, name: &str, coroutine: impl Coroutine<Output = ()> + 'static) {
    drop(Task::spawn(event_loop, coroutine).named(name));
}

fn find(event_loop: &EventLoop, name: &str) -> TaskInfo {
    let tasks = event_loop.all_tasks();
    let found = tasks.into_iter().find(|task| task.name.as_deref() == Some(name));
    found.unwrap_or_else(|| panic!("there is no task {name}"))
}

/// On a loop with sockets, where time is real: runs until this task waits in
/// this way.
fn run_until_it_waits(event_loop: &EventLoop, name: &str, waits: fn(Wait) -> bool) -> TaskInfo {
    let watchdog = event_loop.now() + SECOND * 10;
    run(event_loop, async {
        loop {
            let task = find(event_loop, name);
            if waits(task.wait) {
                return task;
            }
            assert!(event_loop.now() < watchdog, "{task}");
            yield_now(event_loop).await;
        }
    })
}

fn complaints(event_loop: &EventLoop) -> Rc<RefCell<Vec<String>>> {
    let heard: Rc<RefCell<Vec<String>>> = Rc::default();
    let log = Rc::clone(&heard);
    event_loop.set_exception_handler(move |complaint| log.borrow_mut().push(complaint.to_string()));
    heard
}

#[test]
fn a_task_tells_its_name_and_where_it_was_spawned() {
    let event_loop = virtual_loop();
    let named = Task::spawn(&event_loop, sleep_for(&event_loop, 1)).named("the sleeper");
    let spawned_on = line!() - 1;
    let nameless = Task::spawn(&event_loop, sleep_for(&event_loop, 1));
    assert_eq!(event_loop.all_tasks().len(), 2);

    let info = named.get_stack().unwrap();
    assert_eq!(info.key, named.key());
    assert_eq!(info.name.as_deref(), Some("the sleeper"));
    assert_eq!(info.spawned.file(), file!());
    assert_eq!(info.spawned.line(), spawned_on);
    assert_eq!(info.wait, Wait::Nothing, "it has not begun");
    assert_eq!(nameless.get_stack().unwrap().name, None);

    run(&event_loop, sleep(&event_loop, SECOND * 2));
    assert!(named.get_stack().is_none(), "it is done");
    assert!(event_loop.all_tasks().is_empty());
}

fn sleep_for(event_loop: &EventLoop, seconds: u32) -> impl Coroutine<Output = ()> + use<> {
    let event_loop = event_loop.clone();
    async move { sleep(&event_loop, SECOND * seconds).await }
}

#[test]
fn callbacks_are_not_tasks() {
    let event_loop = virtual_loop();
    event_loop.call_later(SECOND, || ());
    assert!(event_loop.all_tasks().is_empty());
}

#[test]
fn a_sleeper_tells_until_when_since_when_and_where() {
    let event_loop = virtual_loop();
    let inside = event_loop.clone();
    let slept_on = line!() + 2;
    spawn(&event_loop, "sleeper", async move {
        sleep(&inside, SECOND * 60).await;
    });
    run(&event_loop, sleep(&event_loop, SECOND * 20));
    let task = find(&event_loop, "sleeper");
    assert_eq!(task.wait, Wait::Sleep(60_000));
    assert_eq!(task.waiting, "sleeping for another 40s");
    assert_eq!(task.waited, SECOND * 20);
    let at = task.at.unwrap();
    assert_eq!((at.file(), at.line()), (file!(), slept_on));
}

#[test]
fn who_sleeps_again_sleeps_anew() {
    let event_loop = virtual_loop();
    let inside = event_loop.clone();
    spawn(&event_loop, "sleeper", async move {
        loop {
            sleep(&inside, SECOND * 10).await;
        }
    });
    run(&event_loop, sleep(&event_loop, SECOND * 25));
    assert_eq!(find(&event_loop, "sleeper").waited, SECOND * 5);
}

#[test]
fn who_waits_for_a_future_or_a_task_says_for_which() {
    let event_loop = virtual_loop();
    let future = Future::<()>::new(&event_loop);
    spawn(&event_loop, "for a future", async move { future.await.unwrap() });
    let slow = Task::spawn(&event_loop, sleep_for(&event_loop, 60)).named("slow");
    let slow_key = slow.key();
    spawn(&event_loop, "for a task", async move { slow.await.unwrap() });
    run(&event_loop, sleep(&event_loop, SECOND * 7));

    let task = find(&event_loop, "for a future");
    assert_eq!(task.wait, Wait::Future);
    assert_eq!(task.waiting, "waiting for a future");
    assert_eq!(task.waited, SECOND * 7);
    let task = find(&event_loop, "for a task");
    assert_eq!(task.wait, Wait::Task(slow_key));
    assert_eq!(task.waiting, "waiting for task slow");
}

/// Waits and does not say for what; its waker is left for the test.
fn silent(waker: &Rc<Cell<Option<Waker>>>) -> impl Coroutine<Output = ()> + use<> {
    let waker = Rc::clone(waker);
    poll_fn(move |context| {
        waker.set(Some(context.waker().clone()));
        Poll::Pending
    })
}

#[test]
fn what_one_waits_for_is_not_noted_of_the_next() {
    let event_loop = virtual_loop();
    let waker = Rc::default();
    let inside = event_loop.clone();
    spawn(&event_loop, "waits and returns", async move {
        let mut sleep = pin!(sleep(&inside, SECOND));
        let once = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context)));
        assert!(once.await.is_pending());
    });
    spawn(&event_loop, "silent", silent(&waker));
    run(&event_loop, async {
        yield_now(&event_loop).await;
        assert_eq!(find(&event_loop, "silent").wait, Wait::Nothing);
        // It comes before the next step of this one, and after the yield.
        waker.take().unwrap().wake();
        yield_now(&event_loop).await;
        assert!(waker.take().is_some());
        assert_eq!(find(&event_loop, "silent").wait, Wait::Nothing);
    });
}

#[test]
fn a_spurious_wake_does_not_begin_the_wait_anew() {
    let event_loop = virtual_loop();
    let future = Future::<()>::new(&event_loop);
    let inside = event_loop.clone();
    // Every second its timer wakes it, and what it waits for is not there.
    spawn(&event_loop, "patient", async move {
        let start = inside.now();
        let deadline = || inside.now().max(start + SECOND * 9) + SECOND;
        let _ = stage2_coroutines::within(&inside, deadline, future).await;
    });
    run(&event_loop, sleep(&event_loop, SECOND * 5));
    assert_eq!(find(&event_loop, "patient").waited, SECOND * 5);
}

#[test]
fn a_reader_and_a_writer_tell_the_address_of_their_peer() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap();
    let event_loop = EventLoop::new().unwrap();
    let inside = event_loop.clone();
    let read_on = line!() + 3;
    spawn(&event_loop, "reader", async move {
        let mut connection = connect(&inside, address, plain()).await.unwrap();
        read(&mut connection, |_| ()).await.unwrap();
    });
    let inside = event_loop.clone();
    spawn(&event_loop, "writer", async move {
        let mut connection = connect(&inside, address, plain()).await.unwrap();
        // More than any system buffers for a peer who does not read.
        write_all(&mut connection, &vec![0; 32 * 1024 * 1024]).await.unwrap();
    });
    let reader = run_until_it_waits(&event_loop, "reader", |wait| matches!(wait, Wait::Read(_)));
    assert_eq!(reader.waiting, format!("reading from {address}"));
    let at = reader.at.unwrap();
    assert_eq!((at.file(), at.line()), (file!(), read_on));
    let writer = run_until_it_waits(&event_loop, "writer", |wait| matches!(wait, Wait::Write(_)));
    assert_eq!(writer.waiting, format!("writing to {address}"));

    let mut text = Vec::new();
    event_loop.print_tasks(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("2 tasks\n"), "{text}");
    let line =
        format!("task reader, spawned at {}, reading from {address} at {at}", reader.spawned);
    assert!(text.contains(&line), "{text}");
    event_loop.close();
}

fn plain() -> Layer {
    Layer::plain()
}

#[test]
fn who_connects_tells_to_whom() {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = server.local_addr().unwrap();
    let event_loop = EventLoop::new().unwrap();
    let inside = event_loop.clone();
    let connect_on = line!() + 2;
    spawn(&event_loop, "connects", async move {
        connect(&inside, address, plain()).await.unwrap();
    });
    // Not even a connection to oneself is made before the loop has looked.
    let observed = event_loop.clone();
    let observer = Task::spawn(&event_loop, async move { find(&observed, "connects") });
    let task = run(&event_loop, observer).unwrap();
    assert_eq!(task.waiting, format!("connecting to {address}"));
    let at = task.at.unwrap();
    assert_eq!((at.file(), at.line()), (file!(), connect_on));
    event_loop.close();
}

#[test]
fn who_looks_up_a_name_says_so() {
    let (answer, blocked) = channel::<SocketAddr>();
    let blocked = Mutex::new(blocked);
    // Gives up on its own when the test has ended without an answer.
    let look_up_blocks = move |_: &str, _: u16| {
        let blocked = blocked.lock().unwrap();
        let answer = blocked.recv_timeout(SECOND * 10);
        answer.map(|address| vec![address]).map_err(std::io::Error::other)
    };
    let event_loop = EventLoop::in_world(Os::new().unwrap(), Arc::new(look_up_blocks));
    let inside = event_loop.clone();
    let found: Rc<RefCell<Option<SocketAddr>>> = Rc::default();
    let result = Rc::clone(&found);
    let asked_on = line!() + 2;
    let task = Task::spawn(&event_loop, async move {
        let addresses = look_up(&inside, "example.test", 80).await.unwrap();
        result.replace(Some(addresses[0]));
    })
    .named("asks");
    let info = run_until_it_waits(&event_loop, "asks", |wait| wait == Wait::LookUp);
    assert_eq!(info.waiting, "looking up a name");
    assert_eq!((info.at.unwrap().file(), info.at.unwrap().line()), (file!(), asked_on));

    answer_with(&answer, 7);
    run(&event_loop, task).unwrap();
    assert_eq!(*found.borrow(), Some(address(7)));
}

fn address(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

fn answer_with(answer: &Sender<SocketAddr>, port: u16) {
    answer.send(address(port)).unwrap();
}

#[test]
fn a_task_describes_itself_in_one_line() {
    let event_loop = virtual_loop();
    let task = Task::spawn(&event_loop, sleep_for(&event_loop, 2)).named("nap");
    run(&event_loop, sleep(&event_loop, SECOND));
    let mut text = Vec::new();
    task.print_stack(&mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let here = file!();
    assert!(text.starts_with(&format!("task nap, spawned at {here}:")), "{text}");
    assert!(text.contains(&format!(", sleeping for another 1s at {here}:")), "{text}");
    assert!(text.ends_with(" for 1.0s\n"), "{text}");

    run(&event_loop, sleep(&event_loop, SECOND * 2));
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
    let error = virtual_loop().print_tasks(&mut Full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
}

#[test]
fn the_current_task_is_the_one_whose_turn_it_is() {
    let event_loop = virtual_loop();
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move { inside.current_task() });
    let key = task.key();
    let (of_task, of_main) = run(&event_loop, async { (task.await, event_loop.current_task()) });
    assert_eq!(of_task.unwrap(), Some(key));
    assert_eq!(of_main, None, "the main coroutine is no task");
    assert_eq!(event_loop.current_task(), None);
}

#[test]
fn a_loop_closed_too_early_complains_about_each_task_it_destroys() {
    let event_loop = virtual_loop();
    let heard = complaints(&event_loop);
    spawn(&event_loop, "forgotten", sleep_for(&event_loop, 60));
    let cancelled = Task::spawn(&event_loop, sleep_for(&event_loop, 60));
    drop(Task::spawn(&event_loop, async {}));
    run(&event_loop, sleep(&event_loop, SECOND));
    cancelled.cancel();
    event_loop.close();
    let heard = heard.take();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("destroyed but pending: task forgotten, spawned at"), "{heard:?}");
    assert!(heard[0].contains("sleeping for another 59s"), "{heard:?}");
}

#[test]
fn an_exception_nobody_looked_at_is_complained_about_once() {
    let event_loop = virtual_loop();
    let heard = complaints(&event_loop);
    drop(Task::spawn(&event_loop, async { panic!("unseen") }));
    let future = Future::<()>::new(&event_loop);
    future.set_exception("unheard").unwrap();
    drop(future);
    run(&event_loop, sleep(&event_loop, SECOND));
    let expected = [
        "exception was never retrieved: unheard",
        "exception was never retrieved: panicked: unseen",
    ];
    assert_eq!(heard.take(), expected);
}

#[test]
fn there_is_no_complaint_when_somebody_looked_or_it_was_cancelled() {
    let event_loop = virtual_loop();
    let heard = complaints(&event_loop);
    let failed = || {
        let future = Future::<()>::new(&event_loop);
        future.set_exception("seen").unwrap();
        future
    };
    assert!(failed().result().is_err());
    assert!(failed().exception().unwrap().is_some());
    assert!(failed().take_result().unwrap().is_err());
    assert!(run(&event_loop, failed()).is_err());
    let cancelled = Future::<()>::new(&event_loop);
    cancelled.cancel();
    drop(cancelled);
    let resolved = Future::new(&event_loop);
    resolved.set_result(()).unwrap();
    drop((resolved, Future::<()>::new(&event_loop)));
    assert!(heard.borrow().is_empty(), "{heard:?}");
}

#[test]
fn asking_whether_is_not_looking_at_it_and_neither_is_asking_too_early() {
    let event_loop = virtual_loop();
    let heard = complaints(&event_loop);
    let future = Future::<()>::new(&event_loop);
    assert!(future.result().is_err() && future.exception().is_err(), "too early");
    future.set_exception("unseen").unwrap();
    assert!(future.done() && !future.cancelled());
    drop(future);
    assert_eq!(heard.take(), ["exception was never retrieved: unseen"]);
}

#[test]
fn the_last_handler_is_the_one_that_hears() {
    let event_loop = virtual_loop();
    let first = complaints(&event_loop);
    let kinds: Rc<RefCell<Vec<&str>>> = Rc::default();
    let log = Rc::clone(&kinds);
    event_loop.set_exception_handler(move |complaint| {
        log.borrow_mut().push(match complaint {
            Complaint::TaskDestroyed(_) => "task destroyed",
            Complaint::ExceptionNeverRetrieved(_) => "never retrieved",
            Complaint::Panicked(_) => "callback panicked",
        });
    });
    event_loop.call_soon(|| panic!("in a callback"));
    drop(Task::spawn(&event_loop, async { panic!("in a task") }));
    spawn(&event_loop, "forgotten", std::future::pending());
    run(&event_loop, sleep(&event_loop, SECOND));
    event_loop.close();
    assert!(first.borrow().is_empty());
    assert_eq!(kinds.take(), ["callback panicked", "never retrieved", "task destroyed"]);
}
