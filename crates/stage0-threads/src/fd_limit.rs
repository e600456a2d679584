//! Waiting for a file descriptor.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The number of open connections of a crawl. A thread that gets no file
/// descriptor for another one waits here.
#[derive(Debug, Default)]
pub(crate) struct FdLimit {
    open: Mutex<usize>,
    closed: Condvar,
}

/// A guard that counts one open connection until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard<'a>(&'a FdLimit);

impl FdLimit {
    /// Counts a connection that has been opened.
    pub(crate) fn opened(&self) -> ConnectionGuard<'_> {
        *self.lock() += 1;
        ConnectionGuard(self)
    }

    /// Waits until a connection is closed, but not for long. Returns false if
    /// none is open: then this crawl has not used up the file descriptors.
    pub(crate) fn wait(&self) -> bool {
        // Another process that closes a file does not notify this one.
        const MAX_WAIT: Duration = Duration::from_millis(100);
        let open = self.lock();
        if *open == 0 {
            return false;
        }
        drop(self.closed.wait_timeout(open, MAX_WAIT));
        true
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionGuard<'_> {
    fn drop(&mut self) {
        *self.0.lock() -= 1;
        self.0.closed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn without_open_connections_there_is_no_wait() {
        let fd_limit = FdLimit::default();
        assert!(!fd_limit.wait());
        drop(fd_limit.opened());
        assert!(!fd_limit.wait());
    }

    #[test]
    fn closing_the_last_connection_ends_the_wait() {
        let fd_limit = FdLimit::default();
        let connection = fd_limit.opened();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| while fd_limit.wait() {});
            assert!(!waiting.is_finished());
            drop(connection);
        });
    }
}
