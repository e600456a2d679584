//! Without a bug, every program of the labs goes well.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;

#[test]
fn without_the_bug_every_program_goes_well() {
    let bugs = Path::new(env!("CARGO_MANIFEST_DIR")).join("bugs.toml");
    let bugs: toml::Table = fs::read_to_string(bugs).unwrap().parse().unwrap();
    let names: Vec<_> = bugs.keys().collect();
    assert!(names.len() >= 10, "{names:?}");
    let run = |name: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_labs")).arg(name).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{name}: {text}");
        assert!(text.ends_with("All went well.\n"), "{name}: {text}");
    };
    thread::scope(|scope| names.iter().for_each(|name| drop(scope.spawn(move || run(name)))));
}

#[test]
fn without_a_name_it_says_which_there_are() {
    let output = Command::new(env!("CARGO_BIN_EXE_labs")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("lost-wakeup"));
}
