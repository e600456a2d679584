//! Servers that ask for a second handshake on the same connection, which is a
//! matter of TLS 1.2 (RFC 5246, section 7.4.1.1). Few still do, to demand a
//! certificate of whoever wants this page and no other.
//!
//! Whom it asks, may pretend that nothing was said, or refuse with a warning.
//! Either way the connection goes on, unless the server wants to end it.

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

use crate::common::tls::{ROOT, Talk};
use crate::common::{Told, WATCHDOG, failed, page};
use crate::tls::{Stranger, stay};

const CIPHER: SupportedCipherSuite =
    ring::cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;

pub(crate) fn servers() -> Vec<Stranger> {
    let asks = |name, told: Told, words, script: fn(&mut Asking<'_>)| {
        let config = Arc::new(config());
        let server = Server::start_raw(move |stream, _| {
            if let Some(mut asking) = Asking::first_request(&config, stream) {
                script(&mut asking);
                stay(asking.stream);
            }
        });
        Stranger { name, server: server.unwrap(), told, words }
    };
    let whole = || page("<a href=/>home</a>", 1);
    vec![
        // RFC 5246, section 7.2.2: after the warning no_renegotiation the one who
        // asked can go on with the connection as it is.
        asks("renegotiation before the response", whole(), "", |asking| {
            asking.ask();
            asking.say(HEAD);
            asking.say(BODY);
        }),
        // Section 7.4.1.1: at any time.
        asks("renegotiation within the response", whole(), "", |asking| {
            asking.say(HEAD);
            asking.say(&BODY[..5]);
            asking.ask();
            asking.say(&BODY[5..]);
        }),
        // Section 7.4.1.1: when no ClientHello comes, the server may end it with a
        // fatal alert. It would do so the next time, too.
        asks("renegotiation or nothing", failed(Tls), "refuses", |asking| {
            asking.ask();
            asking.send(ContentType::Alert, &FATAL_HANDSHAKE_FAILURE);
        }),
        // The server waits for a ClientHello, and we for a response.
        asks("renegotiation first", failed(Timeout), "silent", |asking| asking.ask()),
        // Section 7.4.1.1: a server should not repeat itself.
        asks("endless renegotiation", failed(Tls), "breaks the rules", |asking| {
            let begun = Instant::now();
            while !asking.is_over && begun.elapsed() < WATCHDOG {
                asking.ask();
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

/// Who knows only TLS 1.2, only one cipher, and what it has agreed on.
fn config() -> ServerConfig {
    let identity = ROOT.issue(&["127.0.0.1"]);
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

/// The server's end of a connection with the handshake behind it. rustls would
/// never ask for another, so it goes on by itself.
struct Asking<'a> {
    stream: &'a mut TcpStream,
    cipher: Box<dyn MessageEncrypter>,
    /// Of the next record.
    number: u64,
    /// The client has left.
    is_over: bool,
}

impl<'a> Asking<'a> {
    /// Shakes hands and reads a request. `None` if there is none.
    fn first_request(config: &Arc<ServerConfig>, stream: &'a mut TcpStream) -> Option<Self> {
        let mut talk = Talk::new(ServerConnection::new(Arc::clone(config)).unwrap(), stream);
        talk.next_path()?;
        let (number, secrets) = talk.tls.dangerous_extract_secrets().unwrap().tx;
        let ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } = secrets else {
            unreachable!("there is no other cipher");
        };
        let SupportedCipherSuite::Tls12(suite) = CIPHER else {
            unreachable!("there is no other version");
        };
        let cipher = suite.aead_alg.encrypter(key, iv.as_ref(), &[]);
        Some(Self { stream: talk.stream, cipher, number, is_over: false })
    }

    fn ask(&mut self) {
        self.send(ContentType::Handshake, &HELLO_REQUEST);
    }

    fn say(&mut self, text: &[u8]) {
        self.send(ContentType::ApplicationData, text);
    }

    /// Sends one record.
    fn send(&mut self, typ: ContentType, content: &[u8]) {
        let version = ProtocolVersion::TLSv1_2;
        let plain = OutboundPlainMessage { typ, version, payload: content.into() };
        let record = self.cipher.encrypt(plain, self.number).unwrap().encode();
        self.number += 1;
        self.is_over |= self.stream.write_all(&record).is_err();
    }
}
