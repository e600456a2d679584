//! The dependencies between crates: they point one way, and no stage depends on
//! a foreign async runtime.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use test_support::sources::workspace;

/// The cores, and the members of the workspace that each depends on. What a trace
/// holds of a run is no core: it knows nothing, and each part may write to it.
const CORES: [(&str, &[&str]); 4] = [
    ("selector-core", &["trace"]),
    ("transport", &[]),
    ("web", &[]),
    ("crawl-core", &["trace", "web"]),
];
const STAGES: [&str; 4] =
    ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "stage3-queue"];

#[test]
fn only_crawl_core_depends_on_another_core() {
    for (core, expected) in CORES {
        let all = dependencies_of_member(core).unwrap();
        let is_member = |name: &&String| dependencies_of_member(name).is_some();
        let members: Vec<_> = all.iter().filter(is_member).collect();
        assert_eq!(members, expected, "{core}");
    }
}

#[test]
fn no_core_needs_a_stage_even_for_its_tests() {
    let packages = CORES.map(|(core, _)| package_of_member(core));
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    let all = dependencies_with(&packages, &["--edges", "normal,build,dev"]);
    for stage in STAGES {
        assert!(!all.contains(stage), "a core needs {stage}");
    }
    assert!(all.contains("proptest"), "{all:?}");
}

#[test]
fn a_stage_depends_on_cores_and_on_no_other_stage() {
    for stage in STAGES {
        let dependencies = dependencies_of_member(stage).unwrap();
        let is_stage = |name: &&String| STAGES.contains(&name.as_str());
        let stages: Vec<_> = dependencies.iter().filter(is_stage).collect();
        // Stage 3 runs on the runtime that the reader wrote in stage 2.
        let expected: &[&str] = match stage {
            "stage3-queue" => &["stage2-coroutines"],
            _ => &[],
        };
        assert_eq!(stages, expected, "{stage}");
        assert!(!dependencies.contains("demo-site") && !dependencies.contains("replay"), "{stage}");
    }
}

#[test]
fn no_stage_depends_on_a_foreign_runtime() {
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
    let [without_loop, with_loop] = [&STAGES[..1], &STAGES[1..]].map(|stages| {
        let all = dependencies_with(stages, &["--edges", "no-dev"]);
        for runtime in RUNTIMES {
            assert!(!all.contains(runtime), "one of {stages:?} depends on {runtime}");
        }
        // The search does find dependencies that are there.
        assert!(all.contains("crawl-core") && all.contains("url"), "{all:?}");
        all
    });
    assert!(!without_loop.contains("mio") && with_loop.contains("mio"));
}

/// A program on the library of a stage pays for what it uses only.
#[test]
fn features_bring_their_dependencies_and_nothing_else_does() {
    const BROUGHT_BY: [(&str, &str); 5] = [
        ("cli", "clap"),
        ("os", "mio"),
        ("select", "scraper"),
        ("tables", "encoding_rs"),
        ("tls", "rustls"),
    ];
    for stage in ["stage2-coroutines", "stage3-queue"] {
        let default = all_dependencies(stage);
        let bare = dependencies_with(&[stage], &["--edges", "no-dev", "--no-default-features"]);
        for (feature, dependency) in BROUGHT_BY {
            assert!(default.contains(dependency), "{stage} by default");
            assert!(!bare.contains(dependency), "{stage} without {feature}");
            let flags = ["--edges", "no-dev", "--no-default-features", "--features", feature];
            let only = dependencies_with(&[stage], &flags);
            assert!(only.contains(dependency), "{stage} with {feature}");
        }
    }
}

/// The program is quick to build: what not all need is a feature.
#[test]
fn the_program_is_built_from_at_most_150_crates() {
    let crawl = "crawl";
    let default = all_dependencies(crawl);
    assert!(default.len() <= 150, "{}: {default:?}", default.len());
    let full = dependencies_with(&[crawl], &["--edges", "no-dev", "--features", "full"]);
    for dependency in ["frontier-redis", "scraper", "html5ever"] {
        assert!(full.contains(dependency) && !default.contains(dependency), "{dependency}");
    }
}

/// Returns the name of the package in a folder of `crates`.
fn package_of_member(member: &str) -> String {
    let manifest = workspace().join("crates").join(member).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
    name.trim_matches('"').to_owned()
}

/// Returns all crates that a member is built from, itself included, without
/// dev-dependencies and without the dependencies of inactive features.
fn all_dependencies(member: &str) -> BTreeSet<String> {
    dependencies_with(&[member], &["--edges", "no-dev"])
}

/// Returns all crates that one of these packages is built from with these flags of cargo.
fn dependencies_with(packages: &[&str], flags: &[&str]) -> BTreeSet<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let tree = Command::new(cargo)
        .args(["tree", "--locked", "--prefix", "none"])
        // Where the gate lets packages share features, each would bring those of all.
        .env_remove("CARGO_RESOLVER_FEATURE_UNIFICATION")
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .args(flags)
        .current_dir(workspace())
        .output()
        .unwrap();
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    let names = String::from_utf8(tree.stdout).unwrap();
    names.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Returns the names under `[dependencies]` in the manifest of a member, or
/// `None` if there is no such member.
fn dependencies_of_member(name: &str) -> Option<BTreeSet<String>> {
    let manifest = workspace().join("crates").join(name).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).ok()?;
    let lines = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let section = lines.take_while(|line| !line.starts_with('['));
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    let is_entry = |line: &&str| !line.is_empty() && !line.starts_with('#');
    Some(section.filter(is_entry).map(name).collect())
}
