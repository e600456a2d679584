//! Gathers the source files that events of a trace name. They are beside this package in
//! the workspace; a package from a registry is alone, and its traces show no sources.
#![allow(clippy::print_stdout)] // The way to talk to Cargo.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The files, by their paths in the workspace, one on each line.
const SOURCES: &str = include_str!("trace-sources.txt");

fn main() -> io::Result<()> {
    let workspace = Path::new("../..").canonicalize()?;
    let mut list = String::from("&[");
    for path in SOURCES.lines() {
        let file = workspace.join(path);
        if file.is_file() {
            println!("cargo::rerun-if-changed={}", file.display());
            list += &format!("({path:?}, include_str!({:?})),", file.display().to_string());
        }
    }
    let folder = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(folder.join("trace_sources.rs"), list + "]")
}
