//! An HTTP exchange: a request and its response as a state machine that never
//! waits.

use std::io::{self, ErrorKind, Read, Write};
use std::ops::ControlFlow;

use crawl_core::{FetchError, Options, Visit};
use transport::{Direction, Stream};

/// The result of one step of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// ANCHOR: step
pub(crate) enum Step {
    /// The exchange has to wait until the socket is ready in this direction.
    Blocked(Direction),
    /// The exchange made progress, and the next step may be possible at once.
    Progress,
    /// The response is complete.
    Complete,
}
// ANCHOR_END: step

/// A request that is being sent, and its response.
pub(crate) struct Exchange {
    request: Vec<u8>,
    sent: usize,
}

impl Exchange {
    pub(crate) fn new(visit: &mut Visit, options: &Options) -> Self {
        Self { request: visit.request(options, false), sent: 0 }
    }

    // ANCHOR: advance
    /// Writes the rest of the request, then reads once.
    ///
    /// # Errors
    /// If no complete, valid response will come.
    pub(crate) fn advance<S: Read + Write>(
        &mut self,
        stream: &mut Stream<S>,
        visit: &mut Visit,
    ) -> Result<Step, FetchError> {
        while self.sent < self.request.len() {
            match stream.write(&self.request[self.sent..]) {
                Ok(0) => {
                    let error = ErrorKind::WriteZero.into();
                    return blocked_or_failed(stream, visit, error);
                }
                Ok(written) => self.sent += written,
                Err(error) => return blocked_or_failed(stream, visit, error),
            }
        }
        // On the stack, so that a task that waits holds no buffer.
        let mut buffer = [0; 16 * 1024];
        match stream.read(&mut buffer) {
            Ok(0) => visit.receive_end().map(|_| Step::Complete),
            Ok(length) => match visit.receive(&buffer[..length]) {
                ControlFlow::Continue(()) => Ok(Step::Progress),
                ControlFlow::Break(received) => received.map(|_| Step::Complete),
            },
            Err(error) => blocked_or_failed(stream, visit, error),
        }
    }
    // ANCHOR_END: advance
}

/// Returns the step or the error that an I/O error of the stream stands for.
fn blocked_or_failed<S: Read + Write>(
    stream: &Stream<S>,
    visit: &Visit,
    error: io::Error,
) -> Result<Step, FetchError> {
    match error.kind() {
        ErrorKind::WouldBlock => Ok(Step::Blocked(stream.blocked_on().unwrap_or(Direction::Read))),
        ErrorKind::Interrupted => Ok(Step::Progress),
        _ => Err(visit.interrupted(&error)),
    }
}
