//! Whose certificates are accepted, and what is said of the others.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::sync::{Arc, LazyLock};

use common::{Authority, Identity, Pair};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, date_time_ymd};
use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use transport::{Security, certificates_from_pem, is_tls_error};

static ROOT: LazyLock<Authority> = LazyLock::new(|| Authority::new("Root"));

fn trusting(authority: &Authority) -> Security {
    Security::new(&[authority.der()], false)
}

/// Says a word to a server that shows this, as the one trusted by `security`.
fn greet(security: &Security, host: &str, config: ServerConfig) -> Result<(), String> {
    let mut pair = Pair::new(security, host, &Arc::new(config));
    match pair.ask(b"hello") {
        Ok(()) => {
            assert_eq!(pair.server.heard, b"hello");
            Ok(())
        }
        Err(error) => {
            assert!(is_tls_error(&error), "{error}");
            assert!(pair.server.heard.is_empty(), "not a word to a stranger");
            Err(error.to_string())
        }
    }
}

#[track_caller]
fn expect_refusal(greeting: Result<(), String>, words: &[&str]) {
    let message = greeting.unwrap_err();
    for word in words {
        assert!(message.contains(word), "{message}");
    }
    assert!(!message.contains(char::is_control), "{message:?}");
}

#[test]
fn a_good_certificate_is_accepted() {
    let security = trusting(&ROOT);
    for version in [&TLS12, &TLS13] {
        let config = || ROOT.issue(&["a.test", "*.b.test"]).server_of(&[version]);
        assert_eq!(greet(&security, "a.test", config()), Ok(()));
        assert_eq!(greet(&security, "x.b.test", config()), Ok(()));
        assert_eq!(greet(&security, "a.test.", config()), Ok(()));
        assert!(greet(&security, "b.test", config()).is_err());
        assert!(greet(&security, "x.y.b.test", config()).is_err());
    }
    let intermediate = ROOT.intermediate("Intermediate");
    let identity = intermediate.issue(&["a.test"]).with(&intermediate);
    assert_eq!(greet(&security, "a.test", identity.server()), Ok(()));
}

#[test]
fn addresses_are_names_as_well() {
    let security = trusting(&ROOT);
    let identity = ROOT.issue(&["127.0.0.1", "::1"]);
    for host in ["127.0.0.1", "[::1]", "::1"] {
        assert_eq!(greet(&security, host, identity.server()), Ok(()), "{host}");
    }
    let other = greet(&security, "127.0.0.2", identity.server());
    expect_refusal(other, &["not for 127.0.0.2 but for 127.0.0.1, "]);
}

#[test]
fn a_host_that_no_certificate_can_be_for_is_refused() {
    let security = trusting(&ROOT);
    for host in ["", "two words", "a..test", "\u{1b}[2J"] {
        let error = security.layer(Some(host)).unwrap_err();
        assert!(is_tls_error(&error));
        assert!(!error.to_string().contains('\u{1b}'));
    }
}

#[test]
fn a_certificate_has_its_time() {
    let security = trusting(&ROOT);
    let old = ROOT.issue_changed(&["a.test"], |params| {
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(2001, 2, 3);
    });
    let greeting = greet(&security, "a.test", old.server());
    expect_refusal(greeting, &["expired", "03 Feb 2001"]);
    let new = ROOT.issue_changed(&["a.test"], |params| {
        params.not_before = date_time_ymd(2900, 1, 1);
        params.not_after = date_time_ymd(2901, 1, 1);
    });
    let greeting = greet(&security, "a.test", new.server());
    expect_refusal(greeting, &["not valid before", "01 Jan 2900"]);
}

