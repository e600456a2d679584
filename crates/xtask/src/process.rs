//! Programs that are run with a timeout, cargo among them.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use book_tools::process::forget_package;
pub(crate) use book_tools::process::{Ended, run};

/// The timeout of a build.
pub(crate) const BUILD_TIMEOUT: Duration = Duration::from_secs(900);

/// Returns cargo, to be run in a folder with the target folder of this workspace, so
/// that nothing is built twice.
pub(crate) fn cargo(folder: &Path) -> io::Result<Command> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target_folder()?);
    cargo.env("CARGO_TERM_COLOR", "never").env("RUST_BACKTRACE", "0");
    forget_package(&mut cargo);
    Ok(cargo)
}

/// Returns the target folder, in whose `debug` this program is.
pub(crate) fn target_folder() -> io::Result<PathBuf> {
    let program = std::env::current_exe()?;
    // A test is one folder deeper, in `deps`.
    let is_profile = |folder: &&Path| folder.join(".fingerprint").exists();
    let profile = program.ancestors().find(is_profile);
    let target = profile.and_then(Path::parent).map(Path::to_path_buf);
    target.ok_or_else(|| io::Error::other("this program is in no target folder"))
}
