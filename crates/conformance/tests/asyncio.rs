//! Differential test of the runtime of stage 2: random programs run on it and on
//! the asyncio of CPython, both in virtual time, and the logs of their events are
//! the same.
//!
//! The known differences between the two, which the programs avoid or even out:
//!
//! - A cancelled task is cancelled at once, and a second `cancel` returns false. In asyncio
//!   it takes another step, and its end is seen by others a few callbacks later. So, in programs with
//!   cancellations, the order of different tasks at one time is not compared.
//! - Cancelling a task does not cancel the future that it awaits. In these programs
//!   the Python side awaits through a `shield`.
//! - A circle of tasks is an error. asyncio waits forever. No program has one.
//! - A result is moved to the first that awaits it, unless the future is shared.
//!   In these programs every `.await` shares its future first. Of one that has failed, an
//!   unshared handle is awaited as well: an exception is copied in any case.
//! - A `gather` with a cancelled child counts as cancelled itself. In asyncio it has
//!   the exception `CancelledError`, and is not `cancelled`.
//! - A task that awaits itself gets the error at once, in asyncio in its next step.
//! - The time of a `sleep` begins with the call. In asyncio it begins with the first
//!   step. Each program awaits at once what it makes.
//! - A timer resumes its task directly. In asyncio it resolves a future, whose callback
//!   resumes the task one round later. The Python side calls the callbacks of
//!   `call_later` and `call_at` a round later, too.
//! - Equal deadlines come in the order in which they were set. asyncio keeps them in a heap,
//!   and they come in no order. The Python side numbers them.
//! - A `gather` that is dropped cancels its children. No program drops one.
//! - `as_completed` ends with one error when the time is up, and gives before it what is
//!   there. asyncio raises one for each that is left. No program waits between two, and
//!   no other deadline is the same. It also leaves its waker with the futures that are
//!   not done, which asyncio does not. Programs whose order is compared have no timeout
//!   of it.
//! - `wait_for` returns in the round of its deadline, and with a result that is there by
//!   then. asyncio waits until what it cancels has ended, and since 3.12 has other
//!   rounds. In programs whose order is compared, the Python side puts it together
//!   from `asyncio.wait` and `cancel`.
//! - A result that comes together with the deadline of a `wait` or `wait_for` wakes the task
//!   a second time, which asyncio does not. In programs whose order is compared, a task
//!   yields once after these.
//! - `timeout_at` looks at the coroutine first, and then at the clock. In asyncio the
//!   timer that was set first comes first. No program sleeps until its deadline.
//! - `wait` of nothing returns at once, and makes tasks of coroutines. asyncio refuses
//!   both, and `as_completed` takes coroutines in no order. The Python side makes the
//!   tasks.
//! - A task that cancels itself, and fails in the same step, is cancelled. In asyncio it
//!   has the exception. No program does this.
//! - A run ends with the step in which its main coroutine returns. asyncio goes on for
//!   another round. The Python side calls `stop` in that step.
//! - `run_sync` drops what is not done in time. The Python side, which has no such
//!   function, cancels it.
//! - An item of a queue is promised to the getter that is woken for it. In asyncio a getter
//!   that comes late may take it. The Python side has a fair queue, `fair_queue.py`.
//! - `cancel` of a future that has failed, a `wait` for the first exception and a cancelled
//!   `shield` only look. In asyncio the exception counts as retrieved then. The Python
//!   side only looks, too.
//!
//! The versions of Python from 3.11 to 3.13 differ, too. The Python side evens out:
//!
//! - Since 3.12 a `gather` of futures that are done is done at once; before, a round later.
//! - Since 3.12 `wait_for` raises `TimeoutError` also if there is a result by then.
//!
//! Without Python, the first programs are compared with the logs in
//! `asyncio/recorded.txt`, written by the test with `ASYNCIO_RECORD=1`. With Python, the
//! long test runs with `-- --ignored`; `ASYNCIO_PROGRAMS=1000000` runs a million
//! programs instead of three thousand, and `PYTHON` names another Python.
//! `.ci/old-against-new` compares with the runtime of an earlier commit.
//!
//! A program that differs is made smaller as long as it differs.
#![allow(clippy::unwrap_used, missing_docs)]

#[path = "asyncio/ours.rs"]
mod ours;
#[path = "asyncio/program.rs"]
mod program;
#[path = "asyncio/runtime.rs"]
mod runtime;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use program::{Kind, Program};

