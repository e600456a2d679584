//! A program started in a role of its own: the one that starts it talks to it in
//! lines of JSON, over its standard input and output.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The environment variable with the name of a role.
pub(crate) const ROLE: &str = "BENCHES_ROLE";
/// The environment variable with the role's settings, in JSON.
pub(crate) const SETTINGS: &str = "BENCHES_SETTINGS";

/// A process in a role, until this is dropped.
#[derive(Debug)]
pub(crate) struct RoleProcess {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl RoleProcess {
    /// Starts `program`, one of this package, in the role of this name.
    pub(crate) fn start(
        role: &str,
        settings: &impl Serialize,
        mut program: Command,
    ) -> io::Result<Self> {
        let mut process = program
            .env(ROLE, role)
            .env(SETTINGS, serde_json::to_string(settings)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = process.stdin.take();
        let stdout = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, stdin, stdout: BufReader::new(stdout) })
    }

    /// Returns the number by which the operating system knows the process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a message to the process.
    pub(crate) fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }

    /// Receives the next message of the process.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.is_empty() {
            // The process has written the reason to the shared standard error.
            return Err(io::Error::other(format!("process {} is gone", self.process.id())));
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Sends a message and receives the answer.
    pub(crate) fn ask<T: DeserializeOwned>(&mut self, message: &impl Serialize) -> io::Result<T> {
        self.send(message)?;
        self.receive()
    }
}

impl Drop for RoleProcess {
    fn drop(&mut self) {
        // The end of its input ends the process.
        drop(self.stdin.take());
        let _ = self.process.wait();
    }
}

/// Sends a message to the process that started this one.
pub(crate) fn reply(message: &impl Serialize) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, message)?;
    out.write_all(b"\n")?;
    out.flush()
}
