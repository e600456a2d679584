//! Connections: registered sockets with poll operations, and the coop budget.

use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};

use selector_core::{Interest, Key, Socket};
use transport::{Direction, Stream, TlsLayer};

use crate::{ConnectPermit, EventLoop};

/// An open connection, registered with its loop until it is dropped. It owns
/// no buffer.
pub struct Connection {
    pub(crate) stream: Stream<Socket>,
    pub(crate) key: Key,
    event_loop: EventLoop,
    /// The connect permit, held until the first bytes arrive from the server.
    pub(crate) permit: Option<ConnectPermit>,
    /// The number of reads since the connection last had to wait.
    reads_in_a_row: u8,
    /// The tick of the loop, modulo 2^32, in which a read last drained the
    /// socket. Zero, the number before the first tick, stands for none.
    drained_tick: u32,
}

impl Connection {
    /// The coop budget: after so many reads in a row, a read yields to the
    /// other tasks of the loop.
    const READS_PER_POLL: u8 = 16;

    /// Starts to connect and registers the socket.
    pub(crate) fn begin(
        event_loop: &EventLoop,
        address: SocketAddr,
        layer: TlsLayer,
    ) -> io::Result<Self> {
        let (socket, key) = event_loop.0.reactor.selector.borrow_mut().connect(address)?;
        event_loop.0.reactor.peers.borrow_mut().set(key, address);
        let (stream, event_loop) = (Stream::new(socket, layer), event_loop.clone());
        Ok(Self { stream, key, event_loop, permit: None, reads_in_a_row: 0, drained_tick: 0 })
    }

    // ANCHOR: poll_connected
    /// Ready when the connection is made, or has failed.
    pub(crate) fn poll_connected(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.poll_ready(Interest::Writable, context));
            if self.stream.socket().connected()? {
                return Poll::Ready(Ok(()));
            }
            // A spurious event: wait for the next one.
            self.event_loop.0.reactor.selector.borrow_mut().clear(self.key, Interest::Writable);
        }
    }
    // ANCHOR_END: poll_connected

    // ANCHOR: poll_ready
    /// Ready when the readiness cache says that the socket may be ready.
    /// Otherwise stores the waker under the key of the socket.
    pub(crate) fn poll_ready(&mut self, interest: Interest, context: &mut Context<'_>) -> Poll<()> {
        let mut selector = self.event_loop.0.reactor.selector.borrow_mut();
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

    /// Clears the cached readiness after the socket returned `WouldBlock`, and
    /// returns the interest to wait for.
    fn would_block(&mut self) -> Interest {
        let interest = match self.stream.blocked_on() {
            Direction::Read => Interest::Readable,
            Direction::Write => Interest::Writable,
        };
        self.event_loop.0.reactor.selector.borrow_mut().clear(self.key, interest);
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
        event_loop.0.reactor.with_scratch(|scratch| {
            loop {
                ready!(self.poll_ready(interest, context));
                // The budget is used up: yield to the other tasks.
                if self.reads_in_a_row == Self::READS_PER_POLL {
                    self.reads_in_a_row = 0;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                self.reads_in_a_row += 1;
                match self.stream.read(scratch) {
                    Ok(0) => return Poll::Ready(Ok(None)),
                    Ok(length) => {
                        self.permit = None;
                        if self.stream.is_drained() {
                            let mut selector = event_loop.0.reactor.selector.borrow_mut();
                            selector.clear(self.key, Interest::Readable);
                            self.drained_tick = event_loop.0.reactor.ticks.get() as u32;
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

    /// Returns the loop that the connection is registered with.
    pub fn event_loop(&self) -> &EventLoop {
        &self.event_loop
    }

    /// Returns true if there is nothing to read, neither bytes nor the end of
    /// the stream. A connection with something to read cannot be used again.
    /// (Messages of TLS itself, such as a late session ticket, do not count.)
    ///
    /// It reads from the socket, since the loop gets events only when it waits.
    /// The read is left out if the last read drained the socket in this same
    /// tick of the loop, and no event has come since.
    pub fn is_quiet(&mut self) -> bool {
        let event_loop = self.event_loop.clone();
        let reactor = &event_loop.0.reactor;
        let readiness = reactor.selector.borrow().readiness(self.key);
        let is_readable = readiness.satisfies(Interest::Readable);
        if self.drained_tick == reactor.ticks.get() as u32 && !is_readable {
            return true;
        }
        let read = reactor.with_scratch(|scratch| self.stream.read(scratch));
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
