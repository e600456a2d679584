//! A non-blocking connection.

use std::io::{self, ErrorKind, Read, Write};
use std::ops::ControlFlow;
use std::time::Instant;

use selector_core::{Interest, Key, Socket, TimerKey};
use transport::{AddressId, Direction, Stream};

use crate::connector::Connector;
use crate::event_loop::{EventLoop, Method, TimerEvent};
use crate::fetch::Loop;

/// The number of reads in a row after which other callbacks run first.
const READS_PER_CALL: u32 = 16;

/// The registration of a socket with the loop: its key, and all that has to be
/// given back when the socket is closed.
pub(crate) struct Registration {
    pub(crate) key: Key,
    pub(crate) timer: Option<TimerKey>,
    /// The permit to connect, held until the response begins.
    pub(crate) permit: Option<AddressId>,
}

impl Registration {
    /// At this moment the loop will call `method` in place of the callback that is
    /// registered then. There is one timer, which moves.
    pub(crate) fn set_timeout<S>(
        &mut self,
        at: Instant,
        method: Method<S>,
        event_loop: &mut EventLoop<S>,
    ) {
        if self.timer.is_some_and(|timer| timer.at() == at) {
            return;
        }
        let moved = self.timer.and_then(|timer| event_loop.timers.move_to(timer, at));
        let set = || event_loop.timers.set(at, TimerEvent::Timeout(self.key, method));
        self.timer = Some(moved.unwrap_or_else(set));
    }

    // ANCHOR: close
    /// Gives everything back. Drop the socket after this.
    pub(crate) fn close(mut self, connector: &Connector, event_loop: &mut Loop) {
        if let Some(timer) = self.timer {
            drop(event_loop.timers.cancel(timer));
        }
        drop(event_loop.selector.unregister(self.key));
        connector.wake_fd_waiter(event_loop);
        connector.release_permit(&mut self.permit, event_loop);
    }
    // ANCHOR_END: close
}

/// An open connection.
pub(crate) struct Connection {
    pub(crate) stream: Stream<Socket>,
    pub(crate) registration: Registration,
}

impl Connection {
    // ANCHOR: write_all
    /// Sends as many bytes as the socket takes, and removes them. After `WouldBlock`
    /// the call has to be repeated with those that are left.
    pub(crate) fn write_all<S>(
        &mut self,
        bytes: &mut Vec<u8>,
        event_loop: &mut EventLoop<S>,
    ) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = self.stream.write(bytes);
            self.clear_readiness(event_loop);
            match written {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(length) => drop(bytes.drain(..length)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
    // ANCHOR_END: write_all

    // ANCHOR: read_all
    /// Reads all that has arrived. The selector is edge-triggered, so bytes that are
    /// left unread cause no second event. Returns the value with which
    /// `sink` breaks, `None` at the end of the stream, or `WouldBlock` if neither
    /// has come yet.
    pub(crate) fn read_all<B>(
        &mut self,
        mut sink: impl FnMut(&[u8]) -> ControlFlow<B>,
        connector: &Connector,
        event_loop: &mut Loop,
    ) -> io::Result<Option<B>> {
        connector.release_permit(&mut self.registration.permit, event_loop);
        let key = self.registration.key;
        for _ in 0..READS_PER_CALL {
            if !event_loop.selector.readiness(key).satisfies(Interest::Readable) {
                break;
            }
            let read = self.stream.read(&mut event_loop.scratch);
            self.clear_readiness(event_loop);
            match read {
                Ok(0) => return Ok(None),
                Ok(length) => match sink(&event_loop.scratch[..length]) {
                    ControlFlow::Break(value) => return Ok(Some(value)),
                    ControlFlow::Continue(()) => {}
                },
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        // Either everything is read, or other callbacks have to run first.
        Err(ErrorKind::WouldBlock.into())
    }
    // ANCHOR_END: read_all

    /// Clears the readiness that the last call has shown to be over.
    fn clear_readiness<S>(&self, event_loop: &mut EventLoop<S>) {
        if self.stream.blocked_on().is_some() {
            event_loop.selector.clear(self.registration.key, self.interest());
        }
    }

    /// Returns the interest to register a callback with.
    pub(crate) fn interest(&self) -> Interest {
        match self.stream.blocked_on() {
            Some(Direction::Write) => Interest::Writable,
            Some(Direction::Read) | None => Interest::Readable,
        }
    }
}
