//! The maintenance tasks ("chores") of this workspace, run as `cargo xtask
//! CHORE`.
//!
//! The rules of this program:
//!
//! 1. **What is written twice is generated or checked.** The book includes its code from
//!    the sources, and its outputs were written by the programs.
//! 2. **A finding names its line.** `page.md:12: ...` says where the problem is.
//! 3. **A chore that fails, or finds a problem, exits with a code other than 0**:
//!    1 for findings and failed commands, 3 for errors.
//! 4. **It is quick to build.** mdBook runs it, so every reader of the book compiles it.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people at a terminal.

mod book;
mod built;
mod exercises;
mod functions;
mod labs;
mod lint;
mod markdown;
mod measurements;
mod outputs;
mod peers;
mod preprocess;
mod process;
mod programs;
mod scan;
mod source;
mod walk;

use std::env;
use std::io;
use std::path::PathBuf;
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
    /// Looks for everything in the book that is broken or could drift; needs
    /// mdBook
    LintBook,
    /// Runs the programs whose output the book and the README show, and writes it
    /// down
    Outputs {
        /// Compares with what is written down instead
        #[arg(long)]
        check: bool,
        /// Only these files; `lab_*` is all that begin so, `!lab_*` all others
        #[arg(value_name = "FILE")]
        only: Vec<String>,
    },
    /// Builds what pages of the book load, as mdBook does it, too; needs the target
    /// wasm32-wasip1
    Programs,
    /// Prepares the pages for mdBook, which runs this
    Preprocess {
        #[command(subcommand)]
        question: Option<Question>,
    },
    /// Runs the benches, and writes the tables and drawings of what they find
    Measurements(measurements::Arguments),
    /// Runs `crawl` beside its peers, and writes the tables of what they take, find and miss
    Peers(peers::Arguments),
    /// Writes a crate from the sources of a stage, with bodies to be written and tests
    /// that say how far you are
    Exercise(exercises::Arguments),
    /// Says how far you are with an exercise
    Check {
        /// The folder of the exercise; by default the current one, or all in exercises
        folder: Option<PathBuf>,
    },
    /// Plants a bug in a copy of the workspace, in target/lab, and shows its symptoms
    Lab(labs::Arguments),
    /// Does in a clean clone all that the book tells its reader to type
    WalkBook {
        /// In this checkout, where most of it is built already
        #[arg(long)]
        here: bool,
    },
}

/// What mdBook asks a preprocessor before it hands over the book.
#[derive(Debug, Subcommand)]
enum Question {
    /// Says by the exit code whether pages for this renderer are prepared
    Supports { renderer: String },
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

/// Runs a chore. Returns false if it has failed or has findings.
fn run(chore: Chore) -> io::Result<bool> {
    // Told by `cargo run`: a checkout that shares its target folder may have built this.
    let package = env::var_os("CARGO_MANIFEST_DIR");
    let package = package.map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    let root = package.join("../..").canonicalize()?;
    match chore {
        Chore::LintBook => lint::lint(&root),
        Chore::Outputs { check: true, only } => outputs::check(&root, &only),
        Chore::Outputs { check: false, only } => outputs::write(&root, &only),
        Chore::Programs => programs::write(&root),
        // `mdbook test` compiles code, and needs nothing of this.
        Chore::Preprocess { question: Some(Question::Supports { renderer }) } => {
            Ok(renderer == "html")
        }
        Chore::Preprocess { question: None } => {
            let input = io::read_to_string(io::stdin())?;
            // Without them the pages show what they can.
            programs::write(&root)?;
            measurements::draw(&root)?;
            println!("{}", preprocess::preprocess(&root, &input)?);
            Ok(true)
        }
        Chore::Measurements(arguments) => measurements::measure(&root, &arguments),
        Chore::Peers(arguments) => peers::compare(&root, &arguments),
        Chore::Exercise(arguments) => exercises::run(&root, &arguments),
        Chore::Check { folder } => exercises::check(&root, folder.as_deref()),
        Chore::Lab(arguments) => labs::run(&root, &arguments),
        Chore::WalkBook { here: true } => walk::walk(&root),
        Chore::WalkBook { here: false } => walk::walk_in_clone(&root, &process::target_folder()?),
    }
}
