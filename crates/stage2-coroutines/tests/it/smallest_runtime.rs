//! The tests of the smallest runtime, one for each task of its exercise.

use std::cell::{Cell, RefCell};
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

#[test]
fn task_3_a_timer_wakes_its_task_and_waiting_takes_no_steps() {
    let event_loop = EventLoop::new();
    let order = Rc::new(RefCell::new(Vec::new()));
    let polls = Rc::new(Cell::new(0));
    let begun = Instant::now();
    for milliseconds in [60, 20, 40] {
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
    assert_eq!(order.take(), [20, 40, 60]);
    assert!(begun.elapsed() >= MILLISECOND * 60);
    assert_eq!(polls.get(), 6, "one step to begin, and one when the time has come");
}
