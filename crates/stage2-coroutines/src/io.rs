//! Connections and their bytes, each a coroutine that waits for one thing.

use std::future::poll_fn;
use std::io::{self, ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::panic::Location;
use std::task::{Context, Poll, ready};

use selector_core::{Interest, Key, Socket};
use transport::{Direction, Layer, Stream};

use crate::{Coroutine, EventLoop, Wait, noting};

/// An open connection, registered with its loop until it is dropped. It owns
/// no buffer.
pub struct Connection {
    stream: Stream<Socket>,
    key: Key,
    event_loop: EventLoop,
    /// Reads since it last had to wait.
    reads_in_a_row: u8,
}

impl Connection {
    /// After so many reads in a row, others have a turn.
    const READS_PER_TURN: u8 = 16;

    /// Ready when the socket may be; otherwise the waker is stored under its
    /// key.
    fn poll_ready(&mut self, interest: Interest, context: &mut Context<'_>) -> Poll<()> {
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

    /// The socket said `WouldBlock`: what was known of it is used up.
    fn would_block(&mut self) -> Interest {
        let interest = match self.stream.blocked_on() {
            Direction::Read => Interest::Readable,
            Direction::Write => Interest::Writable,
        };
        self.event_loop.selector().clear(self.key, interest);
        interest
    }

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
                        if self.stream.is_drained() {
                            let mut selector = event_loop.selector();
                            selector.clear(self.key, Interest::Readable);
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

    fn poll_write(&mut self, context: &mut Context<'_>, bytes: &mut &[u8]) -> Poll<io::Result<()>> {
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

    /// Whether nothing has been heard of it since its last read: neither
    /// bytes nor an end.
    pub fn is_quiet(&self) -> bool {
        let readiness = self.event_loop.selector().readiness(self.key);
        !readiness.satisfies(Interest::Readable)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.event_loop.unregister(self.key);
    }
}

/// Makes a connection.
///
/// # Errors
/// Why it cannot be made.
#[track_caller]
pub fn connect(
    event_loop: &EventLoop,
    address: SocketAddr,
    layer: Layer,
) -> impl Coroutine<Output = io::Result<Connection>> {
    let at = Location::caller();
    async move {
        let (socket, key) = event_loop.selector().connect(address)?;
        let mut connection = Connection {
            stream: Stream::new(socket, layer),
            key,
            event_loop: event_loop.clone(),
            reads_in_a_row: 0,
        };
        loop {
            let ready = poll_fn(|context| connection.poll_ready(Interest::Writable, context));
            noting(event_loop, Wait::Connect(key), at, ready).await;
            if connection.stream.socket().connected()? {
                return Ok(connection);
            }
            // Writable without cause: wait for the next time.
            event_loop.selector().clear(key, Interest::Writable);
        }
    }
}

/// Waits for bytes and hands them to `sink`, as many as there are, up to the
/// size of the loop's buffer. Returns what `sink` does, or nothing when the
/// server has closed the connection.
///
/// # Errors
/// Those of the connection.
#[track_caller]
pub fn read<R>(
    connection: &mut Connection,
    sink: impl FnOnce(&[u8]) -> R,
) -> impl Coroutine<Output = io::Result<Option<R>>> {
    let (at, mut since) = (Location::caller(), None);
    let mut sink = Some(sink);
    poll_fn(move |context| {
        let poll = connection.poll_read(context, |bytes| {
            let sink = sink.take().expect("a read is ready only once");
            sink(bytes)
        });
        if poll.is_pending() {
            connection.event_loop.note(Wait::Read(connection.key), Some(at), &mut since);
        }
        poll
    })
}

/// Reads until `sink` has seen enough and breaks, whose value is returned, or
/// until the server closes the connection.
///
/// # Errors
/// Those of the connection.
pub async fn read_all<B>(
    connection: &mut Connection,
    mut sink: impl FnMut(&[u8]) -> ControlFlow<B>,
) -> io::Result<Option<B>> {
    while let Some(flow) = read(connection, &mut sink).await? {
        if let ControlFlow::Break(value) = flow {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Writes all of it, however little the socket takes at a time.
///
/// # Errors
/// Those of the connection.
#[track_caller]
pub fn write_all(
    connection: &mut Connection,
    mut bytes: &[u8],
) -> impl Coroutine<Output = io::Result<()>> {
    let (at, mut since) = (Location::caller(), None);
    poll_fn(move |context| {
        let poll = connection.poll_write(context, &mut bytes);
        if poll.is_pending() {
            connection.event_loop.note(Wait::Write(connection.key), Some(at), &mut since);
        }
        poll
    })
}
