//! Servers that speak TLS.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use crawl_core::Options;
use demo_site::scripted::Server;
use rustls::{HandshakeKind, ServerConfig, ServerConnection};

#[path = "../../../transport/tests/common/authority.rs"]
mod authority;

pub use authority::{Authority, Identity};

use super::options;

/// Whom the crawls of [`secure_options`] trust.
pub static ROOT: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));

/// A server that nothing is wrong with.
pub fn good_server() -> ServerConfig {
    ROOT.issue(&["127.0.0.1", "localhost"]).server()
}

/// As [`options`], and who trusts [`ROOT`].
pub fn secure_options(root: impl AsRef<str>) -> Options {
    let mut options = options(root);
    options.ca_certificates = vec![ROOT.der()];
    options
}

/// A website behind TLS.
pub struct SecureSite {
    pub server: Server,
    handshakes: Arc<[AtomicU64; 2]>,
}

/// Calls `script` for every connection, once for each request that comes over
/// it, as long as it is not closed.
pub fn serve_securely(
    config: ServerConfig,
    script: impl Fn(&str, &mut Talk<'_>) + Send + Sync + 'static,
) -> SecureSite {
    let handshakes = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let (config, counts) = (Arc::new(config), Arc::clone(&handshakes));
    let server = Server::start_raw(move |stream, _| {
        stream.set_nodelay(true).unwrap();
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut talk = Talk::new(tls, stream);
        while let Some(path) = talk.next_path() {
            let is_resumed = talk.tls.handshake_kind() == Some(HandshakeKind::Resumed);
            counts[usize::from(is_resumed)].fetch_add(1, Ordering::Relaxed);
            script(&path, &mut talk);
        }
    });
    SecureSite { server: server.unwrap(), handshakes }
}

impl SecureSite {
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.server.address())
    }

    /// How many requests came over sessions that were begun anew, and over
    /// sessions that were resumed.
    pub fn requests_over_new_and_resumed(&self) -> (u64, u64) {
        let [new, resumed] = &*self.handshakes;
        (new.load(Ordering::Relaxed), resumed.load(Ordering::Relaxed))
    }
}

/// The server's end of one connection. Once the client is gone, everything
/// here does nothing.
pub struct Talk<'a> {
    pub tls: ServerConnection,
    pub stream: &'a mut TcpStream,
    is_over: bool,
}

impl<'a> Talk<'a> {
    pub fn new(tls: ServerConnection, stream: &'a mut TcpStream) -> Self {
        Self { tls, stream, is_over: false }
    }

    /// Of the next request, once all of its head is here.
    pub fn next_path(&mut self) -> Option<String> {
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !self.is_over && !head.ends_with(b"\r\n\r\n") {
            match rustls::Stream::new(&mut self.tls, self.stream).read(&mut byte) {
                Ok(1..) => head.extend(byte),
                Ok(0) | Err(_) => self.is_over = true,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let path = head.split(' ').nth(1).map(str::to_owned);
        path.filter(|_| !self.is_over)
    }

    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let sent = rustls::Stream::new(&mut self.tls, self.stream).write_all(bytes.as_ref());
        self.is_over |= sent.is_err();
    }

    pub fn page(&mut self, html: impl AsRef<[u8]>) {
        let html = html.as_ref();
        let length = html.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\r\n"
        );
        self.send([head.as_bytes(), html].concat());
    }

    /// Sends what TLS itself has to say.
    pub fn push(&mut self) {
        while self.tls.wants_write() && !self.is_over {
            self.is_over |= self.tls.write_tls(self.stream).is_err();
        }
    }

    /// Says that nothing more will come.
    pub fn say_goodbye(&mut self) {
        self.tls.send_close_notify();
        self.push();
    }

    /// Ends the connection, announced or not.
    pub fn hang_up(&mut self) {
        self.is_over = true;
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
