//! Programs that are run with a timeout, cargo among them.

use std::env;
use std::fs;
use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of a command of the book, in a workspace where nothing is built yet.
pub(crate) const COMMAND_TIMEOUT: Duration = Duration::from_secs(600);

/// The timeout of a build.
pub(crate) const BUILD_TIMEOUT: Duration = Duration::from_secs(900);

/// The end of a program.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Its output, to stdout and stderr.
    pub(crate) output: String,
    /// Its exit code; `None` if a signal or the timeout has ended it.
    pub(crate) code: Option<i32>,
    /// True if the timeout has ended it.
    pub(crate) timed_out: bool,
}

/// Runs a program, and kills it and all that it has started after a timeout. Keeps what it
/// says.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(command: &mut Command, timeout: Duration) -> io::Result<Ended> {
    let mut output = tempfile::tempfile()?;
    command.stdout(output.try_clone()?).stderr(output.try_clone()?);
    let status = wait(command, timeout)?;
    let mut bytes = Vec::new();
    output.rewind()?;
    output.read_to_end(&mut bytes)?;
    Ok(Ended {
        output: String::from_utf8_lossy(&bytes).into_owned(),
        code: status.and_then(|status| status.code()),
        timed_out: status.is_none(),
    })
}

/// Runs a program without input. When it has ended, or after a timeout, kills what is left of
/// it and of all that it has started. Returns `None` after the timeout.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn wait(command: &mut Command, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    // The guard: it kills the process group of both, itself with it, when its input ends,
    // which it does even if this program is killed.
    let mut guard = Command::new("sh")
        .args(["-c", "read -r _; kill -KILL 0"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()?;
    let status = wait_in(guard.id(), command, timeout);
    // This ends its input.
    guard.wait()?;
    status
}

/// Runs a program in the process group of its guard.
fn wait_in(group: u32, command: &mut Command, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    let group = i32::try_from(group).map_err(io::Error::other)?;
    let mut child = command.stdin(Stdio::null()).process_group(group).spawn()?;
    let begun = Instant::now();
    loop {
        match child.try_wait()? {
            None if begun.elapsed() <= timeout => thread::sleep(Duration::from_millis(5)),
            None => {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            ended => return Ok(ended),
        }
    }
}

/// Returns a shell that runs a command in a folder. It fails if any part of the command does.
pub(crate) fn shell(command: &str, folder: &Path) -> Command {
    let mut shell = Command::new("bash");
    shell.args(["-eu", "-o", "pipefail", "-c", command]).current_dir(folder);
    forget_package(&mut shell);
    shell
}

/// Hides from a program the variables that cargo has set for this one. They would make some
/// build scripts run again, and all that depends on them with them.
pub(crate) fn forget_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| text.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
}

/// Returns cargo, to be run in a folder with the target folder of this workspace, so
/// that nothing is built twice.
pub(crate) fn cargo(folder: &Path) -> io::Result<Command> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(folder).env("CARGO_TARGET_DIR", target_folder()?);
    cargo.env("CARGO_TERM_COLOR", "never").env("RUST_BACKTRACE", "0");
    forget_package(&mut cargo);
    Ok(cargo)
}

/// Returns the target folder, in whose `debug` this program is.
pub(crate) fn target_folder() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    // A test is one folder deeper, in `deps`.
    let is_profile = |folder: &&Path| folder.join(".fingerprint").exists();
    let profile = program.ancestors().find(is_profile);
    let target = profile.and_then(Path::parent).map(Path::to_path_buf);
    target.ok_or_else(|| io::Error::other("this program is in no target folder"))
}

/// Writes a file, unless it has this content already: `mdbook serve` builds the book again when
/// a file of it has changed.
pub(crate) fn write_changed(file: &Path, content: &[u8]) -> io::Result<()> {
    match fs::read(file) {
        Ok(old) if old == content => Ok(()),
        _ => fs::write(file, content),
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use super::*;

    fn ended(script: &str, timeout: Duration) -> Ended {
        run(Command::new("sh").args(["-c", script]), timeout).unwrap()
    }

    #[test]
    fn a_program_ends_by_itself_or_at_its_timeout() {
        let begun = Instant::now();
        let by_itself = ended("sleep 60 & echo said; echo more >&2; exit 3", COMMAND_TIMEOUT);
        assert_eq!((by_itself.output.as_str(), by_itself.code), ("said\nmore\n", Some(3)));
        let late = ended("echo said; sleep 60 & sleep 60", Duration::from_secs(2));
        assert!(begun.elapsed() < Duration::from_secs(30));
        assert!(late.timed_out && late.code.is_none(), "{late:?}");
        assert_eq!(late.output, "said\n");
        let missing = run(&mut Command::new("no-such-program"), COMMAND_TIMEOUT);
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_program_does_not_outlive_the_one_that_runs_it() {
        const NAME: &str = "process::tests::a_program_does_not_outlive_the_one_that_runs_it";
        if env::var_os("IS_THE_ONE_THAT_RUNS_IT").is_some() {
            let script = "echo begun; sleep 60 & sleep 60";
            wait(Command::new("sh").args(["-c", script]), COMMAND_TIMEOUT).unwrap();
            return;
        }
        let mut runs_it = Command::new(env::current_exe().unwrap());
        runs_it.args(["--exact", NAME]).env("IS_THE_ONE_THAT_RUNS_IT", "1");
        let mut runs_it = runs_it.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = io::BufReader::new(runs_it.stdout.take().unwrap());
        let mut line = String::new();
        while !line.ends_with("begun\n") {
            assert_ne!(output.read_line(&mut line).unwrap(), 0, "{line}");
        }
        runs_it.kill().unwrap();
        runs_it.wait().unwrap();
        let begun = Instant::now();
        // The output ends when none of its writers is left.
        output.read_to_end(&mut Vec::new()).unwrap();
        assert!(begun.elapsed() < Duration::from_secs(20));
    }
}
