//! Turns: work that takes the thread for long is done by one task in each batch.
//!
//! A loop is fair among tasks only if each step is short. A selection may take a tenth
//! of a second, and a batch in which a hundred workers make theirs would hold up
//! timers, signals and sockets for ten. So a worker waits for its turn, and the loop
//! looks at everything else between two of them.

use stage2_coroutines::{EventLoop, yield_now};

use crate::JoinableQueue;

/// A queue with one item in it: the task that has the item has the turn.
pub(crate) struct Turns {
    event_loop: EventLoop,
    queue: JoinableQueue<()>,
}

/// A guard: while it lives, no other task has the turn.
pub(crate) struct Turn<'a>(&'a Turns);

impl Turns {
    pub(crate) fn new(event_loop: &EventLoop) -> Self {
        let queue = JoinableQueue::new(event_loop);
        queue.put_nowait(());
        Self { event_loop: event_loop.clone(), queue }
    }

    /// Waits for the turn, which begins with a batch of its own.
    pub(crate) async fn next(&self) -> Turn<'_> {
        self.queue.get().await.task_done();
        let turn = Turn(self);
        yield_now(&self.event_loop).await;
        turn
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.queue.put_nowait(());
    }
}
