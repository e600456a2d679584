//! Servers that break the rules of TLS, or keep them and ask for too much.

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

use crate::behaviour::compare;
use crate::common::tls::{
    Authority, Identity, ROOT, SecureSite, Talk, good_server, secure_options, serve_securely,
};
use crate::common::{Stage, Told, WATCHDOG, failed, page};
use crate::renegotiation;

/// A server, what is to be told of it, and a word of the message.
pub(crate) struct Stranger {
    pub(crate) name: &'static str,
    pub(crate) server: Server,
    pub(crate) told: Told,
    pub(crate) words: &'static str,
}

impl Stranger {
    fn url(&self) -> String {
        format!("https://{}/", self.server.address())
    }
}

/// All of them, each a site of its own, and one site that nothing is wrong
/// with, which has a page for each of them.
pub(crate) struct Strangers {
    all: Vec<Stranger>,
    healthy: SecureSite,
}

impl Strangers {
    pub(crate) fn new() -> Self {
        let all = [certificates(), rubbish(), stalled(), afterwards(), renegotiation::servers()];
        let healthy = serve_securely(good_server(), |_, talk| talk.page("here"));
        Self { all: all.into_iter().flatten().collect(), healthy }
    }

    /// How many there are, without the one that nothing is wrong with.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// A crawl is to begin at all of these. They are the only pages.
    pub(crate) fn roots(&self) -> impl Iterator<Item = String> {
        self.all.iter().flat_map(|stranger| [stranger.url(), self.beside(stranger)])
    }

    fn beside(&self, stranger: &Stranger) -> String {
        self.healthy.url(&format!("/beside/{}", stranger.name.replace(' ', "-")))
    }

    /// The expected rows, each by its URL.
    pub(crate) fn expected(&self) -> BTreeMap<String, Told> {
        let own = self.all.iter().map(|stranger| (stranger.url(), stranger.told.clone()));
        let beside = self.all.iter().map(|stranger| (self.beside(stranger), page("here", 0)));
        own.chain(beside).collect()
    }

    /// The name of the server that one of the roots is for.
    pub(crate) fn name_of(&self, url: &str) -> Option<&'static str> {
        let is_of = |stranger: &&Stranger| stranger.url() == url || self.beside(stranger) == url;
        self.all.iter().find(is_of).map(|stranger| stranger.name)
    }
}

const HOST: &[&str] = &["127.0.0.1"];

