//! In whose turn it is to connect.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry::{Occupied, Vacant};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use slab::Slab;

/// Lets so many at a time knock at an address, and holds the others back in
/// the order in which they came.
///
/// A server's system keeps a list of connections that the server has not
/// accepted yet, and drops what comes when that is full. The client's system
/// then waits a whole second before it knocks again (RFC 6298, section 2), so
/// that a thousand connections asked for at once take longer than the same
/// thousand one after the other. That a connection was accepted shows in the
/// server's first byte, and nowhere before.
///
/// A server may be slow to answer and quick to accept. So when it lets nobody
/// hear from itself for [`ConnectQueue::PATIENCE`], another crowd of
/// [`ConnectQueue::PLACES`] goes ahead. As long as it answers, its answers set
/// the pace. `W` is whoever waits.
pub struct ConnectQueue<W> {
    lines: Slab<Line<W>>,
    by_address: BTreeMap<SocketAddr, LineKey>,
    numbers: u64,
}

/// Names the line before one address, for as long as somebody knocks there.
/// Whoever waits for an answer holds one, so it is smaller than an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineKey(u32);

/// Those who want to connect to one address.
struct Line<W> {
    address: SocketAddr,
    knocking: usize,
    waiting: BTreeMap<u64, Waiting<W>>,
    /// How often a place was given up, from 0 again after the greatest number.
    left: u32,
}

struct Waiting<W> {
    waiter: W,
    /// How often the [patience](ConnectQueue::PATIENCE) he has to have.
    crowds: u32,
    /// How often a place had been given up when he began to wait, or was told
    /// to wait on.
    left: u32,
}

/// Names one who waits in a [`ConnectQueue`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    line: LineKey,
    number: u64,
}

/// What a [`ConnectQueue`] says to whoever wants to connect.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry<W> {
    /// At once; here is the waiter back, who need not wait.
    Now(W),
    /// The waiter is held under this number until [`ConnectQueue::leave`]
    /// returns it. After so long, [`ConnectQueue::let_in`] is to be asked.
    Later(Number, Duration),
}

/// What a [`ConnectQueue`] says to whoever has waited.
#[derive(Debug, PartialEq, Eq)]
pub enum LetIn<W> {
    /// It is his turn.
    Now(W),
    /// The server is answering: to be asked again after so long.
    Later(Duration),
    /// He has been let in before.
    Gone,
}

impl<W> ConnectQueue<W> {
    /// How many knock at one address at a time: as many as the list of a Linux
    /// system would hold at most, until version 5.4.
    pub const PLACES: usize = 128;

    /// How long a server may answer nobody before it is taken for one that is
    /// slow to answer.
    pub const PATIENCE: Duration = Duration::from_millis(5);

    /// Nobody knocks.
    pub fn new() -> Self {
        Self { lines: Slab::new(), by_address: BTreeMap::new(), numbers: 0 }
    }

    /// The line before `address`, to be entered at once.
    pub fn line(&mut self, address: SocketAddr) -> LineKey {
        *self.by_address.entry(address).or_insert_with(|| {
            let no_line = Line { address, knocking: 0, waiting: BTreeMap::new(), left: 0 };
            LineKey(self.lines.insert(no_line) as u32)
        })
    }

    /// Takes a place among those who knock at the address of a line, or one in
    /// the line.
    ///
    /// # Panics
    /// When nobody is in the line any more.
    pub fn enter(&mut self, key: LineKey, waiter: W) -> Entry<W> {
        let line = &mut self.lines[key.0 as usize];
        if line.knocking < Self::PLACES {
            line.knocking += 1;
            return Entry::Now(waiter);
        }
        let number = self.numbers;
        self.numbers += 1;
        let crowds = 1 + line.waiting.len() / Self::PLACES;
        let crowds = u32::try_from(crowds).unwrap_or(u32::MAX);
        line.waiting.insert(number, Waiting { waiter, crowds, left: line.left });
        Entry::Later(Number { line: key, number }, Self::PATIENCE.saturating_mul(crowds))
    }

    /// The waiter of this number, if he still waits.
    pub fn waiter_mut(&mut self, Number { line, number }: Number) -> Option<&mut W> {
        let waiting = self.lines.get_mut(line.0 as usize)?.waiting.get_mut(&number)?;
        Some(&mut waiting.waiter)
    }

    /// Lets somebody in who has waited as long as he was told to, unless a place
    /// was given up in the meantime: then the line moves, and he waits on.
    pub fn let_in(&mut self, Number { line, number }: Number) -> LetIn<W> {
        let Some(line) = self.lines.get_mut(line.0 as usize) else {
            return LetIn::Gone;
        };
        match line.waiting.entry(number) {
            Vacant(_) => LetIn::Gone,
            Occupied(mut entry) if entry.get().left != line.left => {
                entry.get_mut().left = line.left;
                LetIn::Later(Self::PATIENCE.saturating_mul(entry.get().crowds))
            }
            Occupied(entry) => {
                line.knocking += 1;
                LetIn::Now(entry.remove().waiter)
            }
        }
    }

    /// Gives up a place, once the server has let hear from itself or the
    /// connection has ended. Whoever has waited longest is returned, and has
    /// it now.
    pub fn leave(&mut self, key: LineKey) -> Option<W> {
        let line = self.lines.get_mut(key.0 as usize)?;
        line.knocking -= 1;
        line.left = line.left.wrapping_add(1);
        if line.knocking < Self::PLACES
            && let Some((_, next)) = line.waiting.pop_first()
        {
            line.knocking += 1;
            return Some(next.waiter);
        }
        if line.knocking == 0 {
            self.by_address.remove(&line.address);
            self.lines.remove(key.0 as usize);
        }
        None
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
