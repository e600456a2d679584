//! Models of a loop to which other threads give work.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use selector_core::{Key, Notifier};

use crate::inject_queue::{InjectQueue, Injected, TaskWaker};

/// The sleep of a loop in the operating system. A notification before the sleep ends it
/// at once, as that of mio does.
#[derive(Default)]
pub(crate) struct Sleep {
    is_notified: Mutex<bool>,
    changed: Condvar,
}

impl Sleep {
    /// Returns a sleep, and the notifier that ends it.
    pub(crate) fn new() -> (Arc<Self>, impl Fn() + Send + Sync + 'static) {
        let sleep = Arc::new(Self::default());
        let inner = Arc::clone(&sleep);
        let notify = move || {
            *inner.is_notified.lock().unwrap() = true;
            inner.changed.notify_one();
        };
        (sleep, notify)
    }

    /// Waits for a notification. If none comes, the model has no thread that can go on,
    /// which loom reports.
    pub(crate) fn wait(&self) {
        let mut is_notified = self.is_notified.lock().unwrap();
        while !*is_notified {
            is_notified = self.changed.wait(is_notified).unwrap();
        }
        *is_notified = false;
    }
}

fn queue() -> (Arc<Sleep>, Arc<InjectQueue>) {
    let (sleep, notify) = Sleep::new();
    (sleep, Arc::new(InjectQueue::new(Notifier::new(notify))))
}

fn waker(queue: &Arc<InjectQueue>) -> Arc<TaskWaker> {
    let (is_queued, is_injected) = (AtomicBool::new(false), AtomicBool::new(false));
    let inject_queue = Arc::clone(queue);
    Arc::new(TaskWaker { key: Key::from_bits(0), is_queued, is_injected, inject_queue })
}

/// A loop that sleeps whenever it may, and two threads that each call a function on it.
#[test]
fn every_call_of_a_thread_arrives() {
    loom::model(|| {
        let (sleep, queue) = queue();
        let called = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let (queue, called) = (Arc::clone(&queue), Arc::clone(&called));
            thread::spawn(move || {
                let call = move |_: &dyn std::any::Any| {
                    called.fetch_add(1, Relaxed);
                };
                queue.push(Injected::Call(Box::new(call)));
            });
        }
        while called.load(Relaxed) < 2 {
            for injected in queue.drain() {
                if let Injected::Call(call) = injected {
                    call(&());
                }
            }
            if called.load(Relaxed) < 2 && queue.may_sleep() {
                sleep.wait();
            }
        }
    });
}

// ANCHOR: wakes
/// Two threads that each write a value and wake the same task, which waits for both.
/// The second wake-up may add nothing, since the task is in the queue: its value must
/// be visible all the same. With a limit, only orders in which threads are interrupted
/// at most so many times are tried.
fn wake_ups(max_preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = max_preemptions;
    model.check(|| {
        let (sleep, queue) = queue();
        let task = waker(&queue);
        let values: Arc<[AtomicUsize; 2]> = Arc::default();
        for n in 0..2 {
            let (queue, task, values) =
                (Arc::clone(&queue), Arc::clone(&task), Arc::clone(&values));
            thread::spawn(move || {
                values[n].store(1, Relaxed);
                queue.push(Injected::Wake(task));
            });
        }
        let mut seen = 0;
        while seen < 2 {
            // The task takes a step only when it is woken.
            for injected in queue.drain() {
                assert!(matches!(injected, Injected::Wake(_)));
                seen = values.iter().map(|value| value.load(Relaxed)).sum();
            }
            if seen < 2 && queue.may_sleep() {
                sleep.wait();
            }
        }
    });
}
// ANCHOR_END: wakes

/// With three interruptions, most bugs of this kind show up.
#[test]
fn a_wake_up_shows_what_was_written_before() {
    wake_ups(Some(3));
}

#[test]
#[ignore = "takes a quarter of a minute"]
fn a_wake_up_shows_what_was_written_before_in_every_order() {
    wake_ups(None);
}

/// A loop that is closed while a thread pushes: what comes too late is dropped, and
/// nothing stays in the queue.
#[test]
fn a_closed_queue_keeps_nothing() {
    loom::model(|| {
        let (_sleep, queue) = queue();
        let (held, pushed) = (Arc::new(()), Arc::clone(&queue));
        let inside = Arc::clone(&held);
        let pushing = thread::spawn(move || {
            let call = move |_: &dyn std::any::Any| drop(inside);
            pushed.push(Injected::Call(Box::new(call)));
        });
        queue.close();
        pushing.join().unwrap();
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(queue.drain().is_empty());
    });
}

/// A queue whose loop looks first and promises to sleep in a second step: with the bug that
/// the one lock of `InjectQueue::may_sleep` keeps away.
#[test]
#[should_panic(expected = "deadlock")]
fn a_promise_to_sleep_after_the_look_is_found() {
    loom::model(|| {
        let (sleep, notify) = Sleep::new();
        let (items, is_asleep) = (Arc::new(Mutex::new(0)), Arc::new(AtomicBool::new(false)));
        let (inside, flag) = (Arc::clone(&items), Arc::clone(&is_asleep));
        thread::spawn(move || {
            *inside.lock().unwrap() += 1;
            if flag.swap(false, std::sync::atomic::Ordering::SeqCst) {
                notify();
            }
        });
        while std::mem::take(&mut *items.lock().unwrap()) == 0 {
            let is_empty = *items.lock().unwrap() == 0;
            if is_empty {
                is_asleep.store(true, std::sync::atomic::Ordering::SeqCst);
                sleep.wait();
            }
        }
    });
}

/// The lab `lost-wakeup`: a task that looks for a value, and stores its waker. With
/// `in_one_step`, both are under one lock.
fn value_and_waker(in_one_step: bool) {
    #[derive(Default)]
    struct Slot {
        value: Option<u32>,
        waker: Option<Arc<TaskWaker>>,
    }
    loom::model(move || {
        let (sleep, queue) = queue();
        let task = waker(&queue);
        let slot: Arc<Mutex<Slot>> = Arc::default();
        let (sender, inject_queue) = (Arc::clone(&slot), Arc::clone(&queue));
        thread::spawn(move || {
            let mut slot = sender.lock().unwrap();
            slot.value = Some(7);
            let waker = slot.waker.take();
            drop(slot);
            if let Some(waker) = waker {
                inject_queue.push(Injected::Wake(waker));
            }
        });
        let poll = || {
            let mut guard = slot.lock().unwrap();
            if let Some(value) = guard.value.take() {
                return Some(value);
            }
            if !in_one_step {
                drop(guard);
                guard = slot.lock().unwrap();
            }
            guard.waker = Some(Arc::clone(&task));
            None
        };
        // The first step; each other one follows a wake-up.
        let mut value = poll();
        while value.is_none() {
            if queue.may_sleep() {
                sleep.wait();
            }
            for _ in queue.drain() {
                value = poll();
            }
        }
        assert_eq!(value, Some(7));
    });
}

#[test]
fn a_value_and_a_waker_meet_under_one_lock() {
    value_and_waker(true);
}

/// The bug of the lab `lost-wakeup`.
#[test]
#[should_panic(expected = "deadlock")]
fn a_waker_that_is_stored_after_the_check_is_found() {
    value_and_waker(false);
}
