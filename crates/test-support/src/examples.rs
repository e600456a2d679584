//! Runner of the examples of a package.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The timeout of an example. On an idle machine, each ends within a second.
const WATCHDOG: Duration = Duration::from_secs(30);

/// Runs an example of this package and returns its stdout, with `N` in place of
/// every number that follows one of `markers`.
///
/// # Panics
/// When the example writes to stderr, or when [`run`] panics.
pub fn example(name: &str, markers: &[&str]) -> String {
    let (stdout, stderr) = run(name);
    assert_eq!(stderr, "", "{name}");
    markers.iter().fold(stdout, |text, marker| mask(&text, marker))
}

/// Runs an example of this package and returns its stdout and stderr.
///
/// # Panics
/// When the example is not built, fails, or does not end within 30 seconds.
pub fn run(name: &str) -> (String, String) {
    let mut command = Command::new(path(name));
    let command = command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    // No example writes more than a pipe holds, so none waits for a reader.
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

/// Returns the path of an example. Cargo puts examples in a directory beside that
/// of the test.
fn path(name: &str) -> PathBuf {
    let test = env::current_exe().unwrap();
    let target = test.parent().unwrap().parent().unwrap();
    let path = target.join("examples").join(format!("{name}{}", env::consts::EXE_SUFFIX));
    assert!(path.exists(), "{path:?} is not built: `cargo test --test` builds no examples");
    path
}

/// Replaces every number that follows `marker` by `N`.
pub fn mask(text: &str, marker: &str) -> String {
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
