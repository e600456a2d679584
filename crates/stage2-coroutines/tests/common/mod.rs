//! Runs an example and returns what it says.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Each of them is done within a second, on an idle machine.
const WATCHDOG: Duration = Duration::from_secs(30);

/// What an example of this package writes to stdout, with `N` in the place of
/// every number that follows one of `markers`. It has nothing to say on stderr.
#[allow(dead_code)] // Not every test file needs both.
pub(crate) fn example(name: &str, markers: &[&str]) -> String {
    let (stdout, stderr) = run(name);
    assert_eq!(stderr, "", "{name}");
    markers.iter().fold(stdout, |text, marker| mask(&text, marker))
}

/// What an example of this package writes to stdout and to stderr. It must
/// succeed.
pub(crate) fn run(name: &str) -> (String, String) {
    let mut command = Command::new(path(name));
    let command = command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    // None writes more than a pipe holds, so that none waits for its reader.
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > WATCHDOG {
            child.kill().unwrap();
            panic!("{name} did not end: {:?}", child.wait_with_output());
        }
        thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// Cargo puts examples beside the directory in which the test lies.
fn path(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let target = test.parent().unwrap().parent().unwrap();
    let path = target.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{path:?} is not built: `cargo test --test` builds no examples");
    path
}

/// Puts `N` in the place of every number that follows `marker`.
pub(crate) fn mask(text: &str, marker: &str) -> String {
    let mut parts = text.split(marker);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        masked += marker;
        masked += if rest.len() < part.len() { "N" } else { "" };
        masked += rest;
    }
    masked
}
