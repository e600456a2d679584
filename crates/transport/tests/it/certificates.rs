//! Acceptance of server certificates, and the messages for those refused.
#![cfg(feature = "tls")]

use std::io::{ErrorKind, Read, Write};
use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, date_time_ymd};
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use transport::{TlsConnector, certificates_from_pem, is_tls_error};

use crate::common::{Authority, Identity, Pair};

static ROOT: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));

fn trust(authority: &Authority) -> TlsConnector {
    TlsConnector::new(&[authority.der()], false)
}

/// Sends a few bytes to a server with this configuration, or returns the error.
fn greet(tls_connector: &TlsConnector, host: &str, config: ServerConfig) -> Result<(), String> {
    let mut pair = Pair::new(tls_connector, host, &Arc::new(config));
    match pair.write_all(b"hello") {
        Ok(()) => {
            assert_eq!(pair.server.received, b"hello");
            Ok(())
        }
        Err(error) => {
            assert!(is_tls_error(&error), "{error}");
            assert!(pair.server.received.is_empty(), "not a word to a stranger");
            Err(error.to_string())
        }
    }
}

#[track_caller]
fn expect_refusal(result: Result<(), String>, phrases: &[&str]) {
    let message = result.unwrap_err();
    for phrase in phrases {
        assert!(message.contains(phrase), "{message}");
    }
    assert!(!message.contains(char::is_control), "{message:?}");
}

#[test]
fn a_good_certificate_is_accepted() {
    let tls_connector = trust(&ROOT);
    for version in [&TLS12, &TLS13] {
        let config = || ROOT.issue(&["a.test", "*.b.test"]).server_of(&[version]);
        assert_eq!(greet(&tls_connector, "a.test", config()), Ok(()));
        assert_eq!(greet(&tls_connector, "x.b.test", config()), Ok(()));
        assert_eq!(greet(&tls_connector, "a.test.", config()), Ok(()));
        assert!(greet(&tls_connector, "b.test", config()).is_err());
        assert!(greet(&tls_connector, "x.y.b.test", config()).is_err());
    }
    let intermediate = ROOT.intermediate("Intermediate");
    let identity = intermediate.issue(&["a.test"]).with(&intermediate);
    assert_eq!(greet(&tls_connector, "a.test", identity.server()), Ok(()));
}

#[test]
fn a_certificate_may_be_for_ip_addresses() {
    let tls_connector = trust(&ROOT);
    let identity = ROOT.issue(&["127.0.0.1", "::1"]);
    for host in ["127.0.0.1", "[::1]", "::1"] {
        assert_eq!(greet(&tls_connector, host, identity.server()), Ok(()), "{host}");
    }
    let other = greet(&tls_connector, "127.0.0.2", identity.server());
    expect_refusal(other, &["not for 127.0.0.2 but for 127.0.0.1, "]);
}

