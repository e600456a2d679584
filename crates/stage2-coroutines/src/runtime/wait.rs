//! What a task waits in: one operation, its place in the code, and its start.

use std::cell::Cell;
use std::panic::Location;

use selector_core::Key;

/// The operation that a task waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No wait: the task is running or ready.
    Nothing,
    /// A yield: the task waits for its next step.
    Yield,
    /// A future that is pending.
    Future,
    /// Another task that is pending.
    Task(Key),
    /// A read from this connection.
    Read(Key),
    /// A write to this connection.
    Write(Key),
    /// The opening of this connection.
    Connect(Key),
    /// A lookup of the addresses of a name.
    Lookup,
    /// A sleep until this time, in milliseconds since the loop was made.
    Sleep(u32),
    /// An operation of another crate, by the number of its description; see
    /// [`crate::EventLoop::other_wait`].
    Other(u32),
}

/// The wait of a task: the operation, its place in the code, and its start.
/// Small, since every task has one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitInfo {
    pub(crate) wait: Wait,
    pub(crate) at: Option<&'static Location<'static>>,
    /// Milliseconds since the loop was made.
    pub(crate) since: u32,
}

impl WaitInfo {
    pub(crate) const NONE: Self = Self { wait: Wait::Nothing, at: None, since: 0 };

    /// Replaces this wait by that of the last step, unless both may be the same
    /// one: a bare future does not know since when it is awaited.
    pub(crate) fn update(&mut self, next: &Cell<Self>) {
        // A task that has set no wait in two steps costs two comparisons.
        let is_blank = |info: Self| info.wait == Wait::Nothing;
        if is_blank(next.get()) && is_blank(*self) {
            return;
        }
        let next = next.replace(Self::NONE);
        if next.at.is_some() || self.wait != next.wait {
            *self = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes of `Wait` and `WaitInfo`: every task has one.
    #[test]
    fn a_wait_takes_24_bytes() {
        assert_eq!((size_of::<Wait>(), size_of::<WaitInfo>()), (12, 24));
    }
}
