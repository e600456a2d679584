//! The observer of a loop: it sees what the loop does, and may decide three things.
//!
//! Whoever wants to know something about a loop (names, waits, statistics, traces,
//! deadlocks) observes it, and the runtime stays as it is.

use std::any::Any;
use std::collections::VecDeque;
use std::io;
use std::panic::Location;
use std::time::Instant;

use selector_core::Key;

use super::event_loop::EventLoop;
use super::exception::Exception;

/// A place in the code.
pub type Place = &'static Location<'static>;

/// What the loop runs under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The main coroutine of a run.
    Main,
    /// A task, and the line that spawned it.
    Task(Place),
    /// A callback, which is a task that nobody sees.
    Callback,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Its next turn.
    Yield,
    /// A future.
    Future,
    /// Another task.
    Task(Key),
    /// Bytes from this connection.
    Read(Key),
    /// Room to write to this connection.
    Write(Key),
    /// The opening of this connection.
    Connect(Key),
    /// The addresses of a name.
    Lookup,
    /// This moment; `None` is beyond the end of the clock.
    Sleep(Option<Instant>),
    /// Something else, in words: "waiting for an item of a queue".
    Other(&'static &'static str),
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The task waits.
    Pending,
    /// The coroutine has returned or panicked.
    Done,
    /// The task was cancelled during the step.
    Cancelled,
}

/// What only the observer hears of.
#[derive(Debug)]
pub enum Unhandled<'e> {
    /// A callback, a task without a handle or a destructor panicked.
    Panicked(&'e Exception),
    /// The last handle to a future was dropped, and nobody had retrieved its exception.
    NeverRetrieved(&'e Exception),
    /// The loop was closed at this moment, and this task was pending.
    Destroyed(Key, Instant),
}

/// An observer. Every method but [`Observer::visit`] has a default that does nothing.
///
/// Only the methods that get the loop may call its methods: the others are called in the
/// middle of a change.
pub trait Observer: Any {
    /// A task exists from now on.
    fn spawned(&self, _task: Key, _origin: Origin) {}

    /// A task was put into the run queue.
    fn woken(&self, _task: Key) {}

    /// A task begins a step.
    fn step_begins(&self, _task: Key) {}

    /// The task that takes the step waits for this, at this place, and since this moment. Of
    /// several calls in one step the last one counts: an operation calls this after the
    /// operations that it is made of. Without a place, the moment is that of the poll, and
    /// the wait may have begun before.
    fn waits(&self, _wait: Wait, _at: Option<Place>, _since: Instant) {}

    /// Decides whether the task that takes the step may wait for another one.
    ///
    /// # Errors
    /// The exception becomes the result of this `.await`.
    fn awaits(&self, _task: Key, _awaited: Key) -> Result<(), Exception> {
        Ok(())
    }

    /// The step ends.
    fn step_ends(&self, _task: Key, _end: StepEnd) {}

    /// A task was cancelled between two steps.
    fn dropped(&self, _task: Key) {}

    /// A coroutine, a callback or a destructor has panicked.
    fn panicked(&self) {}

    /// Something happened that nobody else hears of.
    fn unhandled(&self, _what: &Unhandled<'_>) {}

    /// Decides the order in which the tasks of the next batch take their steps.
    fn order(&self, _batch: &mut VecDeque<Key>) {}

    /// All tasks of a batch have taken their steps.
    fn batch_ends(&self, _event_loop: &EventLoop) {}

    /// Decides whether the loop may sleep although no timer would end the sleep.
    ///
    /// # Errors
    /// An error ends the run.
    fn idle(&self, _event_loop: &EventLoop) -> io::Result<()> {
        Ok(())
    }

    /// Calls `visit` with every observer that this one consists of.
    fn visit<'o>(&'o self, visit: &mut dyn FnMut(&'o dyn Any));
}

impl Observer for () {
    fn visit<'o>(&'o self, _visit: &mut dyn FnMut(&'o dyn Any)) {}
}
