//! What is to happen at a moment.

use std::time::Instant;

use selector_core::{Key, TimerKey};
use transport::{Number, Ticket};

use crate::names::Asker;
use crate::{Callback, EventLoop, Method};

/// What is to happen at a moment.
#[derive(Debug)]
pub enum Alarm<S> {
    /// Whoever still waits under this key has waited too long, and goes on
    /// with this method instead.
    Interrupt(Key, Method<S>),
    /// Something else. Boxed, or the alarm of every connection would be larger
    /// by half.
    Other(Box<Occasion<S>>),
}

/// What does not happen to every connection.
#[derive(Debug)]
pub enum Occasion<S> {
    /// Somebody has slept long enough, or has what he waited for.
    Call(Callback<S>),
    /// Whoever waits for his turn to connect has waited long enough.
    LetIn(Number),
    /// Whoever waits for the addresses of a name has waited too long.
    InterruptLookUp(Ticket, Method<S>),
}

impl<S> From<Occasion<S>> for Alarm<S> {
    fn from(occasion: Occasion<S>) -> Self {
        Self::Other(Box::new(occasion))
    }
}

impl<S> EventLoop<S> {
    /// Has `this` go on with `method` at this moment.
    pub fn call_at(&mut self, at: Instant, this: Box<S>, method: Method<S>) {
        let callback = Callback { this, method };
        self.timers.set(at, Occasion::Call(callback).into());
    }

    /// Moves a timer, unless it has fired.
    pub fn postpone(&mut self, timer: TimerKey, at: Instant) -> Option<TimerKey> {
        if self.timers.at(timer) == Some(at) {
            return Some(timer);
        }
        self.timers.move_to(timer, at)
    }

    pub(crate) fn ring(&mut self, alarm: Alarm<S>) {
        let callback = match alarm {
            Alarm::Interrupt(key, method) => {
                let waiter = self.selector.take(key);
                waiter.map(|Callback { this, .. }| Callback { this, method })
            }
            Alarm::Other(occasion) => match *occasion {
                Occasion::Call(callback) => Some(callback),
                Occasion::LetIn(number) => self.let_in(number),
                Occasion::InterruptLookUp(ticket, method) => {
                    let asker = self.resolver.take_back(ticket);
                    asker.map(|Asker { this, .. }| Callback { this, method })
                }
            },
        };
        if let Some(callback) = callback {
            self.call(callback);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every connection has one.
    #[test]
    fn an_alarm_is_small() {
        assert_eq!(size_of::<Alarm<()>>(), 16);
    }
}
