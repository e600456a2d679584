//! The programs that pages of the book run in a browser, and what they show beside it.
//!
//! Each program is built for `wasm32-wasip1`, packed, and kept as a script: a page that
//! was opened from a folder may load scripts, and no other files.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use zopfli::Format;

use crate::measurements::target_folder;

/// The folder of the scripts.
const FOLDER: &str = "book/src/play";

/// The programs, each with the most bytes that it may have when packed.
const PROGRAMS: [(&str, usize); 2] = [("scenes", 80 * 1024), ("playground", 500 * 1024)];

/// The list of the source files that a trace names.
const SOURCES: &str = "crates/cli/trace-sources.txt";

/// Builds the programs and writes their scripts, and that of the sources that their
/// traces name. Returns false if one is too large.
///
/// # Errors
/// When a program cannot be built, or a script not be written.
pub fn write(root: &Path) -> io::Result<bool> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--profile", "wasm", "--target", "wasm32-wasip1"]);
    cargo.args(["-p", "book-programs", "--no-default-features"]);
    cargo.args(PROGRAMS.iter().flat_map(|(name, _)| ["--bin", name])).current_dir(root);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", without_paths()?);
    if !cargo.status()?.success() {
        return Ok(false);
    }
    let target = target_folder(root)?;
    let mut all_are_small = true;
    for (name, limit) in PROGRAMS {
        let program = fs::read(target.join(format!("wasm32-wasip1/wasm/{name}.wasm")))?;
        let packed = write_script(root, name, &program)?;
        println!("{name}: {} bytes, packed {packed} of {limit}", program.len());
        all_are_small &= packed <= limit;
    }
    let mut sources = BTreeMap::new();
    for path in fs::read_to_string(root.join(SOURCES))?.lines() {
        sources.insert(path.to_owned(), fs::read_to_string(root.join(path))?);
    }
    let packed = write_script(root, "sources", &serde_json::to_vec(&sources)?)?;
    println!("sources: {} files, packed {packed}", sources.len());
    Ok(all_are_small)
}

/// Returns the flags with which a program does not hold the folder of its dependencies,
/// which is another one on each machine.
fn without_paths() -> io::Result<String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default();
    let mut flags = Vec::new();
    for folder in fs::read_dir(home.join("registry/src"))? {
        flags.push(format!("--remap-path-prefix={}=", folder?.path().display()));
    }
    Ok(flags.join("\x1f"))
}

/// Reads a script back: returns the bytes that were packed.
///
/// # Errors
/// When there is no such script, or it is no such one.
pub fn read_script(root: &Path, name: &str) -> io::Result<Vec<u8>> {
    let script = fs::read_to_string(root.join(FOLDER).join(format!("{name}.js")))?;
    let text = script.rsplit('"').nth(1).unwrap_or_default();
    let packed = STANDARD.decode(text).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Packs bytes, and writes them as a script with this name. Returns their packed size.
///
/// # Errors
/// When the script cannot be written.
pub fn write_script(root: &Path, name: &str, bytes: &[u8]) -> io::Result<usize> {
    let mut packed = Vec::new();
    // A program is made of many small parts that differ, and is packed once and read often.
    let options = zopfli::Options {
        iteration_count: const { NonZero::new(60).unwrap() },
        maximum_block_splits: 120,
        ..zopfli::Options::default()
    };
    zopfli::compress(options, Format::Gzip, bytes, &mut packed)?;
    let text = STANDARD.encode(&packed);
    let script = format!(
        "// Written by `cargo xtask`.\n(globalThis.Blobs ??= {{}})[\"{name}\"] = \"{text}\";\n"
    );
    fs::write(root.join(FOLDER).join(format!("{name}.js")), script)?;
    Ok(packed.len())
}
