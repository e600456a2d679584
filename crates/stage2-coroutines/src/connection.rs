//! An open connection, and what can be tried with it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use selector_core::{Interest, Key, Socket};
use transport::{Direction, Layer, Stream};

use crate::{EventLoop, Turn};

/// An open connection, registered with its loop until it is dropped. It owns
/// no buffer.
pub struct Connection {
    pub(crate) stream: Stream<Socket>,
    pub(crate) key: Key,
    event_loop: EventLoop,
    /// Held until the server has let hear from itself.
    pub(crate) turn: Option<Turn>,
    /// Reads since it last had to wait.
    reads_in_a_row: u8,
    /// In which tick of its loop a read took all there was, last. None does
    /// before the first tick.
    drained_in: u32,
}

impl Connection {
    /// After so many reads in a row, others have a turn.
    const READS_PER_TURN: u8 = 16;

    /// Begins to connect.
    pub(crate) fn begin(
        event_loop: &EventLoop,
        address: SocketAddr,
        layer: Layer,
    ) -> io::Result<Self> {
        let (socket, key) = event_loop.selector().connect(address)?;
        let (stream, event_loop) = (Stream::new(socket, layer), event_loop.clone());
        Ok(Self { stream, key, event_loop, turn: None, reads_in_a_row: 0, drained_in: 0 })
    }

    // ANCHOR: poll_connected
    /// Ready when the connection is made, or cannot be.
    pub(crate) fn poll_connected(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_ready(Interest::Writable, context));
            if self.stream.socket().connected()? {
                return Poll::Ready(Ok(()));
            }
            // Writable without cause: wait for the next time.
            self.event_loop.selector().clear(self.key, Interest::Writable);
        }
    }
    // ANCHOR_END: poll_connected

    // ANCHOR: poll_ready
    /// Ready when the socket may be; otherwise the waker is stored under its
    /// key.
    pub(crate) fn poll_ready(&mut self, interest: Interest, context: &mut Context<'_>) -> Poll<()> {
        let mut selector = self.event_loop.selector();
        if selector.readiness(self.key).satisfies(interest) {
            return Poll::Ready(());
        }
        self.reads_in_a_row = 0;
        let replaced = selector.register(self.key, interest, context.waker().clone());
        drop(selector);
        drop(replaced);
        Poll::Pending
    }
    // ANCHOR_END: poll_ready

    /// The socket said `WouldBlock`: what was known of it is used up.
    fn would_block(&mut self) -> Interest {
        let interest = match self.stream.blocked_on() {
            Direction::Read => Interest::Readable,
            Direction::Write => Interest::Writable,
        };
        self.event_loop.selector().clear(self.key, interest);
        interest
    }

    // ANCHOR: poll_read
    pub(crate) fn poll_read<R>(
        &mut self,
        context: &mut Context<'_>,
        sink: impl FnOnce(&[u8]) -> R,
    ) -> Poll<io::Result<Option<R>>> {
        let mut interest = Interest::Readable;
        let event_loop = self.event_loop.clone();
        event_loop.with_scratch(|scratch| {
            loop {
                ready!(self.poll_ready(interest, context));
                if self.reads_in_a_row == Self::READS_PER_TURN {
                    self.reads_in_a_row = 0;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                self.reads_in_a_row += 1;
                match self.stream.read(scratch) {
                    Ok(0) => return Poll::Ready(Ok(None)),
                    Ok(length) => {
                        self.turn = None;
                        if self.stream.is_drained() {
                            let mut selector = event_loop.selector();
                            selector.clear(self.key, Interest::Readable);
                            self.drained_in = event_loop.this_tick();
                        }
                        return Poll::Ready(Ok(Some(sink(&scratch[..length]))));
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        interest = self.would_block();
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        })
    }
    // ANCHOR_END: poll_read

    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &mut &[u8],
    ) -> Poll<io::Result<()>> {
        let mut interest = Interest::Writable;
        while !bytes.is_empty() {
            ready!(self.poll_ready(interest, context));
            match self.stream.write(bytes) {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(length) => *bytes = &bytes[length..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    interest = self.would_block();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// The loop it is registered with.
    pub fn event_loop(&self) -> &EventLoop {
        &self.event_loop
    }

    /// Whether there is nothing to read: neither bytes nor an end. If there
    /// is, the connection is of no more use. (What TLS has to say on its own
    /// account, such as a session ticket that comes late, does not count.)
    ///
    /// It asks the socket, for the loop hears of news only when it waits;
    /// unless the last read took all there was, and that was just now: in this
    /// very tick of the loop, and no end has been announced.
    pub fn is_quiet(&mut self) -> bool {
        let event_loop = self.event_loop.clone();
        let is_readable = event_loop.selector().readiness(self.key).satisfies(Interest::Readable);
        if self.drained_in == event_loop.this_tick() && !is_readable {
            return true;
        }
        let read = event_loop.with_scratch(|scratch| self.stream.read(scratch));
        let is_quiet = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        if is_quiet {
            self.would_block();
        }
        is_quiet
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.event_loop.unregister(self.key);
    }
}

/// The size of the one buffer that every read of a loop goes through.
const SCRATCH: usize = 64 * 1024;

impl EventLoop {
    /// The number of the present tick, of those that are near.
    fn this_tick(&self) -> u32 {
        self.0.ticks.get() as u32
    }

    /// Lends the buffer that all reads of this loop share, so that a waiting
    /// connection owns none. Only from one suspension point to the next.
    pub(crate) fn with_scratch<R>(&self, borrow: impl FnOnce(&mut [u8]) -> R) -> R {
        let mut scratch = self.0.scratch.take();
        scratch.resize(SCRATCH, 0);
        let result = borrow(&mut scratch);
        self.0.scratch.set(scratch);
        result
    }
}
