//! The labs: a small program for each of some famous bugs. It goes well on the
//! sources as they are; `cargo xtask lab NAME` plants the bug in a copy of them,
//! and runs it again.
//!
//! The rules of this program:
//!
//! 1. **It ends, whatever the bug.** What hangs is asked after [`LIMIT`] what each
//!    of its tasks waits for, as by SIGUSR1, and ended.
//! 2. **The exit code is 0 if all went well**, and 1 if not.
//! 3. **The trace of a run is written to a file** if one is named: `labs NAME FILE`.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people at a terminal.

mod blocking_call;
mod borrowed;
mod early_acknowledgement;
mod early_task_done;
mod lost_wakeup;
mod one_read;
mod promised_item;
mod stale_key;
mod task_done_on_error;
mod trace_file;
mod unfair_loop;
mod unqueued;
mod unregistered;

use std::error::Error;
use std::process::exit;
use std::thread;
use std::time::Duration;

use asyncio::prelude::*;
use stage2_coroutines::{Coroutine, Inspect, Runtime};

/// The time after which a program that has not ended is asked what it waits for.
const LIMIT: Duration = Duration::from_secs(3);

/// The result of a program.
type Outcome = Result<bool, Box<dyn Error>>;

/// A program: returns true if all went well.
type Program = fn() -> Outcome;

/// The programs by the names of their labs.
const LABS: [(&str, Program); 12] = [
    ("one-read", one_read::run),
    ("lost-wakeup", lost_wakeup::run),
    ("unqueued", unqueued::run),
    ("unregistered", unregistered::run),
    ("stale-key", stale_key::run),
    ("borrowed", borrowed::run),
    ("task-done-on-error", task_done_on_error::run),
    ("promised-item", promised_item::run),
    ("unfair-loop", unfair_loop::run),
    ("blocking-call", blocking_call::run),
    ("early-task-done", early_task_done::run),
    ("early-acknowledgement", early_acknowledgement::run),
];

fn main() {
    let mut arguments = std::env::args_os().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some((_, run)) = LABS.iter().find(|(lab, _)| *lab == name) else {
        let names: Vec<_> = LABS.iter().map(|(name, _)| *name).collect();
        eprintln!("usage: labs NAME [FILE], where NAME is one of: {}", names.join(", "));
        exit(2);
    };
    let _trace = arguments.next().map(trace_file::begin);
    match run() {
        Ok(true) => {
            println!("All went well.");
            end(0);
        }
        Ok(false) => end(1),
        Err(error) => {
            println!("{error}");
            end(1);
        }
    }
}

/// Ends the process, after its trace is written.
fn end(code: i32) -> ! {
    if let Err(error) = trace_file::write() {
        eprintln!("the trace cannot be written: {error}");
    }
    exit(code)
}

/// Runs a coroutine. If it has not ended after [`LIMIT`], prints what each task
/// waits for, and ends the process: a loop that hangs can do no more.
fn run_watched<T>(runtime: &Runtime, coroutine: impl Coroutine<Output = T>) -> std::io::Result<T> {
    let remote = runtime.event_loop().remote();
    thread::spawn(move || {
        thread::sleep(LIMIT);
        remote.call_soon(|event_loop| {
            print!("It hangs. {}", event_loop.describe_tasks());
            end(1);
        });
    });
    runtime.run_until_complete(coroutine)
}