#[test]
fn a_host_that_no_certificate_can_be_for_is_refused() {
    let tls_connector = trust(&ROOT);
    for host in ["", "two words", "a..test", "\u{1b}[2J"] {
        let error = tls_connector.layer(Some(host)).unwrap_err();
        assert!(is_tls_error(&error));
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn a_certificate_is_refused_outside_its_validity_period() {
    let tls_connector = trust(&ROOT);
    let old = ROOT.issue_changed(&["a.test"], |params| {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 2, 3);
    });
    let result = greet(&tls_connector, "a.test", old.server());
    expect_refusal(result, &["expired", "03 Feb 2001"]);
    let new = ROOT.issue_changed(&["a.test"], |params| {
        params.not_before = date_time_ymd(2900, 1, 1);
        params.not_after = date_time_ymd(2901, 1, 1);
    });
    let result = greet(&tls_connector, "a.test", new.server());
    expect_refusal(result, &["not valid before", "01 Jan 2900"]);
}

#[test]
fn a_certificate_is_refused_for_another_host() {
    let tls_connector = trust(&ROOT);
    let result = greet(&tls_connector, "a.test", ROOT.issue(&["b.test", "*.c.test"]).server());
    expect_refusal(result, &["not for a.test but for b.test, *.c.test"]);
    let result = greet(&tls_connector, "a.test", ROOT.issue(&[]).server());
    expect_refusal(result, &["no host"]);
    let many: Vec<String> = (0..1000).map(|n| format!("{n}.test")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let result = greet(&tls_connector, "a.test", ROOT.issue(&many).server());
    expect_refusal(result, &["0.test, 1.test, ", " and 995 more"]);
    let client = ROOT.issue_changed(&["a.test"], |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    expect_refusal(greet(&tls_connector, "a.test", client.server()), &["not for servers"]);
}

#[test]
fn control_characters_in_a_certificate_are_escaped() {
    let evil = ROOT.issue_changed(&["b.test"], |params| {
        let uri = "http://\u{1b}[2J\u{7}.test".try_into().unwrap();
        params.subject_alt_names.push(rcgen::SanType::URI(uri));
    });
    let result = greet(&trust(&ROOT), "a.test", evil.server());
    expect_refusal(result, &["b.test, http://\\u{1b}[2J"]);
}

#[test]
fn an_unknown_issuer_and_a_missing_intermediate_have_different_messages() {
    let (tls_connector, unknown) = (trust(&ROOT), Authority::new("Stranger"));
    let leaf = unknown.issue(&["a.test"]).with(&unknown);
    expect_refusal(greet(&tls_connector, "a.test", leaf.server()), &["root", "--cacert"]);
    let intermediate = ROOT.intermediate("Intermediate");
    let alone = intermediate.issue(&["a.test"]);
    let result = greet(&tls_connector, "a.test", alone.server());
    expect_refusal(result, &["does not send its intermediate certificate", "--cacert"]);
    // The message offers both; the intermediate is enough.
    let tls_connector = TlsConnector::new(&[intermediate.der()], false);
    assert_eq!(greet(&tls_connector, "a.test", alone.server()), Ok(()));
}

#[test]
fn a_self_signed_certificate_is_accepted_only_if_the_user_names_it() {
    let alone = Identity::self_signed(&["a.test"], |_| {});
    let result = greet(&trust(&ROOT), "a.test", alone.server());
    expect_refusal(result, &["self-signed", "--cacert"]);
    let tls_connector = TlsConnector::new(&[alone.chain[0].to_vec()], false);
    assert_eq!(greet(&tls_connector, "a.test", alone.server()), Ok(()));
}

/// `openssl req -x509` makes such certificates, and so do most instructions for
/// tests.
#[test]
fn a_self_signed_certificate_may_be_an_authority_as_well() {
    let make = |change: fn(&mut CertificateParams)| {
        let identity = Identity::self_signed(&["a.test"], |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            change(params);
        });
        let tls_connector = TlsConnector::new(&[identity.chain[0].to_vec()], false);
        (identity, tls_connector)
    };
    let (identity, tls_connector) = make(|_| {});
    expect_refusal(greet(&trust(&ROOT), "a.test", identity.server()), &["self-signed"]);
    assert_eq!(greet(&tls_connector, "a.test", identity.server()), Ok(()));
    let result = greet(&tls_connector, "b.test", identity.server());
    expect_refusal(result, &["not for b.test but for a.test"]);
    let (old, tls_connector) = make(|params| params.not_after = date_time_ymd(2001, 1, 1));
    expect_refusal(greet(&tls_connector, "a.test", old.server()), &["expired"]);
}

/// RFC 5280, section 4.2.1.12: a certificate is trusted for its purposes.
#[test]
fn a_certificate_that_the_user_names_is_trusted_for_its_purposes_only() {
    use ExtendedKeyUsagePurpose::{ClientAuth, CodeSigning, EmailProtection, ServerAuth};
    let purposes: [(&[ExtendedKeyUsagePurpose], bool); 6] = [
        (&[], true),
        (&[ServerAuth], true),
        (&[ClientAuth, ServerAuth], true),
        (&[ClientAuth], false),
        (&[CodeSigning, EmailProtection], false),
        (&[ExtendedKeyUsagePurpose::Other(vec![1, 3, 6, 1, 5, 5, 7, 3, 100])], false),
    ];
    for (purposes, is_accepted) in purposes {
        for is_ca in [IsCa::NoCa, IsCa::Ca(BasicConstraints::Unconstrained)] {
            let identity = Identity::self_signed(&["a.test"], |params| {
                params.is_ca = is_ca;
                params.extended_key_usages = purposes.to_vec();
            });
            let tls_connector = TlsConnector::new(&[identity.chain[0].to_vec()], false);
            let result = greet(&tls_connector, "a.test", identity.server());
            if is_accepted {
                assert_eq!(result, Ok(()), "{purposes:?}, {is_ca:?}");
            } else {
                expect_refusal(result, &["not for servers"]);
            }
        }
    }
}

/// An authority that the user names vouches for servers only if that is a purpose of
/// its own.
#[test]
fn an_authority_that_the_user_names_may_have_other_purposes() {
    for (purpose, is_accepted) in
        [(ExtendedKeyUsagePurpose::ServerAuth, true), (ExtendedKeyUsagePurpose::ClientAuth, false)]
    {
        let authority = Authority::changed("Staff", |params| {
            params.extended_key_usages = vec![purpose.clone()];
        });
        let leaf = || authority.issue(&["a.test"]);
        for identity in [leaf(), leaf().with(&authority)] {
            let result = greet(&trust(&authority), "a.test", identity.server());
            if is_accepted {
                assert_eq!(result, Ok(()));
            } else {
                expect_refusal(result, &["not for servers"]);
            }
        }
    }
}

#[test]
fn insecure_accepts_any_certificate() {
    let tls_connector = TlsConnector::new(&[], true);
    let unknown = Authority::new("Stranger");
    let old = unknown.issue_changed(&["b.test"], |params| {
        params.not_after = date_time_ymd(2001, 1, 1);
    });
    for version in [&TLS12, &TLS13] {
        assert_eq!(greet(&tls_connector, "a.test", old.server_of(&[version])), Ok(()));
    }
}

/// The certificate is public; the key is not.
#[test]
fn a_server_without_the_private_key_is_refused_even_with_insecure() {
    let (real, other) = (ROOT.issue(&["a.test"]), ROOT.issue(&["a.test"]));
    let shown = rustls::sign::CertifiedKey::new(
        real.chain.clone(),
        rustls::crypto::ring::sign::any_supported_type(&other.private_key()).unwrap(),
    );
    for version in [&TLS12, &TLS13] {
        let resolver = rustls::sign::SingleCertAndKey::from(shown.clone());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver));
        for insecure in [false, true] {
            let tls_connector = TlsConnector::new(&[ROOT.der()], insecure);
            let result = greet(&tls_connector, "a.test", config.clone());
            expect_refusal(result, &["signature"]);
        }
    }
}

