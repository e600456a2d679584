//! The tests of the exercise: one or more for each of its tasks. They are copied with
//! it.

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::net::TcpListener;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crawl_core::Options;
use demo_site::scripted::Server;
use stage2_coroutines::{
    Coroutine, Elapsed, EventLoop, Exception, Future, Inspect, Task, connect, crawl, read_to_end,
    sleep, system_runtime, timeout_at, virtual_runtime, yield_now,
};
use transport::TlsLayer;

/// A waker that counts.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Relaxed);
    }
}

#[test]
fn task_1_a_future_wakes_what_awaits_it() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let future = Future::new(&event_loop);
    let mut awaited = pin!(future.clone());
    let mut poll = || awaited.as_mut().poll(&mut Context::from_waker(&waker));
    assert!(poll().is_pending());
    assert!(poll().is_pending(), "polled twice by the same task");
    assert_eq!(count.0.load(Relaxed), 0, "nothing has happened yet");
    future.set_result(7).unwrap();
    assert_eq!(count.0.load(Relaxed), 1);
    assert!(matches!(poll(), Poll::Ready(Ok(7))));
    assert!(future.set_result(8).is_err(), "there is one result");
}

thread_local!(static FOREIGN_CODE: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) });

/// A waker of foreign code, which it runs when it wakes, and when it is dropped.
struct ForeignWaker;

impl ForeignWaker {
    fn waker(code: impl Fn() + 'static) -> Waker {
        FOREIGN_CODE.set(Some(Box::new(code)));
        Waker::from(Arc::new(Self))
    }
}

impl Wake for ForeignWaker {
    fn wake(self: Arc<Self>) {
        FOREIGN_CODE.with_borrow(|code| code.iter().for_each(|code| code()));
    }
}

impl Drop for ForeignWaker {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            FOREIGN_CODE.with_borrow(|code| code.iter().for_each(|code| code()));
        }
    }
}

/// Polls a coroutine by hand.
fn poll<C: Coroutine>(coroutine: Pin<&mut C>, waker: &Waker) -> Poll<C::Output> {
    coroutine.poll(&mut Context::from_waker(waker))
}

#[test]
fn task_1_a_waker_may_use_the_future_that_wakes_it() {
    let runtime = virtual_runtime();
    let future = Future::new(runtime.event_loop());
    let (looked_at, results) = (future.clone(), Rc::new(RefCell::new(Vec::new())));
    let seen = Rc::clone(&results);
    let waker = ForeignWaker::waker(move || {
        let result = looked_at.take_result();
        seen.borrow_mut().extend(result);
    });
    assert!(poll(pin!(future.clone()), &waker).is_pending());
    future.set_result(7).unwrap();
    assert!(matches!(results.take()[..], [Ok(7)]), "the result is there before the wake-up");
}

#[test]
fn task_2_a_tick_wakes_at_the_time_of_a_timer() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let begun = event_loop.now();
    let inside = event_loop.clone();
    let waker = ForeignWaker::waker(move || inside.stop());
    event_loop.reactor().set_timer(begun + Duration::from_secs(2), waker);
    runtime.run_forever().unwrap();
    assert_eq!(event_loop.now() - begun, Duration::from_secs(2));
    assert_eq!(event_loop.pending_timers(), 0);
}

/// Spawns a task that stops the loop.
fn spawn_stop(event_loop: &EventLoop) -> Task<()> {
    let inside = event_loop.clone();
    Task::spawn(event_loop, async move { inside.stop() })
}

#[test]
fn task_3_a_step_runs_the_coroutine_and_its_value_is_the_result_of_the_task() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let task = Task::spawn(&event_loop, async { 7 });
    let _stops = spawn_stop(&event_loop);
    runtime.run_forever().unwrap();
    assert!(matches!(task.future().take_result(), Some(Ok(7))));
}

#[test]
fn task_3_a_panic_is_the_exception_of_its_task_only() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let task = Task::<()>::spawn(&event_loop, async { panic!("expected in this test") });
    let _stops = spawn_stop(&event_loop);
    runtime.run_forever().unwrap();
    assert!(matches!(task.future().take_result(), Some(Err(Exception::Panicked(_)))));
}

#[test]
fn task_3_a_task_that_cancels_itself_is_cancelled_even_if_it_returns() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let (inside, handle) = (event_loop.clone(), Rc::<RefCell<Option<Task<bool>>>>::default());
    let own = Rc::clone(&handle);
    let task = Task::spawn(&event_loop, async move {
        inside.stop();
        own.take().unwrap().cancel()
    });
    handle.replace(Some(task.clone()));
    runtime.run_forever().unwrap();
    assert!(matches!(task.future().take_result(), Some(Err(Exception::Cancelled))));
}