fn certificates() -> Vec<Stranger> {
    let stranger = Authority::new("Stranger");
    let intermediate = ROOT.intermediate("Intermediate");
    let old = ROOT.issue_changed(HOST, |params| params.not_after = date_time_ymd(2001, 2, 3));
    let new = ROOT.issue_changed(HOST, |params| params.not_before = date_time_ymd(2999, 2, 3));
    let client = ROOT.issue_changed(HOST, |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    let mut large = ROOT.issue(HOST);
    large.chain.push(vec![0x30; 16_000_000].into());
    let mut many = ROOT.issue(HOST);
    many.chain.extend((0..20_000).map(|_| intermediate.der().into()));
    let shows = |name, identity: &Identity, words| {
        let site = serve_securely(identity.server(), |_, talk| talk.page(""));
        Stranger { name, server: site.server, told: failed(Tls), words }
    };
    vec![
        shows("expired", &old, "expired"),
        shows("not valid yet", &new, "not valid before"),
        shows("another name", &ROOT.issue(&["a.test"]), "not for 127.0.0.1 but for a.test"),
        shows(
            "escapes for a name",
            &ROOT.issue(&["\x1b[31m.test", "\x07\r\n"]),
            "not for 127.0.0.1",
        ),
        shows("a thousand names", &ROOT.issue(&["a.test"; 1000]), "995 more"),
        shows("unknown issuer", &stranger.issue(HOST).with(&stranger), "not trusted"),
        shows("no intermediate", &intermediate.issue(HOST), "does not send its intermediate"),
        shows("self-signed", &Identity::self_signed(HOST, |_| {}), "self-signed"),
        shows("for clients", &client, "not for servers"),
        shows("16 MB of chain", &large, ""),
        shows("20,000 certificates", &many, ""),
    ]
}

/// Listens, says something else than TLS, and stays.
fn rubbish() -> Vec<Stranger> {
    let says = |name, bytes: &'static [u8], times: usize, class, words| {
        let told = failed(class);
        let server = Server::start_raw(move |stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            let all = bytes.repeat(times.min(10_000));
            for _ in 0..times.div_ceil(10_000) {
                if stream.write_all(&all).is_err() {
                    return;
                }
            }
            stay(stream);
        });
        Stranger { name, server: server.unwrap(), told, words }
    };
    let does = |name, class, then: fn(&mut TcpStream)| {
        let told = failed(class);
        let server = Server::start_raw(move |stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            then(stream);
        });
        Stranger { name, server: server.unwrap(), told, words: "" }
    };
    // A ServerHello of 16 MB, in records of one byte of it each.
    const PIECE: &[u8] = b"\x16\x03\x03\0\x01\x02";
    const LARGE: &[u8] = b"\x16\x03\x03\0\x04\x02\xff\xff\xff";
    vec![
        says("plain http", b"HTTP/1.1 400 Bad Request\r\n\r\n", 1, Tls, "plain http"),
        says("zeros", &[0; 64], 1, Tls, ""),
        says("endless noise", b"\x9b\x1b[31mnoise", 1_000_000, Tls, ""),
        says("refusal", b"\x15\x03\x03\0\x02\x02\x28", 1, Tls, "common cipher"),
        says("unknown refusal", b"\x15\x03\x03\0\x02\x02\xfe", 1, Tls, "refuses"),
        says("old version", b"\x15\x03\x01\0\x02\x02\x46", 1, Tls, "no version"),
        says("endless warnings", b"\x15\x03\x03\0\x02\x01\x5a", 1_000_000, Tls, ""),
        says("endless empty records", b"\x16\x03\x03\0\0", 1_000_000, Tls, ""),
        says("endless changes of cipher", b"\x14\x03\x03\0\x01\x01", 1_000_000, Tls, ""),
        says("endless hello requests", b"\x16\x03\x03\0\x04\0\0\0\0", 1_000_000, Tls, ""),
        says("a large message", LARGE, 1, Tls, ""),
        says("a record too long", b"\x16\x03\x03\xff\xff", 1, Tls, ""),
        says("half a record", b"\x16\x03\x03\0\x7a\x02", 1, Timeout, "silent"),
        says("endless pieces", PIECE, 1_000_000, Tls, ""),
        does("silence", Timeout, stay),
        does("goodbye", Closed, |_| ()),
        does("reset", Closed, |stream| {
            SockRef::from(&*stream).set_linger(Some(Duration::ZERO)).unwrap();
        }),
        does("drip", Timeout, |stream| {
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

/// Waits for the client to go.
pub(crate) fn stay(stream: &mut TcpStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}

/// Goes silent after so many flights of the handshake.
fn stalled() -> Vec<Stranger> {
    let stalls = |name, version, flights: u32| {
        let config = Arc::new(ROOT.issue(HOST).server_of(&[version]));
        let server = Server::start_raw(move |stream, _| {
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut left = flights;
            while left > 0 && tls.read_tls(stream).is_ok() && tls.process_new_packets().is_ok() {
                left -= u32::from(tls.wants_write());
                while tls.wants_write() && tls.write_tls(stream).is_ok() {}
            }
            stay(stream);
        });
        Stranger { name, server: server.unwrap(), told: failed(Timeout), words: "silent" }
    };
    vec![
        stalls("silent after the first flight of 1.3", &TLS13, 1),
        stalls("silent after the first flight of 1.2", &TLS12, 1),
        stalls("silent after the second flight of 1.2", &TLS12, 2),
    ]
}

/// Behaves until the handshake is done.
fn afterwards() -> Vec<Stranger> {
    let talks = |name, config: ServerConfig, told, script: fn(&mut Talk<'_>)| {
        let site = serve_securely(config, move |_, talk| {
            script(talk);
            talk.hang_up();
        });
        Stranger { name, server: site.server, told, words: "" }
    };
    let cut = |size| failed(Truncated).status(200).size(size);
    vec![
        talks("no notice of the end", good_server(), cut(4), |talk| {
            talk.send("HTTP/1.1 200 OK\r\n\r\nsome");
        }),
        talks("cut in the head", good_server(), failed(Truncated), |talk| {
            talk.send("HTTP/1.1 200 OK\r\n");
        }),
        talks("cut at once", good_server(), failed(Closed), |_| ()),
        // Once the handshake is done, nobody is mistaken about anybody: what cannot
        // be deciphered was damaged on its way, and may come whole the next time.
        talks("a damaged record", good_server(), cut(0), |talk| {
            talk.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
            let _ = talk.stream.write_all(b"\x17\x03\x03\0\x20damaged damaged damaged damaged ");
            stay(talk.stream);
        }),
        talks("plain text after all", good_server(), failed(Closed), |talk| {
            let _ = talk.stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext");
            stay(talk.stream);
        }),
        // There is no reason for more than a few (RFC 8446, section 4.6.3).
        talks("endless new keys", good_server(), failed(Tls), |talk| {
            let begun = Instant::now();
            while talk.tls.refresh_traffic_keys().is_ok() && begun.elapsed() < WATCHDOG {
                while talk.tls.wants_write() {
                    if talk.tls.write_tls(talk.stream).is_err() {
                        return;
                    }
                }
                thread::sleep(Duration::from_millis(5));
            }
        }),
    ]
}

/// Whatever they do, it is told in words, in a bounded time, and the healthy
/// page beside each is fetched.
#[test]
fn servers_that_break_the_rules_of_tls() {
    thread::scope(|scope| {
        for stage in Stage::ALL {
            scope.spawn(move || check(stage));
        }
    });
}

fn check(stage: Stage) {
    let strangers = Strangers::new();
    let mut options = secure_options(strangers.healthy.url("/"));
    options.roots = strangers.roots().map(|root| root.parse().unwrap()).collect();
    options.max_tasks = Some(options.roots.len());
    // In debug mode, sixteen megabytes take a server its time.
    options.read_timeout = Duration::from_secs(2);
    options.timeout = Duration::from_secs(3);
    let crawled = stage.crawl(options);
    let found = crawled.rows().iter().map(|(url, row)| (url.clone(), crawled.told(row))).collect();
    let name_of = |url: &str| strangers.name_of(url);
    compare(&format!("{stage:?}"), &found, &strangers.expected(), name_of);
    for stranger in &strangers.all {
        let error = crawled.row(&stranger.url()).error.as_ref();
        let message = error.map(|error| error.message.as_str()).unwrap_or_default();
        let Stranger { name, words, .. } = stranger;
        assert!(message.contains(words), "{stage:?}: {name}: {message}");
        assert!(!message.contains(char::is_control) && message.len() < 500, "{name}: {message:?}");
    }
}
