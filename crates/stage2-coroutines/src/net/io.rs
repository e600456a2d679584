//! Connecting, reading and writing: coroutines that each wait for one event.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::panic::Location;

use transport::TlsLayer;

use crate::{Connection, Coroutine, EventLoop, Wait, with_wait};

// ANCHOR: connect
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
        let mut connection = Connection::begin(event_loop, address, layer)?;
        let wait = Wait::Connect(connection.key);
        let connected = poll_fn(|context| connection.poll_connected(context));
        with_wait(event_loop, wait, at, connected).await?;
        Ok(connection)
    }
}
// ANCHOR_END: connect

// ANCHOR: read
/// Waits for bytes and passes them to `sink`: as many as there are, up to the
/// size of the loop's buffer. Returns the value of `sink`, or `None` when the
/// server has closed the connection.
///
/// # Errors
/// The errors of the connection.
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
            connection.event_loop().set_wait(Wait::Read(connection.key), Some(at), &mut since);
        }
        poll
    })
}
// ANCHOR_END: read

// ANCHOR: read_all
/// Reads until `sink` returns `Break`, and returns its value; or until the
/// server closes the connection, and returns `None`.
///
/// # Errors
/// The errors of the connection.
#[expect(clippy::manual_async_fn, reason = "an async fn keeps each argument twice")]
pub fn read_all<B>(
    connection: &mut Connection,
    mut sink: impl FnMut(&[u8]) -> ControlFlow<B>,
) -> impl Coroutine<Output = io::Result<Option<B>>> {
    async move {
        while let Some(flow) = read(connection, &mut sink).await? {
            if let ControlFlow::Break(value) = flow {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}
// ANCHOR_END: read_all

/// Writes all bytes, however few the socket accepts at a time.
///
/// # Errors
/// The errors of the connection.
#[track_caller]
pub fn write_all(
    connection: &mut Connection,
    mut bytes: &[u8],
) -> impl Coroutine<Output = io::Result<()>> {
    let (at, mut since) = (Location::caller(), None);
    poll_fn(move |context| {
        let poll = connection.poll_write(context, &mut bytes);
        if poll.is_pending() {
            connection.event_loop().set_wait(Wait::Write(connection.key), Some(at), &mut since);
        }
        poll
    })
}