#[test]
fn certificates_are_read_from_pem_files() {
    let intermediate = ROOT.intermediate("Intermediate");
    let key = ROOT.issue(&["a.test"]).key_pem();
    let file = format!("a comment\n{}{key}{}", ROOT.pem(), intermediate.pem());
    let certificates = certificates_from_pem(file.as_bytes()).unwrap();
    assert_eq!(certificates, [ROOT.der(), intermediate.der()]);
    let tls_connector = TlsConnector::new(&certificates, false);
    assert_eq!(greet(&tls_connector, "a.test", ROOT.issue(&["a.test"]).server()), Ok(()));

    let none = certificates_from_pem(key.as_bytes()).unwrap_err();
    assert!(none.to_string().contains("no certificate"), "{none}");
    let cut = &ROOT.pem()[..100];
    let damaged = ROOT.pem().replace("MII", "AII");
    let not_base64 = ROOT.pem().replace("MII", "\u{7f}\u{1b}");
    for (n, bad) in [cut, &damaged, &not_base64].into_iter().enumerate() {
        let file = ROOT.pem() + bad;
        let error = certificates_from_pem(file.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("certificate 2 of the file"), "{n}: {error}");
        assert!(!error.contains(char::is_control), "{error:?}");
    }
}

/// Returns a server that wants a certificate of its clients.
fn wants_certificate(version: &'static rustls::SupportedProtocolVersion) -> ServerConfig {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(ROOT.der().into()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = rustls::server::WebPkiClientVerifier::builder_with_provider(
        Arc::new(roots),
        Arc::clone(&provider),
    );
    let identity = ROOT.issue(&["a.test"]);
    ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .unwrap()
        .with_client_cert_verifier(verifier.build().unwrap())
        .with_single_cert(identity.chain.clone(), identity.private_key())
        .unwrap()
}

/// TLS 1.2 has no alert for that: a server says that the handshake has failed, as it does for
/// many reasons. With TLS 1.3 the client takes the handshake for done before the alert comes.
#[test]
fn a_server_that_wants_a_certificate_has_a_kind_of_error() {
    const ALERTS: [u8; 4] = [116, 40, 42, 46];
    let tls_connector = trust(&ROOT);
    for (version, alerts) in [(&TLS12, &ALERTS[..]), (&TLS13, &ALERTS[..1])] {
        for alert in alerts {
            let mut pair =
                Pair::new(&tls_connector, "a.test", &Arc::new(wants_certificate(version)));
            let mut error = None;
            for _ in 0..6 {
                match pair.client.write(b"hello").and_then(|_| pair.client.read(&mut [0; 10])) {
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                    Err(e) => error = Some(e),
                    Ok(_) => panic!("it gets no certificate"),
                }
                pair.deliver();
                // The alert of a server by another hand, in a record that is not encrypted.
                let mut wire = pair.end.0.borrow_mut();
                let bytes = wire.inbound.make_contiguous();
                if let [.., 21, 3, 3, 0, 2, 2, last] = bytes {
                    *last = *alert;
                }
            }
            let error = error.expect("the server refuses");
            assert!(is_tls_error(&error), "{error}");
            assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{alert}: {error}");
            assert!(error.to_string().contains("it requires a client certificate"), "{error}");
        }
    }
}

#[test]
fn a_server_of_another_protocol_has_a_kind_of_error() {
    let tls_connector = trust(&ROOT);
    for version in [&TLS12, &TLS13] {
        let mut config = ROOT.issue(&["a.test"]).server_of(&[version]);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let mut pair = Pair::new(&tls_connector, "a.test", &Arc::new(config));
        let error = pair.write_all(b"hello").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
}
