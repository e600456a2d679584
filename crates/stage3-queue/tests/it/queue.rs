//! The queue: fair, safe to cancel, and `join` always returns.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use proptest::prelude::*;
use stage2_coroutines::{Coroutine, Exception, Inspect, Task, sleep};
use stage3_queue::{Item, JoinableQueue, Reservation};
use test_support::event_loops::{run, virtual_loop};

const A_SECOND: Duration = Duration::from_secs(1);

/// Polls a coroutine once, with a waker that does nothing.
fn poll_once<C: Coroutine + ?Sized>(coroutine: std::pin::Pin<&mut C>) -> Poll<C::Output> {
    coroutine.poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn items_come_out_in_order_and_count_until_they_are_dropped() {
    let q = JoinableQueue::new(virtual_loop().event_loop());
    q.put_nowait("a");
    q.put_nowait("b");
    assert_eq!((q.len(), q.unfinished()), (2, 2));
    assert!(!q.is_empty());
    let Poll::Ready(a) = poll_once(pin!(q.get())) else {
        panic!("an item is there");
    };
    assert_eq!(*a, "a");
    assert_eq!((q.len(), q.unfinished()), (1, 2));
    a.task_done();
    assert_eq!((q.len(), q.unfinished()), (1, 1));
    drop(poll_once(pin!(q.get())));
    assert_eq!((q.len(), q.unfinished()), (0, 0));
    assert!(q.is_empty());
}

/// To wait in another loop is a mistake of the program, and `join` must not return.
#[test]
fn a_queue_is_used_in_its_own_loop() {
    let other = virtual_loop();
    let q = JoinableQueue::<()>::new(virtual_loop().event_loop());
    let _place = q.reserve();
    let (to_get, to_join) = (q.clone(), q.clone());
    let get = Task::spawn(other.event_loop(), async move { drop(to_get.get().await) });
    let join = Task::spawn(other.event_loop(), async move { to_join.join().await });
    for task in [get, join] {
        let outcome = run(&other, task);
        let Err(Exception::Panicked(message)) = outcome else { panic!("{outcome:?}") };
        assert!(message.starts_with("a wait queue is used in its own loop"), "{message}");
    }
    assert_eq!(q.unfinished(), 1);
}

#[test]
fn a_reservation_counts_until_it_is_put_or_dropped() {
    let q = JoinableQueue::new(virtual_loop().event_loop());
    let (first, second) = (q.reserve(), q.reserve());
    assert_eq!((q.len(), q.unfinished()), (0, 2));
    let (mut getter, mut join) = (pin!(q.get()), pin!(q.join()));
    assert!(poll_once(getter.as_mut()).is_pending());
    assert!(poll_once(join.as_mut()).is_pending());
    first.put("a");
    let Poll::Ready(a) = poll_once(getter.as_mut()) else {
        panic!("an item was put in");
    };
    assert_eq!((*a, q.len(), q.unfinished()), ("a", 0, 2));
    // The work is not done, and the item will be put in again.
    let (a, place) = a.into_parts();
    assert_eq!(q.unfinished(), 2);
    place.put(a);
    drop(poll_once(pin!(q.get())));
    assert_eq!(q.unfinished(), 1);
    assert!(poll_once(join.as_mut()).is_pending());
    drop(second);
    assert!(poll_once(join.as_mut()).is_ready());
}

#[test]
fn join_can_be_called_again() {
    let q = JoinableQueue::new(virtual_loop().event_loop());
    assert!(poll_once(pin!(q.join())).is_ready(), "nothing was put in yet");
    for round in 0..3 {
        q.put_nowait(round);
        let mut join = pin!(q.join());
        assert!(poll_once(join.as_mut()).is_pending());
        drop(poll_once(pin!(q.get())));
        assert!(poll_once(join.as_mut()).is_ready());
    }
}

#[test]
fn join_waits_for_items_put_in_before_old_work_is_handed_back() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    q.put_nowait(5);
    let seen = Rc::new(RefCell::new(Vec::new()));
    let (queue, log) = (q.clone(), Rc::clone(&seen));
    let handle = event_loop.clone();
    let worker: Task<()> = Task::spawn(&event_loop, async move {
        loop {
            let item = queue.get().await;
            sleep(&handle, A_SECOND).await;
            log.borrow_mut().push(*item);
            if *item > 0 {
                queue.put_nowait(*item - 1);
            }
        }
    });
    runtime.run_until_complete(q.join()).unwrap();
    assert_eq!(*seen.borrow(), [5, 4, 3, 2, 1, 0]);
    worker.cancel();
}

#[test]
fn getters_are_served_in_the_order_in_which_they_came() {
    let q: JoinableQueue<u32> = JoinableQueue::new(virtual_loop().event_loop());
    let (mut first, mut second) = (pin!(q.get()), pin!(q.get()));
    assert!(poll_once(first.as_mut()).is_pending());
    assert!(poll_once(second.as_mut()).is_pending());
    q.put_nowait(1);
    // Neither a new getter nor the second one may take the promised item.
    let mut new_getter = pin!(q.get());
    assert!(poll_once(new_getter.as_mut()).is_pending());
    assert!(poll_once(second.as_mut()).is_pending());
    let Poll::Ready(item) = poll_once(first.as_mut()) else {
        panic!("it was promised");
    };
    assert_eq!(*item, 1);
}

