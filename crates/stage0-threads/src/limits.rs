//! The limits on connections, for threads: permits to connect to an address, and
//! file descriptors.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use transport::{AddressId, ConnectLimiter};

use crate::lock;

type Limiter = ConnectLimiter<Sender<()>>;

/// The limits of a crawl. A thread that reaches one waits in a call of it.
#[derive(Default)]
pub(crate) struct Limits {
    connect_limiter: Mutex<Limiter>,
    descriptors: Mutex<Descriptors>,
    freed: Condvar,
}

/// The counts of the file descriptors of a crawl's connections.
#[derive(Default)]
struct Descriptors {
    /// One for each connection that is open or being made.
    in_use: usize,
    num_freed: u64,
}

/// A guard of a connection: its permit and its file descriptor, given back when it
/// is dropped.
pub(crate) struct ConnectionGuard<'a> {
    limits: &'a Limits,
    /// The permit to connect, held until the server's first byte has arrived.
    permit: Option<AddressId>,
    has_fd: bool,
}

impl Limits {
    /// Acquires a permit to connect to an address, and blocks until there is one.
    /// Permits are granted in the order of the calls.
    pub(crate) fn acquire(&self, address: &SocketAddr) -> ConnectionGuard<'_> {
        let mut granted = None;
        let waiter = |_| {
            let (grant, receiver) = channel();
            granted = Some(receiver);
            grant
        };
        let (id, _) = self.limiter().acquire(*address, Instant::now(), waiter);
        if let Some(granted) = granted {
            while granted.recv_timeout(Limiter::GRACE_PERIOD).is_err() {
                let batch = self.limiter().grant_batch(id, Instant::now());
                for grant in batch.into_iter().flatten() {
                    // The receiver is there: its thread is blocked here, too.
                    let _ = grant.send(());
                }
            }
        }
        lock(&self.descriptors).in_use += 1;
        ConnectionGuard { limits: self, permit: Some(id), has_fd: true }
    }

    /// Returns how many file descriptors were freed until now, for [`Limits::fd_freed`].
    pub(crate) fn num_freed(&self) -> u64 {
        lock(&self.descriptors).num_freed
    }

    /// Waits for a file descriptor to be freed, but not for long, and not if one was
    /// freed after the first `num_freed`. Returns false if this crawl holds none that
    /// could be freed: somebody else has used them up.
    pub(crate) fn fd_freed(&self, num_freed: u64) -> bool {
        // Another process that closes a file does not notify this one.
        const MAX_WAIT: Duration = Duration::from_millis(100);
        let descriptors = lock(&self.descriptors);
        if descriptors.num_freed != num_freed {
            return true;
        }
        if descriptors.in_use == 0 {
            return false;
        }
        drop(self.freed.wait_timeout(descriptors, MAX_WAIT));
        true
    }

    fn limiter(&self) -> MutexGuard<'_, Limiter> {
        lock(&self.connect_limiter)
    }
}

impl ConnectionGuard<'_> {
    /// Drops the guard of a connection that never got a file descriptor. So it frees
    /// none.
    pub(crate) fn drop_without_fd(mut self) {
        self.has_fd = false;
    }

    /// Gives the permit back: the server has answered.
    pub(crate) fn answered(&mut self) {
        let next = self.permit.take().and_then(|id| self.limits.limiter().release(id));
        if let Some(next) = next {
            // The receiver is there: its thread is blocked in `acquire`.
            let _ = next.send(());
        }
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        self.answered();
        let mut descriptors = lock(&self.limits.descriptors);
        descriptors.in_use -= 1;
        if self.has_fd {
            descriptors.num_freed += 1;
            self.limits.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn guard(limits: &Limits) -> ConnectionGuard<'_> {
        limits.acquire(&([127, 0, 0, 1], 80).into())
    }

    #[test]
    fn a_thread_waits_for_a_permit_or_for_the_end_of_the_grace_period() {
        let limits = Limits::default();
        let mut guards: Vec<_> = (0..Limiter::MAX_PENDING).map(|_| guard(&limits)).collect();
        thread::scope(|scope| {
            let next = scope.spawn(|| guard(&limits));
            guards.pop();
            guards.push(next.join().unwrap());
        });
        let begun = Instant::now();
        guards.push(guard(&limits));
        assert!(begun.elapsed() >= Limiter::GRACE_PERIOD);
        drop(guards);
        let limiter = format!("{:?}", limits.limiter());
        assert!(limiter.contains("addresses: 0"), "{limiter}");
    }

    #[test]
    fn without_connections_there_is_no_wait_for_a_descriptor() {
        let limits = Limits::default();
        assert!(!limits.fd_freed(limits.num_freed()));
        let num_freed = limits.num_freed();
        guard(&limits).drop_without_fd();
        assert!(!limits.fd_freed(num_freed));
    }

    #[test]
    fn a_descriptor_that_was_freed_meanwhile_is_worth_another_attempt() {
        let limits = Limits::default();
        let num_freed = limits.num_freed();
        drop(guard(&limits));
        assert!(limits.fd_freed(num_freed));
        assert!(!limits.fd_freed(limits.num_freed()));
    }

    #[test]
    fn closing_the_last_connection_ends_the_wait() {
        let limits = Limits::default();
        let connection = guard(&limits);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| while limits.fd_freed(limits.num_freed()) {});
            assert!(!waiting.is_finished());
            drop(connection);
        });
    }
}
