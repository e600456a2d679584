//! Differential test of the runtime of stage 2: random programs run on it and on
//! the asyncio of CPython, both in virtual time, and the logs of their events are
//! the same.
//!
//! The known differences between the two, which the programs avoid or even out:
//!
//! - A cancelled task is cancelled at once. In asyncio it takes another step, and its
//!   end is seen by others a few callbacks later. So, in programs with
//!   cancellations, the order of different tasks at one time is not compared.
//! - Cancelling a task does not cancel the future that it awaits. In these programs
//!   the Python side awaits through a `shield`.
//! - A circle of tasks is an error. asyncio waits for ever. No program has one.
//! - A result is moved to the first that awaits it, unless the future is shared.
//!   In these programs every `.await` shares its future first.
//! - A `gather` with a cancelled child counts as cancelled itself. In asyncio it has
//!   the exception `CancelledError`, and is not `cancelled`.
//! - A task that awaits itself gets the error at once, in asyncio in its next step.
//! - The time of a `sleep` begins with the call. In asyncio it begins with the first
//!   step. Each program awaits at once what it makes.
//! - A `gather` that is dropped cancels its children. No program drops one.
//! - `as_completed` ends with one error when the time is up, and gives before it what is
//!   there. asyncio raises one for each that is left. No program waits between two.
//! - `wait` of nothing returns at once, and makes tasks of coroutines. asyncio refuses
//!   both. The programs hand it tasks.
//! - A task that cancels itself, and fails in the same step, is cancelled. In asyncio it
//!   has the exception. No program does this.
//!
//! Python 3.11 is needed, which Debian 12 has; later versions call back at other
//! times. So that test runs with `-- --ignored`. Without Python, the first programs are
//! compared with the logs in `asyncio/recorded.txt`, written by the test with
//! `ASYNCIO_RECORD=1`.
//! `ASYNCIO_PROGRAMS=1000000` runs a million programs instead of five thousand.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "asyncio/ours.rs"]
mod ours;
#[path = "asyncio/program.rs"]
mod program;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use program::Program;

const PROGRAMS: u64 = 5000;
/// The number of programs whose logs are recorded.
const RECORDED: u64 = 100;
/// The number of programs that one process of Python runs.
const AT_A_TIME: u64 = 1000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asyncio")
}

/// Returns the first Python that is of the version that the programs are for.
fn python() -> Option<&'static str> {
    ["python3", "/usr/bin/python3", "python3.11"].into_iter().find(|python| {
        let output = Command::new(python).arg("--version").output();
        output.is_ok_and(|output| output.stdout.starts_with(b"Python 3.11."))
    })
}

/// Runs programs on asyncio, and returns their logs.
fn run_python(python: &str, seeds: std::ops::Range<u64>) -> Vec<Vec<String>> {
    let mut process = Command::new(python)
        .arg(folder().join("interpreter.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = process.stdin.take().unwrap();
    let write = thread::spawn(move || {
        for seed in seeds {
            writeln!(stdin, "{}", Program::new(seed).to_json()).unwrap();
        }
    });
    let output = process.wait_with_output().unwrap();
    write.join().unwrap();
    assert!(output.status.success());
    logs(&String::from_utf8(output.stdout).unwrap())
}

fn logs(text: &str) -> Vec<Vec<String>> {
    let mut logs: Vec<Vec<String>> = Vec::new();
    for line in text.lines() {
        match logs.last_mut() {
            Some(log) if !line.starts_with("== ") => log.push(line.to_owned()),
            _ => logs.push(Vec::new()),
        }
    }
    logs
}

/// Returns a log in which the events of one time are sorted by their actor; those of
/// one actor keep their order.
fn by_actor(mut log: Vec<String>) -> Vec<String> {
    let key = |line: &String| {
        let mut words = line.split(' ').map(str::to_owned);
        (words.next().unwrap().parse::<u64>().unwrap(), words.next().unwrap())
    };
    log.sort_by_key(key);
    log
}

/// Compares the logs of programs line by line.
fn compare(seeds: std::ops::Range<u64>, logs: Vec<Vec<String>>) -> usize {
    assert_eq!(logs.len() as u64, seeds.end - seeds.start);
    let mut lines = 0;
    for (seed, theirs) in seeds.zip(logs) {
        let program = Program::new(seed);
        let (json, paced) = (program.to_json(), program.paced);
        let (mut ours, mut theirs) = (ours::run(program), theirs);
        if paced {
            (ours, theirs) = (by_actor(ours), by_actor(theirs));
        }
        let at = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
        lines += at;
        assert!(
            ours == theirs,
            "program {seed} differs after {at} lines: ours {:?}, asyncio's {:?}\n{json}\n\
             ours:\n  {}\nasyncio's:\n  {}",
            ours.get(at),
            theirs.get(at),
            ours.join("\n  "),
            theirs.join("\n  "),
        );
    }
    lines
}

#[test]
#[ignore = "needs python3 3.11"]
fn random_programs_do_the_same_as_on_asyncio() {
    let python = python().expect("there is no Python 3.11");
    let programs = env::var("ASYNCIO_PROGRAMS").map_or(PROGRAMS, |count| count.parse().unwrap());
    let mut lines = 0;
    for start in (0..programs).step_by(AT_A_TIME as usize) {
        let seeds = start..programs.min(start + AT_A_TIME);
        lines += compare(seeds.clone(), run_python(python, seeds));
    }
    println!("{programs} programs, {lines} events, no difference");
}

#[test]
fn random_programs_do_the_same_as_recorded() {
    let file = folder().join("recorded.txt");
    if env::var_os("ASYNCIO_RECORD").is_some() {
        let logs = run_python(python().unwrap(), 0..RECORDED);
        let log = |(number, log): (usize, &Vec<String>)| {
            let lines: String = log.iter().map(|line| format!("{line}\n")).collect();
            format!("== {number}\n{lines}")
        };
        fs::write(&file, logs.iter().enumerate().map(log).collect::<String>()).unwrap();
    }
    let recorded = logs(&fs::read_to_string(&file).unwrap());
    if let Some(python) = python() {
        assert!(recorded == run_python(python, 0..RECORDED), "the recorded logs are stale");
    }
    compare(0..RECORDED, recorded);
}
