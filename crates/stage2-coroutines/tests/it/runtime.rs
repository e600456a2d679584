//! The runtime: tasks, futures, wakers, time and connections.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use asyncio::prelude::*;
use stage2_coroutines::{
    Coroutine, Elapsed, EventLoop, Exception, Future, Inspect, InvalidState, Task, sleep,
    system_runtime, timeout_at, yield_now,
};
use test_support::event_loops::{run, virtual_loop};

/// Suspends once, and leaves the waker in a cell for the test.
async fn suspend(waker: &Cell<Option<Waker>>) {
    let mut is_first = true;
    poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            waker.set(Some(context.waker().clone()));
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

#[test]
fn a_future_is_resolved_once_and_calls_back_in_order() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::new(&event_loop);
    let calls = Rc::new(RefCell::new(Vec::new()));
    for name in ["first", "second"] {
        let calls = Rc::clone(&calls);
        future.add_done_callback(move |_| calls.borrow_mut().push(name));
    }
    assert!(!future.done());
    future.set_result(7).unwrap();
    assert_eq!(future.set_result(8), Err(InvalidState::Done));
    let late = Rc::clone(&calls);
    future.add_done_callback(move |_| late.borrow_mut().push("late"));
    assert!(calls.borrow().is_empty(), "never called in place");
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert_eq!(*calls.borrow(), ["first", "second", "late"]);
    assert_eq!(future.result().unwrap(), 7);
    assert_eq!(future.take_result().unwrap().unwrap(), 7);
    assert!(future.take_result().is_none());
    assert!(future.done());
}

/// A waker that counts its calls, and belongs to no task.
#[derive(Default)]
struct Count(AtomicU64);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_future_wakes_all_wakers_that_are_stored_in_it() {
    let runtime = virtual_loop();
    let future = Future::new(runtime.event_loop());
    let counts: [Arc<Count>; 5] = Default::default();
    for count in &counts {
        let waker = Waker::from(Arc::clone(count));
        assert!(pin!(future.clone()).poll(&mut Context::from_waker(&waker)).is_pending());
    }
    future.set_result(()).unwrap();
    assert_eq!(counts.map(|count| count.0.load(Ordering::Relaxed)), [1; 5]);
}

#[test]
fn awaiting_a_resolved_future_does_not_suspend() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let future = Future::new(&event_loop);
    future.set_result("there").unwrap();
    assert_eq!(run(&runtime, future).unwrap(), "there");
    assert_eq!(event_loop.stats().polls, 1);
}

#[test]
fn tasks_run_in_the_order_in_which_they_were_spawned() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let order = Rc::new(RefCell::new(Vec::new()));
    let tasks: Vec<_> = (0..3)
        .map(|n| {
            let order = Rc::clone(&order);
            Task::spawn(&event_loop, async move {
                order.borrow_mut().push(n);
                n * 10
            })
        })
        .collect();
    let results = run(&runtime, async {
        let mut results = Vec::new();
        for task in tasks {
            results.push(task.await.unwrap());
        }
        results
    });
    assert_eq!(*order.borrow(), [0, 1, 2]);
    assert_eq!(results, [0, 10, 20]);
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn a_wake_from_another_thread_ends_the_wait() {
    // On a real selector: the loop really sleeps.
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let (sender, receiver) = channel::<Waker>();
    let thread = thread::spawn(move || {
        let waker = receiver.recv().unwrap();
        thread::sleep(Duration::from_millis(30));
        waker.wake();
    });
    let mut is_first = true;
    let watchdog = Duration::from_secs(5);
    let deadline = Instant::now() + watchdog;
    let woken = poll_fn(|context| {
        if std::mem::take(&mut is_first) {
            sender.send(context.waker().clone()).unwrap();
            return Poll::Pending;
        }
        Poll::Ready(())
    });
    let result = run(&runtime, timeout_at(&event_loop, || deadline, woken));
    assert_eq!(result, Ok(()));
    assert!((1..=3).contains(&event_loop.stats().ticks), "{:?}", event_loop.stats());
    thread.join().unwrap();
}

#[test]
fn a_task_woken_here_and_from_another_thread_is_stepped_once() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let steps = Rc::new(Cell::new(0));
    let waker = Rc::new(Cell::new(None));
    let (count, stored) = (Rc::clone(&steps), Rc::clone(&waker));
    let task: Task<()> = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            count.set(count.get() + 1);
            stored.set(Some(context.waker().clone()));
            Poll::Pending
        }),
    );
    run(&runtime, yield_now(&event_loop));
    let waker: Waker = waker.take().unwrap();
    let from_afar = waker.clone();
    run(&runtime, async {
        thread::spawn(move || (0..3).for_each(|_| from_afar.wake_by_ref())).join().unwrap();
        (0..3).for_each(|_| waker.wake_by_ref());
        yield_now(&event_loop).await;
        yield_now(&event_loop).await;
    });
    assert_eq!(steps.get(), 2, "the first one, and one for all who woke it");
    drop(task);
}

