//! Crawls over TLS, with every stage.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crawl_core::{ErrorClass, Outcome};
use demo_site::scripted::Server;
use rcgen::date_time_ymd;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection};

use crate::common::tls::{
    Authority, Identity, ROOT_CA, TlsConnection, secure_options, serve_tls, valid_server_config,
};
use crate::common::{Interceptor, Stage, WATCHDOG, failed, links, options, other, page, serve};

#[test]
fn a_site_is_crawled_over_tls() {
    for stage in Stage::ALL {
        for version in [&TLS12, &TLS13] {
            let html = links(["/a", "/b", "/large"]);
            let large = " ".repeat(300_000) + &links(["/last"]);
            let served = (html.clone(), large.clone());
            let identity = ROOT_CA.issue(&["127.0.0.1"]);
            let site =
                serve_tls(identity.server_of(&[version]), move |path, connection| match path {
                    "/" => connection.page(&served.0),
                    "/large" => connection.page(&served.1),
                    _ => connection.page(""),
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

/// The http site and the https site have different ports.
#[test]
fn links_from_http_to_https_are_followed() {
    for stage in Stage::ALL {
        let secure = serve_tls(valid_server_config(), |_, connection| connection.page(""));
        let target = secure.url("/");
        let html = links([&target]);
        let site = serve(move |_, reply| reply.page(&html));
        let mut options = secure_options(site.url("/"));
        let roots = [site.url("/"), secure.url("/other")];
        options.settings.roots = roots.map(|root| root.parse().unwrap()).into();
        let crawled = stage.crawl(options);
        assert_eq!(crawled.row(&target).outcome, Outcome::Page, "{stage:?}");
    }
}

/// A bad certificate stays bad, so one try is enough. The message says what is
/// wrong with it.
#[test]
fn a_bad_certificate_is_an_error_and_not_tried_again() {
    let untrusted = Authority::new("Stranger");
    let intermediate = ROOT_CA.intermediate("Intermediate");
    let old = ROOT_CA.issue_changed(&["127.0.0.1"], |params| {
        params.not_after = date_time_ymd(2001, 2, 3);
    });
    let bad = [
        (old, "expired on Sat, 03 Feb 2001"),
        (ROOT_CA.issue(&["a.test"]), "not for 127.0.0.1 but for a.test"),
        (untrusted.issue(&["127.0.0.1"]).with(&untrusted), "root certificate that is not trusted"),
        (intermediate.issue(&["127.0.0.1"]), "does not send its intermediate"),
        (Identity::self_signed(&["127.0.0.1"], |_| {}), "self-signed"),
    ];
    for (identity, message_part) in bad {
        for stage in Stage::ALL {
            let site = serve_tls(identity.server(), |_, connection| connection.page(""));
            let mut options = secure_options(site.url("/"));
            options.settings.max_tries = 3;
            let crawled = stage.crawl(options.clone());
            crawled.expect([("/", failed(ErrorClass::Tls))]);
            let message = &crawled.row("/").error.as_ref().unwrap().message;
            assert!(message.contains(message_part), "{stage:?}: {message}");
            assert_eq!(site.server.connections(), 1);

            options.insecure = true;
            stage.crawl(options).expect([("/", page("", 0))]);
        }
    }
}

/// A plain http server cannot read the handshake and answers with an error.
#[test]
fn plain_http_on_a_tls_port_is_a_tls_error() {
    for stage in Stage::ALL {
        let site = Server::start_raw(|stream, _| {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
            let _ = std::io::copy(stream, &mut std::io::sink());
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        options.settings.max_tries = 2;
        let crawled = stage.crawl(options);
        crawled.expect([("/", failed(ErrorClass::Tls))]);
        let message = &crawled.row("/").error.as_ref().unwrap().message;
        assert!(message.contains("plain http"), "{message}");
        assert_eq!(site.connections(), 1, "{stage:?}");
    }
}

#[test]
fn a_server_that_requires_a_client_certificate_refuses_us() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ROOT_CA.der().into()).unwrap();
    let roots = Arc::new(roots);
    for version in [&TLS12, &TLS13] {
        let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
            Arc::clone(&roots),
            Arc::clone(&provider),
        );
        let identity = ROOT_CA.issue(&["127.0.0.1"]);
        let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[version])
            .unwrap()
            .with_client_cert_verifier(verifier.build().unwrap())
            .with_single_cert(identity.chain.clone(), identity.private_key())
            .unwrap();
        for stage in Stage::ALL {
            let config = config.clone();
            // It waits until the client has read the alert and closed.
            let site = Server::start_raw(move |stream, _| {
                let mut tls = ServerConnection::new(Arc::new(config.clone())).unwrap();
                while tls.complete_io(stream).is_ok() && tls.is_handshaking() {}
                let _ = std::io::copy(stream, &mut std::io::sink());
            })
            .unwrap();
            let root = format!("https://{}/", site.address());
            let crawled = stage.crawl(secure_options(root));
            crawled.expect([("/", failed(ErrorClass::Blocked))]);
            let message = &crawled.row("/").error.as_ref().unwrap().message;
            assert!(message.contains("certificate"), "{stage:?}: {message}");
        }
    }
}

/// The error may be temporary, unlike other TLS errors.
#[test]
fn a_connection_that_ends_within_the_handshake_is_tried_again() {
    for stage in Stage::ALL {
        let site = Server::start_raw(|stream, connection| {
            if connection > 1 {
                // All of the ClientHello, so that closing sends no reset.
                let _ = stream.read(&mut [0; 4096]);
            }
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        options.settings.max_tries = 2;
        let crawled = stage.crawl(options);
        crawled.expect([("/", failed(ErrorClass::Closed).tries(2))]);
        assert_eq!(site.connections(), 2);
    }
}

/// The server goes silent after any of its flights, the last of which completes
/// the handshake.
#[test]
fn a_stalled_handshake_times_out() {
    const READ_TIMEOUT: Duration = Duration::from_millis(100);
    for (version, flights) in [(&TLS13, 0), (&TLS13, 1), (&TLS12, 0), (&TLS12, 1), (&TLS12, 2)] {
        let config = Arc::new(ROOT_CA.issue(&["127.0.0.1"]).server_of(&[version]));
        for stage in Stage::ALL {
            let config = Arc::clone(&config);
            let site = Server::start_raw(move |stream, _| {
                let mut tls = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut remaining_flights = flights;
                while remaining_flights > 0 && tls.read_tls(stream).is_ok_and(|length| length > 0) {
                    tls.process_new_packets().unwrap();
                    remaining_flights -= u32::from(tls.wants_write());
                    while tls.wants_write() {
                        tls.write_tls(stream).unwrap();
                    }
                }
                let _ = std::io::copy(stream, &mut std::io::sink());
            })
            .unwrap();
            let mut options = secure_options(format!("https://{}/", site.address()));
            options.settings.read_timeout = READ_TIMEOUT;
            let begun = Instant::now();
            let crawled = stage.crawl(options);
            crawled.expect([("/", failed(ErrorClass::Timeout))]);
            let elapsed = begun.elapsed();
            assert!(
                elapsed >= READ_TIMEOUT && elapsed < 50 * READ_TIMEOUT,
                "{stage:?}: {elapsed:?}"
            );
        }
    }
}

/// The handshake of the second connection lasts until the first response has set a
/// cookie. The second request was made before, and a write that has to wait is
/// repeated with the same bytes.
#[test]
fn a_request_does_not_change_while_it_is_sent() {
    for stage in Stage::ALL {
        let (both_open, cookie_set) = (Barrier::new(2), Barrier::new(2));
        let paths = Arc::new(Mutex::new(Vec::new()));
        let (config, seen) = (Arc::new(valid_server_config()), Arc::clone(&paths));
        let site = Server::start_raw(move |stream, number| {
            both_open.wait();
            if number > 1 {
                cookie_set.wait();
            }
            let tls = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut connection = TlsConnection::new(tls, stream);
            while let Some(path) = connection.next_path() {
                seen.lock().unwrap().push(path);
                connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\
                     Set-Cookie: visitor=one-of-many\r\nConnection: close\r\n\r\n",
                );
            }
            if number == 1 {
                cookie_set.wait();
            }
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        let root = |path| format!("https://{}{path}", site.address()).parse().unwrap();
        options.settings.roots = ["/", "/second"].map(root).into();
        stage.crawl(options).expect([("/", page("", 0)), ("/second", page("", 0))]);
        let mut paths = paths.lock().unwrap();
        paths.sort();
        assert_eq!(*paths, ["/", "/second"], "{stage:?}");
    }
}

#[test]
fn a_stalled_handshake_does_not_wake_the_loop() {
    struct NoInterceptor;
    impl Interceptor for NoInterceptor {}
    for stage in Stage::ON_A_LOOP {
        let site = Server::start_raw(|stream, _| {
            let _ = std::io::copy(stream, &mut std::io::sink());
        })
        .unwrap();
        let mut options = secure_options(format!("https://{}/", site.address()));
        options.settings.read_timeout = Duration::from_millis(300);
        let (crawled, stats) = stage.crawl_with_interceptor(NoInterceptor, options);
        crawled.expect([("/", failed(ErrorClass::Timeout))]);
        assert!(stats.ticks < 20 && stats.calls < 60, "{stage:?}: {stats:?}");
    }
}

/// A body without a length or chunks may be cut if no `close_notify` comes behind it: it is
/// fine, and its size is not known.
#[test]
fn the_size_of_a_body_without_length_needs_an_announced_end() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n";
    let html =
        links(["/length", "/chunked", "/end", "/short", "/none"].map(|path| path.to_owned()));
    for is_announced in [false, true] {
        for stage in Stage::ALL {
            let served = html.clone();
            let site = serve_tls(valid_server_config(), move |path, connection| {
                let rest = match path {
                    "/" => return connection.page(&served),
                    "/length" => "Content-Length: 4\r\n\r\ntext",
                    "/chunked" => "Transfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n0\r\n\r\n",
                    "/end" => "\r\ntext",
                    "/short" => "Content-Length: 5\r\n\r\ntext",
                    _ => "",
                };
                connection.send(if rest.is_empty() {
                    String::new()
                } else {
                    format!("{HEAD}{rest}")
                });
                if is_announced {
                    connection.send_close_notify();
                }
                connection.close();
            });
            let crawled = stage.crawl(secure_options(site.url("/")));
            let cut = || failed(ErrorClass::Truncated).status(200).size(4);
            crawled.expect([
                ("/", page(&html, 5)),
                ("/length", other(4)),
                ("/chunked", other(4)),
                ("/end", if is_announced { other(4) } else { other(4).uncounted() }),
                ("/short", cut()),
                ("/none", failed(ErrorClass::Closed)),
            ]);
        }
    }
}

/// Responds with one page of a chain of ten, each of which links to the next.
fn chain(path: &str, respond: impl FnOnce(String)) {
    let n: u32 = path[1..].parse().unwrap_or(0);
    respond(if n < 9 { links([format!("/{}", n + 1)]) } else { String::new() });
}

/// A stage that makes a connection for each page makes one TLS session for all
/// of them.
#[test]
fn sessions_are_resumed() {
    for stage in Stage::ALL {
        for version in [&TLS12, &TLS13] {
            let config = ROOT_CA.issue(&["127.0.0.1"]).server_of(&[version]);
            let site =
                serve_tls(config, |path, connection| chain(path, |html| connection.page(html)));
            let crawled = stage.crawl(secure_options(site.url("/")));
            assert_eq!(crawled.rows().len(), 10, "{stage:?}");
            let (expected, connections) = match stage {
                // The connection pool makes one connection for all pages.
                Stage::Queue => ((10, 0), 1),
                _ => ((1, 9), 10),
            };
            assert_eq!(site.requests_over_new_and_resumed(), expected, "{stage:?}");
            assert_eq!(site.server.connections(), connections, "{stage:?}");
        }
    }
}

/// Sent in two pieces, the request would wait for the server to acknowledge the
/// end of the handshake (Nagle's algorithm: RFC 9293, section 3.7.4).
#[test]
fn the_request_comes_with_the_end_of_the_handshake() {
    let config = Arc::new(ROOT_CA.issue(&["127.0.0.1"]).server_of(&[&TLS13]));
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
            let mut connection = TlsConnection::new(tls, stream);
            connection.page(if is_all { "at once" } else { "in pieces" });
            connection.send_close_notify();
        })
        .unwrap();
        let crawled = stage.crawl(secure_options(format!("https://{}/", site.address())));
        crawled.expect([("/", page("at once", 0))]);
    }
}

/// Runs a script on an idle connection of the pool while another fetch waits,
/// and returns the number of connections that the crawl has made.
fn connections_with_idle(script: fn(&mut TlsConnection<'_>)) -> u64 {
    let has_run = AtomicBool::new(false);
    let site = serve_tls(valid_server_config(), move |path, connection| match path {
        "/" => connection.page(links(["/quick", "/slow"])),
        "/quick" => {
            connection.page("");
            sleep(Duration::from_millis(50));
            script(connection);
            has_run.store(true, Ordering::SeqCst);
        }
        "/slow" => {
            let begun = Instant::now();
            while !has_run.load(Ordering::SeqCst) && begun.elapsed() < WATCHDOG {
                sleep(Duration::from_millis(1));
            }
            sleep(Duration::from_millis(200));
            // This connection is not kept, so `/last` needs another one.
            let html = links(["/last"]);
            let length = html.len();
            connection.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
                 Connection: close\r\n\r\n{html}"
            ));
        }
        _ => connection.page(""),
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
fn an_idle_connection_is_kept_after_tls_records() {
    let connections = connections_with_idle(|connection| {
        connection.tls.refresh_traffic_keys().unwrap();
        connection.flush_tls();
    });
    assert_eq!(connections, 2);
}

#[test]
fn an_idle_connection_is_closed_after_close_notify() {
    assert_eq!(connections_with_idle(|connection| connection.send_close_notify()), 3);
}

#[test]
fn an_idle_connection_is_closed_when_it_receives_data() {
    assert_eq!(connections_with_idle(|connection| connection.page("nobody asked")), 3);
}

#[test]
fn only_roots_of_the_system_are_trusted_by_default() {
    for stage in Stage::ALL {
        let site = serve_tls(valid_server_config(), |_, connection| connection.page(""));
        let crawled = stage.crawl(options(site.url("/")));
        crawled.expect([("/", failed(ErrorClass::Tls))]);
    }
}
