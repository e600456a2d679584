//! Timer events: callbacks at a moment, and timeouts.

use std::time::Instant;

use selector_core::{Key, TimerKey};
use transport::{LookupId, WaiterId};

use crate::lookup::LookupWaiter;
use crate::{Callback, EventLoop, Method};

/// The event that happens when a timer fires.
#[derive(Debug)]
pub enum TimerEvent<S> {
    /// The timeout of a connection. If a callback is still registered under
    /// this key, its state goes to this method instead.
    Timeout(Key, Method<S>),
    /// Any other event. It is boxed, because otherwise the timer of every
    /// connection would be larger by half.
    Other(Box<TimerAction<S>>),
}

/// A timer event that few connections need.
#[derive(Debug)]
pub enum TimerAction<S> {
    /// Calls a callback: its pause is over, or what it waited for is there.
    Call(Callback<S>),
    /// Retries to get a connect permit for this waiter.
    RetryConnect(WaiterId),
    /// The timeout of a lookup. If its callback still waits, its state goes to
    /// this method instead.
    LookupTimeout(LookupId, Method<S>),
}

impl<S> From<TimerAction<S>> for TimerEvent<S> {
    fn from(action: TimerAction<S>) -> Self {
        Self::Other(Box::new(action))
    }
}

impl<S> EventLoop<S> {
    /// Calls `method` with `this` at this moment.
    pub fn call_at(&mut self, at: Instant, this: Box<S>, method: Method<S>) {
        let callback = Callback { this, method };
        self.timers.set(at, TimerAction::Call(callback).into());
    }

    /// Moves a timer, unless it has fired.
    pub fn postpone(&mut self, timer: TimerKey, at: Instant) -> Option<TimerKey> {
        if timer.at() == at {
            return Some(timer);
        }
        self.timers.move_to(timer, at)
    }

    /// Runs the event of a timer that is due.
    pub(crate) fn fire(&mut self, timer_event: TimerEvent<S>) {
        let callback = match timer_event {
            TimerEvent::Timeout(key, method) => {
                let waiter = self.selector.take(key);
                waiter.map(|Callback { this, .. }| Callback { this, method })
            }
            TimerEvent::Other(action) => match *action {
                TimerAction::Call(callback) => Some(callback),
                TimerAction::RetryConnect(waiter_id) => self.retry_connect(waiter_id),
                TimerAction::LookupTimeout(lookup_id, method) => {
                    let waiter = self.resolver.cancel(lookup_id);
                    waiter.map(|LookupWaiter { this, .. }| Callback { this, method })
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

    /// The size matters because every connection has one.
    #[test]
    fn a_timer_event_is_two_words() {
        assert_eq!(size_of::<TimerEvent<()>>(), 16);
    }
}