#[test]
fn tasks_woken_while_the_loop_does_not_run_keep_their_order() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let log = Rc::new(RefCell::new(Vec::new()));
    let adder = |name| {
        let log = Rc::clone(&log);
        move || log.borrow_mut().push(name)
    };
    let [first, second] = [(); 2].map(|()| Future::<()>::new(&event_loop));
    let waits = |future: &Future<()>, add: Box<dyn FnOnce()>| {
        let future = future.clone();
        drop(Task::spawn(&event_loop, async move {
            future.await.unwrap();
            add();
        }));
    };
    waits(&first, Box::new(adder("woken first")));
    waits(&second, Box::new(adder("woken third")));
    run(&runtime, yield_now(&event_loop));
    first.set_result(()).unwrap();
    event_loop.call_soon(adder("called second"));
    second.set_result(()).unwrap();
    event_loop.call_soon(adder("called fourth"));
    run(&runtime, yield_now(&event_loop));
    assert_eq!(*log.borrow(), ["woken first", "called second", "woken third", "called fourth"]);
}

#[test]
fn a_task_woken_twice_is_stepped_once() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waker = Rc::new(Cell::new(None));
    let inner = Rc::clone(&waker);
    let task = Task::spawn(&event_loop, async move {
        suspend(&inner).await;
        // It does not end: a task that has ended would take no step anyway.
        pending::<()>().await;
    });
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    let before = event_loop.stats().polls;
    let woken: Waker = waker.take().unwrap();
    woken.wake_by_ref();
    woken.wake_by_ref();
    woken.wake();
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    // One step of the task, and two of the coroutine that sleeps beside it.
    assert_eq!(event_loop.stats().polls - before, 3);
    task.cancel();
}

#[test]
fn waking_a_task_that_has_ended_does_nothing() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waker = Rc::new(Cell::new(None));
    let inner = Rc::clone(&waker);
    let task = Task::spawn(&event_loop, async move {
        poll_fn(|context| {
            inner.set(Some(context.waker().clone()));
            Poll::Ready(())
        })
        .await;
    });
    run(&runtime, task).unwrap();
    let stale = waker.take().unwrap();

    // The next task gets the slot of the one before.
    let inner = Rc::clone(&waker);
    let next = Task::spawn(&event_loop, async move { suspend(&inner).await });
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    let before = event_loop.stats().polls;
    stale.wake();
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert_eq!(event_loop.stats().polls - before, 2, "only the sleeper");
    assert!(!next.done());
    waker.take().unwrap().wake();
    run(&runtime, next).unwrap();
    drop(event_loop);
}

#[test]
fn a_waker_may_outlive_its_loop() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let waker = Rc::new(Cell::new(None));
    let inner = Rc::clone(&waker);
    let task = Task::spawn(&event_loop, async move { suspend(&inner).await });
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    drop(task);
    drop(runtime);
    drop(event_loop);
    let waker: Waker = waker.take().unwrap();
    waker.wake_by_ref();
    waker.wake();
}

#[test]
fn a_panic_is_the_outcome_of_its_task_only() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let bad = Task::spawn(&event_loop, async { panic!("number {}", 13) });
    let good = Task::spawn(&event_loop, async { "well" });
    let (bad, good): (Result<(), _>, _) = run(&runtime, async { (bad.await, good.await) });
    assert_eq!(bad.unwrap_err().to_string(), "panicked: number 13");
    assert_eq!(good.unwrap(), "well");
}

#[test]
fn a_detached_task_runs_to_its_end_and_its_panic_is_reported() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let errors: Rc<RefCell<Vec<String>>> = Rc::default();
    let log = Rc::clone(&errors);
    event_loop.set_exception_handler(move |error| log.borrow_mut().push(error.to_string()));
    let (inside, ended) = (event_loop.clone(), Rc::new(Cell::new(false)));
    let end = Rc::clone(&ended);
    event_loop.spawn_detached(async move {
        sleep(&inside, Duration::from_secs(1)).await;
        end.set(true);
    });
    event_loop.spawn_detached(async { panic!("number {}", 14) });
    run(&runtime, sleep(&event_loop, Duration::from_secs(2)));
    assert!(ended.get());
    assert_eq!(errors.take(), ["exception in a callback or destructor: panicked: number 14"]);
    event_loop.spawn_detached(pending());
    run(&runtime, yield_now(&event_loop));
    assert_eq!(event_loop.pending_tasks(), 1);
    drop(runtime);
    let error = errors.take().join("\n");
    assert!(error.starts_with("destroyed but pending: task without a name"), "{error}");
}

