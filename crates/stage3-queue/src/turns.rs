//! Turns: work that takes the thread for long is done by one task in each batch.
//!
//! A loop is fair among tasks only if each step is short. A selection may take a tenth
//! of a second, and a batch in which a hundred workers make theirs would hold up
//! timers, signals and sockets for ten. So a worker waits for its turn, and the loop
//! looks at everything else between two of them.

use std::cell::RefCell;

use stage2_coroutines::{EventLoop, Future, yield_now};

/// The queue for a turn: each task waits for the end of the turn before its own.
pub(crate) struct Turns {
    event_loop: EventLoop,
    /// The end of the last turn that was asked for.
    last: RefCell<Option<Future<()>>>,
}

/// A guard: the turn ends when it is dropped, even by a task that still waits for its
/// own.
pub(crate) struct Turn(Future<()>);

impl Turns {
    pub(crate) fn new(event_loop: &EventLoop) -> Self {
        Self { event_loop: event_loop.clone(), last: RefCell::default() }
    }

    /// Waits for the turn, which begins with a batch of its own.
    pub(crate) async fn next(&self) -> Turn {
        let turn = Turn(Future::new(&self.event_loop));
        let before = self.last.replace(Some(turn.0.clone()));
        if let Some(before) = before {
            // Never cancelled while it is awaited.
            let _ = before.await;
        }
        yield_now(&self.event_loop).await;
        turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.0.set_result(());
    }
}
