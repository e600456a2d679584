//! The programs of the stages, which are those of other packages.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAMS: [&str; 4] = ["stage0-threads", "stage1-callbacks", "stage2-coroutines", "crawl"];

/// Builds them as this test was built, and says where they are. (Cargo does so
/// unasked for the programs of a test's own package only.)
pub fn programs() -> [(&'static str, PathBuf); 4] {
    let folder = Path::new(env!("CARGO_BIN_EXE_replay")).parent().unwrap();
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["build", "--quiet", "--offline", "--workspace", "--bins", "--target-dir"]);
    cargo.arg(folder.parent().unwrap());
    // What cargo tells this test of its package is news to some build scripts,
    // and would have them, and all that depends on them, built again.
    let is_news = |name: &str| {
        ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"].iter().any(|p| name.starts_with(p))
    };
    for (name, _) in env::vars().filter(|(name, _)| is_news(name)) {
        cargo.env_remove(name);
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    let output = cargo.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    PROGRAMS.map(|name| (name, folder.join(name)))
}
