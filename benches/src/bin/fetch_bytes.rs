//! Tells the parts of the heap memory of a fetch in flight, for each stage: valgrind's
//! `dhat` knows the calls that have allocated each block.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::process::{self, Command};
use std::{env, fs, io};

use benches::fetch_memory::LATENCY;
use benches::{Crawl, ServerProcess, Site, SubjectProcess, play_role_if_asked};
use serde::Deserialize;

/// Number of fetches in flight: many, since what they share is left out.
const FETCHES: u32 = 4000;

const STAGES: [&str; 3] = ["stage1-callbacks", "stage2-coroutines", "stage3-queue"];

/// The parts of a fetch, with the functions that allocate them. A block is of the first
/// part that has one of the calls.
const PARTS: [(&str, &[&str]); 11] = [
    ("its timer", &["Timers<D>::set"]),
    ("its place in the table of sockets", &["Selector<D>::connect"]),
    ("the address of its server", &["Peers::set"]),
    ("the waker of its task", &["Scheduler::insert::{{closure}}"]),
    ("its place in the table of tasks", &["Slab<T>::insert"]),
    ("what the inspector knows of its task", &["Observer>::spawned"]),
    ("the Future with the result of its task", &["Future<T>::new"]),
    (
        "its Fetcher, or its coroutine",
        &["Fetcher::new", "EventLoop::spawn_detached", "Task<T>::spawn_with"],
    ),
    ("its place in the list of workers", &["Crawler<F>::crawl"]),
    ("its place among the waiting jobs, now free", &["SegmentedDeque<T>"]),
    ("its places in queues of tasks, now free", &["Scheduler::schedule", "WaitQueue::wait"]),
];

/// The number of bytes that may be of no part.
const MAX_REST: f64 = 5.0;

/// The blocks at the end of a program, by the calls that have allocated them.
#[derive(Deserialize)]
struct Profile {
    #[serde(rename = "pps")]
    blocks: Vec<Blocks>,
    #[serde(rename = "ftbl")]
    functions: Vec<String>,
}

#[derive(Deserialize)]
struct Blocks {
    #[serde(rename = "eb")]
    bytes: u64,
    /// Indices of functions.
    #[serde(rename = "fs")]
    calls: Vec<usize>,
}

fn main() -> Result<(), Box<dyn Error>> {
    play_role_if_asked(None)?;
    let mut columns = Vec::new();
    for stage in STAGES {
        let (one, all) = (bytes(&profile(stage, 1)?), bytes(&profile(stage, FETCHES)?));
        let per_fetch = |(all, one)| (all - one) / f64::from(FETCHES - 1);
        columns.push(all.into_iter().zip(one).map(per_fetch).collect::<Vec<f64>>());
    }
    let mut rows: Vec<(&str, [f64; 3])> = PARTS
        .map(|(name, _)| name)
        .into_iter()
        .chain(["all else"])
        .enumerate()
        .map(|(index, name)| (name, [0, 1, 2].map(|stage| columns[stage][index])))
        .collect();
    rows.sort_by(|(_, one), (_, other)| other[2].total_cmp(&one[2]));
    println!("{:44}{:>8}{:>9}{:>9}", "", "stage 1", "stage 2", "stage 3");
    for (name, bytes) in rows {
        row(name, bytes);
    }
    row("in all", [0, 1, 2].map(|stage| columns[stage].iter().sum()));
    let rest = columns.iter().filter_map(|column| column.last()).copied().fold(0.0, f64::max);
    if rest > MAX_REST {
        return Err(format!("{rest} bytes are of no part: functions have other names now").into());
    }
    Ok(())
}

/// Prints a row; the place of a part that a stage does not have stays empty.
fn row(name: &str, bytes: [f64; 3]) {
    let [one, two, three] = bytes.map(|bytes| match bytes {
        0.0 => String::new(),
        bytes => format!("{bytes:.0}"),
    });
    println!("{}", format!("{name:44}{one:>8}{two:>9}{three:>9}").trim_end());
}

/// Returns the bytes of each part, and of what is in none of them.
fn bytes(profile: &Profile) -> Vec<f64> {
    let mut sums = vec![0.0; PARTS.len() + 1];
    for Blocks { bytes, calls } in &profile.blocks {
        let calls: Vec<&String> =
            calls.iter().filter_map(|&index| profile.functions.get(index)).collect();
        let is_made_by = |name: &&str| calls.iter().any(|call| call.contains(name));
        let part = PARTS.iter().position(|(_, names)| names.iter().any(&is_made_by));
        sums[part.unwrap_or(PARTS.len())] += *bytes as f64;
    }
    sums
}

/// Profiles a crawl that knows all URLs, and ends while so many fetches wait.
fn profile(stage: &str, in_flight: u32) -> Result<Profile, Box<dyn Error>> {
    let site = Site { pages: FETCHES, page_size: 1024, latency: LATENCY, ..Site::default() };
    let mut server = ServerProcess::start(site)?;
    let file = env::temp_dir().join(format!("fetch-bytes-{}", process::id()));
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=dhat", "--num-callers=60"]);
    valgrind.arg(format!("--dhat-out-file={}", file.display())).arg(env::current_exe()?);
    let in_flight = in_flight as usize;
    let crawl = Crawl::new(stage, &server, in_flight, true);
    let mut crawling = SubjectProcess::start_program(valgrind, crawl).map_err(|error| {
        io::Error::new(error.kind(), format!("valgrind cannot be started: {error}"))
    })?;
    crawling.memory_in_flight(&mut server, in_flight, false)?;
    drop(crawling);
    let profile = fs::read(&file)?;
    fs::remove_file(&file)?;
    Ok(serde_json::from_slice(&profile)?)
}