const PROGRAMS: u64 = 3000;
/// The number of programs whose logs are recorded.
const RECORDED: u64 = 50;
/// The number of programs whose operations are counted, and the number of pairs of an operation
/// and a state that they have.
const REACHING: u64 = 3000;
const PAIRS: usize = 118;
/// The number of programs that one process of the witness runs.
const AT_A_TIME: u64 = 500;
/// The kinds of programs that CPython can run.
const WITNESSED: [Kind; 2] = [Kind::Paced, Kind::Free];

/// A program that reads programs, a line each, and writes their logs.
struct Witness {
    name: &'static str,
    command: Vec<String>,
    kinds: &'static [Kind],
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/asyncio")
}

/// Returns CPython as a witness, if there is one of a version that the programs are for.
fn python() -> Option<Witness> {
    let named = env::var("PYTHON");
    let named = named.as_ref().map(String::as_str);
    let is_good = |python: &&str| {
        let output = Command::new(python).arg("--version").output();
        output.is_ok_and(|output| {
            ["3.11.", "3.12.", "3.13."]
                .iter()
                .any(|version| output.stdout.starts_with(format!("Python {version}").as_bytes()))
        })
    };
    let python = [named.unwrap_or("python3"), "/usr/bin/python3"].into_iter().find(is_good)?;
    let interpreter = folder().join("interpreter.py").to_str().unwrap().to_owned();
    // Without files of bytecode in the tree.
    let command = vec![python.into(), "-B".into(), interpreter];
    Some(Witness { name: "asyncio", command, kinds: &WITNESSED })
}

