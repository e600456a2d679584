//! The program, in a build without selections.
#![cfg(not(feature = "select"))]

use std::process::Command;

#[test]
fn a_selection_is_refused_with_the_command_for_a_build_that_has_it() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stage0-threads"));
    let output = command.args(["--select", "title=h1", "http://localhost/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("without the feature `select`"), "{message}");
    assert!(message.contains("`cargo build -p stage0-threads --features select`"), "{message}");
}
