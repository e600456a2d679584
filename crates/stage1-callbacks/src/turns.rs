//! Waiting for one's turn to knock at a server.

use std::net::SocketAddr;
use std::time::Duration;

use selector_core::TimerKey;
use transport::{Entry, LetIn, LineKey, Number};

use crate::{Callback, EventLoop, Method, Occasion};

/// Somebody who waits for his turn.
pub(crate) struct InLine<S> {
    pub(crate) callback: Callback<S>,
    timer: Option<TimerKey>,
}

impl<S> EventLoop<S> {
    /// The line before an address, to be entered at once.
    pub fn line(&mut self, address: SocketAddr) -> LineKey {
        self.connecting.line(address)
    }

    /// Has `this` go on with `method` when it is its turn to connect to the
    /// address of this line, which may be at once. The turn lasts until
    /// [`EventLoop::end_turn`].
    pub fn call_in_turn(&mut self, line: LineKey, this: Box<S>, method: Method<S>) {
        let waiter = InLine { callback: Callback { this, method }, timer: None };
        match self.connecting.enter(line, waiter) {
            Entry::Now(waiter) => self.call(waiter.callback),
            Entry::Later(number, patience) => self.ask_again(number, patience),
        }
    }

    fn ask_again(&mut self, number: Number, patience: Duration) {
        let timer = self.timers.set(self.now() + patience, Occasion::LetIn(number).into());
        if let Some(waiter) = self.connecting.waiter_mut(number) {
            waiter.timer = Some(timer);
        }
    }

    /// What to call when somebody has waited as long as he was told to.
    pub(crate) fn let_in(&mut self, number: Number) -> Option<Callback<S>> {
        match self.connecting.let_in(number) {
            LetIn::Now(waiter) => return Some(waiter.callback),
            LetIn::Later(patience) => self.ask_again(number, patience),
            LetIn::Gone => {}
        }
        None
    }

    /// The server has let hear from itself, or the connection has ended: if it
    /// was anybody's turn, it is somebody else's now.
    pub fn end_turn(&mut self, turn: &mut Option<LineKey>) {
        let next = turn.take().and_then(|line| self.connecting.leave(line));
        if let Some(InLine { callback, timer }) = next {
            if let Some(timer) = timer {
                drop(self.timers.cancel(timer));
            }
            self.timers.set(self.now(), Occasion::Call(callback).into());
        }
    }
}
