//! [`crate::read`] and [`crate::read_all`] once more, as state machines written
//! by hand. From an `async fn` the compiler makes a value with one variant for
//! every place where the function may be suspended. The variant holds the local
//! variables that are alive there, and `poll` goes on from that place.

use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::{Connection, Coroutine};

/// A read in progress. It can be suspended at one place only, and keeps what it
/// needs there: the connection to read from, and the sink for the bytes.
pub struct Read<'c, S> {
    connection: &'c mut Connection,
    sink: Option<S>,
}

/// Returns the state machine of [`crate::read`].
pub fn read<'c, R, S: FnOnce(&[u8]) -> R>(connection: &'c mut Connection, sink: S) -> Read<'c, S> {
    Read { connection, sink: Some(sink) }
}

// ANCHOR: read_poll
impl<R, S: FnOnce(&[u8]) -> R + Unpin> Coroutine for Read<'_, S> {
    type Output = io::Result<Option<R>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Read { connection, sink } = &mut *self;
        connection.poll_read(context, |bytes| {
            let sink = sink.take().expect("a read is ready only once");
            sink(bytes)
        })
    }
}
// ANCHOR_END: read_poll

// ANCHOR: read_all
/// A `read_all` in progress.
pub struct ReadAll<'c, S> {
    connection: &'c mut Connection,
    sink: S,
    state: ReadAllState,
}

/// The resume point. `Reading` is the `.await` in the loop. The chapter's
/// generators have their last instruction for this.
enum ReadAllState {
    Reading,
    Returned,
}
// ANCHOR_END: read_all

/// Returns the state machine of [`crate::read_all`].
pub fn read_all<'c, B, S: FnMut(&[u8]) -> ControlFlow<B>>(
    connection: &'c mut Connection,
    sink: S,
) -> ReadAll<'c, S> {
    ReadAll { connection, sink, state: ReadAllState::Reading }
}

// ANCHOR: read_all_poll
impl<B, S: FnMut(&[u8]) -> ControlFlow<B> + Unpin> Coroutine for ReadAll<'_, S> {
    type Output = io::Result<Option<B>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ReadAll { connection, sink, state } = &mut *self;
        loop {
            match state {
                ReadAllState::Reading => {
                    // The inner coroutine borrows from this frame. One value
                    // can hold both only with a promise that it never moves,
                    // and `Pin` is that promise. Here the inner coroutine keeps
                    // nothing between two polls, so it is made anew each time.
                    let mut inner = read(connection, &mut *sink);
                    let flow = ready!(Pin::new(&mut inner).poll(context));
                    let result = match flow {
                        Ok(Some(ControlFlow::Continue(()))) => continue,
                        Ok(Some(ControlFlow::Break(value))) => Ok(Some(value)),
                        Ok(None) => Ok(None),
                        Err(error) => Err(error),
                    };
                    *state = ReadAllState::Returned;
                    return Poll::Ready(result);
                }
                ReadAllState::Returned => panic!("resumed after it had returned"),
            }
        }
    }
}
// ANCHOR_END: read_all_poll
