//! TLS servers, and crawl options that trust them.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use crawl_core::Options;
use demo_site::scripted::Server;
use rustls::{HandshakeKind, ServerConfig, ServerConnection};

pub use test_support::authority::{Authority, Identity};

use super::options;

/// The root certificate authority that the crawls of [`secure_options`] trust.
pub static ROOT_CA: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));

/// Returns the configuration of a server with a valid certificate.
pub fn valid_server_config() -> ServerConfig {
    ROOT_CA.issue(&["127.0.0.1", "localhost"]).server()
}

/// Returns [`options`] that trust [`ROOT_CA`] as well.
pub fn secure_options(root: impl AsRef<str>) -> Options {
    let mut options = options(root);
    options.ca_certificates = vec![ROOT_CA.der()];
    options
}

/// A website that is served over TLS.
pub struct TlsSite {
    pub server: Server,
    /// The number of requests over new sessions and over resumed ones.
    requests: Arc<[AtomicU64; 2]>,
}

/// Starts a TLS server that calls `script` for each request on each
/// connection, until the connection is closed.
pub fn serve_tls(
    config: ServerConfig,
    script: impl Fn(&str, &mut TlsConnection<'_>) + Send + Sync + 'static,
) -> TlsSite {
    let requests = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
    let (config, counts) = (Arc::new(config), Arc::clone(&requests));
    let server = Server::start_raw(move |stream, _| {
        stream.set_nodelay(true).unwrap();
        let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut connection = TlsConnection::new(tls, stream);
        while let Some(path) = connection.next_path() {
            let is_resumed = connection.tls.handshake_kind() == Some(HandshakeKind::Resumed);
            counts[usize::from(is_resumed)].fetch_add(1, Ordering::Relaxed);
            script(&path, &mut connection);
        }
    });
    TlsSite { server: server.unwrap(), requests }
}

impl TlsSite {
    pub fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.server.address())
    }

    /// Returns the number of requests over new TLS sessions and over resumed
    /// ones.
    pub fn requests_over_new_and_resumed(&self) -> (u64, u64) {
        let [new, resumed] = &*self.requests;
        (new.load(Ordering::Relaxed), resumed.load(Ordering::Relaxed))
    }
}

/// The server's end of one TLS connection. Once the client has closed it, every
/// method does nothing.
pub struct TlsConnection<'a> {
    pub tls: ServerConnection,
    pub stream: &'a mut TcpStream,
    is_over: bool,
}

impl<'a> TlsConnection<'a> {
    pub fn new(tls: ServerConnection, stream: &'a mut TcpStream) -> Self {
        Self { tls, stream, is_over: false }
    }

    /// Reads the head of the next request and returns its path. Returns `None`
    /// if the client has closed the connection.
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

    /// Sends the records that TLS has pending, such as alerts and key updates.
    pub fn flush_tls(&mut self) {
        while self.tls.wants_write() && !self.is_over {
            self.is_over |= self.tls.write_tls(self.stream).is_err();
        }
    }

    /// Announces the end of the connection with a `close_notify` alert.
    pub fn send_close_notify(&mut self) {
        self.tls.send_close_notify();
        self.flush_tls();
    }

    /// Closes the connection, whether or not its end was announced.
    pub fn close(&mut self) {
        self.is_over = true;
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
