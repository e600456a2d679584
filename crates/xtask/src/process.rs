//! Programs that are run with a timeout.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of a build.
pub(crate) const BUILD_TIMEOUT: Duration = Duration::from_secs(900);

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its output, to stdout and stderr.
    pub(crate) output: String,
    /// Its exit code; `None` if a signal or the timeout has ended it.
    pub(crate) code: Option<i32>,
    pub(crate) timed_out: bool,
}

/// Runs a program, and kills it and all that it has started after a timeout.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(command: &mut Command, timeout: Duration) -> io::Result<Ended> {
    let mut output = tempfile::tempfile()?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    // A process group of its own, to end the processes that it has started.
    let mut child = command.process_group(0).spawn()?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() > timeout {
            break None;
        }
        thread::sleep(Duration::from_millis(5));
    };
    if status.is_none() {
        let group = format!("-{}", child.id());
        Command::new("kill").args(["-KILL", "--", &group]).status()?;
        child.wait()?;
    }
    let code = status.and_then(|status| status.code());
    Ok(Ended { output: text(&mut output)?, code, timed_out: status.is_none() })
}

fn text(file: &mut File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns cargo, to be run in a folder with the target folder of this workspace, so
/// that nothing is built twice.
pub(crate) fn cargo(folder: &Path) -> io::Result<Command> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target_folder()?);
    cargo.env("CARGO_TERM_COLOR", "never").env("RUST_BACKTRACE", "0");
    // The variables that cargo sets for this program would make some build scripts
    // run again, and all that depends on them with them.
    for (name, _) in std::env::vars() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration) -> Ended {
        run(Command::new("sh").args(["-c", script]), timeout).unwrap()
    }

    #[test]
    fn a_program_ends_by_itself_or_at_its_timeout() {
        let ended = shell("echo said; echo more >&2; exit 3", BUILD_TIMEOUT);
        assert_eq!((ended.output.as_str(), ended.code), ("said\nmore\n", Some(3)));
        let begun = Instant::now();
        let ended = shell("echo said; sleep 60 & sleep 60", Duration::from_millis(300));
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(ended.timed_out && ended.code.is_none(), "{ended:?}");
        assert_eq!(ended.output, "said\n");
    }
}
