//! Waiting for one's turn to knock at a server.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use transport::{Entry, LetIn, LineKey, Number};

use crate::{Coroutine, EventLoop, Future};

/// Somebody's turn to connect to an address, until it is dropped.
pub struct Turn {
    event_loop: EventLoop,
    line: LineKey,
}

impl EventLoop {
    /// Waits until it is the caller's turn to connect to this address, which
    /// comes in the order of the calls, or until it has waited long enough.
    /// `alarm` is told how long that is: there is no timer in here, but one
    /// that wakes the caller then.
    ///
    /// No async fn, whose frame would hold the address: of those who wait in
    /// line, there are as many as there are fetches.
    pub fn turn_to_connect(
        &self,
        address: SocketAddr,
        alarm: impl Fn(Instant),
    ) -> impl Coroutine<Output = Turn> {
        let line = self.0.connecting.borrow_mut().line(address);
        let mut in_line = InLine { event_loop: self, line, waiting: None, is_over: false };
        // Mostly it is at once, and there is no need of a future.
        let entry = self.0.connecting.borrow_mut().enter(line, None);
        if let Entry::Later(number, patience) = entry {
            let called = Future::new(self);
            if let Some(waiter) = self.0.connecting.borrow_mut().waiter_mut(number) {
                *waiter = Some(called.clone());
            }
            let until = self.now() + patience;
            alarm(until);
            in_line.waiting = Some(Waiting { number, called, until });
        }
        poll_fn(move |context| in_line.poll(&alarm, context))
    }

    fn end_turn(&self, line: LineKey) {
        loop {
            let next = self.0.connecting.borrow_mut().leave(line).flatten();
            // Who has stopped waiting refuses it.
            if next.is_none_or(|next| next.set_result(()).is_ok()) {
                return;
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.event_loop.end_turn(self.line);
    }
}

/// Whoever is dropped while it waits takes nobody's turn with it.
struct InLine<'l> {
    event_loop: &'l EventLoop,
    line: LineKey,
    /// Of whoever could not go at once.
    waiting: Option<Waiting>,
    /// Whether its turn has come, and is somebody's.
    is_over: bool,
}

struct Waiting {
    number: Number,
    called: Future<()>,
    until: Instant,
}

impl InLine<'_> {
    fn poll(&mut self, alarm: impl Fn(Instant), context: &mut Context<'_>) -> Poll<Turn> {
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.poll(self.event_loop, alarm, context));
        }
        self.is_over = true;
        Poll::Ready(Turn { event_loop: self.event_loop.clone(), line: self.line })
    }
}

impl Waiting {
    /// Ready when it is called, or has waited long enough.
    fn poll(
        &mut self,
        event_loop: &EventLoop,
        alarm: impl Fn(Instant),
        context: &mut Context<'_>,
    ) -> Poll<()> {
        match Pin::new(&mut self.called).poll(context) {
            Poll::Pending if self.until <= event_loop.now() => {
                let let_in = event_loop.0.connecting.borrow_mut().let_in(self.number);
                let LetIn::Later(patience) = let_in else {
                    return Poll::Ready(());
                };
                self.until = event_loop.now() + patience;
                alarm(self.until);
                Poll::Pending
            }
            // Nobody else has it, to cancel it.
            poll => poll.map(drop),
        }
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        // Called, but not resumed any more: then the next one.
        let is_called =
            |Waiting { called, .. }: &Waiting| !called.cancel() && called.take_result().is_some();
        if !self.is_over && self.waiting.as_ref().is_none_or(is_called) {
            self.event_loop.end_turn(self.line);
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&self.line).finish()
    }
}
