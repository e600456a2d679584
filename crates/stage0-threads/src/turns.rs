//! Waiting for one's turn to knock at a server.

use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use transport::{ConnectQueue, Entry, LetIn, LineKey};

/// Lets so many threads at a time knock at an address.
#[derive(Debug, Default)]
pub(crate) struct Turns(Mutex<ConnectQueue<Sender<()>>>);

/// Somebody's turn, until it is dropped.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    line: LineKey,
}

impl Turns {
    /// Waits until it is the caller's turn, which comes in the order of the
    /// calls.
    pub(crate) fn wait(&self, address: SocketAddr) -> Turn<'_> {
        let (call, called) = channel();
        let mut queue = self.queue();
        let line = queue.line(address);
        let entry = queue.enter(line, call);
        drop(queue);
        if let Entry::Later(number, mut patience) = entry {
            while called.recv_timeout(patience).is_err() {
                // If it is not in line any more, it has just been called.
                let LetIn::Later(longer) = self.queue().let_in(number) else { break };
                patience = longer;
            }
        }
        Turn { turns: self, line }
    }

    fn queue(&self) -> MutexGuard<'_, ConnectQueue<Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let next = self.turns.queue().leave(self.line);
        if let Some(next) = next {
            // Whoever waits does nothing else.
            let _ = next.send(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use super::*;

    type Queue = ConnectQueue<()>;

    #[test]
    fn a_place_is_waited_for_but_not_for_long() {
        let turns = Turns::default();
        let address = ([127, 0, 0, 1], 80).into();
        let mut all: Vec<Turn<'_>> = (0..Queue::PLACES).map(|_| turns.wait(address)).collect();
        thread::scope(|scope| {
            let next = scope.spawn(|| turns.wait(address));
            all.pop();
            all.push(next.join().unwrap());
        });
        let begun = Instant::now();
        all.push(turns.wait(address));
        assert!(begun.elapsed() >= Queue::PATIENCE);
        drop(all);
        assert!(!format!("{turns:?}").contains("addresses: 1"), "{turns:?}");
    }
}
