//! Waiting for one's turn to knock at a server.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use transport::{Entry, LetIn, LineKey, Number};

use crate::{Coroutine, EventLoop};

/// Who waits in line, unless he has stopped waiting.
pub(crate) type Waiter = Option<Waker>;

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
        // Nobody is to be woken before the first poll.
        let waiter = Some(Waker::noop().clone());
        let entry = self.0.connecting.borrow_mut().enter(line, waiter);
        if let Entry::Later(number, patience) = entry {
            let until = self.now() + patience;
            alarm(until);
            in_line.waiting = Some(Waiting { number, until });
        }
        poll_fn(move |context| in_line.poll(&alarm, context))
    }

    fn end_turn(&self, line: LineKey) {
        loop {
            let next = self.0.connecting.borrow_mut().leave(line);
            match next {
                // Who has stopped waiting does not want it.
                Some(None) => {}
                Some(Some(waker)) => return waker.wake(),
                None => return,
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
    /// Ready when it is called, and no longer in line, or has waited long
    /// enough.
    fn poll(
        &mut self,
        event_loop: &EventLoop,
        alarm: impl Fn(Instant),
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let (now, waker) = (event_loop.now(), context.waker().clone());
        let mut connecting = event_loop.0.connecting.borrow_mut();
        let Some(waiter) = connecting.waiter_mut(self.number) else {
            return Poll::Ready(());
        };
        let replaced = waiter.replace(waker);
        let let_in = (self.until <= now).then(|| connecting.let_in(self.number));
        drop(connecting);
        drop(replaced);
        match let_in {
            Some(LetIn::Now(_) | LetIn::Gone) => return Poll::Ready(()),
            Some(LetIn::Later(patience)) => {
                self.until = now + patience;
                alarm(self.until);
            }
            None => {}
        }
        Poll::Pending
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut connecting = self.event_loop.0.connecting.borrow_mut();
        let waiter = self.waiting.as_ref().and_then(|waits| connecting.waiter_mut(waits.number));
        if let Some(waiter) = waiter {
            let waker = waiter.take();
            drop(connecting);
            drop(waker);
        } else {
            drop(connecting);
            // Called, but not resumed any more: then the next one.
            self.event_loop.end_turn(self.line);
        }
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&self.line).finish()
    }
}
