//! The tests of the exercise: one or more for each of its tasks. They are copied with
//! it.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
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
    Coroutine, EventLoop, Exception, Future, Task, connect, crawl, read_to_end, sleep, yield_now,
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
    let event_loop = EventLoop::in_virtual_time();
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

/// Spawns a task that stops the loop.
fn spawn_stop(event_loop: &EventLoop) -> Task<()> {
    let inside = event_loop.clone();
    Task::spawn(event_loop, async move { inside.stop() })
}

#[test]
fn task_2_a_step_runs_the_coroutine_and_its_value_is_the_result_of_the_task() {
    let event_loop = EventLoop::in_virtual_time();
    let task = Task::spawn(&event_loop, async { 7 });
    let _stops = spawn_stop(&event_loop);
    event_loop.run_forever().unwrap();
    assert!(matches!(task.take_result(), Some(Ok(7))));
}

#[test]
fn task_2_a_panic_is_the_exception_of_its_task_only() {
    let event_loop = EventLoop::in_virtual_time();
    let task = Task::<()>::spawn(&event_loop, async { panic!("expected in this test") });
    let _stops = spawn_stop(&event_loop);
    event_loop.run_forever().unwrap();
    assert!(matches!(task.take_result(), Some(Err(Exception::Panicked(_)))));
}

#[test]
fn task_3_a_task_that_is_woken_twice_takes_one_step() {
    let event_loop = EventLoop::in_virtual_time();
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
    event_loop.run_forever().unwrap();
    assert_eq!(steps.get(), 1, "a wake-up runs nothing");
    event_loop.run_forever().unwrap();
    assert_eq!(steps.get(), 2);
    let _stops = spawn_stop(&event_loop);
    event_loop.run_forever().unwrap();
    assert_eq!(steps.get(), 2);
}

#[test]
fn task_4_a_tick_calls_back_at_the_time_of_a_timer() {
    let event_loop = EventLoop::in_virtual_time();
    let begun = event_loop.now();
    let inside = event_loop.clone();
    event_loop.call_later(Duration::from_secs(2), move || inside.stop());
    event_loop.run_forever().unwrap();
    assert_eq!(event_loop.now() - begun, Duration::from_secs(2));
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn task_5_sleeping_tasks_are_woken_in_the_order_of_their_moments() {
    let event_loop = EventLoop::in_virtual_time();
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
    event_loop.run_until_complete(all).unwrap();
    assert_eq!(order.take(), [1, 2, 3]);
    assert!(event_loop.stats().polls - polls < 12, "a sleeping task takes no steps");
    assert_eq!(event_loop.pending_timers(), 0);
}

#[test]
fn task_5_a_sleep_that_is_given_up_leaves_no_timer() {
    let event_loop = EventLoop::in_virtual_time();
    let inside = event_loop.clone();
    let task = Task::spawn(&event_loop, async move {
        sleep(&inside, Duration::from_secs(1000)).await;
    });
    event_loop.run_until_complete(yield_now(&event_loop)).unwrap();
    assert_eq!(event_loop.pending_timers(), 1);
    task.cancel();
    assert_eq!(event_loop.pending_timers(), 0);
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
    let event_loop = EventLoop::new().unwrap();
    let read: Pin<Box<dyn Coroutine<Output = _>>> = Box::pin(async {
        let mut connection = connect(&event_loop, address, TlsLayer::plain()).await?;
        read_to_end(&mut connection, 100).await
    });
    let bytes = event_loop.run_until_complete(read).unwrap().unwrap();
    serve.join().unwrap();
    assert_eq!(bytes, b"slowly");
    assert!(event_loop.stats().polls < 20, "nothing is polled just to try");
    assert_eq!(event_loop.connections(), 0);
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
    let rows = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&rows);
    let write = move |row: crawl_core::Row| {
        sink.lock().unwrap().push((row.url.to_string(), row.status));
    };
    crawl(options, Box::new(write)).unwrap();
    let mut rows = rows.lock().unwrap().clone();
    rows.sort();
    assert_eq!(rows, ["/", "/a", "/b", "/c"].map(|path| (server.url(path), Some(200))));
}
