//! Waiting for a permit to connect to an address.

use std::net::SocketAddr;
use std::time::Duration;

use selector_core::TimerKey;
use transport::{Acquire, AddressId, Retry, WaiterId};

use crate::{Callback, EventLoop, Method, TimerAction};

/// A callback that waits for a connect permit.
pub(crate) struct ConnectWaiter<S> {
    pub(crate) callback: Callback<S>,
    timer: Option<TimerKey>,
}

impl<S> EventLoop<S> {
    /// Returns the id of an address, to be passed to
    /// [`EventLoop::call_when_permitted`] at once.
    pub fn address_id(&mut self, address: SocketAddr) -> AddressId {
        self.connect_limiter.address_id(address)
    }

    /// Calls `method` with `this` when it has a permit to connect to the
    /// address, which may be at once. [`EventLoop::release_permit`] gives the
    /// permit back.
    pub fn call_when_permitted(&mut self, address_id: AddressId, this: Box<S>, method: Method<S>) {
        let waiter = ConnectWaiter { callback: Callback { this, method }, timer: None };
        match self.connect_limiter.acquire(address_id, waiter) {
            Acquire::Granted(waiter) => self.call(waiter.callback),
            Acquire::Queued(waiter_id, wait) => self.retry_connect_after(wait, waiter_id),
        }
    }

    fn retry_connect_after(&mut self, wait: Duration, waiter_id: WaiterId) {
        let timer_event = TimerAction::RetryConnect(waiter_id).into();
        let timer = self.timers.set(self.now() + wait, timer_event);
        if let Some(waiter) = self.connect_limiter.waiter_mut(waiter_id) {
            waiter.timer = Some(timer);
        }
    }

    /// Retries for a waiter whose time has passed. Returns its callback if it
    /// now has a permit.
    pub(crate) fn retry_connect(&mut self, waiter_id: WaiterId) -> Option<Callback<S>> {
        match self.connect_limiter.retry(waiter_id) {
            Retry::Granted(waiter) => return Some(waiter.callback),
            Retry::Queued(wait) => self.retry_connect_after(wait, waiter_id),
            Retry::Gone => {}
        }
        None
    }

    /// Releases a permit, if there is one: the server has answered, or the
    /// connection has ended. The next waiter gets it.
    pub fn release_permit(&mut self, permit: &mut Option<AddressId>) {
        let next = permit.take().and_then(|address_id| self.connect_limiter.release(address_id));
        if let Some(ConnectWaiter { callback, timer }) = next {
            if let Some(timer) = timer {
                drop(self.timers.cancel(timer));
            }
            self.timers.set(self.now(), TimerAction::Call(callback).into());
        }
    }
}
