//! What an observer of the loop sees.

use selector_core::{Interest, Key};

use crate::event_loop::Method;

/// A function that sees what a loop does, and takes no part in it.
pub type Observer<S> = Box<dyn FnMut(Moment<'_, S>)>;

/// What a loop does at this moment.
#[derive(Debug)]
pub enum Moment<'a, S> {
    /// It starts a computation.
    Starts {
        /// The state of the computation.
        this: &'a S,
    },
    /// The first method of the computation has returned.
    Started,
    /// It stores a callback.
    Waits {
        /// The state of the computation.
        this: &'a S,
        /// The key of the socket that it waits for.
        key: Key,
        /// The event that it waits for.
        on: Interest,
    },
    /// It calls a callback.
    Calls {
        /// The state of the computation.
        this: &'a S,
        /// The method that it calls.
        method: Method<S>,
        /// The key of the socket whose event or timeout has come, if it was a socket.
        key: Option<Key>,
    },
}
