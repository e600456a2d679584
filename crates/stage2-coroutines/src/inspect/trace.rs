//! The steps and waits of tasks in the trace.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use selector_core::Key;
use trace::Event;

use crate::inspect::Inspector;
use crate::inspect::inspector::Waiting;
use crate::runtime::observer::{Observer, Origin, StepEnd, Wait};

/// The observer that writes steps, waits and wake-ups to the trace, if there is one. It
/// stands before the inspector in a pair, so that it still sees what a task waited for.
pub struct Trace {
    inspector: Rc<Inspector>,
    /// True from the begin of a run until its main coroutine is woken for its first step.
    is_main_new: Cell<bool>,
}

impl Trace {
    /// The id of every main coroutine: one lane for all runs of a loop.
    const MAIN: u64 = u64::MAX;

    /// Returns a tracer that takes names and waits from the inspector of the same loop.
    pub fn new(inspector: &Rc<Inspector>) -> Self {
        let inspector = Rc::clone(inspector);
        Self { inspector, is_main_new: Cell::new(false) }
    }

    fn id(&self, task: Key) -> u64 {
        if self.inspector.main.get() == Some(task) { Self::MAIN } else { task.to_bits() }
    }

    #[cold]
    fn begin(&self, task: Key) {
        let (id, spawned) = (self.id(task), self.inspector.place(task));
        if spawned.is_none() && id != Self::MAIN {
            return trace::closure(());
        }
        let main = || (id == Self::MAIN).then(|| "main".to_owned());
        trace::step_begin(id, || (self.inspector.name(task).or_else(main), spawned));
    }

    /// Ends the step, after the waker that was stored in it.
    #[cold]
    fn end(&self, end: StepEnd) {
        let result = match end {
            StepEnd::Done => "done",
            StepEnd::Pending => "pending",
            StepEnd::Cancelled => "cancelled",
        };
        let waiting = if end == StepEnd::Pending { self.inspector.current() } else { None };
        let Some(Waiting { wait, at, .. }) = waiting else { return trace::step_end(None, result) };
        let (operation, key) = stored(wait);
        let key = key.map(Key::to_bits);
        trace::emit(|| Event::WakerStored { operation, at, key });
        trace::step_end(at, result);
    }
}

/// Returns the operation that has stored a waker, and the key of its socket.
fn stored(wait: Wait) -> (&'static str, Option<Key>) {
    match wait {
        Wait::Yield => ("yield", None),
        Wait::Future => ("future", None),
        Wait::Task(_) => ("task", None),
        Wait::Read(key) => ("read", Some(key)),
        Wait::Write(key) => ("write", Some(key)),
        Wait::Connect(key) => ("connect", Some(key)),
        Wait::Lookup => ("lookup", None),
        Wait::Sleep(_) => ("sleep", None),
        Wait::Other(description) => (*description, None),
    }
}

impl Observer for Trace {
    fn spawned(&self, _task: Key, origin: Origin) {
        if origin == Origin::Main {
            self.is_main_new.set(trace::is_on());
        }
    }

    fn woken(&self, task: Key) {
        if trace::is_on() {
            let id = self.id(task);
            // The first step of a main coroutine has no cause but the run itself.
            if id != Self::MAIN || !self.is_main_new.take() {
                trace::wake(id);
            }
        }
    }

    fn step_begins(&self, task: Key) {
        if trace::is_on() {
            self.begin(task);
        }
    }

    fn step_ends(&self, _task: Key, end: StepEnd) {
        if trace::is_on() {
            self.end(end);
        }
    }

    fn dropped(&self, task: Key) {
        trace::cancelled(task.to_bits());
    }

    fn panicked(&self) {
        trace::panicked();
    }

    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any)) {
        visit(self);
    }
}
