//! Waiting for the addresses of a name, but not for ever.

use std::time::Instant;

use selector_core::TimerKey;
use transport::{Addresses, NameError, Reply};

use crate::{EventLoop, Method, Occasion};

/// Where somebody goes on who asked for the addresses of a name.
pub type NameMethod<S> = fn(Box<S>, Result<Addresses, NameError>, &mut EventLoop<S>);

/// Somebody who waits for an answer.
pub(crate) struct Asker<S> {
    pub(crate) this: Box<S>,
    method: NameMethod<S>,
    timer: Option<TimerKey>,
}

impl<S> EventLoop<S> {
    /// The addresses of a host, if nobody has to wait for them.
    pub fn known_addresses(&mut self, host: &str, port: u16) -> Option<Addresses> {
        self.resolver.known(host, port, self.selector.now())
    }

    /// Asks for the addresses of a host. `this` goes on with `method` when they
    /// are known, which may be at once, or with `too_late` at the deadline.
    pub fn look_up(
        &mut self,
        (host, port): (&str, u16),
        this: Box<S>,
        method: NameMethod<S>,
        deadline: Instant,
        too_late: Method<S>,
    ) {
        let timer = None;
        let asker = Asker { this, method, timer };
        match self.resolver.look_up(host, port, self.now(), asker) {
            Reply::Known(addresses, asker) => method(asker.this, Ok(addresses), self),
            Reply::Pending(ticket) => {
                let alarm = Occasion::InterruptLookUp(ticket, too_late).into();
                let timer = self.timers.set(deadline, alarm);
                if let Some(asker) = self.resolver.waiter_mut(ticket) {
                    asker.timer = Some(timer);
                }
            }
        }
    }

    pub(crate) fn answer_look_ups(&mut self, now: Instant) {
        for (asker, answer) in self.resolver.answered(now) {
            if let Some(timer) = asker.timer {
                drop(self.timers.cancel(timer));
            }
            let Asker { this, method, .. } = asker;
            method(this, answer, self);
        }
    }
}
