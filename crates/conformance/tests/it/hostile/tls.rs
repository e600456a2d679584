//! TLS servers that break the rules of the protocol, or exhaust its limits.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crawl_core::ErrorClass::{Closed, Timeout, Tls, Truncated};
use demo_site::scripted::Server;
use rcgen::{ExtendedKeyUsagePurpose, date_time_ymd};
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};
use socket2::SockRef;

use super::behaviour::compare;
use super::renegotiation;
use crate::common::tls::{
    Authority, Identity, ROOT_CA, TlsConnection, TlsSite, secure_options, serve_tls,
    valid_server_config,
};
use crate::common::{ExpectedRow, Stage, WATCHDOG, failed, other, page};

/// A hostile TLS server, its expected row, and a part of the error message.
pub(crate) struct HostileServer {
    pub(crate) name: &'static str,
    pub(crate) server: Server,
    pub(crate) expected_row: ExpectedRow,
    pub(crate) message_part: &'static str,
}

impl HostileServer {
    fn url(&self) -> String {
        format!("https://{}/", self.server.address())
    }
}

/// All hostile TLS servers, and a valid TLS site with a control page for each of
/// them.
pub(crate) struct HostileServers {
    all: Vec<HostileServer>,
    control_site: TlsSite,
}

impl HostileServers {
    pub(crate) fn new() -> Self {
        let all = [
            bad_certificates(),
            invalid_handshakes(),
            stalled_handshakes(),
            invalid_records(),
            renegotiation::servers(),
        ];
        let control_site =
            serve_tls(valid_server_config(), |_, connection| connection.page("here"));
        Self { all: all.into_iter().flatten().collect(), control_site }
    }

    /// Returns the number of hostile servers.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the roots of a crawl, which are all the pages there are.
    pub(crate) fn roots(&self) -> impl Iterator<Item = String> {
        self.all.iter().flat_map(|hostile| [hostile.url(), self.control_url(hostile)])
    }

    fn control_url(&self, hostile: &HostileServer) -> String {
        self.control_site.url(&format!("/beside/{}", hostile.name.replace(' ', "-")))
    }

    /// Returns the expected rows by URL.
    pub(crate) fn expected(&self) -> BTreeMap<String, ExpectedRow> {
        let own = self.all.iter().map(|hostile| (hostile.url(), hostile.expected_row.clone()));
        let control = self.all.iter().map(|hostile| (self.control_url(hostile), page("here", 0)));
        own.chain(control).collect()
    }

    /// Returns the name of the hostile server that a root belongs to.
    pub(crate) fn name_of(&self, url: &str) -> Option<&'static str> {
        let is_of =
            |hostile: &&HostileServer| hostile.url() == url || self.control_url(hostile) == url;
        self.all.iter().find(is_of).map(|hostile| hostile.name)
    }
}

const HOST: &[&str] = &["127.0.0.1"];

