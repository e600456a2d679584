//! Every stage over TLS.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::io::{Read, Write};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::tls::{Authority, Identity, ROOT, Talk, good_server, secure_options, serve_securely};
use common::{Meddler, Stage, failed, links, options, other, page, serve};
use crawl_core::{ErrorClass, Outcome};
use demo_site::scripted::Server;
use rcgen::date_time_ymd;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};

#[test]
fn a_secure_site() {
    for stage in Stage::ALL {
        for version in [&TLS12, &TLS13] {
            let html = links(["/a", "/b", "/large"]);
            let large = " ".repeat(300_000) + &links(["/last"]);
            let served = (html.clone(), large.clone());
            let identity = ROOT.issue(&["127.0.0.1"]);
            let site =
                serve_securely(identity.server_of(&[version]), move |path, talk| match path {
                    "/" => talk.page(&served.0),
                    "/large" => talk.page(&served.1),
                    _ => talk.page(""),
                });
            let crawled = stage.crawl(secure_options(site.url("/")));
            crawled.expect([
                ("/", page(html, 3)),
                ("/a", page("", 0)),
                ("/b", page("", 0)),
                ("/large", page(large, 1)),
                ("/last", page("", 0)),
            ]);
        }
    }
}

/// From http to https and on, each with its own port.
#[test]
fn a_redirect_to_a_secure_site() {
    for stage in Stage::ALL {
        let secure = serve_securely(good_server(), |_, talk| talk.page(""));
        let target = secure.url("/");
        let html = links([&target]);
        let site = serve(move |_, reply| reply.page(&html));
        let mut options = secure_options(site.url("/"));
        options.roots.push(secure.url("/other").parse().unwrap());
        let crawled = stage.crawl(options);
        assert_eq!(crawled.row(&target).outcome, Outcome::Page, "{stage:?}");
    }
}

/// What is wrong with a certificate is wrong for good, and said in words.
#[test]
fn bad_certificates() {
    let stranger = Authority::new("Stranger");
    let intermediate = ROOT.intermediate("Intermediate");
    let old = ROOT.issue_changed(&["127.0.0.1"], |params| {
        params.not_after = date_time_ymd(2001, 2, 3);
    });
    let bad = [
        (old, "expired, on Sat, 03 Feb 2001"),
        (ROOT.issue(&["a.test"]), "not for 127.0.0.1 but for a.test"),
        (stranger.issue(&["127.0.0.1"]).with(&stranger), "root that is not trusted"),
        (intermediate.issue(&["127.0.0.1"]), "does not send its intermediate"),
        (Identity::self_signed(&["127.0.0.1"], |_| {}), "self-signed"),
    ];
    for (identity, words) in bad {
        for stage in Stage::ALL {
            let site = serve_securely(identity.server(), |_, talk| talk.page(""));
            let mut options = secure_options(site.url("/"));
            options.max_tries = 3;
            let crawled = stage.crawl(options.clone());
            crawled.expect([("/", failed(ErrorClass::Tls))]);
            let message = &crawled.row("/").error.as_ref().unwrap().message;
            assert!(message.contains(words), "{stage:?}: {message}");
            assert_eq!(site.server.connections(), 1);

            options.insecure = true;
            stage.crawl(options).expect([("/", page("", 0))]);
        }
    }
}

/// A server of plain http makes nothing of what it is told, and says so.
#[test]
fn plain_http_on_the_port() {
    for stage in Stage::ALL {
        let site = Server::start_raw(|stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            let _ = std::io::copy(stream, &mut std::io::sink());
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        options.max_tries = 2;
        let crawled = stage.crawl(options);
        crawled.expect([("/", failed(ErrorClass::Tls))]);
        let message = &crawled.row("/").error.as_ref().unwrap().message;
        assert!(message.contains("plain http"), "{message}");
        assert_eq!(site.connections(), 1, "{stage:?}");
    }
}

#[test]
fn a_server_that_wants_to_know_us() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ROOT.der().into()).unwrap();
    let roots = Arc::new(roots);
    for version in [&TLS12, &TLS13] {
        let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
            Arc::clone(&roots),
            Arc::clone(&provider),
        );
        let identity = ROOT.issue(&["127.0.0.1"]);
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(identity.chain.clone(), identity.private_key())
            .unwrap();
        for stage in Stage::ALL {
            let config = config.clone();
            // It listens until we have read why, and leave.
            let site = Server::start_raw(move |stream, _| {
                let mut tls = ServerConnection::new(Arc::new(config.clone())).unwrap();
                while tls.complete_io(stream).is_ok() && tls.is_handshaking() {}
                let _ = std::io::copy(stream, &mut std::io::sink());
            })
            .unwrap();
            let root = format!("https://{}/", site.address());
            let crawled = stage.crawl(secure_options(root));
            crawled.expect([("/", failed(ErrorClass::Tls))]);
            let message = &crawled.row("/").error.as_ref().unwrap().message;
            assert!(message.contains("certificate"), "{stage:?}: {message}");
        }
    }
}

