//! A crawl in a process of its own, which tells what it took.

use std::env;
use std::io::{self, BufRead};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ServerProcess;
use crate::machine::{Core, pin, status};
use crate::part::{Part, Player};
use crate::site::{Place, tell};
use crate::subjects::{Subject, Work};

/// Who crawls what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Crawl {
    subject: String,
    pub(crate) place: Place,
    pub(crate) pages: u32,
    pub(crate) max_tasks: usize,
    pub(crate) begins_with_all: bool,
}

impl Crawl {
    /// From the root of that site, or from all of its pages, so many at a time.
    pub fn new(
        subject: Subject,
        server: &ServerProcess,
        max_tasks: usize,
        begins_with_all: bool,
    ) -> Self {
        Self {
            subject: subject.name.to_owned(),
            place: server.place().clone(),
            pages: server.site().pages,
            max_tasks,
            begins_with_all,
        }
    }
}

/// What a crawl took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// From the first step to the last.
    pub wall: Duration,
    /// CPU time of the whole process, the system's work for it included.
    pub cpu: Duration,
    /// How many pages it found.
    pub pages: u32,
}

impl Run {
    /// CPU time for one page.
    pub fn cpu_per_page(&self) -> Duration {
        self.cpu / self.pages.max(1)
    }
}

/// What a process has in memory at some moment, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Asked of the allocator and not given back, if somebody counts it.
    pub heap: u64,
    /// In memory, of all kinds.
    pub resident: u64,
    /// The most that was so far.
    pub peak: u64,
    /// Addresses in use, be there memory behind them or not.
    pub reserved: u64,
}

/// What a crawling process is told, one on a line.
#[derive(Debug, Serialize, Deserialize)]
enum Command {
    /// Crawl.
    Begin,
    /// Tell how much memory you have.
    Look,
    /// Tell what the crawl took, when it has ended.
    End,
}

/// Crawls as often as it is told, until standard input ends.
pub(crate) fn crawl(crawl: Crawl, heap: Option<fn() -> u64>) -> io::Result<()> {
    pin(Core::First);
    // Everybody needs as many descriptors as there are tasks.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let subject = Subject::named(&crawl.subject)
        .ok_or_else(|| io::Error::other(format!("there is no {}", crawl.subject)))?;
    let work = Work::new(&crawl)?;
    let mut running: Option<JoinHandle<io::Result<Run>>> = None;
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?)? {
            Command::Begin => {
                let work = work.clone();
                running = Some(thread::spawn(move || subject.run(work)));
            }
            Command::Look => tell(&Memory {
                heap: heap.map_or(0, |heap| heap()),
                resident: status("VmRSS"),
                peak: status("VmHWM"),
                reserved: status("VmSize"),
            })?,
            Command::End => {
                let ended = running.take().map(JoinHandle::join);
                let run = ended.ok_or_else(|| io::Error::other("nothing has begun"))?;
                tell(&run.map_err(|_| io::Error::other("the crawl has panicked"))??)?;
            }
        }
    }
    Ok(())
}

/// A subject in a process of its own, until it is dropped.
#[derive(Debug)]
pub struct SubjectProcess(Player);

impl SubjectProcess {
    /// Starts this very program once more, to crawl.
    ///
    /// # Errors
    /// When that cannot be done.
    pub fn start(crawl: Crawl) -> io::Result<Self> {
        Player::start(&Part::Crawl(crawl), &env::current_exe()?).map(Self)
    }

    /// Has it crawl, once.
    ///
    /// # Errors
    /// When it has not found what there is, or is gone.
    pub fn run(&mut self) -> io::Result<Run> {
        self.begin()?;
        self.end()
    }

    /// Has it begin to crawl.
    ///
    /// # Errors
    /// When it is gone.
    pub fn begin(&mut self) -> io::Result<()> {
        self.0.say(&Command::Begin)
    }

    /// Looks at its memory, whatever it does.
    ///
    /// # Errors
    /// When it is gone.
    pub fn look(&mut self) -> io::Result<Memory> {
        self.0.ask(&Command::Look)
    }

    /// Waits until it has crawled.
    ///
    /// # Errors
    /// As for [`SubjectProcess::run`].
    pub fn end(&mut self) -> io::Result<Run> {
        self.0.ask(&Command::End)
    }
}
