//! In whose turn it is to connect.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;

/// Lets so many at a time connect to an address, and holds the others back in
/// the order in which they came.
///
/// A server's system keeps a list of connections that the server has not
/// accepted yet, and drops what comes when that is full. The client's system
/// then waits a whole second before it knocks again (RFC 6298, section 2), so
/// that a thousand connections asked for at once take longer than the same
/// thousand one after the other. `W` is whoever waits.
pub struct ConnectQueue<W> {
    lines: HashMap<SocketAddr, Line<W>>,
}

/// Those who want to connect to one address.
struct Line<W> {
    connecting: usize,
    waiting: VecDeque<W>,
}

impl<W> ConnectQueue<W> {
    /// How many connect to one address at a time: half of what was the longest
    /// list a Linux system would keep, until version 5.4.
    pub const PLACES: usize = 64;

    /// Nobody connects.
    pub fn new() -> Self {
        Self { lines: HashMap::new() }
    }

    /// Takes a place among those who connect to `address`, and gives the
    /// waiter back. If there is none, it is held until [`ConnectQueue::leave`]
    /// returns it.
    pub fn enter(&mut self, address: SocketAddr, waiter: W) -> Option<W> {
        let no_line = Line { connecting: 0, waiting: VecDeque::new() };
        let line = self.lines.entry(address).or_insert(no_line);
        if line.connecting == Self::PLACES {
            line.waiting.push_back(waiter);
            return None;
        }
        line.connecting += 1;
        Some(waiter)
    }

    /// Gives up a place, once the connection is made or has failed. Whoever
    /// has waited longest is returned, and has it now.
    pub fn leave(&mut self, address: SocketAddr) -> Option<W> {
        let line = self.lines.get_mut(&address)?;
        let next = line.waiting.pop_front();
        if next.is_none() {
            line.connecting -= 1;
            if line.connecting == 0 {
                self.lines.remove(&address);
            }
        }
        next
    }
}

impl<W> Default for ConnectQueue<W> {
    fn default() -> Self {
        Self::new()
    }
}

impl<W> fmt::Debug for ConnectQueue<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectQueue").field("addresses", &self.lines.len()).finish_non_exhaustive()
    }
}
