//! The vocabulary: the events of all four stages.

use std::io;
use std::net::SocketAddr;
use std::panic::Location;
use std::time::{Duration, Instant};

/// A place in the source code.
pub type At = &'static Location<'static>;

/// One event of a run. The keys of sockets are those of the selector, as bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A tick of the loop begins: one look at sockets and timers, and what follows.
    TickBegin {
        /// Its number, from 1.
        number: u64,
    },
    /// The tick ends.
    TickEnd,
    /// The loop asks the operating system for events.
    SelectBegin {
        /// The longest time to wait; `None` for no limit.
        timeout: Option<Duration>,
    },
    /// The operating system has answered.
    SelectEnd {
        /// The number of events.
        ready: usize,
    },
    /// A socket has become ready.
    Ready {
        /// The key of the socket.
        key: u64,
        /// True if there is something to read, or the end.
        readable: bool,
        /// True if there is room to write.
        writable: bool,
        /// True if the socket was gone when the event was taken.
        stale: bool,
    },
    /// A callback begins.
    CallbackBegin {
        /// The name of its function.
        name: &'static str,
        /// The key of the socket whose event has come, if it was a socket.
        key: Option<u64>,
    },
    /// The callback ends.
    CallbackEnd,
    /// A task begins a step.
    StepBegin,
    /// The step ends.
    StepEnd {
        /// The line at which the task waits.
        at: Option<At>,
        /// `pending`, `done`, `cancelled` or `panicked`.
        result: &'static str,
    },
    /// An operation of the current task waits: its waker, or callback, is stored.
    WakerStored {
        /// The operation, such as `read`.
        operation: &'static str,
        /// The line of the operation.
        at: Option<At>,
        /// The key of the socket, if it waits for one.
        key: Option<u64>,
    },
    /// A task is woken.
    Wake {
        /// The cause: `event`, `timer`, `thread`, `callback`, or `task` for a step of
        /// another task.
        by: &'static str,
        /// The lane of the task that wakes.
        from: Option<u32>,
    },
    /// A timer is set.
    TimerSet {
        /// Its number.
        timer: u64,
        /// The moment at which it fires.
        at: Instant,
    },
    /// A timer is moved.
    TimerMoved {
        /// Its new number.
        timer: u64,
        /// The number that it had.
        from: u64,
        /// The new moment at which it fires.
        at: Instant,
    },
    /// A timer fires.
    TimerFired {
        /// Its number.
        timer: u64,
    },
    /// A timer is cancelled.
    TimerCancelled {
        /// Its number.
        timer: u64,
    },
    /// A connection is opened.
    Connect {
        /// The key of its socket.
        key: u64,
        /// The address of the peer.
        address: SocketAddr,
    },
    /// An idle connection is used again.
    Reuse {
        /// The key of its socket.
        key: u64,
    },
    /// A socket is closed.
    Close {
        /// Its key.
        key: u64,
    },
    /// One system call that reads.
    Read {
        /// The key of the socket.
        key: u64,
        /// The number of bytes, or the error.
        result: Result<usize, io::ErrorKind>,
    },
    /// One system call that writes.
    Write {
        /// The key of the socket.
        key: u64,
        /// The number of bytes, or the error.
        result: Result<usize, io::ErrorKind>,
    },
    /// An operation of a queue.
    Queue {
        /// The id of the queue. After `new` it belongs to another one.
        queue: u64,
        /// `new`, `reserve`, `put`, `get`, `task_done` or `join`.
        operation: &'static str,
        /// The number of items that are not done afterwards.
        unfinished: usize,
    },
    /// A fetch begins.
    FetchBegin {
        /// The URL.
        url: Box<str>,
    },
    /// A fetch ends.
    FetchEnd {
        /// The URL.
        url: Box<str>,
        /// The status of the response.
        status: Option<u16>,
        /// The outcome of the row.
        outcome: &'static str,
    },
}

impl Event {
    /// Returns the lane that all events of this kind are on; `None` if they are on
    /// that of the task or thread that is running.
    pub(crate) fn lane(&self) -> Option<u32> {
        match self {
            Self::SelectBegin { .. } | Self::SelectEnd { .. } => Some(super::OS),
            Self::Read { .. } | Self::Write { .. } => Some(super::OS),
            Self::TickBegin { .. } | Self::TickEnd | Self::Ready { .. } => Some(super::SELECTOR),
            Self::TimerSet { .. } | Self::TimerMoved { .. } => Some(super::SELECTOR),
            Self::TimerFired { .. } | Self::TimerCancelled { .. } => Some(super::SELECTOR),
            _ => None,
        }
    }
}

/// Returns the result of a system call without what only an error message needs.
pub fn outcome(result: &io::Result<usize>) -> Result<usize, io::ErrorKind> {
    result.as_ref().copied().map_err(io::Error::kind)
}