impl Witness {
    /// Runs programs, and returns their logs.
    fn run(&self, programs: &[Program]) -> Vec<Vec<String>> {
        let mut process = Command::new(&self.command[0])
            .args(&self.command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = process.stdin.take().unwrap();
        let line = |program: &Program| serde_json::to_string(program).unwrap() + "\n";
        let lines: String = programs.iter().map(line).collect();
        let write = thread::spawn(move || stdin.write_all(lines.as_bytes()));
        let output = process.wait_with_output().unwrap();
        write.join().unwrap().unwrap();
        assert!(output.status.success(), "{}", self.name);
        logs(&String::from_utf8(output.stdout).unwrap())
    }

    /// Returns true if this witness and we differ about a program.
    fn differs(&self, program: &Program) -> bool {
        let log = self.run(std::slice::from_ref(program)).remove(0);
        comparable(program, ours::run(program)) != comparable(program, log)
    }

    /// Returns a smaller program that differs as well.
    fn shrink(&self, mut program: Program) -> Program {
        loop {
            let smaller = program.smaller();
            let logs = self.run(&smaller);
            let differs = |(smaller, log): (Program, Vec<String>)| {
                (comparable(&smaller, ours::run(&smaller)) != comparable(&smaller, log))
                    .then_some(smaller)
            };
            match smaller.into_iter().zip(logs).find_map(differs) {
                Some(smaller) => program = smaller,
                None => return program,
            }
        }
    }

    /// Compares the logs of programs line by line, and returns the number of lines.
    fn compare(&self, seeds: std::ops::Range<u64>, logs: Vec<Vec<String>>) -> usize {
        assert_eq!(logs.len() as u64, seeds.end - seeds.start);
        let mut lines = 0;
        for (seed, log) in seeds.zip(logs) {
            let program = Program::new(seed, self.kinds);
            let ours = comparable(&program, ours::run(&program));
            if ours != comparable(&program, log) {
                self.fail(seed, program);
            }
            if program.kind != Kind::Alone {
                let is_count = |line: &&String| line.contains(" carried out: ");
                let count = ours.iter().find(is_count).unwrap();
                let (begun, all) = count.split_once(": ").unwrap().1.split_once(" of ").unwrap();
                assert_eq!(begun, all, "program {seed} is not carried out: {program:?}");
            }
            lines += ours.len();
        }
        lines
    }

    /// Fails, and shows a program that is as small as possible.
    fn fail(&self, seed: u64, program: Program) -> ! {
        // Recorded logs are of whole programs only.
        let program = if self.differs(&program) { self.shrink(program) } else { program };
        let theirs = comparable(&program, self.run(std::slice::from_ref(&program)).remove(0));
        let ours = comparable(&program, ours::run(&program));
        let at = ours.iter().zip(&theirs).take_while(|(ours, theirs)| ours == theirs).count();
        panic!(
            "program {seed} differs after {at} lines: ours {:?}, {name}'s {:?}\n{}\n\
             ours:\n  {}\n{name}'s:\n  {}",
            ours.get(at),
            theirs.get(at),
            serde_json::to_string_pretty(&program).unwrap(),
            ours.join("\n  "),
            theirs.join("\n  "),
            name = self.name,
        );
    }

    /// Runs as many programs as are wanted, and says how many.
    fn run_all(&self) -> String {
        let programs =
            env::var("ASYNCIO_PROGRAMS").map_or(PROGRAMS, |count| count.parse().unwrap());
        let mut lines = 0;
        for start in (0..programs).step_by(AT_A_TIME as usize) {
            let seeds = start..programs.min(start + AT_A_TIME);
            let logs = self.run(&self.programs(seeds.clone()));
            lines += self.compare(seeds, logs);
        }
        format!("{programs} programs, {lines} lines, no difference")
    }

    fn programs(&self, seeds: std::ops::Range<u64>) -> Vec<Program> {
        seeds.map(|seed| Program::new(seed, self.kinds)).collect()
    }
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

/// Returns the log of a paced program with the events of one time sorted by their actor;
/// those of one actor keep their order. Other logs are returned as they are.
fn comparable(program: &Program, mut log: Vec<String>) -> Vec<String> {
    let key = |line: &String| {
        let mut words = line.split(' ').map(str::to_owned);
        (words.next().unwrap().parse::<u64>().unwrap(), words.next().unwrap())
    };
    if program.kind == Kind::Paced {
        log.sort_by_key(key);
    }
    log
}

#[test]
#[ignore = "needs python3, 3.11 to 3.13"]
fn random_programs_do_the_same_as_on_asyncio() {
    println!("{}", python().expect("there is no Python 3.11 to 3.13").run_all());
}

/// The reach of the programs: each operation meets each state at least a thousand times in a
/// million programs.
#[test]
fn each_operation_meets_each_state() {
    let mut reach: BTreeMap<(String, &str), u64> = BTreeMap::new();
    for seed in 0..REACHING {
        for pair in ours::run_for_reach(&Program::new(seed, &WITNESSED)).1 {
            *reach.entry(pair).or_default() += 1;
        }
    }
    for ((operation, state), count) in &reach {
        let in_a_million = count * 1_000_000 / REACHING;
        println!("{in_a_million:>9}  {operation}, {state}");
        assert!(in_a_million >= 1000, "{operation}, {state}");
    }
    // A pair that is never drawn would not be in the list.
    assert_eq!(reach.len(), PAIRS);
}

/// `.ci/old-against-new` builds the old runtime. Without it there is nothing to compare with.
#[test]
fn random_programs_do_the_same_as_before() {
    let Ok(command) = env::var("OLD_RUNTIME") else { return };
    let kinds = &[Kind::Paced, Kind::Free, Kind::Alone];
    let old = Witness { name: "the old runtime", command: vec![command], kinds };
    println!("{}", old.run_all());
}

#[test]
fn random_programs_do_the_same_as_recorded() {
    let file = folder().join("recorded.txt");
    let python = python();
    if env::var_os("ASYNCIO_RECORD").is_some() {
        let python = python.as_ref().unwrap();
        let logs = python.run(&python.programs(0..RECORDED));
        let log = |(number, log): (usize, &Vec<String>)| {
            let lines: String = log.iter().map(|line| format!("{line}\n")).collect();
            format!("== {number}\n{lines}")
        };
        fs::write(&file, logs.iter().enumerate().map(log).collect::<String>()).unwrap();
    }
    let recorded = logs(&fs::read_to_string(&file).unwrap());
    let Some(python) = python else {
        for (seed, log) in (0..RECORDED).zip(recorded) {
            let program = Program::new(seed, &WITNESSED);
            assert_eq!(
                comparable(&program, ours::run(&program)),
                comparable(&program, log),
                "program {seed} differs from its recorded log"
            );
        }
        return;
    };
    assert!(recorded == python.run(&python.programs(0..RECORDED)), "the recorded logs are stale");
    python.compare(0..RECORDED, recorded);
}
