//! Waiting for the addresses of a name, with a timeout.

use std::time::Instant;

use selector_core::TimerKey;
use transport::{Addresses, Lookup, LookupError};

use crate::{EventLoop, Method, TimerAction};

/// The method of a callback that receives the result of a lookup.
pub type LookupMethod<S> = fn(Box<S>, Result<Addresses, LookupError>, &mut EventLoop<S>);

/// A callback that waits for the result of a lookup.
pub(crate) struct LookupWaiter<S> {
    pub(crate) this: Box<S>,
    method: LookupMethod<S>,
    timer: Option<TimerKey>,
}

impl<S> EventLoop<S> {
    /// Returns the addresses of a host that are known without a lookup.
    pub fn cached_addresses(&mut self, host: &str, port: u16) -> Option<Addresses> {
        self.resolver.cached(host, port, self.selector.now())
    }

    /// Looks up the addresses of a host. Calls `method` with `this` and the
    /// result, which may be at once; or `timed_out` at the deadline.
    pub fn lookup(
        &mut self,
        (host, port): (&str, u16),
        this: Box<S>,
        method: LookupMethod<S>,
        deadline: Instant,
        timed_out: Method<S>,
    ) {
        let timer = None;
        let waiter = LookupWaiter { this, method, timer };
        match self.resolver.lookup(host, port, self.now(), waiter) {
            Lookup::Cached(addresses, waiter) => method(waiter.this, Ok(addresses), self),
            Lookup::Pending(lookup_id) => {
                let timer_event = TimerAction::LookupTimeout(lookup_id, timed_out).into();
                let timer = self.timers.set(deadline, timer_event);
                if let Some(waiter) = self.resolver.waiter_mut(lookup_id) {
                    waiter.timer = Some(timer);
                }
            }
        }
    }

    /// Calls the callbacks whose lookup has a result.
    pub(crate) fn call_lookup_waiters(&mut self, now: Instant) {
        for (waiter, result) in self.resolver.answered(now) {
            if let Some(timer) = waiter.timer {
                drop(self.timers.cancel(timer));
            }
            let LookupWaiter { this, method, .. } = waiter;
            method(this, result, self);
        }
    }
}
