//! The programs that pages of the book run in a browser.
//!
//! Each is built for `wasm32-wasip1`, packed, and kept as a script: a page that was
//! opened from a folder may load scripts, and no other files.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zopfli::Format;

/// The folder of the scripts.
const FOLDER: &str = "book/src/play";

/// The programs, each with the most bytes that it may have when packed.
const PROGRAMS: [(&str, usize); 2] = [("scenes", 80 * 1024), ("playground", 500 * 1024)];

/// Builds the programs and writes their scripts. Returns false if one is too large.
///
/// # Errors
/// When a program cannot be built, or a script not be written.
pub fn write(root: &Path) -> io::Result<bool> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--profile", "wasm", "--target", "wasm32-wasip1"]);
    cargo.args(PROGRAMS.iter().flat_map(|(name, _)| ["-p", name])).current_dir(root);
    if !cargo.status()?.success() {
        return Ok(false);
    }
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let mut all_are_small = true;
    for (name, limit) in PROGRAMS {
        let program = fs::read(target.join(format!("wasm32-wasip1/wasm/{name}.wasm")))?;
        let mut packed = Vec::new();
        zopfli::compress(zopfli::Options::default(), Format::Gzip, &*program, &mut packed)?;
        println!("{name}: {} bytes, packed {} of {limit}", program.len(), packed.len());
        all_are_small &= packed.len() <= limit;
        let text = STANDARD.encode(packed);
        let script = format!(
            "// Written by `cargo xtask programs`.\n(globalThis.Blobs ??= {{}}).{name} = \"{text}\";\n"
        );
        fs::write(root.join(FOLDER).join(format!("{name}.js")), script)?;
    }
    Ok(all_are_small)
}
