//! Waits that never end: tasks that wait for each other in a circle, and a loop in
//! which nothing can happen any more.

use std::iter::successors;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::task::Waker;

use selector_core::Key;

use crate::Exception;
use crate::asyncio::inspector::{Inspector, Wait};
use crate::runtime::event_loop::Inner;
use crate::runtime::future::Callback;
use crate::runtime::inject_queue::TaskWaker;
use crate::runtime::scheduler::{Runnable, Scheduler, main_key};

/// The number of tasks up to which a circle is found. A chain of tasks is followed
/// each time that it becomes longer.
const LONGEST_CIRCLE: usize = 1000;

impl Inspector {
    /// Returns the exception for a task that waits in a circle, once.
    pub(crate) fn circle(&self, key: Key) -> Option<Exception> {
        let circles = &self.deadlocks.circles;
        if circles.borrow().is_empty() {
            return None;
        }
        circles.borrow_mut().remove(&key).map(Exception::Circle)
    }

    /// Counts a waker that a future of this loop has stored.
    #[inline]
    pub(crate) fn waker_stored(&self, waker: &Waker) {
        self.local_wakers.update(|wakers| wakers + 1);
        if waker.data() != self.deadlocks.current_waker.get() {
            self.deadlocks.is_blind.set(true);
        }
    }

    /// Makes room for another callback of a pending future. Before its memory grows, those
    /// that would wake tasks that have ended are removed.
    #[inline]
    pub(crate) fn make_room<T>(&self, callbacks: &mut Vec<Callback<T>>) {
        if callbacks.is_empty() {
            // Most futures have one waiter.
            callbacks.reserve_exact(1);
        } else if callbacks.len() == callbacks.capacity() {
            self.remove_left(callbacks);
        }
    }

    #[cold]
    fn remove_left<T>(&self, callbacks: &mut Vec<Callback<T>>) {
        let left = self.deadlocks.left_wakers.borrow();
        let before = callbacks.len();
        callbacks.retain(|callback| match callback {
            Callback::Wake(waker) => !left.contains_key(&waker.data()),
            Callback::Call(..) => true,
        });
        self.local_wakers.update(|wakers| wakers - (before - callbacks.len()));
        if callbacks.len() > before / 2 {
            // Not to be looked through again so soon.
            callbacks.reserve(callbacks.len());
        }
    }

    /// Counts on the wakers of a task that has ended.
    #[cold]
    fn waker_left(&self, waker: &Arc<TaskWaker>) {
        let mut left = self.deadlocks.left_wakers.borrow_mut();
        if left.len().is_power_of_two() {
            left.retain(|_, waker| waker.strong_count() > 0);
        }
        left.insert(Arc::as_ptr(waker).cast(), Arc::downgrade(waker));
    }
}

impl dyn Runnable {
    /// Returns the number of wakers of this task that are stored somewhere.
    fn stored_wakers(&self) -> usize {
        self.kept_waker().map_or(0, |waker| Arc::strong_count(waker) - 1)
    }

    /// Returns true if this task was woken, and is to take a step.
    fn is_queued(&self) -> bool {
        self.kept_waker().is_some_and(|waker| waker.is_queued.load(Relaxed))
    }
}

impl Scheduler {
    /// Returns the waker for the next step of the main coroutine.
    pub(crate) fn main_waker(&self) -> Waker {
        self.waker(main_key(), &mut self.inspector.deadlocks.main_waker.borrow_mut())
    }

    /// Removes a task, unless it takes a step, and drops it, which runs foreign code.
    pub(crate) fn drop_task(&self, key: Key) {
        if let Some(step) = self.remove_task(key).and_then(|slot| slot.step) {
            trace::cancelled(key.to_bits());
            self.drop_step(step);
        }
    }