#[test]
fn task_4_a_task_that_is_woken_twice_takes_one_step() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let (steps, inside) = (Rc::new(Cell::new(0)), event_loop.clone());
    let counted = Rc::clone(&steps);
    let _task = Task::spawn(
        &event_loop,
        poll_fn(move |context| {
            counted.set(counted.get() + 1);
            // The loop returns after each batch, before its next tick.
            inside.stop();
            if counted.get() == 1 {
                context.waker().wake_by_ref();
                context.waker().wake_by_ref();
            }
            Poll::<()>::Pending
        }),
    );
    runtime.run_forever().unwrap();
    assert_eq!(steps.get(), 1, "a wake-up runs nothing");
    runtime.run_forever().unwrap();
    assert_eq!(steps.get(), 2, "the task that was woken takes its step");
    let _stops = spawn_stop(&event_loop);
    runtime.run_forever().unwrap();
    assert_eq!(steps.get(), 2, "it was in the queue once, though it was woken twice");
}

#[test]
fn task_5_sleeping_tasks_are_woken_in_the_order_of_their_moments() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let order = Rc::new(RefCell::new(Vec::new()));
    let tasks = [3, 1, 2].map(|seconds| {
        let (inside, order) = (event_loop.clone(), Rc::clone(&order));
        Task::spawn(&event_loop, async move {
            sleep(&inside, Duration::from_secs(seconds)).await;
            order.borrow_mut().push(seconds);
        })
    });
    let polls = event_loop.stats().polls;
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    runtime.run_until_complete(all).unwrap();
    assert_eq!(order.take(), [1, 2, 3]);
    assert!(event_loop.stats().polls - polls < 12, "a sleeping task takes no steps");
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn task_5_a_sleep_that_is_given_up_leaves_no_timer() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move {
        sleep(&inside, Duration::from_secs(1000)).await;
    });
    runtime.run_until_complete(yield_now(&event_loop)).unwrap();
    assert_eq!(event_loop.pending_timers(), 1);
    task.cancel();
    assert_eq!(event_loop.pending_timers(), 0);
}

/// A waker that notes its number when it wakes.
struct Log(u8, Arc<Mutex<Vec<u8>>>);

impl Wake for Log {
    fn wake(self: Arc<Self>) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn task_5_a_timer_that_is_set_stays_where_it_is() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let order = Arc::new(Mutex::new(Vec::new()));
    let [first, second] = [1, 2].map(|number| Waker::from(Arc::new(Log(number, order.clone()))));
    let mut asleep = pin!(sleep(&event_loop, Duration::from_secs(2)));
    let mut other = pin!(sleep(&event_loop, Duration::from_secs(2)));
    assert!(poll(asleep.as_mut(), &first).is_pending());
    assert!(poll(other.as_mut(), &second).is_pending());
    runtime.run_until_complete(sleep(&event_loop, Duration::from_secs(1))).unwrap();
    assert!(poll(asleep.as_mut(), &first).is_pending());
    runtime.run_until_complete(sleep(&event_loop, Duration::from_secs(2))).unwrap();
    assert_eq!(*order.lock().unwrap(), [1, 2], "as they were set, at the same moment");
}

#[test]
fn task_5_a_sleep_that_another_task_polls_wakes_that_one() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let counts = [Arc::new(Count::default()), Arc::new(Count::default())];
    let mut asleep = pin!(sleep(&event_loop, Duration::from_secs(1)));
    for count in &counts {
        assert!(poll(asleep.as_mut(), &Waker::from(Arc::clone(count))).is_pending());
    }
    assert_eq!(event_loop.pending_timers(), 1);
    runtime.run_until_complete(sleep(&event_loop, Duration::from_secs(2))).unwrap();
    assert_eq!(counts.map(|count| count.0.load(Relaxed)), [0, 1]);
}

#[test]
fn task_5_a_deadline_may_move_to_either_side() {
    for seconds in [1, 5] {
        let runtime = virtual_runtime();
        let event_loop = runtime.event_loop().clone();
        let begun = event_loop.now();
        let moved = Duration::from_secs(seconds);
        let deadline = Cell::new(begun + Duration::from_secs(3));
        let moves = async {
            sleep(&event_loop, Duration::from_millis(500)).await;
            deadline.set(begun + moved);
            pending::<()>().await;
        };
        let with_deadline = timeout_at(&event_loop, || deadline.get(), moves);
        let ended = runtime.run_until_complete(with_deadline).unwrap();
        assert_eq!((ended, event_loop.now() - begun), (Err(Elapsed), moved));
    }
}

