//! [`crate::read`] and [`crate::read_all`] once more, without the compiler's
//! help: what it makes of an `async fn` is a value with a variant for every
//! place where the function may be suspended, holding the local variables
//! that are alive there, and a `poll` that goes on from where it stands.

use std::io;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use crate::{Connection, Coroutine};

/// A read in progress. It has one place to be suspended at, and at that place
/// everything it needs: whom to read from, and whom to tell.
pub struct Read<'c, S> {
    connection: &'c mut Connection,
    sink: Option<S>,
}

/// See [`crate::read`].
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

/// Where it stands. `Reading` is the `.await` in the loop; the chapter's
/// generators say it with their last instruction.
enum ReadAllState {
    Reading,
    Returned,
}
// ANCHOR_END: read_all

/// See [`crate::read_all`].
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
                    // The inner coroutine borrows from this frame, and one
                    // value cannot hold both without a promise never to move.
                    // That promise is what `Pin` is about. Here the inner one
                    // has no memory of its own between two polls, so it is
                    // made anew each time.
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
