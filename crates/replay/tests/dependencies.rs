//! Arrows point one way, and none of them at somebody else's runtime.
#![allow(clippy::unwrap_used, missing_docs)]

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

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
    for stage in STAGES {
        let all = everything_under(stage);
        for runtime in RUNTIMES {
            assert!(!all.contains(runtime), "{stage} depends on {runtime}");
        }
        // What is there is found.
        assert!(all.contains("crawl-core") && all.contains("url"), "{all:?}");
        assert_eq!(all.contains("mio"), stage != "stage0-threads", "{all:?}");
    }
}

/// Everything that a member is built of, itself included. What is only there
/// for tests, or behind a feature that nobody asked for, is not.
fn everything_under(member: &str) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--locked", "--edges", "no-dev", "--prefix", "none", "--package", member])
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let names = String::from_utf8(tree.stdout).unwrap();
    names.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
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
