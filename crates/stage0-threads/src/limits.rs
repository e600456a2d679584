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
    /// The number of open connections.
    open: Mutex<usize>,
    closed: Condvar,
}

/// A guard of a connection: its permit and its file descriptor, given back when it
/// is dropped.
pub(crate) struct ConnectionGuard<'a> {
    limits: &'a Limits,
    /// The permit to connect, held until the server's first byte has arrived.
    permit: Option<AddressId>,
    is_open: bool,
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
        ConnectionGuard { limits: self, permit: Some(id), is_open: false }
    }

    /// Waits until a connection is closed and its file descriptor is free, but not
    /// for long. Returns false if none is open: then this crawl has not used up
    /// the file descriptors.
    pub(crate) fn fd_freed(&self) -> bool {
        // Another process that closes a file does not notify this one.
        const MAX_WAIT: Duration = Duration::from_millis(100);
        let open = lock(&self.open);
        if *open == 0 {
            return false;
        }
        drop(self.closed.wait_timeout(open, MAX_WAIT));
        true
    }

    fn limiter(&self) -> MutexGuard<'_, Limiter> {
        lock(&self.connect_limiter)
    }
}

impl ConnectionGuard<'_> {
    /// Counts an open connection.
    pub(crate) fn opened(&mut self) {
        *lock(&self.limits.open) += 1;
        self.is_open = true;
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
        if self.is_open {
            *lock(&self.limits.open) -= 1;
            self.limits.closed.notify_one();
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
    fn without_open_connections_there_is_no_wait_for_a_descriptor() {
        let limits = Limits::default();
        assert!(!limits.fd_freed());
        let mut connection = guard(&limits);
        connection.opened();
        drop(connection);
        assert!(!limits.fd_freed());
    }

    #[test]
    fn closing_the_last_connection_ends_the_wait() {
        let limits = Limits::default();
        let mut connection = guard(&limits);
        connection.opened();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| while limits.fd_freed() {});
            assert!(!waiting.is_finished());
            drop(connection);
        });
    }
}