/// A test of task 2. Without task 5 there is no foreign waker among the timers.
#[test]
fn task_5_a_tick_has_not_borrowed_the_timers_while_it_wakes() {
    let runtime = virtual_runtime();
    let event_loop = runtime.event_loop().clone();
    let (inside, looks) = (event_loop.clone(), Rc::new(Cell::new(0)));
    let counted = Rc::clone(&looks);
    let waker = ForeignWaker::waker(move || {
        inside.pending_timers();
        counted.set(counted.get() + 1);
    });
    let mut asleep = pin!(sleep(&event_loop, Duration::from_secs(1)));
    assert!(poll(asleep.as_mut(), &waker).is_pending());
    runtime.run_until_complete(sleep(&event_loop, Duration::from_secs(2))).unwrap();
    assert_eq!(looks.get(), 1);
}

#[test]
fn task_6_what_is_not_ready_stores_its_waker_and_what_is_ready_does_not_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = std::thread::spawn(move || {
        use std::io::Write;
        let (mut stream, _) = listener.accept().unwrap();
        for byte in b"slowly" {
            stream.write_all(&[*byte]).unwrap();
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let read: Pin<Box<dyn Coroutine<Output = _>>> = Box::pin(async {
        let mut connection = connect(&event_loop, address, TlsLayer::plain()).await?;
        read_to_end(&mut connection, 100).await
    });
    let bytes = runtime.run_until_complete(read).unwrap().unwrap();
    serve.join().unwrap();
    assert_eq!(bytes, b"slowly");
    assert!(event_loop.stats().polls < 20, "nothing is polled just to try");
    assert_eq!(event_loop.connections(), 0);
}

/// Its second half is a test of task 2.
#[test]
fn task_6_the_selector_is_not_borrowed_while_a_waker_is_dropped_or_wakes() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let runtime = system_runtime().unwrap();
    let event_loop = runtime.event_loop().clone();
    let looks = Rc::new(Cell::new(0));
    let mut connecting = pin!(connect(&event_loop, address, TlsLayer::plain()));
    for _ in 0..2 {
        let (inside, counted) = (event_loop.clone(), Rc::clone(&looks));
        let waker = ForeignWaker::waker(move || {
            inside.connections();
            counted.set(counted.get() + 1);
        });
        assert!(poll(connecting.as_mut(), &waker).is_pending());
    }
    assert_eq!(looks.get(), 1, "the first one was replaced, and dropped");
    let woken = async {
        while looks.get() == 1 {
            sleep(&event_loop, Duration::from_millis(1)).await;
        }
    };
    runtime.run_until_complete(woken).unwrap();
}

/// Crawls the URLs of a server, and returns the path and the status of each row.
fn rows(server: &Server, options: Options) -> Vec<(String, Option<u16>)> {
    let rows = Arc::new(Mutex::new(Vec::new()));
    let (sink, root) = (Arc::clone(&rows), server.url(""));
    let write = move |row: crawl_core::Row| {
        sink.lock().unwrap().push((row.url.to_string().replace(&root, ""), row.status));
    };
    crawl(options, Box::new(write)).unwrap();
    let mut rows = std::mem::take(&mut *rows.lock().unwrap());
    rows.sort();
    rows
}

#[test]
fn task_7_the_crawl_finds_every_page_and_ends() {
    let server = Server::start(|request, reply| match request.path() {
        "/" => reply.page("<a href=/a>a</a> <a href=/b>b</a>"),
        "/a" => reply.page("<a href=/>back</a> <a href=/c>c</a>"),
        _ => reply.page("an end"),
    })
    .unwrap();
    let options = Options::new(vec![server.url("/").parse().unwrap()]);
    let expected = ["/", "/a", "/b", "/c"].map(|path| (path.to_owned(), Some(200)));
    assert_eq!(rows(&server, options), expected);
}

#[test]
fn task_7_the_timeout_is_one_for_silence_and_begins_anew_with_every_part() {
    let server = Server::start(|_, reply| {
        for part in ["HTTP/1.1 200 OK\r\n", "Content-Length: 0\r\n\r\n"] {
            std::thread::sleep(Duration::from_millis(1500));
            reply.send(part);
        }
    })
    .unwrap();
    let mut options = Options::new(vec![server.url("/").parse().unwrap()]);
    options.settings.connect_timeout = Duration::from_secs(1);
    options.settings.read_timeout = Duration::from_millis(2800);
    options.settings.max_tries = 1;
    assert_eq!(rows(&server, options), [("/".to_owned(), Some(200))]);
}
