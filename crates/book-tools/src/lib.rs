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
mod lint;
mod markdown;
pub mod measurements;
pub mod outputs;
pub mod peers;
pub mod process;
pub mod programs;
pub mod scan;
mod source;
mod walk;

pub use book::files_below;
pub use lint::Finding;
pub use walk::{walk, walk_in_clone, with_other_version};

use std::io;
use std::path::Path;

use crate::book::Book;

/// Lints the book.
///
/// # Errors
/// When a page cannot be read, or the book cannot be built.
pub fn lint(root: &Path) -> io::Result<bool> {
    let book = Book::load(root)?;
    let mut findings = lint::check(&book);
    findings.extend(built::check(root, &book)?);
    for finding in &findings {
        println!("{finding}");
    }
    println!("{} pages, {} findings", book.pages.len(), findings.len());
    Ok(findings.is_empty())
}
