//! TLS renegotiation: servers that ask for a second handshake on the same
//! connection, which exists only up to TLS 1.2 (RFC 5246, section 7.4.1.1). A
//! few servers still do this, to demand a client certificate for some pages.
//!
//! The client may ignore the request or refuse it with a warning. Either way
//! the connection continues, unless the server wants to end it.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Instant;

use crawl_core::ErrorClass::{Timeout, Tls};
use demo_site::scripted::Server;
use rustls::crypto::cipher::{MessageEncrypter, OutboundPlainMessage};
use rustls::crypto::ring;
use rustls::version::TLS12;
use rustls::{
    ConnectionTrafficSecrets, ContentType, ProtocolVersion, ServerConfig, ServerConnection,
    SupportedCipherSuite,
};

use super::tls::{HostileServer, wait_for_close};
use crate::common::tls::{ROOT_CA, TlsConnection};
use crate::common::{ExpectedRow, WATCHDOG, failed, page};

const CIPHER: SupportedCipherSuite =
    ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;

pub(crate) fn servers() -> Vec<HostileServer> {
    let renegotiates =
        |name, expected_row: ExpectedRow, message_part, script: fn(&mut Renegotiator<'_>)| {
            let config = Arc::new(config());
            let server = Server::start_raw(move |stream, _| {
                if let Some(mut server) = Renegotiator::first_request(&config, stream) {
                    script(&mut server);
                    wait_for_close(server.stream);
                }
            });
            HostileServer { name, server: server.unwrap(), expected_row, message_part }
        };
    let whole = || page("<a href=/>home</a>", 1);
    vec![
        // RFC 5246, section 7.2.2: after the warning no_renegotiation the server
        // can continue with the connection as it is.
        renegotiates("renegotiation before the response", whole(), "", |server| {
            server.request_handshake();
            server.send_text(HEAD);
            server.send_text(BODY);
        }),
        // Section 7.4.1.1: the server may ask at any time.
        renegotiates("renegotiation within the response", whole(), "", |server| {
            server.send_text(HEAD);
            server.send_text(&BODY[..5]);
            server.request_handshake();
            server.send_text(&BODY[5..]);
        }),
        // Section 7.4.1.1: without a ClientHello, the server may end the connection
        // with a fatal alert. It would do so at the next try as well.
        renegotiates("renegotiation or nothing", failed(Tls), "refuses", |server| {
            server.request_handshake();
            server.send(ContentType::Alert, &FATAL_HANDSHAKE_FAILURE);
        }),
        // The server waits for a ClientHello, and the client for a response.
        renegotiates("renegotiation first", failed(Timeout), "silent", |server| {
            server.request_handshake()
        }),
        // Section 7.4.1.1: a server should not repeat the request.
        renegotiates("endless renegotiation", failed(Tls), "breaks the rules", |server| {
            let begun = Instant::now();
            while !server.is_closed && begun.elapsed() < WATCHDOG {
                server.request_handshake();
            }
        }),
    ]
}

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 18\r\n\r\n";
const BODY: &[u8] = b"<a href=/>home</a>";
/// Section 7.4.1.1: a message of type 0 and length 0.
const HELLO_REQUEST: [u8; 4] = [0; 4];
/// Section 7.2.
const FATAL_HANDSHAKE_FAILURE: [u8; 2] = [2, 40];

/// Returns the configuration of a server with TLS 1.2 and one cipher only, from
/// which the secrets of a session can be extracted.
fn config() -> ServerConfig {
    let identity = ROOT_CA.issue(&["127.0.0.1"]);
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![CIPHER];
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_protocol_versions(&[&TLS12])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(identity.chain.clone(), identity.private_key())
        .unwrap();
    config.enable_secret_extraction = true;
    config
}

/// The server's end of a connection after the handshake. rustls never asks for
/// another handshake, so this encrypts the further records itself.
struct Renegotiator<'a> {
    stream: &'a mut TcpStream,
    cipher: Box<dyn MessageEncrypter>,
    /// The sequence number of the next record.
    sequence_number: u64,
    /// Set when the client has closed the connection.
    is_closed: bool,
}

impl<'a> Renegotiator<'a> {
    /// Completes a handshake and reads a request. Returns `None` if there is no
    /// request.
    fn first_request(config: &Arc<ServerConfig>, stream: &'a mut TcpStream) -> Option<Self> {
        let tls = ServerConnection::new(Arc::clone(config)).unwrap();
        let mut connection = TlsConnection::new(tls, stream);
        connection.next_path()?;
        let (sequence_number, secrets) = connection.tls.dangerous_extract_secrets().unwrap().tx;
        let ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } = secrets else {
            unreachable!("there is no other cipher");
        };
        let SupportedCipherSuite::Tls12(suite) = CIPHER else {
            unreachable!("there is no other version");
        };
        let cipher = suite.aead_alg.encrypter(key, iv.as_ref(), &[]);
        Some(Self { stream: connection.stream, cipher, sequence_number, is_closed: false })
    }

    fn request_handshake(&mut self) {
        self.send(ContentType::Handshake, &HELLO_REQUEST);
    }

    fn send_text(&mut self, text: &[u8]) {
        self.send(ContentType::ApplicationData, text);
    }

    /// Sends one record.
    fn send(&mut self, typ: ContentType, content: &[u8]) {
        let version = ProtocolVersion::TLSv1_2;
        let plain = OutboundPlainMessage { typ, version, payload: content.into() };
        let record = self.cipher.encrypt(plain, self.sequence_number).unwrap().encode();
        self.sequence_number += 1;
        self.is_closed |= self.stream.write_all(&record).is_err();
    }
}
