//! The worker process: a subject that crawls and reports its costs.

use std::env;
use std::io::{self, BufRead};
use std::path::PathBuf;
use std::process;
use std::thread::{self, JoinHandle};

use serde::{Deserialize, Serialize};

use crate::crawl::{Crawl, Memory, Run};
use crate::machine::{Core, pin, status};
use crate::process::{RoleProcess, reply};
use crate::site::ServerProcess;
use crate::subjects::{Subject, Work};

/// The name of the crawling role.
pub(crate) const ROLE: &str = "crawl";

/// A message to a worker process.
#[derive(Debug, Serialize, Deserialize)]
enum Command {
    /// Starts a crawl.
    Begin,
    /// Asks for the memory of the process.
    Look,
    /// Asks if the crawl has ended.
    IsOver,
    /// Asks for the costs of the crawl, once it has ended, or for its error.
    End,
}

/// Crawls as often as requested, until standard input ends.
pub(crate) fn crawl(
    crawl: Crawl,
    subjects: &[Subject],
    heap: Option<fn() -> u64>,
) -> io::Result<()> {
    pin(Core::First);
    // Every subject needs a descriptor for each task.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let subject = subjects
        .iter()
        .copied()
        .find(|subject| subject.name == crawl.subject)
        .ok_or_else(|| io::Error::other(format!("there is no {}", crawl.subject)))?;
    let work = Work::new(&crawl)?;
    let mut current: Option<JoinHandle<io::Result<Run>>> = None;
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Command::Begin => {
                let work = work.clone();
                current = Some(thread::spawn(move || subject.run(work)));
            }
            Command::Look => reply(&Memory {
                heap: heap.map_or(0, |heap| heap()),
                resident: status("self", "VmRSS"),
                peak: status("self", "VmHWM"),
                reserved: status("self", "VmSize"),
            })?,
            Command::IsOver => reply(&current.as_ref().is_none_or(JoinHandle::is_finished))?,
            Command::End => {
                let joined = current.take().map(JoinHandle::join);
                let run = joined.ok_or_else(|| io::Error::other("nothing has begun"))?;
                let panicked = |_| Err(io::Error::other(format!("{} has panicked", subject.name)));
                reply(&run.unwrap_or_else(panicked).map_err(|error| error.to_string()))?;
            }
        }
    }
    Ok(())
}

/// A running worker process, until this is dropped.
#[derive(Debug)]
pub struct SubjectProcess(RoleProcess);

impl SubjectProcess {
    /// Starts a process in the crawling role: this program once more or, for a subject that
    /// is not of this package, the program `peers`.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(crawl: Crawl) -> io::Result<Self> {
        let program = Self::program(&crawl.subject)?;
        Self::start_program(process::Command::new(program), crawl)
    }

    /// Returns the path of the program that has this subject. That of the peers is built into
    /// the same folder as this one.
    ///
    /// # Errors
    /// When the program does not exist.
    pub fn program(subject: &str) -> io::Result<PathBuf> {
        let this = env::current_exe()?;
        if Subject::named(subject).is_some() {
            return Ok(this);
        }
        let peers = this.with_file_name(format!("peers{}", env::consts::EXE_SUFFIX));
        if !peers.is_file() {
            return Err(io::Error::other(format!(
                "there is no subject {subject} here; reqwest, smol and spider need `cargo build \
                 --release --manifest-path benches/peers/Cargo.toml`"
            )));
        }
        Ok(peers)
    }

    /// Starts `program`, a command that runs this program, in the crawling role.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start_program(program: process::Command, crawl: Crawl) -> io::Result<Self> {
        RoleProcess::start(ROLE, &crawl, program).map(Self)
    }

    /// Runs one crawl and returns its costs.
    ///
    /// # Errors
    /// When the subject has not found all pages, or the process is gone.
    pub fn run(&mut self) -> io::Result<Run> {
        self.begin()?;
        self.end()
    }

    /// Starts a crawl.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn begin(&mut self) -> io::Result<()> {
        self.0.send(&Command::Begin)
    }

    /// Returns the memory of the process, during a crawl as well.
    ///
    /// # Errors
    /// When the process is gone.
    pub fn memory(&mut self) -> io::Result<Memory> {
        self.0.ask(&Command::Look)
    }

    /// Waits for the end of the crawl and returns its costs.
    ///
    /// # Errors
    /// The same as those of [`SubjectProcess::run`].
    pub fn end(&mut self) -> io::Result<Run> {
        let run: Result<Run, String> = self.0.ask(&Command::End)?;
        run.map_err(io::Error::other)
    }

    /// Starts a crawl, and returns the memory of the process while so many fetches wait for
    /// the server. If `to_the_end` says so, the crawl is then run to its end, as a check.
    ///
    /// # Errors
    /// When the crawl fails, or the server has not so many requests at once.
    pub fn memory_in_flight(
        &mut self,
        server: &mut ServerProcess,
        in_flight: usize,
        to_the_end: bool,
    ) -> io::Result<Memory> {
        self.begin()?;
        let held = server.await_in_flight(in_flight, || self.0.ask(&Command::IsOver));
        let memory = held.and_then(|()| self.memory());
        if to_the_end || memory.is_err() {
            server.release()?;
            // Why the crawl has failed says more than how many requests came.
            self.end()?;
        }
        memory
    }
}
