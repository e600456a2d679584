//! The connect limit as a coroutine: waiting for a permit to connect to an
//! address.

use std::fmt;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use transport::{Acquire, AddressId, Retry, WaiterId};

use crate::{Coroutine, EventLoop};

/// The waker of a task in the wait queue of the [`transport::ConnectLimiter`];
/// `None` if the task has stopped waiting.
pub(crate) type Waiter = Option<Waker>;

/// A permit to connect to an address. Dropping it gives it back.
pub struct ConnectPermit {
    event_loop: EventLoop,
    address_id: AddressId,
}

impl EventLoop {
    /// Waits for a permit to connect to this address. Permits are granted in
    /// the order of the calls. A caller that has waited for long enough tries
    /// again. `wake_at` is called with the time of that retry: this function
    /// sets no timer, so the caller must have one that wakes it then.
    ///
    /// This is not an `async fn`, since the frame of one would hold the
    /// address, and as many tasks can wait here as there are fetches.
    pub fn acquire_connect_permit(
        &self,
        address: SocketAddr,
        wake_at: impl Fn(Instant),
    ) -> impl Coroutine<Output = ConnectPermit> {
        let address_id = self.0.limits.connect_limiter.borrow_mut().address_id(address);
        let mut connect_waiter =
            ConnectWaiter { event_loop: self, address_id, queued: None, is_granted: false };
        // The waker of the caller is not known before the first poll.
        let waiter = Some(Waker::noop().clone());
        let acquired = self.0.limits.connect_limiter.borrow_mut().acquire(address_id, waiter);
        if let Acquire::Queued(waiter_id, grace_period) = acquired {
            let retry_at = self.now() + grace_period;
            wake_at(retry_at);
            connect_waiter.queued = Some(Queued { waiter_id, retry_at });
        }
        poll_fn(move |context| connect_waiter.poll(&wake_at, context))
    }

    fn release_permit(&self, address_id: AddressId) {
        loop {
            let next = self.0.limits.connect_limiter.borrow_mut().release(address_id);
            match next {
                // This waiter was dropped: the permit goes to the one after it.
                Some(None) => {}
                Some(Some(waker)) => return waker.wake(),
                None => return,
            }
        }
    }
}

impl Drop for ConnectPermit {
    fn drop(&mut self) {
        self.event_loop.release_permit(self.address_id);
    }
}

/// A caller that waits for a permit. If it is dropped after the permit was
/// granted and before it is resumed, the permit goes to the next waiter.
struct ConnectWaiter<'l> {
    event_loop: &'l EventLoop,
    address_id: AddressId,
    /// The place in the wait queue; `None` if the permit was granted at once.
    queued: Option<Queued>,
    /// Set when the permit has been handed to the caller.
    is_granted: bool,
}

struct Queued {
    waiter_id: WaiterId,
    retry_at: Instant,
}

impl ConnectWaiter<'_> {
    fn poll(
        &mut self,
        wake_at: impl Fn(Instant),
        context: &mut Context<'_>,
    ) -> Poll<ConnectPermit> {
        if let Some(queued) = &mut self.queued {
            ready!(queued.poll(self.event_loop, wake_at, context));
        }
        self.is_granted = true;
        Poll::Ready(ConnectPermit {
            event_loop: self.event_loop.clone(),
            address_id: self.address_id,
        })
    }
}

impl Queued {
    /// Ready when the waiter was woken, and so is out of the queue, or when a
    /// retry is granted.
    fn poll(
        &mut self,
        event_loop: &EventLoop,
        wake_at: impl Fn(Instant),
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let (now, waker) = (event_loop.now(), context.waker().clone());
        let mut connect_limiter = event_loop.0.limits.connect_limiter.borrow_mut();
        let Some(waiter) = connect_limiter.waiter_mut(self.waiter_id) else {
            return Poll::Ready(());
        };
        let replaced = waiter.replace(waker);
        let retry = (self.retry_at <= now).then(|| connect_limiter.retry(self.waiter_id));
        drop(connect_limiter);
        drop(replaced);
        match retry {
            Some(Retry::Granted(_) | Retry::Gone) => return Poll::Ready(()),
            Some(Retry::Queued(grace_period)) => {
                self.retry_at = now + grace_period;
                wake_at(self.retry_at);
            }
            None => {}
        }
        Poll::Pending
    }
}

impl Drop for ConnectWaiter<'_> {
    fn drop(&mut self) {
        if self.is_granted {
            return;
        }
        let mut connect_limiter = self.event_loop.0.limits.connect_limiter.borrow_mut();
        let queued = self.queued.as_ref();
        let waiter = queued.and_then(|queued| connect_limiter.waiter_mut(queued.waiter_id));
        if let Some(waiter) = waiter {
            let waker = waiter.take();
            drop(connect_limiter);
            drop(waker);
        } else {
            drop(connect_limiter);
            // Woken, but not resumed: the permit goes to the next waiter.
            self.event_loop.release_permit(self.address_id);
        }
    }
}

impl fmt::Debug for ConnectPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Turn").field(&self.address_id).finish()
    }
}
