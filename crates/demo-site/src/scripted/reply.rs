//! What a script can do to its client.

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;

use super::stage::{Stage, Waiting};

/// The reply to one request. Once the connection is over, be it by the script
/// or because the client is gone or the test at its end, everything here does
/// nothing.
#[derive(Debug)]
pub struct Reply<'a> {
    stream: &'a TcpStream,
    stage: &'a Stage,
    /// There until the first byte is sent.
    waiting: Option<Waiting>,
    is_over: bool,
}

impl<'a> Reply<'a> {
    pub(super) fn begin(stream: &'a TcpStream, stage: &'a Arc<Stage>, target: &str) -> Self {
        Self { stream, stage, waiting: Some(Waiting::begin(stage, target)), is_over: false }
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Sends these bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.waiting = None;
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
        // At once, for a client may be told to see how many reads it takes.
        self.send([head.as_bytes(), body].concat());
    }

    /// Sends these bytes, `chunk_length` (at least one) at a time, with a
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

    /// Does nothing for a while. The end of the test is the end of it.
    pub fn sleep(&mut self, duration: Duration) {
        if !self.is_over {
            self.is_over = !self.stage.sleep(duration);
        }
    }

    /// Ends the connection in good order (FIN), after what was sent.
    pub fn close(&mut self) {
        self.is_over = true;
        // The client sees it now, not when the handler returns.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Breaks the connection off (RST) as soon as the handler returns. What
    /// was sent may be lost on its way.
    pub fn reset(&mut self) {
        self.is_over = true;
        let _ = SockRef::from(self.stream).set_linger(Some(Duration::ZERO));
    }
}
