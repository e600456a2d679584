//! The tests of the smallest runtime, one for each task of its exercise.

use std::cell::{Cell, RefCell};
#[cfg(target_os = "linux")]
use std::fs;
use std::future::{Future as Coroutine, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::smallest_runtime_example::{EventLoop, Future};

const MILLISECOND: Duration = Duration::from_millis(1);

/// A waker that counts.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn task_1_a_future_wakes_what_awaits_it() {
    let count = Arc::new(Count::default());
    let waker = Waker::from(Arc::clone(&count));
    let future = Future::new();
    let mut awaited = pin!(future.clone());
    let mut poll = || awaited.as_mut().poll(&mut Context::from_waker(&waker));
    assert_eq!(poll(), Poll::Pending);
    assert_eq!(count.0.load(SeqCst), 0, "nothing has happened yet");
    future.set_result(7);
    assert_eq!(count.0.load(SeqCst), 1);
    assert_eq!(poll(), Poll::Ready(7));
    assert_eq!(count.0.load(SeqCst), 1);
}

thread_local!(static FOREIGN_CODE: RefCell<Option<Box<dyn Fn()>>> = const { RefCell::new(None) });

/// A waker of foreign code, which it runs when it wakes.
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

#[test]
fn task_1_a_waker_may_use_the_future_that_wakes_it() {
    let (future, seen) = (Future::new(), Rc::new(Cell::new(Poll::Pending)));
    let (looked_at, found) = (future.clone(), Rc::clone(&seen));
    let waker = ForeignWaker::waker(move || {
        let result = pin!(looked_at.clone()).poll(&mut Context::from_waker(Waker::noop()));
        found.set(result);
    });
    let awaited = pin!(future.clone());
    assert_eq!(awaited.poll(&mut Context::from_waker(&waker)), Poll::Pending);
    future.set_result(7);
    assert_eq!(seen.get(), Poll::Ready(7), "the result is there before the wake-up");
}

/// Runs two tasks that yield to each other, and returns the order of their steps.
fn yielding() -> String {
    let event_loop = EventLoop::new();
    let order = Rc::new(RefCell::new(String::new()));
    for name in ['a', 'b'] {
        let order = Rc::clone(&order);
        let mut steps = 0;
        event_loop.spawn(poll_fn(move |context| {
            order.borrow_mut().push(name);
            steps += 1;
            if steps == 3 {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }));
    }
    event_loop.run();
    order.take()
}

#[test]
fn task_2_a_wake_up_puts_the_task_at_the_end_of_the_run_queue() {
    assert_eq!(yielding(), "ababab");
}

#[test]
fn task_2_no_wake_up_of_another_thread_is_lost() {
    const ROUNDS: usize = 2000;
    let event_loop = EventLoop::new();
    let (ask, asked) = channel::<Waker>();
    let answers = Arc::new(AtomicUsize::new(0));
    let answering = Arc::clone(&answers);
    let thread = thread::spawn(move || {
        for waker in asked {
            answering.fetch_add(1, SeqCst);
            waker.wake();
        }
    });
    let counted = Arc::clone(&answers);
    let rounds = event_loop.spawn(async move {
        for round in 1..=ROUNDS {
            let mut has_asked = false;
            poll_fn(|context| {
                if !has_asked {
                    has_asked = true;
                    let _ = ask.send(context.waker().clone());
                }
                if answers.load(SeqCst) == round { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        }
        ROUNDS
    });
    let result = Rc::new(Cell::new(0));
    let inside = Rc::clone(&result);
    event_loop.spawn(async move { inside.set(rounds.await) });
    event_loop.run();
    thread.join().unwrap();
    assert_eq!((result.get(), counted.load(SeqCst)), (ROUNDS, ROUNDS));
}

/// Returns the processor time that this thread has used: the fields 14 and 15 of its
/// line are in hundredths of a second.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let line = fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, fields) = line.rsplit_once(')').unwrap();
    let used = fields.split_whitespace().skip(11).take(2).map(|it| it.parse::<u32>().unwrap());
    MILLISECOND * 10 * used.sum()
}

#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::ZERO
}

/// Runs a task that another thread wakes after 300 ms. Returns how long that took, and
/// the processor time of the loop.
fn woken_by_a_thread(event_loop: &EventLoop) -> (Duration, Duration) {
    let (begun, used) = (Instant::now(), processor_time());
    let mut has_asked = false;
    event_loop.spawn(poll_fn(move |context| {
        if std::mem::replace(&mut has_asked, true) {
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        thread::spawn(move || {
            thread::sleep(MILLISECOND * 300);
            waker.wake();
        });
        Poll::Pending
    }));
    event_loop.run();
    (begun.elapsed(), processor_time() - used)
}

const LITTLE: Duration = Duration::from_millis(50);

#[test]
fn task_2_an_idle_loop_takes_no_processor_time() {
    let (_, used) = woken_by_a_thread(&EventLoop::new());
    assert!(used <= LITTLE, "{used:?} while it had nothing to do");
}

#[test]
fn task_3_another_thread_wakes_although_a_timer_is_far() {
    let (event_loop, far) = (EventLoop::new(), MILLISECOND * 10_000);
    let _timer = event_loop.sleep(far);
    let (elapsed, used) = woken_by_a_thread(&event_loop);
    assert!(elapsed < far, "the wake-up was lost until the timer was due");
    assert!(used <= LITTLE, "{used:?} while it had nothing to do");
}

#[test]
fn task_3_a_waker_may_set_a_timer() {
    let event_loop = EventLoop::new();
    let (inside, calls) = (event_loop.clone(), Rc::new(Cell::new(0)));
    let counted = Rc::clone(&calls);
    let waker = ForeignWaker::waker(move || {
        inside.sleep(MILLISECOND);
        counted.set(counted.get() + 1);
    });
    let timer = pin!(event_loop.sleep(MILLISECOND));
    assert!(timer.poll(&mut Context::from_waker(&waker)).is_pending());
    let inside = event_loop.clone();
    event_loop.spawn(async move { inside.sleep(MILLISECOND * 20).await });
    event_loop.run();
    assert_eq!(calls.get(), 1);
}

#[test]
fn task_3_a_timer_wakes_its_task_and_waiting_takes_no_steps() {
    let event_loop = EventLoop::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    let polls = Rc::new(Cell::new(0));
    let begun = Instant::now();
    for milliseconds in [300, 100, 200] {
        let (inside, order) = (event_loop.clone(), Rc::clone(&order));
        let polls = Rc::clone(&polls);
        event_loop.spawn(async move {
            let mut sleep = pin!(inside.sleep(MILLISECOND * milliseconds));
            poll_fn(|context| {
                polls.set(polls.get() + 1);
                sleep.as_mut().poll(context)
            })
            .await;
            order.borrow_mut().push(milliseconds);
        });
    }
    event_loop.run();
    assert_eq!(order.take(), [100, 200, 300]);
    assert!(begun.elapsed() >= MILLISECOND * 300);
    assert_eq!(polls.get(), 6, "one step to begin, and one when the time has come");
}
