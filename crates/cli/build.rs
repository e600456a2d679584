//! Gathers the source files that events of a trace name. They are beside this package in
//! the workspace; a package from a registry is alone, and its traces show no sources.
#![allow(clippy::print_stdout)] // The way to talk to Cargo.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files, by their paths in the workspace.
const SOURCES: [&str; 18] = [
    "crates/stage1-callbacks/src/connector.rs",
    "crates/stage1-callbacks/src/crawl.rs",
    "crates/stage1-callbacks/src/fetch.rs",
    "crates/stage2-coroutines/src/crawl.rs",
    "crates/stage2-coroutines/src/fetch.rs",
    "crates/stage2-coroutines/src/net/connector.rs",
    "crates/stage2-coroutines/src/net/io.rs",
    "crates/stage2-coroutines/src/net/limits.rs",
    "crates/stage2-coroutines/src/net/lookup.rs",
    "crates/stage2-coroutines/src/net/time.rs",
    "crates/stage3-queue/src/builder.rs",
    "crates/stage3-queue/src/crawler.rs",
    "crates/stage3-queue/src/fetch.rs",
    "crates/stage3-queue/src/frontier/local.rs",
    "crates/stage3-queue/src/queue.rs",
    "crates/stage3-queue/src/robots.rs",
    "crates/stage3-queue/src/shutdown.rs",
    "crates/stage3-queue/src/sitemaps.rs",
];

fn main() -> io::Result<()> {
    let workspace = Path::new("../..").canonicalize()?;
    let mut list = String::from("&[");
    for path in SOURCES {
        let file = workspace.join(path);
        if file.is_file() {
            println!("cargo::rerun-if-changed={}", file.display());
            list += &format!("({path:?}, include_str!({:?})),", file.display().to_string());
        }
    }
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(folder.join("trace_sources.rs"), list + "]")
}
