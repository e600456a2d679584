//! Waits that never end: tasks that wait for each other in a circle, and a loop in
//! which nothing can happen any more.

use std::io;
use std::iter::successors;
use std::rc::Rc;

use selector_core::Key;

use crate::inspect::inspector::Others;
use crate::inspect::{Inspect, Inspector};
use crate::{EventLoop, Exception};

/// The number of tasks up to which a circle is found. A chain of tasks is followed
/// each time that it becomes longer.
const LONGEST_CIRCLE: usize = 1000;

impl Inspector {
    /// Looks for circles at the end of a batch.
    pub(super) fn break_circles(&self, event_loop: &EventLoop) {
        for key in self.awaiting.take().into_iter().rev() {
            self.break_circle(event_loop, key);
        }
    }

    // ANCHOR: break_circle
    /// Resumes a task with an error if its wait has closed a circle: it waits for a task that
    /// waits, possibly through others, for this one. Nothing else can wake any of them, and
    /// none has been woken already.
    fn break_circle(&self, event_loop: &EventLoop, closing: Key) {
        let scheduler = event_loop.scheduler();
        let awaited_by = |task: &Key| {
            let wakers = scheduler.wakers(*task)?;
            match self.awaited(*task)? {
                (_, Others::Some) => None,
                (awaited, _) if !wakers.is_queued && wakers.given_away == 0 => Some(awaited),
                _ => None,
            }
        };
        let chain = || successors(Some(closing), awaited_by).take(LONGEST_CIRCLE);
        // Nearly always there is no circle, and a short chain.
        let Some(last) = chain().skip(1).position(|task| task == closing) else { return };
        // A task that may wait for others as well takes a step first, which shows it.
        let is_unknown = |task: &Key| !matches!(self.awaited(*task), Some((_, Others::None)));
        let unknown: Vec<Key> = chain().take(last + 1).filter(is_unknown).collect();
        if !unknown.is_empty() {
            for task in unknown {
                self.probe(task);
                scheduler.wake(task);
            }
            return self.awaiting.borrow_mut().push(closing);
        }
        let names: Vec<String> =
            chain().take(last + 2).map(|task| self.describe_task(task)).collect();
        // From now on it is queued. Of several tasks that closed this circle in one batch, no
        // other one gets the error.
        let exception = Exception::Circle(Rc::new(names.join(", ")));
        self.broken_circles.borrow_mut().push((closing, exception));
        scheduler.wake(closing);
    }
    // ANCHOR_END: break_circle

    /// Returns the name of a task, or the place that spawned it.
    fn describe_task(&self, task: Key) -> String {
        let place = || match self.place(task) {
            Some(spawned) => format!("task of {spawned}"),
            None => "a callback".to_owned(),
        };
        self.name(task).unwrap_or_else(place)
    }

    // ANCHOR: is_deadlocked
    /// Fails if nothing can ever happen again, while no task is to take a step: no timer,
    /// connection or lookup is pending, and nobody but the futures of this loop could wake a
    /// task. Nobody is left to resolve those.
    pub(super) fn find_deadlock(&self, event_loop: &EventLoop) -> io::Result<()> {
        let scheduler = event_loop.scheduler();
        let given_away = |task| scheduler.wakers(task).map_or(0, |wakers| wakers.given_away);
        if event_loop.reactor().is_waiting()
            || scheduler.tasks().into_iter().any(|task| given_away(task) > 0)
            // A thread may have woken a task and dropped its waker in the meantime.
            || !scheduler.may_sleep()
        {
            return Ok(());
        }
        let tasks = event_loop.describe_tasks();
        let message = format!("nothing can happen any more: {}", tasks.trim_end());
        Err(io::Error::new(io::ErrorKind::Deadlock, message))
    }
    // ANCHOR_END: is_deadlocked
}
