//! The replies of a script to its client.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;

use super::server_state::{InFlight, ServerState};

/// The reply to one request. After the script or the client has closed the
/// connection, or the server was dropped, all its methods do nothing.
#[derive(Debug)]
pub struct Reply<'a> {
    stream: &'a TcpStream,
    state: &'a ServerState,
    /// Counts the request as in flight until the first byte is sent.
    in_flight: Option<InFlight>,
    is_over: bool,
}

impl<'a> Reply<'a> {
    pub(super) fn begin(stream: &'a TcpStream, state: &'a Arc<ServerState>, target: &str) -> Self {
        Self { stream, state, in_flight: Some(InFlight::begin(state, target)), is_over: false }
    }

    /// Returns true if the script or the client has closed the connection, or the
    /// server was dropped.
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    /// Sends these bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.in_flight = None;
        if !self.is_over {
            self.is_over = self.stream.write_all(bytes.as_ref()).is_err();
        }
    }

    /// Sends an HTML page with status 200.
    pub fn page(&mut self, html: impl AsRef<[u8]>) {
        let html_in_utf_8 = ("Content-Type", "text/html; charset=utf-8");
        self.status(200, "OK", &[html_in_utf_8], html);
    }

    /// Sends a response, and adds a `Content-Length` unless the headers have
    /// one, or a `Transfer-Encoding`, or the status has no body (1xx, 204,
    /// 304).
    pub fn status(
        &mut self,
        code: u16,
        reason: &str,
        headers: &[(&str, &str)],
        body: impl AsRef<[u8]>,
    ) {
        let body = body.as_ref();
        let mut head = format!("HTTP/1.1 {code} {reason}\r\n");
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let is_framed = headers.iter().any(|(name, _)| {
            name.eq_ignore_ascii_case("content-length")
                || name.eq_ignore_ascii_case("transfer-encoding")
        });
        if !is_framed && !matches!(code, 100..=199 | 204 | 304) {
            head += &format!("Content-Length: {}\r\n", body.len());
        }
        head += "\r\n";
        // In one write, since a test may count the reads of its client.
        self.send([head.as_bytes(), body].concat());
    }

    /// Sends these bytes slowly: `chunk_length` (at least one) at a time, with a
    /// pause after each chunk.
    pub fn drip(&mut self, bytes: impl AsRef<[u8]>, chunk_length: usize, pause: Duration) {
        for chunk in bytes.as_ref().chunks(chunk_length.max(1)) {
            self.send(chunk);
            self.sleep(pause);
            if self.is_over {
                return;
            }
        }
    }

    /// Sleeps, until the server is dropped at the latest.
    pub fn sleep(&mut self, duration: Duration) {
        if !self.is_over {
            self.is_over = !self.state.sleep(duration);
        }
    }

    /// Closes the connection in order (FIN), after the bytes sent before.
    pub fn close(&mut self) {
        self.is_over = true;
        // So that the client sees it now, not when the handler returns.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Resets the connection (RST) as soon as the handler returns. Bytes sent
    /// before may be lost on their way.
    pub fn reset(&mut self) {
        self.is_over = true;
        let _ = SockRef::from(self.stream).set_linger(Some(Duration::ZERO));
    }
}
