//! What pages of the book load when the reader wants to play: the programs, built for a
//! browser, the sources that their traces name, and the viewer of traces.
//!
//! Programs and sources are packed into scripts: a page that was opened from a folder may
//! load scripts, and no other files. A file is only written when its content is new, since
//! `mdbook serve` builds the book again when a file of it has changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::process::{self, write_changed};

/// The folder of what pages load.
const FOLDER: &str = "book/src/play";
/// The programs, of the package `book-programs`.
const PROGRAMS: [&str; 2] = ["scenes", "playground"];
/// The target that a browser can run.
const TARGET: &str = "wasm32-wasip1";
/// The list of the source files that a trace names.
const SOURCES: &str = "crates/cli/trace-sources.txt";
/// The folder of the viewer of traces.
const VIEWER: &str = "crates/cli/viewer";

/// Builds the programs, and writes all that pages load. Returns false if the programs cannot
/// be built, and says why on stderr; then the pages show what they show without them.
///
/// # Errors
/// When cargo cannot be run, or a file cannot be read or written.
pub(crate) fn write(root: &Path) -> io::Result<bool> {
    for file in ["viewer.js", "viewer.css"] {
        let original = fs::read(root.join(VIEWER).join(file))?;
        write_changed(&root.join(FOLDER).join(file), &original)?;
    }
    let mut sources = BTreeMap::new();
    for path in fs::read_to_string(root.join(SOURCES))?.lines() {
        sources.insert(path.to_owned(), fs::read_to_string(root.join(path))?);
    }
    write_script(root, "sources", &serde_json::to_vec(&sources)?)?;
    if !has_target(root)? {
        eprintln!(
            "The book is built without its programs. To have them: rustup target add {TARGET}"
        );
        return Ok(false);
    }
    let mut cargo = process::cargo(root)?;
    cargo.args(["build", "--profile", "wasm", "--target", TARGET]);
    // A browser has no threads and sockets.
    cargo.args(["--package", "book-programs", "--no-default-features"]);
    cargo.args(PROGRAMS.iter().flat_map(|name| ["--bin", name]));
    if !cargo.status()?.success() {
        eprintln!("The book is built without its programs, which do not compile.");
        return Ok(false);
    }
    let built = process::target_folder()?.join(TARGET).join("wasm");
    for name in PROGRAMS {
        write_script(root, name, &fs::read(built.join(format!("{name}.wasm")))?)?;
    }
    Ok(true)
}

/// Returns true if the standard library is installed for a browser.
fn has_target(root: &Path) -> io::Result<bool> {
    let mut rustc = Command::new("rustc");
    rustc.args(["--print", "target-libdir", "--target", TARGET]).current_dir(root);
    let folder = rustc.output()?.stdout;
    Ok(Path::new(String::from_utf8_lossy(&folder).trim_end()).is_dir())
}

/// Reads a script back: returns the bytes that were packed.
///
/// # Errors
/// When there is no such script, or nothing is packed in it.
pub(crate) fn read_script(root: &Path, name: &str) -> io::Result<Vec<u8>> {
    let script = fs::read_to_string(script(root, name))?;
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
pub(crate) fn write_script(root: &Path, name: &str, bytes: &[u8]) -> io::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    let packed = encoder.finish()?;
    let text = STANDARD.encode(&packed);
    let content = format!(
        "// Written by `cargo xtask`.\n(globalThis.Blobs ??= {{}})[\"{name}\"] = \"{text}\";\n"
    );
    write_changed(&script(root, name), content.as_bytes())?;
    Ok(packed.len())
}

fn script(root: &Path, name: &str) -> PathBuf {
    root.join(FOLDER).join(format!("{name}.js"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_read_back_and_not_written_again() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(FOLDER)).unwrap();
        let bytes: Vec<u8> = (0..=255).collect();
        assert!(write_script(root.path(), "a", &bytes).unwrap() > 0);
        assert_eq!(read_script(root.path(), "a").unwrap(), bytes);
        let modified = || fs::metadata(script(root.path(), "a")).unwrap().modified().unwrap();
        let before = modified();
        write_script(root.path(), "a", &bytes).unwrap();
        assert_eq!(modified(), before);
        assert!(read_script(root.path(), "b").is_err());
    }
}
