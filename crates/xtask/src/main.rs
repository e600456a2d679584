//! The chores of this workspace, run as `cargo xtask CHORE`.
//!
//! The rules of this program:
//!
//! 1. **Text and code cannot drift.** What the book shows of the code is
//!    included from it, what it shows of a program's output was written by the
//!    program, and what it tells the reader to type is typed here first. What
//!    the manual says of the crawler is made from what the crawler understands.
//! 2. **A finding names its line.** Whoever reads `page.md:12: ...` knows where
//!    to go and what to do.
//! 3. **A chore that was not done is a failure**, exit code 1.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A program for people at a terminal.

mod book;
mod built;
mod lint;
mod man;
mod markdown;
mod measurements;
mod outputs;
mod source;
mod walk;

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

use crate::book::Book;

/// The chores of this workspace.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Debug, Subcommand)]
enum Chore {
    /// Builds the book into book/book; needs mdBook
    Book,
    /// Looks for everything in the book that is broken or could drift; needs
    /// mdBook
    LintBook {
        /// Corrects the captions of code instead of complaining about them
        #[arg(long)]
        fix: bool,
    },
    /// Runs the programs whose output the book shows, and writes it down
    Outputs {
        /// Compares with what is written down instead
        #[arg(long)]
        check: bool,
        /// Only these files
        #[arg(value_name = "FILE")]
        only: Vec<String>,
    },
    /// Runs the benches, and writes the tables and drawings of what they find
    Measurements(measurements::Arguments),
    /// Does in a fresh clone all that the book tells its reader to type
    WalkBook,
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
        Chore::Book => build(&root),
        Chore::LintBook { fix } => lint(&root, fix),
        Chore::Outputs { check: true, only } => outputs::check(&root, &only),
        Chore::Outputs { check: false, only } => outputs::write(&root, &only),
        Chore::Measurements(arguments) => measurements::measure(&root, &arguments),
        Chore::Man => man::write(&root.join("target")),
        Chore::WalkBook => walk::walk(&root),
    }
}

fn build(root: &Path) -> io::Result<bool> {
    let status = Command::new("mdbook").arg("build").arg(root.join("book")).status();
    let missing = |error| io::Error::other(format!("cannot run mdbook: {error}"));
    Ok(status.map_err(missing)?.success())
}

fn lint(root: &Path, fix: bool) -> io::Result<bool> {
    if fix {
        for page in lint::captions::fix(&Book::load(root)?)? {
            println!("captions corrected: {page}");
        }
    }
    let book = Book::load(root)?;
    let mut findings = lint::check(&book);
    findings.extend(built::check(root, &book)?);
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} pages, {} findings", book.pages.len(), findings.len());
    Ok(findings.is_empty())
}