/// A value that sets a flag when it is dropped.
struct Witness(Rc<Cell<bool>>);

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

#[test]
fn cancelling_drops_the_coroutine_where_it_is_suspended() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let dropped = Rc::new(Cell::new(false));
    let witness = Witness(Rc::clone(&dropped));
    let task = Task::spawn(&event_loop, async move {
        let _witness = witness;
        pending::<()>().await;
    });
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert!(!dropped.get());
    assert!(task.cancel());
    assert!(dropped.get());
    assert!(matches!(run(&runtime, task), Err(Exception::Cancelled)));
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn a_task_cancelled_before_its_first_step_never_runs() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let ran = Rc::new(Cell::new(false));
    let flag = Rc::clone(&ran);
    let task = Task::spawn(&event_loop, async move { flag.set(true) });
    assert!(task.cancel());
    assert!(!task.cancel(), "it was cancelled already");
    assert!(matches!(run(&runtime, task), Err(Exception::Cancelled)));
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert!(!ran.get());
}

#[test]
fn a_task_may_cancel_itself_and_ends_at_its_next_suspension() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let dropped = Rc::new(Cell::new(false));
    let steps = Rc::new(Cell::new(0));
    let slot: Rc<RefCell<Option<Task<()>>>> = Rc::default();
    let (own, count) = (Rc::clone(&slot), Rc::clone(&steps));
    let witness = Witness(Rc::clone(&dropped));
    let task = Task::spawn(&event_loop, async move {
        let _witness = witness;
        own.borrow().as_ref().unwrap().cancel();
        count.set(1);
        pending::<()>().await;
        count.set(2);
    });
    slot.replace(Some(task));
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert_eq!(steps.get(), 1);
    assert!(dropped.get());
    assert_eq!(event_loop.pending_tasks(), 0);
}

#[test]
fn a_destructor_may_spawn_a_task() {
    struct Spawner(EventLoop, Rc<Cell<bool>>);
    impl Drop for Spawner {
        fn drop(&mut self) {
            let ran = Rc::clone(&self.1);
            let task = Task::spawn(&self.0, async move { ran.set(true) });
            task.add_done_callback(|task| task.result().unwrap());
        }
    }
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let ran = Rc::new(Cell::new(false));
    let spawner = Spawner(event_loop.clone(), Rc::clone(&ran));
    let task = Task::spawn(&event_loop, async move {
        let _spawner = spawner;
        pending::<()>().await;
    });
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    task.cancel();
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert!(ran.get());
}

#[test]
fn virtual_time_advances_to_the_next_timer() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let start = event_loop.now();
    let day = Duration::from_secs(24 * 3600);
    run(&runtime, sleep(&event_loop, day));
    assert_eq!(event_loop.now() - start, day);

    let deadline = event_loop.now() + day;
    let late = timeout_at(&event_loop, || deadline, pending::<()>());
    assert_eq!(run(&runtime, late), Err(Elapsed));
    assert_eq!(event_loop.now() - start, day * 2);
    let on_time = timeout_at(&event_loop, || deadline + day, sleep(&event_loop, day / 2));
    assert_eq!(run(&runtime, on_time), Ok(()));
    assert_eq!(event_loop.pending_timers(), 0, "none is left behind");
}

#[test]
fn a_moving_deadline_needs_one_timer() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let start = event_loop.now();
    let second = Duration::from_secs(1);
    let deadline = Cell::new(start + second * 2);
    let extended_every_second = async {
        for _ in 0..5 {
            sleep(&event_loop, second).await;
            deadline.set(event_loop.now() + second * 2);
            assert!(event_loop.pending_timers() <= 2);
        }
        pending::<()>().await;
    };
    let result = timeout_at(&event_loop, || deadline.get(), extended_every_second);
    assert_eq!(run(&runtime, result), Err(Elapsed));
    assert_eq!(event_loop.now() - start, second * 7);
}

#[test]
fn waiting_for_ever_is_an_error_in_virtual_time() {
    let runtime = virtual_loop();
    let error = runtime.run_until_complete(pending::<()>()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::Deadlock);
}

#[test]
fn tasks_that_keep_waking_each_other_do_not_hold_up_a_timer() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let stop = Rc::new(Cell::new(false));
    let flag = Rc::clone(&stop);
    let busy = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            if flag.get() {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }),
    );
    // Virtual time stands still while a task is ready, so this timer is due at
    // once.
    let timer_fired = async {
        sleep(&event_loop, Duration::ZERO).await;
        stop.set(true);
    };
    run(&runtime, timer_fired);
    run(&runtime, busy).unwrap();
}