fn bad_certificates() -> Vec<HostileServer> {
    let untrusted = Authority::new("Stranger");
    let intermediate = ROOT_CA.intermediate("Intermediate");
    let old = ROOT_CA.issue_changed(HOST, |params| params.not_after = date_time_ymd(2001, 2, 3));
    let new = ROOT_CA.issue_changed(HOST, |params| params.not_before = date_time_ymd(2999, 2, 3));
    let client = ROOT_CA.issue_changed(HOST, |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let mut large = ROOT_CA.issue(HOST);
    large.chain.push(vec![0x30; 16_000_000].into());
    let mut many = ROOT_CA.issue(HOST);
    many.chain.extend((0..20_000).map(|_| intermediate.der().into()));
    let shows = |name, identity: &Identity, message_part| {
        let site = serve_tls(identity.server(), |_, connection| connection.page(""));
        HostileServer { name, server: site.server, expected_row: failed(Tls), message_part }
    };
    vec![
        shows("expired", &old, "expired"),
        shows("not valid yet", &new, "not valid before"),
        shows("another name", &ROOT_CA.issue(&["a.test"]), "not for 127.0.0.1 but for a.test"),
        shows(
            "escapes for a name",
            &ROOT_CA.issue(&["\x1b[31m.test", "\x07\r\n"]),
            "not for 127.0.0.1",
        ),
        shows("a thousand names", &ROOT_CA.issue(&["a.test"; 1000]), "995 more"),
        shows("unknown issuer", &untrusted.issue(HOST).with(&untrusted), "not trusted"),
        shows("no intermediate", &intermediate.issue(HOST), "does not send its intermediate"),
        shows("self-signed", &Identity::self_signed(HOST, |_| {}), "self-signed"),
        shows("for clients", &client, "not for servers"),
        shows("16 MB of chain", &large, ""),
        shows("20,000 certificates", &many, ""),
    ]
}

/// Returns servers that answer the ClientHello with something that is not a
/// valid handshake.
fn invalid_handshakes() -> Vec<HostileServer> {
    let sends = |name, bytes: &'static [u8], times: usize, class, message_part| {
        let expected_row = failed(class);
        let server = Server::start_raw(move |stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            let all = bytes.repeat(times.min(10_000));
            for _ in 0..times.div_ceil(10_000) {
                if stream.write_all(&all).is_err() {
                    return;
                }
            }
            wait_for_close(stream);
        });
        HostileServer { name, server: server.unwrap(), expected_row, message_part }
    };
    let runs = |name, class, then: fn(&mut TcpStream)| {
        let expected_row = failed(class);
        let server = Server::start_raw(move |stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            then(stream);
        });
        HostileServer { name, server: server.unwrap(), expected_row, message_part: "" }
    };
    // A ServerHello of 16 MB, in records of one byte of it each.
    const PIECE: &[u8] = b"\x16\x03\x03\0\x01\x02";
    const LARGE: &[u8] = b"\x16\x03\x03\0\x04\x02\xff\xff\xff";
    vec![
        sends("plain http", b"HTTP/1.1 400 Bad Request\r\n\r\n", 1, Tls, "plain http"),
        sends("zeros", &[0; 64], 1, Tls, ""),
        sends("endless noise", b"\x9b\x1b[31mnoise", 1_000_000, Tls, ""),
        sends("refusal", b"\x15\x03\x03\0\x02\x02\x28", 1, Tls, "none of our ciphers"),
        sends("unknown refusal", b"\x15\x03\x03\0\x02\x02\xfe", 1, Tls, "refuses"),
        sends("old version", b"\x15\x03\x01\0\x02\x02\x46", 1, Tls, "no version"),
        sends("endless warnings", b"\x15\x03\x03\0\x02\x01\x5a", 1_000_000, Tls, ""),
        sends("endless empty records", b"\x16\x03\x03\0\0", 1_000_000, Tls, ""),
        sends("endless changes of cipher", b"\x14\x03\x03\0\x01\x01", 1_000_000, Tls, ""),
        sends("endless hello requests", b"\x16\x03\x03\0\x04\0\0\0\0", 1_000_000, Tls, ""),
        sends("a large message", LARGE, 1, Tls, ""),
        sends("a record too long", b"\x16\x03\x03\xff\xff", 1, Tls, ""),
        sends("half a record", b"\x16\x03\x03\0\x7a\x02", 1, Timeout, "silent"),
        sends("endless pieces", PIECE, 1_000_000, Tls, ""),
        runs("silence", Timeout, wait_for_close),
        runs("goodbye", Closed, |_| ()),
        runs("reset", Closed, |stream| {
            SockRef::from(&*stream).set_linger(Some(Duration::ZERO)).unwrap();
        }),
        runs("drip", Timeout, |stream| {
            let hello = b"\x16\x03\x03\x40\0\x02\0\x3f\xfc";
            let begun = Instant::now();
            for byte in hello.iter().chain(std::iter::repeat(&0)) {
                if stream.write_all(&[*byte]).is_err() || begun.elapsed() > WATCHDOG {
                    return;
                }
                thread::sleep(Duration::from_millis(20));
            }
        }),
    ]
}

/// Waits until the client closes the connection.
pub(crate) fn wait_for_close(stream: &mut TcpStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}

/// Returns servers that go silent after some flights of the handshake.
fn stalled_handshakes() -> Vec<HostileServer> {
    let stalls = |name, version, flights: u32| {
        let config = Arc::new(ROOT_CA.issue(HOST).server_of(&[version]));
        let server = Server::start_raw(move |stream, _| {
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut remaining = flights;
            while remaining > 0
                && tls.read_tls(stream).is_ok_and(|length| length > 0)
                && tls.process_new_packets().is_ok()
            {
                remaining -= u32::from(tls.wants_write());
                while tls.wants_write() && tls.write_tls(stream).is_ok() {}
            }
            wait_for_close(stream);
        });
        HostileServer {
            name,
            server: server.unwrap(),
            expected_row: failed(Timeout),
            message_part: "silent",
        }
    };
    vec![
        stalls("silent after the first flight of 1.3", &TLS13, 1),
        stalls("silent after the first flight of 1.2", &TLS12, 1),
        stalls("silent after the second flight of 1.2", &TLS12, 2),
    ]
}

