//! A connect limiter that blocks the calling thread.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use transport::{Acquire, AddressId, ConnectLimiter, Retry};

/// A limit on the threads that connect to the same address at the same time.
#[derive(Debug, Default)]
pub(crate) struct ConnectLimit(Mutex<ConnectLimiter<Sender<()>>>);

/// A permit to connect to an address. Dropping it releases it.
#[derive(Debug)]
pub(crate) struct ConnectPermit<'a> {
    connect_limit: &'a ConnectLimit,
    address_id: AddressId,
}

impl ConnectLimit {
    /// Acquires a permit, and blocks until there is one. Permits are granted in
    /// the order of the calls.
    pub(crate) fn acquire(&self, address: SocketAddr) -> ConnectPermit<'_> {
        let (granter, granted) = channel();
        let mut limiter = self.lock();
        let address_id = limiter.address_id(address);
        let acquire = limiter.acquire(address_id, granter);
        drop(limiter);
        if let Acquire::Queued(waiter_id, mut timeout) = acquire {
            while granted.recv_timeout(timeout).is_err() {
                // A waiter that is not queued any more has just got its permit.
                let Retry::Queued(longer) = self.lock().retry(waiter_id) else { break };
                timeout = longer;
            }
        }
        ConnectPermit { connect_limit: self, address_id }
    }

    fn lock(&self) -> MutexGuard<'_, ConnectLimiter<Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectPermit<'_> {
    fn drop(&mut self) {
        let next = self.connect_limit.lock().release(self.address_id);
        if let Some(next) = next {
            // The receiver is there: its thread is blocked in `acquire`.
            let _ = next.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    type Limiter = ConnectLimiter<()>;

    #[test]
    fn a_thread_waits_for_a_permit_or_for_the_end_of_the_grace_period() {
        let connect_limit = ConnectLimit::default();
        let address = ([127, 0, 0, 1], 80).into();
        let mut permits: Vec<ConnectPermit<'_>> =
            (0..Limiter::MAX_PENDING).map(|_| connect_limit.acquire(address)).collect();
        thread::scope(|scope| {
            let next = scope.spawn(|| connect_limit.acquire(address));
            permits.pop();
            permits.push(next.join().unwrap());
        });
        let begun = Instant::now();
        permits.push(connect_limit.acquire(address));
        assert!(begun.elapsed() >= Limiter::GRACE_PERIOD);
        drop(permits);
        assert!(!format!("{connect_limit:?}").contains("addresses: 1"), "{connect_limit:?}");
    }
}