#[test]
fn a_task_that_was_woken_before_the_loop_returned_runs_in_the_next_run() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let ran = Rc::new(Cell::new(false));
    let flag = Rc::clone(&ran);
    run(&runtime, async {
        let task = Task::spawn(&event_loop, async move { flag.set(true) });
        drop(task);
    });
    assert!(!ran.get());
    run(&runtime, sleep(&event_loop, Duration::from_secs(1)));
    assert!(ran.get());
}

/// A thread wakes a task, stores a number for it, and wakes it again. Over many
/// rounds this happens at every moment of the task's own step. They end early on a slow
/// machine, so each has at least fifteen seconds.
#[test]
fn no_wake_up_is_lost_between_threads() {
    const ROUNDS: u64 = 20_000;
    let begun = Instant::now();
    let (enough, deadline) = (begun + Duration::from_secs(5), begun + Duration::from_secs(20));
    let (events, seen) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (sender, receiver) = channel::<Waker>();
    let (events_there, seen_there) = (Arc::clone(&events), Arc::clone(&seen));
    let thread = thread::spawn(move || {
        let waker = receiver.recv().unwrap();
        let mut round = 0;
        while round < ROUNDS {
            round = if Instant::now() < enough { round + 1 } else { ROUNDS };
            waker.wake_by_ref();
            events_there.store(round, Ordering::Release);
            waker.wake_by_ref();
            let mut turns = 0;
            while seen_there.load(Ordering::Acquire) < round {
                if Instant::now() > deadline {
                    return;
                }
                turns += 1;
                // The task may have to run on the same core.
                if turns < 1000 { std::hint::spin_loop() } else { thread::yield_now() }
            }
        }
    });
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let mut sender = Some(sender);
    let task = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            if let Some(sender) = sender.take() {
                sender.send(context.waker().clone()).unwrap();
            }
            let latest = events.load(Ordering::Acquire);
            seen.store(latest, Ordering::Release);
            if latest == ROUNDS { Poll::Ready(()) } else { Poll::Pending }
        }),
    );
    let result = run(&runtime, timeout_at(&event_loop, || deadline, task));
    assert!(result.is_ok(), "a wake-up was lost");
    thread.join().unwrap();
}

/// Returns what `read_to_end` returns for a response in these pieces, after which the
/// server closes the connection.
fn read_pieces(pieces: &'static [&'static str], limit: usize) -> std::io::Result<Vec<u8>> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        for piece in pieces {
            // The client may have heard enough.
            if std::io::Write::write_all(&mut stream, piece.as_bytes()).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    });
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let reading = async {
        let mut connection =
            stage2_coroutines::connect(&event_loop, address, transport::TlsLayer::plain()).await?;
        stage2_coroutines::read_to_end(&mut connection, limit).await
    };
    let result = runtime.run_sync(reading, Duration::from_secs(10));
    server.join().unwrap();
    result.unwrap()
}

#[test]
fn read_to_end_returns_all_bytes_until_the_server_closes() {
    assert_eq!(read_pieces(&["one ", "and ", "all"], 11).unwrap(), b"one and all");
    assert_eq!(read_pieces(&[], 0).unwrap(), b"");
}

#[test]
fn read_to_end_stops_at_its_limit() {
    let error = read_pieces(&["one ", "and ", "all"], 10).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::FileTooLarge);
}

/// A Unix socket is a connection like any other.
#[test]
fn a_unix_socket_is_read_and_written() {
    let path = std::env::temp_dir().join(format!("stage2-unix-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let server = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut bytes = [0; 4];
        std::io::Read::read_exact(&mut stream, &mut bytes).unwrap();
        std::io::Write::write_all(&mut stream, &bytes).unwrap();
    });
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let exchange = async {
        let mut connection =
            stage2_coroutines::connect_unix(&event_loop, &path, transport::TlsLayer::plain())
                .await?;
        stage2_coroutines::write_all(&mut connection, b"ping").await?;
        stage2_coroutines::read_to_end(&mut connection, 8).await
    };
    let echoed = runtime.run_sync(exchange, std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(echoed.unwrap(), b"ping");
    echo.join().unwrap();
    std::fs::remove_file(&path).unwrap();
    let missing = stage2_coroutines::connect_unix(&event_loop, &path, transport::TlsLayer::plain());
    let refused = runtime.run_sync(missing, std::time::Duration::from_secs(20)).unwrap();
    assert_eq!(refused.err().unwrap().kind(), std::io::ErrorKind::NotFound);
}