    /// Drops a task that is in no slot any more, which runs foreign code. Its wakers
    /// may be stored somewhere still, also if its destructor panics.
    pub(crate) fn drop_step(&self, step: Pin<Box<dyn Runnable>>) {
        let waker = step.kept_waker().cloned();
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(step)));
        let current_waker = &self.inspector.deadlocks.current_waker;
        if waker.as_ref().is_some_and(|waker| Arc::as_ptr(waker).cast() == current_waker.get()) {
            // Another waker may have its address soon.
            current_waker.set(ptr::dangling());
        }
        if let Some(waker) = waker.filter(|waker| Arc::strong_count(waker) > 1) {
            self.inspector.waker_left(&waker);
        }
        if let Err(panic) = dropped {
            resume_unwind(panic);
        }
    }

    /// Looks for circles at the end of a batch.
    pub(crate) fn break_circles(&self) {
        // Those of the last batch have been told, or their tasks did not wait again.
        self.inspector.deadlocks.circles.borrow_mut().clear();
        while let Some(key) = self.inspector.awaiting_tasks.borrow_mut().pop() {
            self.break_circle(key);
        }
    }

    // ANCHOR: break_circle
    /// Resumes a task with an error if its wait has closed a circle: it waits for a
    /// task that waits, possibly through others, for this one, and nothing else can
    /// wake any of them, or has woken one already.
    fn break_circle(&self, closing: Key) {
        let is_blind = self.inspector.deadlocks.is_blind.get();
        let tasks = self.tasks.borrow();
        let awaited_by = |key: &Key| {
            let slot = tasks.get(*key)?;
            let step = slot.step.as_ref()?;
            let waits_for_one = step.stored_wakers() == 1 && !step.is_queued();
            match slot.wait.wait {
                Wait::Task(awaited) if waits_for_one && !is_blind => Some(awaited),
                _ => None,
            }
        };
        let chain = || successors(Some(closing), awaited_by).take(LONGEST_CIRCLE);
        // Nearly always there is no circle, and a short chain.
        let Some(last) = chain().skip(1).position(|key| key == closing) else { return };
        // Several tasks of a circle may have begun to wait in this batch: one is told.
        let circles = &self.inspector.deadlocks.circles;
        let is_told = |key| circles.borrow().contains_key(&key);
        if chain().take(last + 1).any(is_told) {
            return;
        }
        let spawned = |key| tasks.get(key).and_then(|slot| slot.spawned);
        let name = |key| self.inspector.name(key, spawned(key));
        let names: Vec<String> = chain().take(last + 2).map(name).collect();
        circles.borrow_mut().insert(closing, Rc::new(names.join(", ")));
        drop(tasks);
        self.schedule(closing);
    }
    // ANCHOR_END: break_circle
}

impl Inner {
    // ANCHOR: is_deadlocked
    /// Returns true if nothing can ever happen again, while no task is to take a
    /// step: no timer, connection or lookup is pending, no other thread has a handle
    /// to the loop, no future was polled with a foreign waker, and all wakers of its
    /// tasks, ended ones too, and of the main coroutine, are in futures of this loop,
    /// which no task is left to resolve.
    pub(crate) fn is_deadlocked(&self) -> bool {
        let Self { scheduler, reactor, inspector, remotes, .. } = self;
        if !reactor.timers.borrow().is_empty()
            || !reactor.selector.borrow().is_empty()
            || !reactor.lookups.is_empty()
            || Arc::strong_count(remotes) > 1
            || inspector.deadlocks.is_blind.get()
        {
            return false;
        }
        let main_waker = inspector.deadlocks.main_waker.borrow();
        let main = main_waker.as_ref().map_or(0, |waker| Arc::strong_count(waker) - 1);
        let tasks = scheduler.tasks.borrow();
        let stored = |key| Some(tasks.get(key)?.step.as_ref()?.stored_wakers());
        let stored: usize = tasks.keys().filter_map(stored).sum();
        let left = inspector.deadlocks.left_wakers.borrow();
        let left: usize = left.values().map(Weak::strong_count).sum();
        // The last look is for a thread that has called the loop and dropped its
        // handle in the meantime.
        main + stored + left == inspector.local_wakers.get() && scheduler.may_sleep()
    }
    // ANCHOR_END: is_deadlocked
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Poll;
    use std::time::Duration;

    use selector_core::VirtualClock;
    use transport::system_lookup;

    use super::*;
    use crate::runtime::future::Outcome;
    use crate::{Coroutine, EventLoop, Future, Task, sleep};

    #[test]
    fn futures_keep_no_wakers_of_tasks_that_have_ended() {
        let event_loop = EventLoop::with_backend(VirtualClock::new(), Arc::new(system_lookup));
        let stops = [(); 2].map(|()| Future::<()>::new(&event_loop));
        for n in 0..200 {
            let mut stop = stops[n % 2].clone();
            // It waits for two things, and one is there.
            drop(Task::spawn(
                &event_loop,
                poll_fn(move |context| Poll::Ready(Pin::new(&mut stop).poll(context).is_ready())),
            ));
            event_loop.run_until_complete(sleep(&event_loop, Duration::ZERO)).unwrap();
        }
        let kept = stops.each_ref().map(|stop| match &stop.0.borrow().outcome {
            Outcome::Pending(callbacks) => callbacks.len(),
            _ => panic!("it is done"),
        });
        assert!(kept.into_iter().max() <= Some(4), "{kept:?}");
        assert_eq!(event_loop.0.inspector.local_wakers.get(), kept.into_iter().sum::<usize>());
    }
}
