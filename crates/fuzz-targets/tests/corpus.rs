//! Every target holds for its seeds, and for what the tests of `crawl-core`
//! are made of.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fuzz_targets::{TARGETS, Target};
use serde_json::Value as Json;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{directory:?}: {error}"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// Runs a target on inputs with names, which are printed if one fails.
fn run(target: fn(&[u8]), inputs: Vec<(String, Vec<u8>)>) {
    let (started, starts) = mpsc::channel();
    let runner = thread::spawn(move || {
        for (name, input) in inputs {
            started.send(name).unwrap();
            target(&input);
        }
    });
    let mut last = String::new();
    loop {
        match starts.recv_timeout(Duration::from_secs(60)) {
            Ok(name) => last = name,
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("it takes too long: {last}"),
        }
    }
    assert!(runner.join().is_ok(), "it fails: {last}");
}

fn seeds((name, target): Target) {
    let seeds = files(&here("corpus").join(name));
    assert!(seeds.len() >= 20, "only {} seeds for {name}", seeds.len());
    let inputs = seeds.iter().map(|seed| (seed.display().to_string(), fs::read(seed).unwrap()));
    run(target, inputs.collect());
}

#[test]
fn every_target_holds_for_its_seeds() {
    TARGETS.into_iter().for_each(seeds);
}

#[test]
fn every_target_can_be_run_by_the_fuzzer() {
    let names = |directory| {
        let files = files(&here(directory)).into_iter();
        files.map(|file| file.file_stem().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let targets: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
    assert_eq!(names("fuzz_targets"), targets);
    assert_eq!(names("corpus"), targets);
    assert_eq!(names("dictionaries"), targets);
}

#[test]
fn every_target_holds_for_nothing_at_all() {
    for (_, target) in TARGETS {
        run(target, vec![("nothing".into(), Vec::new()), ("a line end".into(), b"\n".to_vec())]);
    }
}

#[test]
fn links_are_those_of_the_tree_in_real_pages_and_nasty_ones() {
    let mut inputs = Vec::new();
    for page in files(&here("../crawl-core/tests/pages")) {
        if page.extension().is_some_and(|extension| extension == "html") {
            inputs.push((page.display().to_string(), fs::read(page).unwrap()));
        }
    }
    for file in files(&here("../crawl-core/tests/html5lib/tokenizer")) {
        let tests: Json = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for test in tests["tests"].as_array().into_iter().flatten() {
            let input = test["input"].as_str().unwrap();
            let page = format!("<a href=1>{input}<a href=2><!-- -->\"'--><a href=3>");
            inputs.push((format!("{input:?} of {}", file.display()), page.into_bytes()));
        }
    }
    assert!(inputs.len() > 2_000, "only {} inputs", inputs.len());
    run(fuzz_targets::links, inputs);
}
