//! Connecting, reading and writing: coroutines that each wait for one event.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::panic::Location;
use std::path::Path;
use std::task::Poll;

use selector_core::{Interest, Socket};
use transport::TlsLayer;

use crate::net::connection::{Connection, Registration};
use crate::net::leaf::{leaf, leaf_at};
use crate::{Coroutine, EventLoop, Place, Wait};

/// Opens a connection.
///
/// # Errors
/// When the connection cannot be made.
#[track_caller]
pub fn connect(
    event_loop: &EventLoop,
    address: SocketAddr,
    layer: TlsLayer,
) -> impl Coroutine<Output = io::Result<Connection>> {
    let at = Location::caller();
    async move {
        let (socket, registration) = Registration::connect(event_loop, address)?;
        connected(&socket, &registration, at, || false).await?;
        Ok(Connection::new(socket, registration, layer, None))
    }
}

/// Opens a connection to the Unix socket at `path`.
///
/// # Errors
/// When the connection cannot be made; `Unsupported` unless the backend of the loop
/// has such sockets.
#[track_caller]
pub fn connect_unix(
    event_loop: &EventLoop,
    path: &Path,
    layer: TlsLayer,
) -> impl Coroutine<Output = io::Result<Connection>> {
    let at = Location::caller();
    async move {
        let (socket, registration) = Registration::connect_unix(event_loop, path)?;
        connected(&socket, &registration, at, || false).await?;
        Ok(Connection::new(socket, registration, layer, None))
    }
}

// ANCHOR: connected
/// Waits until a connection is made, or has failed. `at` is shown in reports. Fails with
/// `TimedOut` when it is polled while `is_over()`; the caller's timer makes sure that it is
/// polled then.
pub(crate) fn connected(
    socket: &Socket,
    registration: &Registration,
    at: Place,
    is_over: impl Fn() -> bool,
) -> impl Coroutine<Output = io::Result<()>> {
    let wait = Wait::Connect(registration.key);
    leaf_at(&registration.event_loop, wait, at, move |context| {
        loop {
            if registration.poll_ready(Interest::Writable, context.waker()).is_pending() {
                let timed_out = || Poll::Ready(Err(ErrorKind::TimedOut.into()));
                return if is_over() { timed_out() } else { Poll::Pending };
            }
            if socket.connected()? {
                return Poll::Ready(Ok(()));
            }
            // A spurious event: wait for the next one.
            registration.clear(Interest::Writable);
        }
    })
}
// ANCHOR_END: connected

// ANCHOR: read
/// Waits for bytes and passes them to `sink`: as many as there are, up to the size of
/// the loop's buffer; with TLS it may be fewer. Returns the value of `sink`, or `None`
/// when the server has closed the connection.
///
/// # Errors
/// The errors of the connection.
#[track_caller]
pub fn read<R>(
    connection: &mut Connection,
    sink: impl FnOnce(&[u8]) -> R,
) -> impl Coroutine<Output = io::Result<Option<R>>> {
    let (event_loop, wait) = (connection.event_loop().clone(), Wait::Read(connection.key()));
    let mut sink = Some(sink);
    leaf(&event_loop, wait, move |context| {
        connection.poll_read(context, |bytes| {
            let sink = sink.take().expect("a read is ready only once");
            sink(bytes)
        })
    })
}
// ANCHOR_END: read

// ANCHOR: read_all
/// Reads until `sink` returns `Break`, and returns its value; or until the
/// server closes the connection, and returns `None`.
///
/// # Errors
/// The errors of the connection.
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
// ANCHOR_END: read_all

/// Reads until the server closes the connection, and returns all bytes.
///
/// # Errors
/// The errors of the connection; [`ErrorKind::FileTooLarge`] when there are more
/// than `limit` bytes.
pub async fn read_to_end(connection: &mut Connection, limit: usize) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    let collect = |bytes: &[u8]| {
        if bytes.len() > limit - all.len() {
            return ControlFlow::Break(());
        }
        all.extend_from_slice(bytes);
        ControlFlow::Continue(())
    };
    match read_all(connection, collect).await? {
        Some(()) => Err(ErrorKind::FileTooLarge.into()),
        None => Ok(all),
    }
}

// ANCHOR: write_all
/// Writes all bytes, however few the socket accepts at a time.
///
/// # Errors
/// The errors of the connection.
#[track_caller]
pub fn write_all(
    connection: &mut Connection,
    mut bytes: &[u8],
) -> impl Coroutine<Output = io::Result<()>> {
    let (event_loop, wait) = (connection.event_loop().clone(), Wait::Write(connection.key()));
    leaf(&event_loop, wait, move |context| connection.poll_write(context, &mut bytes))
}
// ANCHOR_END: write_all
