//! How many connections are open, for whoever cannot open another.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Counts the open connections of a crawl.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    open: Mutex<usize>,
    closed: Condvar,
}

/// Stands for one of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a>(&'a Connections);

impl Connections {
    /// Counts one that has been opened.
    pub(crate) fn open(&self) -> Place<'_> {
        *self.count() += 1;
        Place(self)
    }

    /// Waits a while for one to be closed. False if there is none: then it is
    /// not this crawl that has taken all the file descriptors.
    pub(crate) fn wait(&self) -> bool {
        // Nobody rings when another process closes a file.
        const A_WHILE: Duration = Duration::from_millis(100);
        let count = self.count();
        if *count == 0 {
            return false;
        }
        drop(self.closed.wait_timeout(count, A_WHILE));
        true
    }

    fn count(&self) -> MutexGuard<'_, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.count() -= 1;
        self.0.closed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn without_connections_there_is_nothing_to_wait_for() {
        let connections = Connections::default();
        assert!(!connections.wait());
        drop(connections.open());
        assert!(!connections.wait());
    }

    #[test]
    fn the_last_connection_ends_the_wait() {
        let connections = Connections::default();
        let place = connections.open();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| while connections.wait() {});
            assert!(!waiting.is_finished());
            drop(place);
        });
    }
}