/// It may have been a moment's weakness.
#[test]
fn a_connection_that_ends_within_the_handshake() {
    for stage in Stage::ALL {
        let site = Server::start_raw(|stream, connection| {
            if connection > 1 {
                // All of the greeting, so that the end is no reset.
                let _ = stream.read(&mut [0; 4096]);
            }
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        options.max_tries = 2;
        let crawled = stage.crawl(options);
        crawled.expect([("/", failed(ErrorClass::Closed).tries(2))]);
        assert_eq!(site.connections(), 2);
    }
}

/// A server that goes silent after each of its flights, the last of which
/// completes the handshake.
#[test]
fn a_handshake_that_stalls() {
    const PATIENCE: Duration = Duration::from_millis(100);
    for (version, flights) in [(&TLS13, 0), (&TLS13, 1), (&TLS12, 0), (&TLS12, 1), (&TLS12, 2)] {
        let config = Arc::new(ROOT.issue(&["127.0.0.1"]).server_of(&[version]));
        for stage in Stage::ALL {
            let config = Arc::clone(&config);
            let site = Server::start_raw(move |stream, _| {
                let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut flights_left = flights;
                while flights_left > 0 && tls.read_tls(stream).is_ok() {
                    tls.process_new_packets().unwrap();
                    flights_left -= u32::from(tls.wants_write());
                    while tls.wants_write() {
                        tls.write_tls(stream).unwrap();
                    }
                }
                let _ = std::io::copy(stream, &mut std::io::sink());
            })
            .unwrap();
            let mut options = secure_options(format!("https://{}/", site.address()));
            options.read_timeout = PATIENCE;
            let begun = Instant::now();
            let crawled = stage.crawl(options);
            crawled.expect([("/", failed(ErrorClass::Timeout))]);
            let elapsed = begun.elapsed();
            assert!(elapsed >= PATIENCE && elapsed < 50 * PATIENCE, "{stage:?}: {elapsed:?}");
        }
    }
}

/// While a handshake stalls, a loop has nothing to do.
#[test]
fn a_handshake_that_stalls_costs_nothing() {
    struct Nobody;
    impl Meddler for Nobody {}
    for stage in Stage::ON_A_LOOP {
        let site = Server::start_raw(|stream, _| {
            let _ = std::io::copy(stream, &mut std::io::sink());
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        options.read_timeout = Duration::from_millis(300);
        let (crawled, work) = stage.crawl_in(Nobody, options);
        crawled.expect([("/", failed(ErrorClass::Timeout))]);
        assert!(work.ticks < 20 && work.turns < 60, "{stage:?}: {work:?}");
    }
}

/// Only a body that has no other end needs one that is announced.
#[test]
fn ends_without_notice() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    let html =
        links(["/length", "/chunked", "/end", "/short", "/none"].map(|path| path.to_owned()));
    for is_announced in [false, true] {
        for stage in Stage::ALL {
            let served = html.clone();
            let site = serve_securely(good_server(), move |path, talk| {
                let rest = match path {
                    "/" => return talk.page(&served),
                    "/length" => "Content-Length: 4\r\n\r\ntext",
                    "/chunked" => "Transfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
                    "/end" => "\r\ntext",
                    "/short" => "Content-Length: 5\r\n\r\ntext",
                    _ => "",
                };
                talk.send(if rest.is_empty() { String::new() } else { format!("{HEAD}{rest}") });
                if is_announced {
                    talk.say_goodbye();
                }
                talk.hang_up();
            });
            let crawled = stage.crawl(secure_options(site.url("/")));
            let cut = || failed(ErrorClass::Truncated).status(200).size(4);
            crawled.expect([
                ("/", page(&html, 5)),
                ("/length", other(4)),
                ("/chunked", other(4)),
                ("/end", if is_announced { other(4) } else { cut() }),
                ("/short", cut()),
                ("/none", failed(ErrorClass::Closed)),
            ]);
        }
    }
}

/// Ten pages, one after the other.
fn chain(path: &str, go_on: impl FnOnce(String)) {
    let n: u32 = path[1..].parse().unwrap_or(0);
    go_on(if n < 9 { links([format!("/{}", n + 1)]) } else { String::new() });
}

/// Whoever makes a connection for each page makes one session for them all.
#[test]
fn sessions_are_resumed() {
    for stage in Stage::ALL {
        for version in [&TLS12, &TLS13] {
            let config = ROOT.issue(&["127.0.0.1"]).server_of(&[version]);
            let site = serve_securely(config, |path, talk| chain(path, |html| talk.page(html)));
            let crawled = stage.crawl(secure_options(site.url("/")));
            assert_eq!(crawled.rows().len(), 10, "{stage:?}");
            let (expected, connections) = match stage {
                // Kept connections need not be made anew at all.
                Stage::Queue => ((10, 0), 1),
                _ => ((1, 9), 10),
            };
            assert_eq!(site.requests_over_new_and_resumed(), expected, "{stage:?}");
            assert_eq!(site.server.connections(), connections, "{stage:?}");
        }
    }
}

/// In pieces, the second would wait for the server to acknowledge the first,
/// which takes its time (RFC 9293, section 3.7.4).
#[test]
fn the_request_comes_with_the_end_of_the_handshake() {
    let config = Arc::new(ROOT.issue(&["127.0.0.1"]).server_of(&[&TLS13]));
    for stage in Stage::ALL {
        let config = Arc::clone(&config);
        let site = Server::start_raw(move |stream, _| {
            let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            while !tls.wants_write() {
                tls.read_tls(stream).unwrap();
                tls.process_new_packets().unwrap();
            }
            while tls.wants_write() {
                tls.write_tls(stream).unwrap();
            }
            let mut bytes = [0; 4096];
            let length = stream.read(&mut bytes).unwrap();
            tls.read_tls(&mut &bytes[..length]).unwrap();
            let state = tls.process_new_packets().unwrap();
            let is_all = state.plaintext_bytes_to_read() > 0;
            let mut talk = Talk::new(tls, stream);
            talk.page(if is_all { "at once" } else { "in pieces" });
            talk.say_goodbye();
        })
        .unwrap();
        let crawled = stage.crawl(secure_options(format!("https://{}/", site.address())));
        crawled.expect([("/", page("at once", 0))]);
    }
}

/// What becomes of a connection that is kept while another is waited for.
fn while_it_is_kept(what_happens: fn(&mut Talk<'_>)) -> u64 {
    let site = serve_securely(good_server(), move |path, talk| match path {
        "/" => talk.page(links(["/quick", "/slow"])),
        "/quick" => {
            talk.page("");
            sleep(Duration::from_millis(50));
            what_happens(talk);
        }
        "/slow" => {
            sleep(Duration::from_millis(250));
            // This one is not to be kept.
            let html = links(["/last"]);
            let length = html.len();
            talk.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{html}"
            ));
        }
        _ => talk.page(""),
    });
    let mut options = secure_options(site.url("/"));
    options.max_tasks = Some(2);
    let crawled = Stage::Queue.crawl(options);
    crawled.expect([
        ("/", page(links(["/quick", "/slow"]), 2)),
        ("/quick", page("", 0)),
        ("/slow", page(links(["/last"]), 1)),
        ("/last", page("", 0)),
    ]);
    site.server.connections()
}

#[test]
fn a_kept_connection_survives_what_tls_says_to_itself() {
    let connections = while_it_is_kept(|talk| {
        talk.tls.refresh_traffic_keys().unwrap();
        talk.push();
    });
    assert_eq!(connections, 2);
}

#[test]
fn a_kept_connection_ends_with_a_goodbye() {
    assert_eq!(while_it_is_kept(|talk| talk.say_goodbye()), 3);
}

#[test]
fn a_kept_connection_is_closed_when_it_speaks_unasked() {
    assert_eq!(while_it_is_kept(|talk| talk.page("nobody asked")), 3);
}

#[test]
fn no_root_is_trusted_by_default_that_is_not_the_systems() {
    for stage in Stage::ALL {
        let site = serve_securely(good_server(), |_, talk| talk.page(""));
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([("/", failed(ErrorClass::Tls))]);
    }
}