#[test]
fn a_getter_that_is_cancelled_loses_nothing() {
    let q: JoinableQueue<u32> = JoinableQueue::new(virtual_loop().event_loop());
    let mut waiting = pin!(q.get());
    {
        let mut cancelled = pin!(q.get());
        assert!(poll_once(cancelled.as_mut()).is_pending());
        assert!(poll_once(waiting.as_mut()).is_pending());
        q.put_nowait(1); // promised to the getter that is dropped now
    }
    let Poll::Ready(item) = poll_once(waiting.as_mut()) else {
        panic!("the promise is passed on");
    };
    assert_eq!(*item, 1);
    drop(item);

    // A getter that is cancelled before it is promised an item.
    let mut waiting = pin!(q.get());
    {
        let mut cancelled = pin!(q.get());
        assert!(poll_once(cancelled.as_mut()).is_pending());
        assert!(poll_once(waiting.as_mut()).is_pending());
    }
    q.put_nowait(2);
    assert!(poll_once(waiting.as_mut()).is_ready());
}

#[test]
fn a_worker_that_panics_hands_its_item_back() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    for n in 0..10 {
        q.put_nowait(n);
    }
    let workers: Vec<Task<()>> = (0..10)
        .map(|_| {
            let q = q.clone();
            Task::spawn(&event_loop, async move {
                let item = q.get().await;
                panic!("on item {}", *item);
            })
        })
        .collect();
    runtime.run_until_complete(q.join()).unwrap();
    for (n, worker) in workers.into_iter().enumerate() {
        let outcome = runtime.run_until_complete(worker).unwrap();
        let message = outcome.unwrap_err().to_string();
        assert_eq!(message, format!("panicked: on item {n}"));
    }
}

#[test]
fn workers_share_the_work_and_sleep_meanwhile() {
    let runtime = virtual_loop();
    let event_loop = runtime.event_loop().clone();
    let q = JoinableQueue::new(&event_loop);
    for n in 0..100 {
        q.put_nowait(n);
    }
    let done = Rc::new(Cell::new(0));
    let workers: Vec<Task<()>> = (0..10)
        .map(|_| {
            let (q, event_loop, done) = (q.clone(), event_loop.clone(), Rc::clone(&done));
            Task::spawn(&event_loop.clone(), async move {
                loop {
                    let _item = q.get().await;
                    sleep(&event_loop, A_SECOND).await;
                    done.set(done.get() + 1);
                }
            })
        })
        .collect();
    let start = event_loop.now();
    runtime.run_until_complete(q.join()).unwrap();
    assert_eq!(done.get(), 100);
    assert_eq!(event_loop.now() - start, A_SECOND * 10, "ten at a time");
    for worker in &workers {
        worker.cancel();
    }
    assert_eq!(event_loop.pending_tasks(), 0);
    assert_eq!(event_loop.pending_timers(), 0);
}

#[derive(Clone, Debug)]
enum Step {
    Put,
    Get,
    CancelGetter(usize),
    PollGetter(usize),
    Finish(usize),
    /// Takes an item apart: its value waits with its reservation.
    TakeApart(usize),
    PutReserved(usize),
    DropReserved(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(Step::Put),
        3 => Just(Step::Get),
        1 => (0..8usize).prop_map(Step::CancelGetter),
        3 => (0..8usize).prop_map(Step::PollGetter),
        2 => (0..8usize).prop_map(Step::Finish),
        2 => (0..8usize).prop_map(Step::TakeApart),
        2 => (0..8usize).prop_map(Step::PutReserved),
        1 => (0..8usize).prop_map(Step::DropReserved),
    ]
}

type Getter = std::pin::Pin<Box<dyn Coroutine<Output = Item<u32>>>>;

proptest! {
    /// Runs random steps in any order: the invariant holds, no item is lost or
    /// comes out twice, and `join` returns in the end.
    #[test]
    fn no_item_is_lost_and_join_returns(steps in prop::collection::vec(step(), 0..80)) {
        let q = JoinableQueue::new(virtual_loop().event_loop());
        let getter = || -> Getter { let q = q.clone(); Box::pin(async move { q.get().await }) };
        let mut getters: VecDeque<Getter> = VecDeque::new();
        let mut working: Vec<Item<u32>> = Vec::new();
        let mut reserved: Vec<(u32, Reservation<u32>)> = Vec::new();
        let (mut put, mut finished) = (0, Vec::new());
        for step in steps {
            match step {
                Step::Put => { q.put_nowait(put); put += 1; }
                Step::Get => getters.push_back(getter()),
                Step::CancelGetter(n) => drop(getters.remove(n)),
                Step::PollGetter(n) => if let Some(getter) = getters.get_mut(n)
                    && let Poll::Ready(item) = poll_once(getter.as_mut()) {
                        working.push(item);
                        drop(getters.remove(n));
                    },
                Step::Finish(n) => if n < working.len() {
                    let item = working.remove(n);
                    finished.push(*item);
                    item.task_done();
                },
                Step::TakeApart(n) => if n < working.len() {
                    reserved.push(working.remove(n).into_parts());
                },
                Step::PutReserved(n) => if n < reserved.len() {
                    let (value, reservation) = reserved.remove(n);
                    reservation.put(value);
                },
                Step::DropReserved(n) => if n < reserved.len() {
                    finished.push(reserved.remove(n).0);
                },
            }
            prop_assert_eq!(q.unfinished(), q.len() + working.len() + reserved.len());
            prop_assert_eq!(q.unfinished(), put as usize - finished.len());
            let mut join = pin!(q.join());
            prop_assert_eq!(poll_once(join.as_mut()).is_ready(), q.unfinished() == 0);
        }
        getters.clear();
        finished.extend(working.drain(..).map(|item| *item));
        finished.extend(reserved.drain(..).map(|(value, _)| value));
        while let Poll::Ready(item) = poll_once(pin!(q.get())) {
            finished.push(*item);
        }
        finished.sort_unstable();
        prop_assert_eq!(finished, (0..put).collect::<Vec<_>>());
        prop_assert_eq!(q.unfinished(), 0);
    }
}
