//! The crates and programs that are not built as tests, since they have none.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use test_support::sources::workspace;

/// A unit test or an example in the documentation of a target with `test = false` or
/// `doctest = false` would never run.
#[test]
fn a_target_that_is_not_tested_has_no_tests() {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments = ["metadata", "--locked", "--no-deps", "--format-version=1"];
    let metadata = Command::new(cargo).args(arguments).current_dir(workspace()).output().unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    let (mut without_tests, mut without_examples) = (0, 0);
    for target in targets.filter(|target| is_kind(target, &["lib", "bin"])) {
        let sources = sources_of(Path::new(target["src_path"].as_str().unwrap()));
        let has = |start: &str| {
            let mut lines = sources.iter().flat_map(|source| source.lines());
            lines.any(|line| line.trim_start().starts_with(start))
        };
        if target["test"] == false {
            without_tests += 1;
            assert!(!has("#[test]") && !has("proptest!"), "{} has unit tests", target["src_path"]);
        }
        if is_kind(target, &["lib"]) && target["doctest"] == false {
            without_examples += 1;
            assert!(!has("/// ```") && !has("//! ```"), "{} has examples", target["src_path"]);
        }
    }
    assert!(without_tests > 10 && without_examples > 5, "{without_tests}, {without_examples}");
}

fn is_kind(target: &Value, kinds: &[&str]) -> bool {
    target["kind"].as_array().unwrap().iter().any(|kind| kinds.iter().any(|it| kind == it))
}

/// Returns the text of a file and of the modules that it declares, but for those of other
/// crates, which have a `#[path]`.
fn sources_of(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let folder = file.parent().unwrap();
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let is_root = ["lib", "main", "mod"].contains(&stem) || folder.ends_with("bin");
    let inside = if is_root { folder.to_owned() } else { folder.join(stem) };
    let names = text.lines().filter_map(|line| {
        let (visibility, name) = line.strip_suffix(';')?.split_once("mod ")?;
        (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
    });
    let path = |name: &str| -> Option<PathBuf> {
        let paths = [inside.join(format!("{name}.rs")), inside.join(name).join("mod.rs")];
        paths.into_iter().find(|path| path.exists())
    };
    let modules: Vec<_> = names.filter_map(path).flat_map(|path| sources_of(&path)).collect();
    [vec![text], modules].concat()
}
