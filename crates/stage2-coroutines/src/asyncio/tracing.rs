//! The steps and waits of tasks in the trace.

use std::cell::Cell;
use std::task::Poll;

use selector_core::Key;
use trace::Event;

use crate::asyncio::inspector::{Wait, WaitInfo};
use crate::runtime::scheduler::{Scheduler, main_key};

/// A drop guard that forgets the wait of the main coroutine, also if that panics.
struct ForgetWait<'i>(&'i Cell<WaitInfo>);

impl Drop for ForgetWait<'_> {
    fn drop(&mut self) {
        self.0.set(WaitInfo::NONE);
    }
}

impl Scheduler {
    /// Begins a step in the trace, if there is one.
    #[inline(always)]
    pub(crate) fn trace_step(&self, key: Key) {
        if trace::is_on() {
            self.step_begins(key);
        }
    }

    /// Takes a step of the main coroutine, which returns true when it is done.
    #[inline(always)]
    pub(crate) fn trace_main(&self, step: impl FnOnce() -> bool) {
        let _forget = ForgetWait(&self.inspector.current_wait);
        self.trace_step(main_key());
        let state = if step() { Poll::Ready(()) } else { Poll::Pending };
        self.trace_step_end(main_key(), &state);
    }

    /// Ends the step in the trace.
    #[inline(always)]
    pub(crate) fn trace_step_end<T>(&self, key: Key, state: &Poll<T>) {
        if trace::is_on() {
            let is_there = || self.tasks.borrow().get(key).is_some() || key == main_key();
            self.step_ends(match state {
                Poll::Ready(_) => "done",
                Poll::Pending if is_there() => "pending",
                Poll::Pending => "cancelled",
            });
        }
    }

    #[cold]
    fn step_begins(&self, key: Key) {
        let spawned = self.tasks.borrow().get(key).and_then(|slot| slot.spawned);
        if spawned.is_none() && key != main_key() {
            return trace::closure(());
        }
        let name = || self.inspector.task_names.borrow().get(&key).map(|name| name.to_string());
        let main = || (key == main_key()).then(|| "main".to_owned());
        trace::step_begin(key.to_bits(), || (name().or_else(main), spawned));
    }

    /// Ends the step, after the waker that was stored in it.
    #[cold]
    fn step_ends(&self, result: &'static str) {
        let WaitInfo { wait, at, .. } = self.inspector.current_wait.get();
        let stored = self.stored(wait).filter(|_| result == "pending");
        if let Some((operation, key)) = stored {
            let key = key.map(Key::to_bits);
            trace::emit(|| Event::WakerStored { operation, at, key });
        }
        trace::step_end(at.filter(|_| stored.is_some()), result);
    }

    /// Returns the operation that has stored the waker of the current task, and the key
    /// of its socket.
    fn stored(&self, wait: Wait) -> Option<(&'static str, Option<Key>)> {
        Some(match wait {
            Wait::Nothing => return None,
            Wait::Yield => ("yield", None),
            Wait::Future => ("future", None),
            Wait::Task(_) => ("task", None),
            Wait::Read(key) => ("read", Some(key)),
            Wait::Write(key) => ("write", Some(key)),
            Wait::Connect(key) => ("connect", Some(key)),
            Wait::Lookup => ("lookup", None),
            Wait::Sleep(_) => ("sleep", None),
            Wait::Other(number) => {
                let descriptions = self.inspector.other_waits.borrow();
                (descriptions.get(number as usize).copied()?, None)
            }
        })
    }
}
