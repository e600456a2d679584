//! Waiting for one's turn to connect.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use transport::ConnectQueue;

/// Lets so many threads at a time connect to an address.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<ConnectQueue<Sender<()>>>);

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    address: SocketAddr,
}

impl Turns {
    /// Waits until it is the caller's turn, which comes in the order of the
    /// calls.
    pub(crate) fn wait(&self, address: SocketAddr) -> Turn<'_> {
        let (call, called) = channel();
        if self.queue().enter(address, call).is_none() {
            // The other end is in the queue until it is used.
            let _ = called.recv();
        }
        Turn { turns: self, address }
    }

    fn queue(&self) -> MutexGuard<'_, ConnectQueue<Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let next = self.turns.queue().leave(self.address);
        if let Some(next) = next {
            // Whoever waits does nothing else.
            let _ = next.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    const PLACES: usize = ConnectQueue::<()>::PLACES;

    #[test]
    fn everybody_has_a_turn_and_never_too_many_at_a_time() {
        let turns = Turns::default();
        let address = ([127, 0, 0, 1], 80).into();
        let (connecting, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let connect = || {
            let _turn = turns.wait(address);
            let now = connecting.fetch_add(1, Ordering::SeqCst) + 1;
            peak.fetch_max(now, Ordering::SeqCst);
            thread::yield_now();
            connecting.fetch_sub(1, Ordering::SeqCst);
        };
        let first: Vec<Turn<'_>> = (0..PLACES - 1).map(|_| turns.wait(address)).collect();
        thread::scope(|scope| (0..20).for_each(|_| drop(scope.spawn(connect))));
        assert_eq!(peak.load(Ordering::SeqCst), 1, "one place was left");
        drop(first);
    }
}
