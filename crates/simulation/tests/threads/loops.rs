//! Models of a loop to which other threads give work.

use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Wake;
use std::thread;

use selector_core::{Key, Notifier};

use crate::waker::{Inbox, TaskWaker};

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

fn inbox() -> (Arc<Sleep>, Arc<Inbox>) {
    let (sleep, notify) = Sleep::new();
    (sleep, Arc::new(Inbox::new(Notifier::new(notify))))
}

fn waker(inbox: &Arc<Inbox>) -> Arc<TaskWaker> {
    let (is_queued, inbox) = (AtomicBool::new(false), Arc::clone(inbox));
    Arc::new(TaskWaker { key: Key::from_bits(0), is_queued, inbox })
}

/// Waits until a task was woken, and begins its steps, as a loop does.
fn take_woken(sleep: &Sleep, inbox: &Inbox, task: &TaskWaker) -> usize {
    loop {
        let woken = inbox.take().len();
        if woken > 0 {
            task.is_queued.swap(false, AcqRel);
            return woken;
        }
        if inbox.may_sleep() {
            sleep.wait();
        }
    }
}

// ANCHOR: wakes
/// Two threads that each write a value and wake the same task, which waits for both.
/// The second wake-up may add nothing, since the task is in the inbox: its value must be
/// visible even so. With a limit, only orders in which threads are interrupted
/// at most so many times are tried.
fn wake_ups(max_preemptions: Option<usize>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = max_preemptions;
    model.check(|| {
        let (sleep, inbox) = inbox();
        let task = waker(&inbox);
        let values: Arc<[AtomicUsize; 2]> = Arc::default();
        for n in 0..2 {
            let (task, values) = (Arc::clone(&task), Arc::clone(&values));
            thread::spawn(move || {
                values[n].store(1, Relaxed);
                task.wake();
            });
        }
        let mut seen = 0;
        while seen < 2 {
            // The task takes a step only when it is woken.
            assert_eq!(take_woken(&sleep, &inbox, &task), 1);
            seen = values.iter().map(|value| value.load(Relaxed)).sum();
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

/// Two tasks that are woken by two threads: each takes its step.
#[test]
fn every_wake_up_of_a_thread_arrives() {
    loom::model(|| {
        let (sleep, inbox) = inbox();
        for _ in 0..2 {
            let task = waker(&inbox);
            thread::spawn(move || task.wake());
        }
        let mut woken = 0;
        while woken < 2 {
            woken += inbox.take().len();
            if woken < 2 && inbox.may_sleep() {
                sleep.wait();
            }
        }
    });
}

/// A queue whose loop looks first and promises to sleep in a second step: with the bug that
/// the one lock of `Inbox::may_sleep` keeps away.
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
        let (sleep, inbox) = inbox();
        let task = waker(&inbox);
        let slot: Arc<Mutex<Slot>> = Arc::default();
        let sender = Arc::clone(&slot);
        thread::spawn(move || {
            let mut slot = sender.lock().unwrap();
            slot.value = Some(7);
            let waker = slot.waker.take();
            drop(slot);
            if let Some(waker) = waker {
                waker.wake();
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
            take_woken(&sleep, &inbox, &task);
            value = poll();
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
