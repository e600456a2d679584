//! Arrows point one way, and none of them at somebody else's runtime.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::sources::workspace;

const CORES: [&str; 3] = ["selector-core", "transport", "crawl-core"];
const STAGES: [&str; 4] =
    ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "stage3-queue"];

#[test]
fn no_core_knows_another_member_of_the_workspace() {
    for core in CORES {
        for name in dependencies_of_member(core).unwrap() {
            assert_eq!(dependencies_of_member(&name), None, "{core} knows {name}");
        }
    }
}

#[test]
fn a_stage_knows_cores_and_no_other_stage() {
    for stage in STAGES {
        let known = dependencies_of_member(stage).unwrap();
        let is_stage = |name: &&String| STAGES.contains(&name.as_str());
        let stages: Vec<_> = known.iter().filter(is_stage).collect();
        // The reader's own runtime drives the real crawler.
        let expected: &[&str] = match stage {
            "stage3-queue" => &["stage2-coroutines"],
            _ => &[],
        };
        assert_eq!(stages, expected, "{stage}");
        assert!(!known.contains("demo-site") && !known.contains("replay"), "{stage}");
    }
}

#[test]
fn every_runtime_under_a_stage_is_written_here() {
    const RUNTIMES: [&str; 10] = [
        "async-executor",
        "async-io",
        "async-std",
        "futures-executor",
        "hyper",
        "monoio",
        "pollster",
        "smol",
        "tokio",
        "ureq",
    ];
    let locked = locked();
    for stage in STAGES {
        let all = everything_under(stage, &locked);
        for runtime in RUNTIMES {
            assert!(!all.contains(runtime), "{stage} depends on {runtime}");
        }
        // What is there is found.
        assert!(all.contains("crawl-core") && all.contains("url"), "{all:?}");
        assert_eq!(all.contains("mio"), stage != "stage0-threads", "{all:?}");
    }
}

/// Everything that a member is built of, itself included.
fn everything_under(member: &str, locked: &BTreeMap<String, BTreeSet<String>>) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut todo = vec![member.to_owned()];
    while let Some(name) = todo.pop() {
        if all.contains(&name) {
            continue;
        }
        // The lock file does not tell what is for tests only; for members the
        // manifest does.
        let found = dependencies_of_member(&name).or_else(|| locked.get(&name).cloned());
        todo.extend(found.unwrap_or_else(|| panic!("{name} is not locked")));
        all.insert(name);
    }
    all
}

/// What the manifest of a member names under `[dependencies]`; `None` if it is
/// no member.
fn dependencies_of_member(name: &str) -> Option<BTreeSet<String>> {
    let manifest = workspace().join("crates").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).ok()?;
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let section = lines.take_while(|line| !line.starts_with('['));
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
    Some(section.filter(is_entry).map(name).collect())
}

/// Every package in the lock file, and what it is built of.
fn locked() -> BTreeMap<String, BTreeSet<String>> {
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).unwrap();
    let mut locked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut package = String::new();
    for line in lock.lines() {
        if let Some(name) = line.strip_prefix("name = ") {
            package = name.trim_matches('"').to_owned();
            locked.entry(package.clone()).or_default();
        } else if let Some(dependency) = line.strip_prefix(" \"") {
            let name = dependency.split([' ', '"']).next().unwrap_or_default();
            locked.get_mut(&package).unwrap().insert(name.to_owned());
        }
    }
    locked
}
