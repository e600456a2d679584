//! The program, in a build without TLS or without selections.
#![cfg(not(all(feature = "select", feature = "tls")))]

use std::process::{Command, Output};

/// Runs the program and returns its output.
fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_stage0-threads")).args(arguments).output().unwrap()
}

#[cfg(not(feature = "tls"))]
#[test]
fn an_https_url_is_an_error_of_class_tls() {
    let root = "https://127.0.0.1:1/";
    let output = run(&["--format", "jsonl", root]);
    assert_eq!(output.status.code(), Some(3));
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&row["outcome"], &row["tries"]), (&"failed".into(), &1.into()));
    assert_eq!(row["error"]["class"], "tls");
    assert!(
        row["error"]["message"].as_str().unwrap().contains("without the feature `tls`"),
        "{row}"
    );
    let output = run(&["--cacert", "/dev/null", root]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("without the feature `tls`"), "{message}");
}

#[cfg(not(feature = "select"))]
#[test]
fn a_selection_is_refused_with_the_command_for_a_build_that_has_it() {
    let output = run(&["--select", "title=h1", "http://localhost/"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("without the feature `select`"), "{message}");
    assert!(message.contains("type: cargo build -p stage0-threads --features select"), "{message}");
}
