//! Programs of other packages of the workspace.

use std::collections::HashSet;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The programs that this process has built already: cargo takes a second to find that
/// there is nothing to do.
static BUILT: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// Builds the program `name` of the workspace with the profile of this test, and
/// returns its path. (By itself, Cargo builds programs only for the tests of
/// their own package.)
///
/// # Panics
/// When it cannot be built.
pub fn program(name: &str) -> PathBuf {
    let [path] = programs([name]);
    path
}

/// Builds several programs at once, as [`program`] does.
///
/// # Panics
/// When one of them cannot be built.
pub fn programs<const N: usize>(names: [&str; N]) -> [PathBuf; N] {
    // A test is in `deps`, a folder beside the programs.
    let test = env::current_exe().unwrap();
    let folder = test.parent().unwrap().parent().unwrap();
    let mut built = BUILT.lock().unwrap_or_else(PoisonError::into_inner);
    if !names.iter().all(|name| built.contains(*name)) {
        build(&names, folder.parent().unwrap());
        built.extend(names.map(String::from));
    }
    names.map(|name| folder.join(format!("{name}{}", env::consts::EXE_SUFFIX)))
}

/// Builds programs in a target folder.
fn build(names: &[&str], target: &Path) {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    // With the features of the whole workspace and of its tests, so that nothing is
    // built twice. Only if a test or an example is asked for as well does cargo
    // count the features of dev-dependencies.
    cargo.args(["build", "--quiet", "--offline", "--workspace", "--example", "chain"]);
    cargo.arg("--target-dir").arg(target);
    for name in names {
        cargo.args(["--bin", name]);
    }
    // The variables that cargo sets for this test's package would make some
    // build scripts run again, and all that depends on them with them.
    let is_of_package = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"].iter().any(|p| name.starts_with(p))
    };
    for (name, _) in env::vars().filter(|(name, _)| is_of_package(name)) {
        cargo.env_remove(name);
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
