//! Helpers that run the program under a watchdog, and temporary files for it. Each
//! test file uses a part of them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use serde_json::Value;

/// Time limit of every wait, longer than any of them takes unless it hangs.
pub const WATCHDOG: Duration = Duration::from_secs(60);

/// Returns the command for the program with these arguments and `--no-robots`.
pub fn crawl(arguments: &[&str]) -> Command {
    program(&[&["--no-robots"], arguments].concat())
}

/// Returns the command for the program with these arguments alone.
pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crawl"));
    command.args(arguments);
    // The user's settings for color must not change the tests.
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("CLICOLOR");
    for variable in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        command.env_remove(variable);
    }
    command
}

/// Returns the command as one of a user who is not root, since no folder is closed to root.
/// The program of another user is a copy in this folder: the program itself may be where only
/// root can read it.
pub fn not_as_root(command: Command, folder: &Path) -> Command {
    if folder.metadata().unwrap().uid() != 0 {
        return command;
    }
    // A copy that this process writes may be open in a child of another test, and does not run.
    let program = command.get_program();
    assert!(Command::new("cp").arg(program).arg(folder).status().unwrap().success());
    let mut copy = Command::new(folder.join(Path::new(program).file_name().unwrap()));
    copy.args(command.get_args()).current_dir(folder).uid(65_534).gid(65_534);
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => copy.env(name, value),
            None => copy.env_remove(name),
        };
    }
    copy
}

/// A running process, killed when this is dropped.
pub struct Running {
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    stderr: Option<JoinHandle<Vec<u8>>>,
}

/// The exit status and the output of a process.
pub struct ProgramOutput {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    pub fn start(mut command: Command) -> Self {
        let mut running = Self::start_unread(&mut command);
        let stdout = running.child.stdout.take().unwrap();
        running.stdout = Some(thread::spawn(move || read(stdout)));
        running
    }

    /// Starts a process whose stdout is not read.
    pub fn start_unread(command: &mut Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        Self { child, stdout: None, stderr: Some(thread::spawn(move || read(stderr))) }
    }

    /// Takes the pipe of its stdout, which must not be read otherwise.
    pub fn unread(&mut self) -> ChildStdout {
        self.child.stdout.take().unwrap()
    }

    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits until the process ends, and returns its output.
    pub fn wait(mut self) -> ProgramOutput {
        let deadline = Instant::now() + WATCHDOG;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "the program does not end");
            thread::sleep(Duration::from_millis(2));
        };
        let text = |reader: &mut Option<JoinHandle<Vec<u8>>>| {
            let bytes = reader.take().map(|reader| reader.join().unwrap()).unwrap_or_default();
            String::from_utf8(bytes).unwrap()
        };
        ProgramOutput { status, stdout: text(&mut self.stdout), stderr: text(&mut self.stderr) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl ProgramOutput {
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.stdout, self.stderr);
        self
    }
}

fn read(mut pipe: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).unwrap();
    bytes
}

/// Runs the program to its end.
pub fn run(arguments: &[&str]) -> ProgramOutput {
    Running::start(crawl(arguments)).wait()
}

/// Waits until the condition is true.
#[track_caller]
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + WATCHDOG;
    while !is_so() {
        assert!(Instant::now() < deadline, "it never comes true");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Parses the output of `--format jsonl` into rows by URL. Checks that every line
/// is whole and no URL comes twice.
#[track_caller]
pub fn rows(jsonl: &str) -> BTreeMap<String, Value> {
    assert!(jsonl.is_empty() || jsonl.ends_with('\n'), "{jsonl}");
    let mut rows = BTreeMap::new();
    for line in jsonl.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let url = row["url"].as_str().unwrap().to_owned();
        let before = rows.insert(url, row);
        assert!(before.is_none(), "twice: {before:?}");
    }
    rows
}

/// The path of a temporary file, which is deleted on drop.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self(env::temp_dir().join(format!("crawl-test-{}-{number}", process::id())))
    }

    /// A path that ends in this.
    pub fn with_ending(ending: &str) -> Self {
        let scratch = Self::new();
        Self(format!("{}{ending}", scratch.as_str()).into())
    }

    pub fn with(contents: impl AsRef<[u8]>) -> Self {
        let scratch = Self::new();
        scratch.write(contents);
        scratch
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().unwrap()
    }

    pub fn read(&self) -> Vec<u8> {
        fs::read(&self.0).unwrap_or_default()
    }

    pub fn write(&self, contents: impl AsRef<[u8]>) {
        fs::write(&self.0, contents).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
