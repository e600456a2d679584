//! Connections: registered sockets with poll operations, and the coop budget.

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::task::{Context, Poll, Waker, ready};

use selector_core::{Interest, Key, Socket};
use transport::{Direction, Stream, TlsLayer};

use crate::EventLoop;
use crate::inspect::set_peer;
use crate::net::limits::ConnectionGuard;

/// The size in bytes of the scratch buffer.
const SCRATCH: usize = 64 * 1024;

/// Calls `f` with the scratch buffer that all reads of this thread share, so that a waiting
/// connection owns no buffer. `f` cannot suspend.
fn with_scratch<R>(f: impl FnOnce(&mut [u8]) -> R) -> R {
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut scratch = BUFFER.take();
    scratch.resize(SCRATCH, 0);
    let result = f(&mut scratch);
    BUFFER.set(scratch);
    result
}

/// The registration of a socket with its loop. Dropping it ends it.
pub(crate) struct Registration {
    pub(crate) event_loop: EventLoop,
    pub(crate) key: Key,
}

impl Registration {
    /// Starts to connect and registers the socket.
    pub(crate) fn connect(
        event_loop: &EventLoop,
        address: SocketAddr,
    ) -> io::Result<(Socket, Self)> {
        let (socket, key) = event_loop.reactor().selector.borrow_mut().connect(address)?;
        set_peer(event_loop, key, address);
        Ok((socket, Self { event_loop: event_loop.clone(), key }))
    }

    /// Starts to connect to a Unix socket and registers the socket.
    pub(crate) fn connect_unix(event_loop: &EventLoop, path: &Path) -> io::Result<(Socket, Self)> {
        let (socket, key) = event_loop.reactor().selector.borrow_mut().connect(path)?;
        // Overwrites the address of whoever used this slot before.
        set_peer(event_loop, key, SocketAddr::from(([0, 0, 0, 0], 0)));
        Ok((socket, Self { event_loop: event_loop.clone(), key }))
    }

    // ANCHOR: poll_ready
    /// Ready when the readiness cache says that the socket may be ready.
    /// Otherwise stores the waker under the key of the socket.
    pub(crate) fn poll_ready(&self, interest: Interest, waker: &Waker) -> Poll<()> {
        let mut selector = self.event_loop.reactor().selector.borrow_mut();
        if selector.readiness(self.key).satisfies(interest) {
            return Poll::Ready(());
        }
        let replaced = selector.register(self.key, interest, waker.clone());
        drop(selector);
        drop(replaced);
        Poll::Pending
    }
    // ANCHOR_END: poll_ready

    /// Clears the cached readiness: the socket is known not to be ready.
    pub(crate) fn clear(&self, interest: Interest) {
        self.event_loop.reactor().selector.borrow_mut().clear(self.key, interest);
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        let waiter = self.event_loop.reactor().selector.borrow_mut().unregister(self.key);
        drop(waiter);
    }
}

/// An open connection, registered with its loop until it is dropped. It owns
/// no buffer, except those of TLS. Its fields are dropped in their order.
pub struct Connection {
    pub(crate) registration: Registration,
    stream: Stream<Socket>,
    /// The guard of its permit and its file descriptor, if a connector made it.
    guard: Option<ConnectionGuard>,
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

    /// Returns the connection over a connected socket.
    pub(crate) fn new(
        socket: Socket,
        registration: Registration,
        layer: TlsLayer,
        guard: Option<ConnectionGuard>,
    ) -> Self {
        let stream = Stream::new(socket, layer);
        Self { registration, stream, guard, reads_in_a_row: 0, drained_tick: 0 }
    }

    /// Gives access to the stream itself, for example to start TLS inside a tunnel
    /// (asyncio's `loop.start_tls`).
    pub fn stream(&mut self) -> &mut Stream<Socket> {
        &mut self.stream
    }

    /// Clears the readiness that the last call has shown to be over. Returns the
    /// interest to wait for after `WouldBlock`.
    fn clear_readiness(&self) -> Option<Interest> {
        let interest = match self.stream.blocked_on()? {
            Direction::Read => Interest::Readable,
            Direction::Write => Interest::Writable,
        };
        self.registration.clear(interest);
        Some(interest)
    }

    // ANCHOR: poll_read
    pub(crate) fn poll_read<R>(
        &mut self,
        context: &mut Context<'_>,
        sink: impl FnOnce(&[u8]) -> R,
    ) -> Poll<io::Result<Option<R>>> {
        let mut interest = Interest::Readable;
        let tick = self.event_loop().reactor().ticks() as u32;
        with_scratch(|scratch| {
            loop {
                let ready = self.registration.poll_ready(interest, context.waker());
                if ready.is_pending() {
                    self.reads_in_a_row = 0;
                    return Poll::Pending;
                }
                // The budget is used up: yield to the other tasks.
                if self.reads_in_a_row == Self::READS_PER_POLL {
                    self.reads_in_a_row = 0;
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                self.reads_in_a_row += 1;
                let read = self.stream.read(scratch);
                let cleared = self.clear_readiness();
                match read {
                    Ok(0) => return Poll::Ready(Ok(None)),
                    Ok(length) => {
                        if let Some(guard) = &mut self.guard {
                            guard.answered();
                        }
                        if cleared == Some(Interest::Readable) {
                            self.drained_tick = tick;
                        }
                        return Poll::Ready(Ok(Some(sink(&scratch[..length]))));
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        interest = cleared.unwrap_or(interest);
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
        })
    }
    // ANCHOR_END: poll_read

    // ANCHOR: poll_write
    pub(crate) fn poll_write(
        &mut self,
        context: &mut Context<'_>,
        bytes: &mut &[u8],
    ) -> Poll<io::Result<()>> {
        let mut interest = Interest::Writable;
        while !bytes.is_empty() {
            ready!(self.registration.poll_ready(interest, context.waker()));
            let written = self.stream.write(bytes);
            let cleared = self.clear_readiness();
            match written {
                Ok(0) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Ok(length) => *bytes = &bytes[length..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    interest = cleared.unwrap_or(interest);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(()))
    }
    // ANCHOR_END: poll_write

    /// Returns the loop that the connection is registered with.
    pub fn event_loop(&self) -> &EventLoop {
        &self.registration.event_loop
    }

    /// Returns the key of the socket in the selector of the loop.
    pub fn key(&self) -> Key {
        self.registration.key
    }

    /// Returns true if there is nothing to read, neither bytes nor the end of
    /// the stream. A connection with something to read cannot be used again.
    /// (Messages of TLS itself, such as a late session ticket, do not count.)
    ///
    /// It reads from the socket, since the loop gets events only when it waits.
    /// The read is left out if the last read drained the socket in this same
    /// tick of the loop, and no event has come since.
    pub fn is_quiet(&mut self) -> bool {
        let reactor = self.event_loop().reactor();
        let readiness = reactor.selector.borrow().readiness(self.registration.key);
        let is_readable = readiness.satisfies(Interest::Readable);
        if self.drained_tick == reactor.ticks() as u32 && !is_readable {
            return true;
        }
        let read = with_scratch(|scratch| self.stream.read(scratch));
        let is_quiet = read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        if is_quiet {
            self.clear_readiness();
        }
        is_quiet
    }
}
