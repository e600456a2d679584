//! The tools of the book, which `cargo xtask` runs.
//!
//! The rules of this crate:
//!
//! 1. **Text and code cannot drift.** The book includes its code from the
//!    sources, and its outputs were written by the programs. The commands that it
//!    tells the reader to type are run here first.
//! 2. **A finding names its line.** `page.md:12: ...` says where the problem is
//!    and how to correct it.
//! 3. **A tool returns true when all is well**, and false when it has findings or
//!    when a command has failed. It prints what it does.
#![allow(clippy::print_stdout, clippy::print_stderr)] // Tools for people at a terminal.

mod book;
mod built;
mod caption_lines;
mod lint;
mod markdown;
pub mod measurements;
pub mod outputs;
pub mod paper;
pub mod peers;
pub mod process;
pub mod programs;
pub mod scan;
mod source;
mod walk;

pub use book::files_below;
pub use caption_lines::caption_lines;
pub use lint::Finding;
pub use walk::{walk, walk_in_clone, with_other_version};

use std::io;
use std::path::Path;
use std::process::Command;

use crate::book::Book;

/// Builds the book. `preprocessor` is a command that hands its input to
/// [`caption_lines`], and prints what that returns.
///
/// # Errors
/// When mdBook cannot be run.
pub fn build(root: &Path, preprocessor: &str) -> io::Result<bool> {
    let mut mdbook = Command::new("mdbook");
    mdbook.env("MDBOOK_PREPROCESSOR__LINES__COMMAND", preprocessor);
    mdbook.env("MDBOOK_PREPROCESSOR__LINES__BEFORE", "[\"links\"]");
    let status = mdbook.arg("build").arg(root.join("book")).status();
    let missing = |error| io::Error::other(format!("cannot run mdbook: {error}"));
    Ok(status.map_err(missing)?.success())
}

/// Lints the book, with its captions and reading times corrected before if
/// `fix` is set.
///
/// # Errors
/// When a page cannot be read or written, or the book cannot be built.
pub fn lint(root: &Path, fix: bool) -> io::Result<bool> {
    if fix {
        for page in lint::captions::fix(&Book::load(root)?)? {
            println!("captions corrected: {page}");
        }
        for page in lint::reading::fix(&Book::load(root)?)? {
            println!("reading time corrected: {page}");
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
