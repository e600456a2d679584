//! Figures that criterion does not keep; `cargo xtask measurements` makes tables
//! of them.

use std::path::PathBuf;
use std::{env, fs, io};

use serde::Serialize;

/// Writes `figures` to `measurements/<name>.json` in the target folder of the
/// running program, and returns the path of the file.
///
/// # Errors
/// When the file cannot be written.
pub fn keep(name: &str, figures: &impl Serialize) -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let is_profile = |folder: &&std::path::Path| folder.join("deps").is_dir();
    let profile = program.ancestors().find(is_profile).ok_or(io::ErrorKind::NotFound)?;
    let folder = profile.with_file_name("measurements");
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{name}.json"));
    fs::write(&path, serde_json::to_vec_pretty(figures)?)?;
    Ok(path)
}

/// Returns true in `cargo bench -- --test`, which runs every bench once on a
/// small site, to show that it works.
pub fn is_test() -> bool {
    env::args().any(|argument| argument == "--test")
}
