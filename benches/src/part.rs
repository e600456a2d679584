//! A program that plays a part: the one who started it tells it which, and
//! talks to it in lines of JSON.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{self, Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::child::{self, Crawl};
use crate::site::{self, Site};

/// The environment variable that holds a part.
const PART: &str = "BENCHES_PART";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Part {
    Serve(Site),
    Crawl(Crawl),
}

/// Plays a part, if this process was started to do so, until its standard
/// input ends; then the process ends. To be called first in `main`.
///
/// `heap` tells how many bytes the process has allocated and not given back,
/// for programs whose allocator counts.
///
/// # Errors
/// When the part cannot be played to its end.
pub fn play_part_if_asked(heap: Option<fn() -> u64>) -> io::Result<()> {
    let Ok(part) = env::var(PART) else {
        return Ok(());
    };
    match serde_json::from_str(&part)? {
        Part::Serve(site) => site::serve(site)?,
        Part::Crawl(crawl) => child::crawl(crawl, heap)?,
    }
    process::exit(0);
}

/// A process that plays a part, until this is dropped.
#[derive(Debug)]
pub(crate) struct Player {
    process: Child,
    say: Option<ChildStdin>,
    told: BufReader<ChildStdout>,
}

impl Player {
    pub(crate) fn start(part: &Part, program: &Path) -> io::Result<Self> {
        let mut process = Command::new(program)
            .env(PART, serde_json::to_string(part)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let say = process.stdin.take();
        let told = process.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { process, say, told: BufReader::new(told) })
    }

    pub(crate) fn say(&mut self, what: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(what)?;
        line.push(b'\n');
        self.say.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&line)
    }

    pub(crate) fn hear<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        self.told.read_line(&mut line)?;
        if line.is_empty() {
            // It has said why on standard error, which is ours.
            return Err(io::Error::other(format!("process {} is gone", self.process.id())));
        }
        Ok(serde_json::from_str(&line)?)
    }

    pub(crate) fn ask<T: DeserializeOwned>(&mut self, what: &impl Serialize) -> io::Result<T> {
        self.say(what)?;
        self.hear()
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        // The end of what it is told is its end.
        drop(self.say.take());
        let _ = self.process.wait();
    }
}
