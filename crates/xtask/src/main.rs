//! The chores of this workspace, run as `cargo xtask CHORE`.
//!
//! The rules of this program:
//!
//! 1. **Text and code cannot drift.** What the manual says of the crawler is
//!    made from what the crawler understands.
//! 2. **A chore that was not done is a failure.**
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people at a terminal.

mod man;

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The chores of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Writes the manual page of `crawl` to target/man, and what completes its
    /// arguments in shells to target/completions
    Man,
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("[error] {error}");
            ExitCode::from(3)
        }
    }
}

/// Whether all is well.
fn run(chore: Chore) -> io::Result<bool> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    match chore {
        Chore::Man => man::write(&root.join("target")),
    }
}