/// Returns servers that break the rules after the handshake.
fn invalid_records() -> Vec<HostileServer> {
    let talks = |name, config: ServerConfig, expected_row, script: fn(&mut TlsConnection<'_>)| {
        let site = serve_tls(config, move |_, connection| {
            script(connection);
            connection.close();
        });
        HostileServer { name, server: site.server, expected_row, message_part: "" }
    };
    vec![
        talks("no notice of the end", valid_server_config(), other(0).uncounted(), |connection| {
            connection.send("HTTP/1.1 200 OK\r\n\r\nsome")
        }),
        talks("cut in the head", valid_server_config(), failed(Truncated), |connection| {
            connection.send("HTTP/1.1 200 OK\r\n");
        }),
        talks("cut at once", valid_server_config(), failed(Closed), |_| ()),
        // After the handshake, a record that cannot be decrypted was damaged on its
        // way, and may come undamaged at the next try.
        talks(
            "a damaged record",
            valid_server_config(),
            failed(Truncated).status(200),
            |connection| {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
                let _ = connection
                    .stream
                    .write_all(b"\x17\x03\x03\0\x20damaged damaged damaged damaged ");
                wait_for_close(connection.stream);
            },
        ),
        talks("plain text after all", valid_server_config(), failed(Closed), |connection| {
            let _ =
                connection.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext");
            wait_for_close(connection.stream);
        }),
        // No server needs more than a few key updates (RFC 8446, section 4.6.3).
        talks("endless new keys", valid_server_config(), failed(Tls), |connection| {
            let begun = Instant::now();
            while connection.tls.refresh_traffic_keys().is_ok() && begun.elapsed() < WATCHDOG {
                while connection.tls.wants_write() {
                    if connection.tls.write_tls(connection.stream).is_err() {
                        return;
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        }),
    ]
}

/// Each server is reported with its error message, in a bounded time, and its
/// control page is fetched.
#[test]
fn hostile_tls_servers_give_the_expected_rows() {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            scope.spawn(move || check(stage));
        }
    });
}

/// Crawls the silent servers and the others apart: those that are silent cost the time of
/// a timeout, and the others must not end by one, even on a busy machine, where it takes
/// long to make and to send sixteen megabytes.
fn check(stage: Stage) {
    let HostileServers { all, control_site } = HostileServers::new();
    let is_silent = |hostile: &HostileServer| hostile.expected_row == failed(Timeout);
    let (silent, others) = all.into_iter().partition(is_silent);
    let others = HostileServers { all: others, control_site };
    check_some(stage, &others, WATCHDOG / 2, WATCHDOG * 3 / 4);
    let silent = HostileServers { all: silent, control_site: others.control_site };
    check_some(stage, &silent, Duration::from_secs(2), Duration::from_secs(6));
}

fn check_some(stage: Stage, servers: &HostileServers, read_timeout: Duration, timeout: Duration) {
    let mut options = secure_options(servers.control_site.url("/"));
    options.settings.roots = servers.roots().map(|root| root.parse().unwrap()).collect();
    options.max_tasks = Some(options.settings.roots.len());
    (options.settings.read_timeout, options.settings.timeout) = (read_timeout, timeout);
    let crawled = stage.crawl(options);
    let actual =
        crawled.rows().iter().map(|(url, row)| (url.clone(), crawled.comparable(row))).collect();
    let name_of = |url: &str| servers.name_of(url);
    compare(&format!("{stage:?}"), &actual, &servers.expected(), name_of);
    for hostile in &servers.all {
        let error = crawled.row(&hostile.url()).error.as_ref();
        let message = error.map(|error| error.message.as_str()).unwrap_or_default();
        let HostileServer { name, message_part, .. } = hostile;
        assert!(message.contains(message_part), "{stage:?}: {name}: {message}");
        assert!(!message.contains(char::is_control) && message.len() < 500, "{name}: {message:?}");
    }
}
