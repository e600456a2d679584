//! Tests that run every fuzz target on its seeds, and the target `links` on the test
//! data of `web`.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fuzz::{TARGETS, Target, seeds};
use serde_json::Value as Json;

/// Returns a path within this crate.
fn crate_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the files in a directory, sorted by name.
fn sorted_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs a target on inputs with names. If an input fails or takes too long, its name is
/// printed.
fn run(target: fn(&[u8]), inputs: Vec<(String, Vec<u8>)>) {
    let (sender, receiver) = mpsc::channel();
    let runner = thread::spawn(move || {
        for (name, input) in inputs {
            sender.send(name).unwrap();
            target(&input);
        }
    });
    let mut last = String::new();
    loop {
        match receiver.recv_timeout(Duration::from_secs(60)) {
            Ok(name) => last = name,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("it takes too long: {last}"),
        }
    }
    assert!(runner.join().is_ok(), "it fails: {last}");
}

/// Runs a target on all its seeds.
fn run_seeds((name, target): Target) {
    let seeds = seeds::read(name).unwrap();
    assert!(seeds.len() >= 20, "only {} seeds for {name}", seeds.len());
    run(target, seeds.into_iter().collect());
}

#[test]
fn every_target_passes_on_its_seeds() {
    TARGETS.into_iter().for_each(run_seeds);
}

#[test]
fn every_target_has_a_program_seeds_and_a_dictionary() {
    let names = |directory| {
        let files = sorted_files(&crate_path(directory)).into_iter();
        files.map(|file| file.file_stem().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let targets: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("seeds"), targets);
    assert_eq!(names("dictionaries"), targets);
}

#[test]
fn every_target_passes_on_empty_input() {
    for (_, target) in TARGETS {
        run(target, vec![("nothing".into(), Vec::new()), ("a line end".into(), b"\n".to_vec())]);
    }
}

#[test]
fn links_are_those_of_the_tree_in_real_and_tricky_pages() {
    let mut inputs = Vec::new();
    for page in sorted_files(&crate_path("../crates/web/tests/pages")) {
        if page.extension().is_some_and(|extension| extension == "html") {
            inputs.push((page.display().to_string(), fs::read(page).unwrap()));
        }
    }
    for file in sorted_files(&crate_path("../crates/web/tests/html5lib/tokenizer")) {
        let tests: Json = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for test in tests["tests"].as_array().into_iter().flatten() {
            let input = test["input"].as_str().unwrap();
            let page = format!("<a href=1>{input}<a href=2><!-- -->\"'--><a href=3>");
            inputs.push((format!("{input:?} of {}", file.display()), page.into_bytes()));
        }
    }
    assert!(inputs.len() > 2_000, "only {} inputs", inputs.len());
    run(fuzz::links, inputs);
}
