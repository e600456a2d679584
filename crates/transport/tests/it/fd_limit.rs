//! A want of file descriptors: neither a lookup nor the trust store takes it for an
//! answer. Each test is a process of its own, since the limit belongs to a process.
#![cfg(all(unix, feature = "tls"))]

use std::env;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::process::Command;

use transport::{TlsConnector, is_fd_limit, is_tls_error, system_lookup, trust_warning};

use crate::common::Authority;

/// Set for the child process.
const CHILD: &str = "TRANSPORT_TEST_CHILD";

/// Runs an ignored test in a process with few descriptors, and with this value of
/// `SSL_CERT_FILE`.
fn run(test: &str, cert_file: Option<&str>) {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -S -n 32 && exec \"$0\" --exact --ignored --nocapture \"$1\""])
        .arg(env::current_exe().unwrap())
        .arg(format!("fd_limit::{test}"))
        .env(CHILD, "1")
        .env_remove("SSL_CERT_DIR")
        .env_remove("SSL_CERT_FILE");
    if let Some(file) = cert_file {
        command.env("SSL_CERT_FILE", file);
    }
    let output = command.output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
}

/// Takes all descriptors but so many.
fn take_all_but(left: usize) -> Vec<File> {
    let mut taken: Vec<File> =
        std::iter::from_fn(|| File::open(env::current_exe().unwrap()).ok()).collect();
    assert!(taken.len() > left, "{} were left", taken.len());
    taken.truncate(taken.len() - left);
    taken
}

#[test]
fn a_lookup_without_descriptors_says_nothing_about_the_name() {
    run("lookup_with_few", None);
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn lookup_with_few() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    // A name with such a long label is asked of no name server.
    let no_name = &*format!("{}.test", "x".repeat(64));
    for left in 0..4 {
        let taken = take_all_but(left);
        for host in ["localhost", no_name] {
            match system_lookup(host, 80) {
                // Some need fewer descriptors than others.
                Ok(addresses) => assert!(host == "localhost" && !addresses.is_empty()),
                Err(error) => assert!(is_fd_limit(&error), "{host}, {left} left: {error}"),
            }
        }
        drop(taken);
    }
    let taken = take_all_but(0);
    assert!(is_fd_limit(&system_lookup("localhost", 80).unwrap_err()));
    drop(taken);
    assert!(system_lookup("localhost", 80).is_ok());
    let _taken = take_all_but(12);
    assert!(!is_fd_limit(&system_lookup(no_name, 80).unwrap_err()));
}

#[test]
fn the_trust_store_is_read_when_there_is_a_descriptor() {
    run("read_the_trust_store_with_few", None);
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn read_the_trust_store_with_few() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let tls_connector = TlsConnector::default();
    let taken = take_all_but(0);
    for _ in 0..2 {
        let error = tls_connector.layer(Some("a.test")).unwrap_err();
        assert!(is_fd_limit(&error) && !is_tls_error(&error), "{error}");
    }
    assert_eq!(trust_warning(), None, "nothing is known of it yet");
    drop(taken);
    // There may be no store on this machine; then the roots of Mozilla stand in.
    tls_connector.layer(Some("a.test")).unwrap();
}

#[test]
fn a_store_that_cannot_be_read_is_an_error_with_a_reason() {
    let folder = env::temp_dir().join(format!("transport-trust-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let empty = folder.join("empty.pem");
    fs::write(&empty, "no certificate").unwrap();
    let missing = folder.join("missing.pem");
    for file in [&empty, &missing] {
        run("refuse_the_store", file.to_str());
    }
    let damaged = folder.join("damaged.pem");
    let good = Authority::new("Good").pem();
    let cut = "-----BEGIN CERTIFICATE-----\nnot base64!\n-----END CERTIFICATE-----\n";
    fs::write(&damaged, good.clone() + cut).unwrap();
    run("warn_of_the_store", damaged.to_str());
    let whole = folder.join("whole.pem");
    fs::write(&whole, good).unwrap();
    run("trust_the_store", whole.to_str());
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn refuse_the_store() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let error = TlsConnector::default().layer(Some("a.test")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidData, "{error}");
    assert!(error.to_string().contains("SSL_CERT_FILE or SSL_CERT_DIR"), "{error}");
    // A certificate of the user's own is trusted, and it is told that others are not.
    let user = TlsConnector::new(&[Authority::new("Good").der()], false);
    user.layer(Some("a.test")).unwrap();
    assert!(trust_warning().is_some());
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn warn_of_the_store() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    TlsConnector::default().layer(Some("a.test")).unwrap();
    let warning = trust_warning().unwrap();
    assert!(warning.contains("only the others are trusted"), "{warning}");
}

#[test]
#[ignore = "runs in the child process of the test above"]
fn trust_the_store() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    TlsConnector::default().layer(Some("a.test")).unwrap();
    assert_eq!(trust_warning(), None);
}
