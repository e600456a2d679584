//! Simulates sites, one for each seed of a range, and stops at the first that fails. With
//! `--orders`, runs small programs in another order of their tasks for each seed.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people at a terminal.

use std::alloc::System;
use std::ops::Range;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use simulation::{Totals, describe, run, run_orders, write_trace};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

/// Counts the memory in use: there is one thread.
#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The memory that may be in use after a run and was not after the first one, in bytes.
const MAX_LEFT: usize = 256 * 1024;

const USAGE: &str = "usage: simulate [--orders] FIRST[..END] [--trace FILE.html|FILE.json]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_orders = arguments.first() == Some(&"--orders");
    arguments.drain(..usize::from(is_orders));
    let (seeds, trace) = match arguments[..] {
        [seeds] => (seeds, None),
        [seeds, "--trace", file] => (seeds, Some(Path::new(file))),
        _ => return usage(),
    };
    let Some(seeds) = range(seeds) else { return usage() };
    let result = if is_orders { all_orders(seeds.clone()) } else { all_sites(seeds.clone()) };
    let (seed, code) = match result {
        Ok(()) => (seeds.start, ExitCode::SUCCESS),
        Err((seed, what)) => {
            println!("seed {seed}: {what}");
            let orders = if is_orders { "--orders " } else { "" };
            println!("To repeat it: cargo run --release -p simulation -- {orders}{seed}");
            (seed, ExitCode::FAILURE)
        }
    };
    let file = match trace {
        Some(file) => file.to_owned(),
        None if code == ExitCode::SUCCESS => return code,
        None => std::env::temp_dir().join(format!("simulate-{seed}.html")),
    };
    show_trace(seed, is_orders, file).err().unwrap_or(code)
}

fn usage() -> ExitCode {
    eprintln!("{USAGE}");
    ExitCode::from(2)
}

/// Reads a seed, or a range of them.
fn range(text: &str) -> Option<Range<u64>> {
    match text.split_once("..") {
        Some((first, end)) => Some(first.parse().ok()?..end.parse().ok()?),
        None => text.parse().ok().map(|seed: u64| seed..seed + 1),
    }
}

fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.wrapping_sub(stats.bytes_deallocated)
}

/// Runs something that may panic.
fn caught<T>(run: fn(u64) -> Result<T, String>, seed: u64) -> Result<T, (u64, String)> {
    let result = catch_unwind(|| run(seed));
    result.unwrap_or_else(|_| Err("it has panicked, see above".into())).map_err(|what| (seed, what))
}

fn all_sites(seeds: Range<u64>) -> Result<(), (u64, String)> {
    let (begun, mut totals, mut after_first) = (Instant::now(), Totals::default(), None);
    for seed in seeds {
        let run = caught(|seed| run(seed, Some(in_use)), seed);
        totals.add(&run.inspect_err(|_| print!("{}", describe(seed)))?);
        // The first run fills what is kept for all.
        let first = *after_first.get_or_insert_with(in_use);
        if in_use() > first + MAX_LEFT {
            return Err((seed, format!("{} bytes were not freed", in_use() - first)));
        }
    }
    let Totals { sites, crawls, rows, requests, steps, elapsed } = totals;
    let hours = elapsed.as_secs_f64() / 3600.0;
    println!(
        "{sites} sites: {crawls} crawls, {rows} rows, {requests} requests and {steps} steps, in \
         {hours:.1} hours of their time and {:.1?} of ours",
        begun.elapsed()
    );
    Ok(())
}

fn all_orders(seeds: Range<u64>) -> Result<(), (u64, String)> {
    let (begun, mut steps) = (Instant::now(), 0);
    for seed in seeds.clone() {
        steps += caught(run_orders, seed)?;
    }
    println!("{} orders: {steps} steps in {:.1?}", seeds.count(), begun.elapsed());
    Ok(())
}

/// Runs a seed once more, with a trace.
fn show_trace(seed: u64, is_orders: bool, file: PathBuf) -> Result<(), ExitCode> {
    let written = write_trace(&file, || {
        // What it says was said before.
        let _ = if is_orders {
            caught(run_orders, seed).err()
        } else {
            caught(|seed| run(seed, None), seed).err()
        };
    });
    match written {
        Ok(()) => println!("Its trace is in {}.", file.display()),
        Err(error) => {
            eprintln!("the trace cannot be written: {error}");
            return Err(ExitCode::FAILURE);
        }
    }
    Ok(())
}