#[test]
fn a_certificate_is_for_its_hosts() {
    let security = trusting(&ROOT);
    let greeting = greet(&security, "a.test", ROOT.issue(&["b.test", "*.c.test"]).server());
    expect_refusal(greeting, &["not for a.test but for b.test, *.c.test"]);
    let greeting = greet(&security, "a.test", ROOT.issue(&[]).server());
    expect_refusal(greeting, &["no host at all"]);
    let many: Vec<String> = (0..1000).map(|n| format!("{n}.test")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let greeting = greet(&security, "a.test", ROOT.issue(&many).server());
    expect_refusal(greeting, &["0.test, 1.test, ", " and 995 more"]);
    let client = ROOT.issue_changed(&["a.test"], |params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    expect_refusal(greet(&security, "a.test", client.server()), &["not for servers"]);
}

#[test]
fn a_name_in_a_certificate_is_no_command_to_a_terminal() {
    let evil = ROOT.issue_changed(&["b.test"], |params| {
        let uri = "http://\u{1b}[2J\u{7}.test".try_into().unwrap();
        params.subject_alt_names.push(rcgen::SanType::URI(uri));
    });
    let greeting = greet(&trusting(&ROOT), "a.test", evil.server());
    expect_refusal(greeting, &["b.test, http://\\u{1b}[2J"]);
}

#[test]
fn an_unknown_issuer_is_told_from_a_missing_intermediate() {
    let (security, stranger) = (trusting(&ROOT), Authority::new("Stranger"));
    let leaf = stranger.issue(&["a.test"]).with(&stranger);
    expect_refusal(greet(&security, "a.test", leaf.server()), &["root", "--cacert"]);
    let intermediate = ROOT.intermediate("Intermediate");
    let alone = intermediate.issue(&["a.test"]);
    let greeting = greet(&security, "a.test", alone.server());
    expect_refusal(greeting, &["does not send its intermediate certificate", "--cacert"]);
    // As the message says, either will do.
    let security = Security::new(&[intermediate.der()], false);
    assert_eq!(greet(&security, "a.test", alone.server()), Ok(()));
}

#[test]
fn a_self_signed_certificate_is_accepted_only_if_it_is_named() {
    let alone = Identity::self_signed(&["a.test"], |_| {});
    let greeting = greet(&trusting(&ROOT), "a.test", alone.server());
    expect_refusal(greeting, &["self-signed", "--cacert"]);
    let security = Security::new(&[alone.chain[0].to_vec()], false);
    assert_eq!(greet(&security, "a.test", alone.server()), Ok(()));
}

/// As `openssl req -x509` makes them, and most instructions for tests do.
#[test]
fn a_self_signed_certificate_may_be_an_authority_as_well() {
    let make = |change: fn(&mut CertificateParams)| {
        let identity = Identity::self_signed(&["a.test"], |params| {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            change(params);
        });
        let security = Security::new(&[identity.chain[0].to_vec()], false);
        (identity, security)
    };
    let (identity, security) = make(|_| {});
    expect_refusal(greet(&trusting(&ROOT), "a.test", identity.server()), &["self-signed"]);
    assert_eq!(greet(&security, "a.test", identity.server()), Ok(()));
    let greeting = greet(&security, "b.test", identity.server());
    expect_refusal(greeting, &["not for b.test but for a.test"]);
    let (old, security) = make(|params| params.not_after = date_time_ymd(2001, 1, 1));
    expect_refusal(greet(&security, "a.test", old.server()), &["expired"]);
}

#[test]
fn insecure_accepts_any_certificate() {
    let security = Security::new(&[], true);
    let stranger = Authority::new("Stranger");
    let old = stranger.issue_changed(&["b.test"], |params| {
        params.not_after = date_time_ymd(2001, 1, 1);
    });
    for version in [&TLS12, &TLS13] {
        assert_eq!(greet(&security, "a.test", old.server_of(&[version])), Ok(()));
    }
}

/// The certificate is everybody's to see; the key is not.
#[test]
fn whoever_has_not_the_key_is_refused_even_so() {
    let (real, thief) = (ROOT.issue(&["a.test"]), ROOT.issue(&["a.test"]));
    let shown = rustls::sign::CertifiedKey::new(
        real.chain.clone(),
        rustls::crypto::ring::sign::any_supported_type(&thief.private_key()).unwrap(),
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
            let security = Security::new(&[ROOT.der()], insecure);
            let greeting = greet(&security, "a.test", config.clone());
            expect_refusal(greeting, &["signature"]);
        }
    }
}

#[test]
fn files_of_certificates() {
    let intermediate = ROOT.intermediate("Intermediate");
    let key = ROOT.issue(&["a.test"]).key_pem();
    let file = format!("a comment\n{}{key}{}", ROOT.pem(), intermediate.pem());
    let certificates = certificates_from_pem(file.as_bytes()).unwrap();
    assert_eq!(certificates, [ROOT.der(), intermediate.der()]);
    let security = Security::new(&certificates, false);
    assert_eq!(greet(&security, "a.test", ROOT.issue(&["a.test"]).server()), Ok(()));

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
