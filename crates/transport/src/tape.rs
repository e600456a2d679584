//! The seam above TLS, where the results of a stream can be kept and given again. Below
//! it nothing can be repeated: a handshake draws random numbers.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::probed::{Direction, Probed};
use crate::tls::Session;

/// A call of a secure stream, with the bytes that were read or are to be written.
#[derive(Clone, Copy, Debug)]
pub enum TapeCall<'a> {
    /// The layer of a connection is created.
    Layer,
    /// Bytes were read.
    Read(&'a [u8]),
    /// Bytes are written.
    Write(&'a [u8]),
    /// The connection is closed.
    Close,
}

/// The result of a call, and the direction that it has shown to be blocked.
pub type TapeResult = (io::Result<usize>, Option<Direction>);

/// A recorder, or a player, of what secure streams give.
pub trait Tape: fmt::Debug + Send + Sync {
    /// Returns true if the results come from the tape, and false if they go there.
    fn is_replay(&self) -> bool;

    /// Begins a call. What the socket below gives until [`Tape::record`] is a part of it.
    fn begin(&self);

    /// Ends a call, and keeps its result. `stream` is the number of the stream.
    fn record(&self, stream: u64, call: TapeCall<'_>, result: &TapeResult);

    /// Returns the result that was kept. The bytes of a read are put into `buffer`.
    fn replay(&self, stream: u64, call: TapeCall<'_>, buffer: &mut [u8]) -> TapeResult;

    /// Returns the number of the next stream.
    fn next_stream(&self) -> u64;
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<dyn Tape>>> = const { RefCell::new(None) };
}

/// A guard: while it lives, the connectors that its thread creates use a tape. A thread
/// has one guard at a time.
#[derive(Debug)]
pub struct TapeGuard(());

impl TapeGuard {
    /// Has the connectors that this thread creates use this tape.
    #[must_use]
    pub fn enter(tape: Arc<dyn Tape>) -> Self {
        CURRENT.set(Some(tape));
        Self(())
    }
}

impl Drop for TapeGuard {
    fn drop(&mut self) {
        CURRENT.take();
    }
}

/// Returns the tape that this thread uses.
pub(crate) fn current() -> Option<Arc<dyn Tape>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A TLS session, or the tape of one.
#[derive(Debug)]
pub(crate) enum Layer {
    Live(Session),
    Taped(Taped),
}

/// A session whose results go to a tape, or come from there.
#[derive(Debug)]
pub(crate) struct Taped {
    tape: Arc<dyn Tape>,
    stream: u64,
    /// The session; `None` if the tape is replayed.
    session: Option<Session>,
}

impl Layer {
    /// Creates the layer of a connection, whose session is created by `session`.
    pub(crate) fn new(
        tape: Option<&Arc<dyn Tape>>,
        session: impl FnOnce() -> io::Result<Session>,
    ) -> io::Result<Self> {
        let Some(tape) = tape else { return session().map(Self::Live) };
        let stream = tape.next_stream();
        let session = if tape.is_replay() {
            tape.replay(stream, TapeCall::Layer, &mut []).0?;
            None
        } else {
            tape.begin();
            let session = session();
            let result = session.as_ref().map(|_| 0).map_err(copied);
            tape.record(stream, TapeCall::Layer, &(result, None));
            Some(session?)
        };
        Ok(Self::Taped(Taped { tape: Arc::clone(tape), stream, session }))
    }

    /// Puts the layer into another one, whose handshake is done. From now on only this one
    /// has a tape: what happens below it is a part of its calls.
    pub(crate) fn within(self, outer: Self) -> Self {
        let outer = match outer {
            Self::Live(session) => Some(session),
            Self::Taped(taped) => taped.session,
        };
        match self {
            Self::Live(session) => Self::Live(session.within(outer)),
            Self::Taped(Taped { tape, stream, session }) => {
                let session = session.map(|session| session.within(outer));
                Self::Taped(Taped { tape, stream, session })
            }
        }
    }

    /// Returns true if everything received, errors included, has been read.
    pub(crate) fn is_drained(&self) -> bool {
        match self {
            Self::Live(session) => session.is_drained(),
            // A replayed call sets what it has shown.
            Self::Taped(taped) => taped.session.as_ref().is_some_and(Session::is_drained),
        }
    }

    pub(crate) fn read<S: Read + Write>(
        &mut self,
        socket: &mut Probed<S>,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        let taped = match self {
            Self::Live(session) => return session.read(socket, buffer),
            Self::Taped(taped) => taped,
        };
        let Some(session) = &mut taped.session else {
            let (result, blocked_on) = taped.tape.replay(taped.stream, TapeCall::Read(&[]), buffer);
            socket.blocked_on = blocked_on;
            return result;
        };
        taped.tape.begin();
        let result = session.read(socket, buffer);
        let read = buffer.get(..*result.as_ref().unwrap_or(&0)).unwrap_or_default();
        taped.keep(TapeCall::Read(read), result, socket)
    }

    pub(crate) fn write<S: Read + Write>(
        &mut self,
        socket: &mut Probed<S>,
        bytes: &[u8],
    ) -> io::Result<usize> {
        let taped = match self {
            Self::Live(session) => return session.write(socket, bytes),
            Self::Taped(taped) => taped,
        };
        let Some(session) = &mut taped.session else {
            let call = TapeCall::Write(bytes);
            let (result, blocked_on) = taped.tape.replay(taped.stream, call, &mut []);
            socket.blocked_on = blocked_on;
            return result;
        };
        taped.tape.begin();
        let result = session.write(socket, bytes);
        taped.keep(TapeCall::Write(bytes), result, socket)
    }

    pub(crate) fn close<S: Read + Write>(&mut self, socket: &mut Probed<S>) {
        match self {
            Self::Live(session) => session.close(socket),
            Self::Taped(Taped { tape, stream, session: Some(session) }) => {
                tape.begin();
                session.close(socket);
                tape.record(*stream, TapeCall::Close, &(Ok(0), None));
            }
            Self::Taped(Taped { tape, stream, session: None }) => {
                let _ = tape.replay(*stream, TapeCall::Close, &mut []);
            }
        }
    }
}

impl Taped {
    /// Keeps the result of a call of the session.
    fn keep<S>(
        &self,
        call: TapeCall<'_>,
        result: io::Result<usize>,
        socket: &Probed<S>,
    ) -> io::Result<usize> {
        let is_session_drained = self.session.as_ref().is_some_and(Session::is_drained);
        let is_drained = socket.is_drained && is_session_drained;
        let blocked_on = socket.blocked_on.or(is_drained.then_some(Direction::Read));
        let kept = (result, blocked_on);
        self.tape.record(self.stream, call, &kept);
        kept.0
    }
}

/// Returns an error that says the same.
fn copied(error: &io::Error) -> io::Error {
    match error.get_ref().and_then(|source| source.downcast_ref::<crate::TlsError>()) {
        Some(error) => error.clone().into(),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
