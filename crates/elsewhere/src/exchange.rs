//! A request and its response, as far as they go without waiting.

use std::io::{self, ErrorKind, Read, Write};

use crawl_core::{ErrorClass, FetchError, Options, Received, Visit};
use transport::{Direction, Stream, is_tls_error};

/// How far a step has led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// ANCHOR: step
pub(crate) enum Step {
    /// Nothing can be done before the socket is ready in this direction.
    Blocked(Direction),
    /// The peer was heard, and there may be more at once.
    Heard,
    /// The response is complete.
    Complete,
}
// ANCHOR_END: step

/// One request on its way, and its response.
pub(crate) struct Exchange {
    request: Vec<u8>,
    sent: usize,
}

impl Exchange {
    pub(crate) fn new(visit: &mut Visit, options: &Options) -> Self {
        Self { request: visit.request(options, false), sent: 0 }
    }

    // ANCHOR: advance
    /// Writes what is left of the request, then reads once.
    ///
    /// # Errors
    /// When no complete, valid response will come.
    pub(crate) fn advance<S: Read + Write>(
        &mut self,
        stream: &mut Stream<S>,
        visit: &mut Visit,
    ) -> Result<Step, FetchError> {
        while let Some(rest) = self.request.get(self.sent..).filter(|rest| !rest.is_empty()) {
            match stream.write(rest) {
                Ok(0) => return stopped(stream, visit, ErrorKind::WriteZero.into()),
                Ok(written) => self.sent += written,
                Err(error) => return stopped(stream, visit, error),
            }
        }
        // On the stack, and gone before anybody waits.
        let mut buffer = [0; 16 * 1024];
        match stream.read(&mut buffer) {
            Ok(0) => visit.receive_end().map(|()| Step::Complete),
            Ok(length) => match visit.receive(&buffer[..length])? {
                Received::More => Ok(Step::Heard),
                Received::Complete { .. } => Ok(Step::Complete),
            },
            Err(error) => stopped(stream, visit, error),
        }
    }
    // ANCHOR_END: advance
}

/// What it means that the stream has not done as it was told.
fn stopped<S: Read + Write>(
    stream: &Stream<S>,
    visit: &Visit,
    error: io::Error,
) -> Result<Step, FetchError> {
    match error.kind() {
        ErrorKind::WouldBlock => Ok(Step::Blocked(stream.blocked_on())),
        ErrorKind::Interrupted => Ok(Step::Heard),
        _ if is_tls_error(&error) => Err(FetchError::new(ErrorClass::Tls, error.to_string())),
        _ => Err(visit.interrupted(&error)),
    }
}
